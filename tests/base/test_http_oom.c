// SPDX-License-Identifier: Apache-2.0
// Allocations of ours that fail on the way of a request (libcurl's own are not reached).
#include "base/http.h"

#include "oom.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "machine/server.h"

static struct server web;
static char folder[64], file_url[128], path[128];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fare-http-oom-XXXXXX");
    if (!mkdtemp(folder) || !server_try(&web, "web", NULL))
        return -1;
    snprintf(path, sizeof path, "%s/source", folder);
    snprintf(file_url, sizeof file_url, "file://%s/source", folder);
    return fs_write(path, "hello", 5, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    server_end(&web);
    unlink(path);
    snprintf(path, sizeof path, "%s/target", folder);
    unlink(path);
    return rmdir(folder);
}

TEST(test_http_all)
{
    char url[128];
    snprintf(url, sizeof url, "%s/bytes?5000", web.url);
    OOM_EACH
    {
        struct err err = {0};
        struct http_call calls[2] = {{.url = url, .follow = true},
                                     {.url = file_url, .allow_file = true}};
        int rc = http_all(calls, 2, clock_now_ns() + 5 * NS_PER_S, &err);
        if (rc == 0) {
            assert_int_equal(calls[0].answer.len, 5000);
            assert_int_equal(calls[1].answer.len, 5);
        }
        http_call_release(&calls[0]);
        http_call_release(&calls[1]);
        OOM_EXPECT(rc, &err);
    }
}

TEST(test_http_download)
{
    char urls[2][128], target[128];
    snprintf(urls[0], sizeof urls[0], "%s/bytes?500", web.url);
    snprintf(urls[1], sizeof urls[1], "%s", file_url);
    snprintf(target, sizeof target, "%s/target", folder);
    for (int i = 0; i < 2; i++) {
        OOM_EACH
        {
            struct err err = {0};
            unlink(target);
            struct http_download download = {
                .url = urls[i], .path = target, .max_bytes = 1000, .allow_file = true};
            int rc = http_download(&download, &err);
            assert_int_equal(access(target, F_OK) == 0, rc == 0);
            OOM_EXPECT(rc, &err);
        }
    }
}

TEST(test_http_ca_file)
{
    unsetenv("SSL_CERT_FILE"), unsetenv("CURL_CA_BUNDLE");
    OOM_EACH // all places are tried
    {
        struct err err = {0};
        struct buf out = {0};
        int rc = http_ca_file("/nowhere", &out, &err);
        buf_release(&out);
        if (rc == ERR_MISSING && !oom_hit)
            rc = 0;
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    return run_all_tests(set_up, tear_down);
}
