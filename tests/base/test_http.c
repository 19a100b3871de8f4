// SPDX-License-Identifier: Apache-2.0
// The HTTP client against a server on the loopback device (tests/machine/metadata_server.py).
#include "base/http.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fs.h"
#include "machine/server.h"

static struct server web;
static char folder[64];

static int set_up(void **state)
{
    (void)state;
    unsetenv("http_proxy"), unsetenv("https_proxy"), unsetenv("all_proxy");
    unsetenv("ALL_PROXY"), unsetenv("HTTPS_PROXY");
    snprintf(folder, sizeof folder, "/tmp/fare-http-XXXXXX");
    return mkdtemp(folder) && server_try(&web, "web", NULL) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    server_end(&web);
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const char *format, ...) PRINTF_LIKE(1, 2);
static const char *at(const char *format, ...) // several may be in use at once
{
    static char urls[8][300];
    static int next;
    char *url = urls[next++ % 8];
    int len = snprintf(url, sizeof urls[0], "%s", web.url);
    va_list args;
    va_start(args, format);
    vsnprintf(url + len, sizeof urls[0] - (size_t)len, format, args);
    va_end(args);
    return url;
}

static char *in_folder(const char *name)
{
    static char paths[4][160];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

// Does one call and hands it back; the request itself must be possible.
static struct http_call do_call(struct http_call call, int64_t limit_ms)
{
    struct err err = {0};
    assert_ok(http_all(&call, 1, clock_now_ns() + limit_ms * NS_PER_MS, &err), &err);
    return call;
}

// Byte i of the server's pattern is i mod 251.
static void assert_pattern(const char *bytes, size_t len, size_t expected)
{
    assert_int_equal(len, expected);
    for (size_t i = 0; i < len; i++)
        assert_int_equal((unsigned char)bytes[i], i % 251);
}

static json_t *echo(struct http_call call)
{
    call.url = at("/echo");
    call = do_call(call, 5000);
    assert_string_equal(call.err.text, "");
    assert_int_equal(call.status, 200);
    json_t *said = json_loadb(call.answer.data, call.answer.len, JSON_ALLOW_NUL, NULL);
    assert_non_null(said);
    http_call_release(&call);
    return said;
}

static const char *header(json_t *said, const char *name)
{
    const char *text = json_string_value(json_object_get(json_object_get(said, "headers"), name));
    return text ? text : "(absent)";
}

TEST(test_request)
{
    json_t *said =
        echo((struct http_call){.headers = (const char *[]){"X-One: 1", "X-Two: 2", NULL}});
    assert_string_equal(json_string_value(json_object_get(said, "method")), "GET");
    assert_string_equal(header(said, "X-One"), "1");
    assert_string_equal(header(said, "X-Two"), "2");
    assert_memory_equal(header(said, "User-Agent"), "fare/", 5);
    json_decref(said);

    said = echo((struct http_call){.method = "PUT"});
    assert_string_equal(json_string_value(json_object_get(said, "method")), "PUT");
    assert_string_equal(header(said, "Content-Length"), "0"); // RFC 9110, 8.6
    assert_string_equal(header(said, "Content-Type"), "(absent)");
    json_decref(said);

    said = echo((struct http_call){.method = "POST",
                                   .body = "a\0b",
                                   .body_len = 3,
                                   .headers = (const char *[]){"content-type: text/x", NULL}});
    assert_string_equal(header(said, "content-type"), "text/x");
    assert_string_equal(header(said, "Content-Length"), "3");
    assert_int_equal(json_string_length(json_object_get(said, "body")), 3);
    assert_memory_equal(json_string_value(json_object_get(said, "body")), "a\0b", 3);
    assert_string_equal(header(said, "Expect"), "(absent)");
    json_decref(said);

    struct http_call call =
        do_call((struct http_call){.method = "HEAD", .url = at("/bytes?10")}, 5000);
    assert_int_equal(call.status, 200);
    assert_int_equal(call.answer.len, 0);
    http_call_release(&call);
}

TEST(test_header_of_the_answer)
{
    char value[32];
    struct http_call call = do_call((struct http_call){.url = at("/bytes?10")}, 5000);
    assert_true(http_header(&call, "content-LENGTH", value, sizeof value));
    assert_string_equal(value, "10");
    assert_false(http_header(&call, "content", value, sizeof value));
    assert_false(http_header(&call, "Content-Length", value, 2)); // no room for it
    http_call_release(&call);
}

// The signature itself is verified by a real server (tests/save/test_s3.py).
TEST(test_signed_request)
{
    json_t *said =
        echo((struct http_call){.method = "PUT",
                                .body = "x",
                                .body_len = 1,
                                .sigv4 = "aws:amz:us-east-1:s3",
                                .user = "AKID:with-colon",
                                .password = "S3cr3t",
                                .headers = (const char *[]){"x-amz-content-sha256: 2d", NULL}});
    const char *text = header(said, "Authorization");
    assert_memory_equal(text, "AWS4-HMAC-SHA256 Credential=AKID:with-colon/", 44);
    assert_non_null(strstr(text, "/us-east-1/s3/aws4_request"));
    assert_non_null(strstr(text, "x-amz-content-sha256"));
    assert_null(strstr(text, "expect")); // 7.88 would sign a header that is switched off
    assert_null(strstr(text, "S3cr3t"));
    json_decref(said);
}

TEST(test_session)
{
    struct err err = {0};
    struct http_session *session = http_session_new(&err);
    assert_non_null(session);
    for (int i = 0; i < 3; i++) {
        struct http_call call = {.url = at("/bytes?%d", 10 + i)};
        assert_ok(http_all_in(session, &call, 1, clock_now_ns() + 5 * NS_PER_S, &err), &err);
        assert_int_equal(call.answer.len, 10 + i);
        http_call_release(&call);
    }
    http_session_free(session);
    http_session_free(NULL);
}

// A byte every 10 ms is no stall; nothing at all is one. Neither has anything to do with a
// deadline.
TEST(test_stall_and_stop)
{
    struct http_call call =
        do_call((struct http_call){.url = at("/slow?60"), .stall_ms = 300}, 60000);
    assert_int_equal(call.err.code, 0);
    assert_int_equal(call.answer.len, 60);
    http_call_release(&call);
    call = do_call((struct http_call){.url = at("/mode/hang"), .stall_ms = 200}, 60000);
    assert_int_equal(call.err.code, ERR_TIMEOUT);
    http_call_release(&call);
    atomic_bool stop = true;
    call = do_call((struct http_call){.url = at("/mode/hang"), .stop = &stop}, 60000);
    assert_int_equal(call.err.code, ERR_FAIL);
    assert_non_null(strstr(call.err.text, "stopped"));
    http_call_release(&call);
}

TEST(test_status)
{
    const int statuses[] = {204, 401, 404, 500, 503};
    for (size_t i = 0; i < 5; i++) {
        struct http_call call =
            do_call((struct http_call){.url = at("/status?%d", statuses[i])}, 5000);
        assert_int_equal(call.err.code, 0);
        assert_int_equal(call.status, statuses[i]);
        http_call_release(&call);
    }
}

TEST(test_caps)
{
    struct http_call call =
        do_call((struct http_call){.url = at("/bytes?1000"), .max_bytes = 1000}, 5000);
    assert_int_equal(call.err.code, 0);
    assert_pattern(call.answer.data, call.answer.len, 1000);
    http_call_release(&call);

    call = do_call((struct http_call){.url = at("/bytes?1001"), .max_bytes = 1000}, 5000);
    assert_int_equal(call.err.code, ERR_FORMAT);
    assert_non_null(strstr(call.err.text, "more than 1000 bytes"));
    http_call_release(&call);

    // A body whose length nobody told, and a header without an end.
    call = do_call((struct http_call){.url = at("/mode/huge"), .max_bytes = 100000}, 5000);
    assert_int_equal(call.err.code, ERR_FORMAT);
    assert_true(call.answer.len <= 100000);
    http_call_release(&call);
    call = do_call((struct http_call){.url = at("/mode/headers")}, 5000);
    assert_int_equal(call.err.code, ERR_FORMAT);
    http_call_release(&call);
}

TEST(test_redirects)
{
    struct http_call call = do_call((struct http_call){.url = at("/redirect?/bytes?5")}, 5000);
    assert_int_equal(call.status, 302);
    assert_string_equal(buf_str(&call.answer), "moved");
    http_call_release(&call);

    call = do_call((struct http_call){.url = at("/redirect?/bytes?5"), .follow = true}, 5000);
    assert_int_equal(call.status, 200);
    assert_pattern(call.answer.data, call.answer.len, 5);
    http_call_release(&call);

    call = do_call((struct http_call){.url = at("/loop"), .follow = true}, 5000);
    assert_int_equal(call.err.code, ERR_FORMAT);
    http_call_release(&call);

    // Nothing on this machine, and no other protocol, whatever a server says.
    const char *elsewhere[] = {"file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x"};
    for (size_t i = 0; i < 3; i++) {
        call = do_call((struct http_call){.url = at("/redirect?%s", elsewhere[i]),
                                          .follow = true,
                                          .allow_file = true},
                       5000);
        assert_int_equal(call.err.code, ERR_FORMAT);
        assert_int_equal(call.answer.len, 0);
        http_call_release(&call);
    }
}

// Every way of hanging at once, beside a server that works: back at the deadline, and the good
// answer is there.
TEST(test_deadline)
{
    struct server silent;
    struct err err = {0};
    char silent_url[80];
    server_start(&silent, "silent", NULL);
    snprintf(silent_url, sizeof silent_url, "%s/", silent.url);
    struct http_call calls[] = {
        {.url = at("/bytes?10")},   {.url = at("/mode/hang")},
        {.url = at("/mode/drip")},  {.url = silent_url},
        {.url = at("/mode/reset")}, {.url = at("/mode/hang"), .timeout_ms = 50},
    };
    int64_t begun_ns = clock_now_ns();
    assert_ok(http_all(calls, 6, begun_ns + 300 * NS_PER_MS, &err), &err);
    int64_t ms = (clock_now_ns() - begun_ns) / NS_PER_MS;
    print_message("  back after %lld ms of 300\n", (long long)ms);
    assert_true(ms >= 290 && ms < 400);
    assert_int_equal(calls[0].status, 200);
    assert_int_equal(calls[0].err.code, 0);
    assert_int_equal(calls[1].err.code, ERR_TIMEOUT);
    assert_non_null(strstr(calls[1].err.text, "connected, but nothing came"));
    assert_int_equal(calls[2].err.code, ERR_TIMEOUT);
    assert_non_null(strstr(calls[2].err.text, "only 1 byte came"));
    assert_int_equal(calls[3].err.code, ERR_TIMEOUT);
    assert_non_null(strstr(calls[3].err.text, "no connection"));
    assert_int_equal(calls[4].err.code, ERR_IO);
    assert_int_equal(calls[5].err.code, ERR_TIMEOUT);
    for (size_t i = 0; i < 6; i++)
        http_call_release(&calls[i]);
    server_end(&silent);

    struct http_call call = {.url = at("/bytes?10")}; // a deadline that has passed
    begun_ns = clock_now_ns();
    assert_ok(http_all(&call, 1, begun_ns - 1, &err), &err);
    assert_int_equal(call.err.code, ERR_TIMEOUT);
    assert_true(clock_now_ns() - begun_ns < 100 * NS_PER_MS);
    http_call_release(&call);
}

static bool use_answer(struct http_call *call)
{
    if (call->after->err.code != 0 || call->after->status != 200)
        return false;
    char *line = call->context;
    snprintf(line, 32, "X-Got: %zu", call->after->answer.len);
    static const char *headers[2];
    headers[0] = line;
    call->headers = headers;
    return true;
}

TEST(test_chain)
{
    char line[32];
    struct err err = {0};
    // In any order: the third is waited for by the first.
    struct http_call calls[4] = {
        {.url = at("/echo"), .after = &calls[2], .before = use_answer, .context = line},
        {.url = at("/echo"), .after = &calls[3], .before = use_answer, .context = line},
        {.url = at("/bytes?7")},
        {.url = at("/status?404")},
    };
    assert_ok(http_all(calls, 4, clock_now_ns() + 5 * NS_PER_S, &err), &err);
    assert_int_equal(calls[0].status, 200);
    assert_non_null(strstr(buf_str(&calls[0].answer), "\"X-Got\": \"7\""));
    assert_int_equal(calls[1].err.code, ERR_MISSING);
    assert_string_equal(calls[1].err.text, "not sent");
    assert_int_equal(calls[3].status, 404);
    for (size_t i = 0; i < 4; i++)
        http_call_release(&calls[i]);

    // What waits for a call that hangs is not sent at all.
    struct http_call late[2] = {{.url = at("/mode/hang")}, {.url = at("/echo"), .after = &late[0]}};
    assert_ok(http_all(late, 2, clock_now_ns() + 100 * NS_PER_MS, &err), &err);
    assert_int_equal(late[0].err.code, ERR_TIMEOUT);
    assert_int_equal(late[1].err.code, ERR_TIMEOUT);
    http_call_release(&late[0]), http_call_release(&late[1]);
}

// This program again, with a name server that takes five seconds; see main().
TEST(test_name_resolution)
{
    char self[PATH_MAX], preload[PATH_MAX + 64], copy[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(len > 0);
    self[len] = '\0';
    memcpy(copy, self, (size_t)len + 1);
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s/fake_slow_dns.so", dirname(copy));
    assert_int_equal(access(preload + strlen("LD_PRELOAD="), R_OK), 0);
    struct proc_options options = {.timeout_ms = 20000};
    struct proc_result result = {0};
    struct err err = {0};
    assert_ok(command_run((const char *[]){"env", "-i", preload, self, "--slow-name", NULL},
                          &options, &result, &err),
              &err);
    print_message("  %s", buf_str(&result.out));
    assert_true(result.exited);
    assert_int_equal(result.exit_code, 0);
    assert_true(result.wall_ns < 2 * NS_PER_S); // nobody waits at the end either
    proc_result_release(&result);
}

static int slow_name(void)
{
    struct http_call call = {.url = "http://somewhere.test/"};
    struct err err = {0};
    int64_t begun_ns = clock_now_ns();
    int rc = http_all(&call, 1, begun_ns + 300 * NS_PER_MS, &err);
    int64_t ms = (clock_now_ns() - begun_ns) / NS_PER_MS;
    printf("back after %lld ms of 300: %s\n", (long long)ms, call.err.text);
    http_call_release(&call);
    return rc == 0 && call.err.code == ERR_TIMEOUT && strstr(call.err.text, "not resolved") &&
                   ms < 400
               ? 0
               : 1;
}

TEST(test_shown)
{
    static const char *const cases[][2] = {
        {"https://example.com/a/b.csv", "https://example.com/a/b.csv"},
        {"https://user:pass@example.com:8080/a?X-Amz-Signature=abc#f",
         "https://example.com:8080/a"},
        {"http://us@er:pa@ss@host/x", "http://host/x"},
        {"http://user:pa/ss@host/x", "http://..."}, // a slash in the password ends the host early
        {"http://user:pa?ss@host/x", "http://..."},
        {"user:pass@host/x", "host/x"},
        {"http:user:pass@host", "host"},
        {"http://[::1]:80/x", "http://[::1]:80/x"},
        {"http://host/@someone", "http://host/@someone"},
        {"http://host/a\nb\x1b[1m", "http://host/a?b?[1m"},
        {"", ""},
        {"://", "://"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char shown[HTTP_SHOWN_BYTES];
        http_shown(cases[i][0], shown);
        assert_string_equal(shown, cases[i][1]);
    }
    char longest[5000] = "http://h/", shown[HTTP_SHOWN_BYTES];
    memset(longest + 9, 'a', sizeof longest - 10);
    http_shown(longest, shown);
    assert_int_equal(strlen(shown), HTTP_SHOWN_BYTES - 1);
}

TEST(test_no_credentials_in_errors)
{
    const char *urls[] = {"http://me:hunter2@127.0.0.1:1/x?key=hunter2",
                          "http://me:hunter2@127.0.0.1:99999/",
                          "http://me:hunter2@/",
                          "http://me:hunter2",
                          "ftp://me:hunter2@127.0.0.1/",
                          "me:hunter2@127.0.0.1",
                          "http://me:hun@hunter2@127.0.0.1:1/",
                          "http://me:hunter2@bad host/"};
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        struct http_call call = do_call((struct http_call){.url = urls[i]}, 2000);
        assert_int_not_equal(call.err.code, 0);
        assert_null(strstr(call.err.text, "hunter2"));
        assert_null(strstr(call.err.text, "me:"));
        http_call_release(&call);
    }
}

TEST(test_schemes)
{
    const char *urls[] = {"ftp://127.0.0.1/x", "file:///etc/passwd", "/etc/passwd", "", "http:/x"};
    for (size_t i = 0; i < 5; i++) {
        struct http_call call = do_call((struct http_call){.url = urls[i]}, 1000);
        assert_int_equal(call.err.code, ERR_USAGE);
        http_call_release(&call);
    }
}

TEST(test_file)
{
    struct err err = {0};
    char url[300];
    assert_ok(fs_write(in_folder("a b%.txt"), "hello", 5, &err), &err);
    const char *forms[] = {"file://%s/a%%20b%%25.txt", "file://localhost%s/a b%%25.txt",
                           "FILE://%s/a%%20b%%.txt"};
    for (size_t i = 0; i < 3; i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(url, sizeof url, forms[i], folder);
#pragma GCC diagnostic pop
        struct http_call call = do_call((struct http_call){.url = url, .allow_file = true}, 1000);
        assert_string_equal(call.err.text, "");
        assert_string_equal(buf_str(&call.answer), "hello");
        http_call_release(&call);
    }
    assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0); // opening one waits for a writer
    assert_int_equal(mkdir(in_folder("dir"), 0700), 0);
    const struct {
        const char *name;
        int code;
        size_t max;
    } bad[] = {{"pipe", ERR_IO, 0},
               {"dir", ERR_IO, 0},
               {"none", ERR_MISSING, 0},
               {"a%20b%25.txt", ERR_FORMAT, 4},
               {"x%00", ERR_USAGE, 0}};
    for (size_t i = 0; i < 5; i++) {
        snprintf(url, sizeof url, "file://%s/%s", folder, bad[i].name);
        struct http_call call = do_call(
            (struct http_call){.url = url, .allow_file = true, .max_bytes = bad[i].max}, 1000);
        assert_int_equal(call.err.code, bad[i].code);
        http_call_release(&call);
    }
    struct http_call call =
        do_call((struct http_call){.url = "file://elsewhere/x", .allow_file = true}, 1000);
    assert_int_equal(call.err.code, ERR_USAGE);
    http_call_release(&call);
}

static size_t entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

struct seen {
    int calls;
    int64_t done, total;
    int64_t stop_at; // 0: never
};

static bool see(void *context, int64_t done, int64_t total)
{
    struct seen *seen = context;
    seen->calls++;
    assert_true(done >= seen->done);
    seen->done = done;
    seen->total = total;
    return !(seen->stop_at && done >= seen->stop_at);
}

TEST(test_download)
{
    struct err err = {0};
    struct buf got = {0};
    char *dir = in_folder("got"), path[200], url[200];
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(path, sizeof path, "%s/file", dir);

    assert_ok(http_download(&(struct http_download){.url = at("/redirect?/bytes?300000"),
                                                    .path = path,
                                                    .max_bytes = 300000},
                            &err),
              &err);
    assert_ok(fs_read(path, 1 << 20, &got, &err), &err);
    assert_pattern(got.data, got.len, 300000);

    struct seen seen = {0};
    assert_ok(http_download(&(struct http_download){.url = at("/slow?50"),
                                                    .path = path,
                                                    .max_bytes = 1000,
                                                    .progress = see,
                                                    .context = &seen},
                            &err),
              &err);
    assert_true(seen.calls > 3); // half a second
    assert_int_equal(seen.total, 50);
    assert_int_equal(entries(dir), 1);

    assert_ok(fs_write(in_folder("source"), "from a file", 11, &err), &err);
    snprintf(url, sizeof url, "file://%s/source", folder);
    assert_ok(http_download(&(struct http_download){.url = url,
                                                    .path = path,
                                                    .max_bytes = 100,
                                                    .allow_file = true,
                                                    .progress = see,
                                                    .context = &(struct seen){0}},
                            &err),
              &err);
    buf_reset(&got);
    assert_ok(fs_read(path, 100, &got, &err), &err);
    assert_string_equal(buf_str(&got), "from a file");
    buf_release(&got);
}

// Whatever goes wrong, the old file stays as it was, and nothing else is left in the folder.
TEST(test_download_fails)
{
    char *dir = in_folder("kept"), path[200];
    struct err err = {0};
    struct buf got = {0};
    struct seen stop = {.stop_at = 10};
    snprintf(path, sizeof path, "%s/file", dir);
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_ok(fs_write(path, "old", 3, &err), &err);
    const struct {
        struct http_download download;
        int code;
    } cases[] = {
        {{.url = at("/cut"), .max_bytes = 2000}, ERR_IO},
        {{.url = at("/status?404"), .max_bytes = 2000}, ERR_MISSING},
        {{.url = at("/status?204"), .max_bytes = 2000}, ERR_MISSING},
        {{.url = at("/bytes?2001"), .max_bytes = 2000}, ERR_FORMAT},
        {{.url = at("/mode/huge"), .max_bytes = 2000000}, ERR_FORMAT},
        {{.url = at("/mode/hang"), .max_bytes = 2000, .stall_ms = 200}, ERR_TIMEOUT},
        {{.url = at("/mode/drip"), .max_bytes = 2000, .timeout_ms = 200}, ERR_TIMEOUT},
        {{.url = at("/slow?100"), .max_bytes = 2000, .progress = see, .context = &stop}, ERR_FAIL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct http_download download = cases[i].download;
        download.path = path;
        memset(&err, 0, sizeof err);
        int64_t begun_ns = clock_now_ns();
        assert_int_equal(http_download(&download, &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        assert_true(clock_now_ns() - begun_ns < 2 * NS_PER_S);
        buf_reset(&got);
        memset(&err, 0, sizeof err);
        assert_ok(fs_read(path, 100, &got, &err), &err);
        assert_string_equal(buf_str(&got), "old");
        assert_int_equal(entries(dir), 1);
    }
    snprintf(path, sizeof path, "%s/no/such/folder", dir);
    assert_int_equal(
        http_download(&(struct http_download){.url = at("/bytes?1"), .path = path, .max_bytes = 1},
                      &err),
        ERR_MISSING);
    buf_release(&got);
}

TEST(test_ca_file)
{
    struct buf out = {0};
    struct err err = {0};
    char *old = getenv("SSL_CERT_FILE") ? strdup(getenv("SSL_CERT_FILE")) : NULL;
    unsetenv("SSL_CERT_FILE"), unsetenv("CURL_CA_BUNDLE");
    char *root = in_folder("ca"), path[200], dir[200];
    assert_int_equal(http_ca_file(root, &out, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "/etc/ssl/certs/ca-certificates.crt"));
    assert_non_null(strstr(err.text, "/etc/pki/tls/cert.pem"));
    assert_non_null(strstr(err.hint, "SSL_CERT_FILE"));

    // From the last to the first: each that appears goes before those after it.
    static const char *const places[] = {
        "/etc/pki/tls/cert.pem", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-certificates.crt"};
    for (size_t i = 0; i < 5; i++) {
        memset(&err, 0, sizeof err);
        snprintf(path, sizeof path, "%s%s", root, places[i]);
        snprintf(dir, sizeof dir, "%s", path);
        *strrchr(dir, '/') = '\0';
        assert_ok(fs_mkdirs(dir, &err), &err);
        assert_ok(fs_write(path, "x", 1, &err), &err);
        buf_reset(&out);
        assert_ok(http_ca_file(root, &out, &err), &err);
        assert_string_equal(buf_str(&out), path);
    }
    setenv("CURL_CA_BUNDLE", path, 1);
    buf_reset(&out);
    assert_ok(http_ca_file("/nowhere", &out, &err), &err);
    assert_string_equal(buf_str(&out), path);
    setenv("SSL_CERT_FILE", "/nowhere/ca.pem", 1);
    assert_int_equal(http_ca_file(root, &out, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "/nowhere/ca.pem"));
    assert_non_null(strstr(err.text, "SSL_CERT_FILE"));
    unsetenv("SSL_CERT_FILE"), unsetenv("CURL_CA_BUNDLE");
    if (old)
        setenv("SSL_CERT_FILE", old, 1);
    free(old);
    buf_release(&out);
}

TEST(test_https)
{
    char pem[200], key[200];
    struct proc_result result = {0};
    struct err err = {0};
    snprintf(pem, sizeof pem, "%s", in_folder("server.pem"));
    snprintf(key, sizeof key, "%s", in_folder("server.key"));
    const char *make[] = {"openssl",
                          "req",
                          "-x509",
                          "-newkey",
                          "ec",
                          "-pkeyopt",
                          "ec_paramgen_curve:prime256v1",
                          "-nodes",
                          "-days",
                          "2",
                          "-subj",
                          "/CN=127.0.0.1",
                          "-addext",
                          "subjectAltName=IP:127.0.0.1",
                          "-keyout",
                          key,
                          "-out",
                          pem,
                          NULL};
    if (command_run(make, &(struct proc_options){.timeout_ms = 20000}, &result, &err) != 0 ||
        result.exit_code != 0) {
        proc_result_release(&result);
        skip(); // no openssl program
    }
    proc_result_release(&result);
    struct buf both = {0};
    assert_ok(fs_read(pem, 1 << 20, &both, &err), &err);
    assert_ok(fs_read(key, 1 << 20, &both, &err), &err);
    assert_ok(fs_write(key, both.data, both.len, &err), &err);
    buf_release(&both);
    struct server tls;
    server_start(&tls, "web", (const char *[]){"--tls", key, NULL});
    char url[200];
    snprintf(url, sizeof url, "https://127.0.0.1:%d/bytes?100", tls.port);

    setenv("SSL_CERT_FILE", pem, 1);
    struct http_call call = do_call((struct http_call){.url = url}, 5000);
    assert_string_equal(call.err.text, "");
    assert_pattern(call.answer.data, call.answer.len, 100);
    http_call_release(&call);

    // Never from https down to http.
    snprintf(url, sizeof url, "https://127.0.0.1:%d/redirect?%s/bytes?5", tls.port, web.url);
    call = do_call((struct http_call){.url = url, .follow = true}, 5000);
    assert_int_equal(call.err.code, ERR_FORMAT);
    http_call_release(&call);

    // A certificate that nobody vouches for.
    assert_ok(fs_write(in_folder("other.pem"), "", 0, &err), &err);
    unsetenv("SSL_CERT_FILE");
    struct buf ca = {0};
    if (http_ca_file("", &ca, &err) == 0) {
        snprintf(url, sizeof url, "https://127.0.0.1:%d/bytes?100", tls.port);
        call = do_call((struct http_call){.url = url}, 5000);
        assert_int_equal(call.err.code, ERR_USAGE); // trying again would not help
        assert_non_null(strstr(call.err.text, "certificate"));
        print_message("  %s\n", call.err.text);
        http_call_release(&call);
    }
    buf_release(&ca);
    server_end(&tls);
}

TEST(test_proxy)
{
    // The server stands in for a proxy: it sees a whole address and does not know it.
    setenv("http_proxy", web.url, 1);
    struct http_call call =
        do_call((struct http_call){.url = "http://somewhere.test/bytes?1"}, 5000);
    unsetenv("http_proxy");
    assert_int_equal(call.status, 404);
    http_call_release(&call);
}

TEST(test_nothing_to_do)
{
    struct err err = {0};
    assert_ok(http_all(NULL, 0, 0, &err), &err);
    struct http_call call = {.url = at("/bytes?3")}; // no deadline; and used twice
    for (int i = 0; i < 2; i++) {
        assert_ok(http_all(&call, 1, 0, &err), &err);
        assert_pattern(call.answer.data, call.answer.len, 3);
    }
    http_call_release(&call);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--slow-name") == 0)
        return slow_name();
    return run_all_tests(set_up, tear_down);
}
