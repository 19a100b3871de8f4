// SPDX-License-Identifier: Apache-2.0
// A site's folder, its index, a record to share and an import, with each allocation failing in
// turn. Whatever failed, the folder has the old site or the new one, and nothing else.
#include "oom.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fs.h"
#include "ledger/import_file.h"
#include "record/share.h"
#include "view/site_store.h"

static char folder[256];

static int put(struct site_store *store, const char *path, const char *run, const char *text,
               struct err *err)
{
    struct buf bytes = {0};
    buf_adds(&bytes, text);
    int rc = site_store_put(store, path, run, &bytes, err);
    buf_release(&bytes);
    return rc;
}

// The pages all have this word, or all another.
static int write_site(const char *word, struct err *err)
{
    struct site_store store;
    char record[64], path[32];
    struct buf text = {0};
    snprintf(record, sizeof record, "{\"id\":\"%s\"}\n", word);
    snprintf(path, sizeof path, "runs/%s.json", word);
    int rc = site_store_open(&store, folder, err);
    if (rc == 0)
        rc = put(&store, path, word, record, err);
    if (rc == 0)
        rc = put(&store, "index.html", NULL, word, err);
    if (rc == 0)
        rc = put(&store, "same.html", NULL, "same", err);
    if (rc == 0)
        rc = site_store_read(&store, path, &text, err);
    if (rc == 0)
        rc = site_store_commit(&store, err);
    site_store_close(&store);
    buf_release(&text);
    return rc;
}

static void read_back(const char *name, char out[64])
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    size_t len = file ? fread(out, 1, 63, file) : 0;
    out[len] = '\0';
    if (file)
        fclose(file);
}

static void store(void **state)
{
    (void)state;
    struct err why = {0};
    const char *words[] = {"old", "new"};
    assert_ok(write_site("old", &why), &why);
    int turn = 0;
    OOM_EACH
    {
        struct err err = {0};
        char now[64], same[64], record[64];
        const char *was = words[turn], *next = words[!turn];
        int rc = write_site(next, &err);
        long countdown = oom_countdown;
        oom_countdown = -1;
        read_back("index.html", now);
        read_back("same.html", same);
        read_back(strcmp(now, "old") == 0 ? "runs/old.json" : "runs/new.json", record);
        assert_string_equal(same, "same");
        assert_string_equal(now, rc == 0 || strcmp(now, next) == 0 ? next : was);
        assert_non_null(strstr(record, now)); // the record of what the overview shows is there
        turn = strcmp(now, "new") == 0;
        oom_countdown = countdown;
        OOM_EXPECT(rc, &err);
    }
    assert_ok(write_site("old", &why), &why);
    char record[64];
    read_back("runs/new.json", record);
    assert_string_equal(record, "");
}

static void import(void **state)
{
    (void)state;
    struct err why = {0};
    assert_ok(write_site("old", &why), &why);
    OOM_EACH
    {
        struct err err = {0};
        struct import_site site = {.place = folder, .fd = open("/dev/null", O_WRONLY)};
        int rc = import_site(&site, &err);
        close(site.fd);
        OOM_EXPECT(rc, &err);
    }
}

static void share(void **state)
{
    (void)state;
    static const char *const names[] = {"anna", NULL};
    OOM_EACH
    {
        struct err err = {0};
        struct buf out = {0};
        int rc =
            share_record("{\"id\":\"x\",\"host\":\"node-1\",\"saving\":{\"attempts\":[{\"host\":"
                         "\"node-2\"}]},\"a\":\"\\u0061nna\\n\",\"b\":\"anna\"}",
                         names, &out, &err);
        if (rc == 0)
            assert_string_equal(buf_str(&out),
                                "{\"id\":\"x\",\"saving\":{\"attempts\":[{}]},\"a\":\"***"
                                "\\n\",\"b\":\"***\"}");
        buf_release(&out);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/site-oom-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    json_set_alloc_funcs(malloc, free); // through the wrappers
    const struct CMUnitTest tests[] = {cmocka_unit_test(store), cmocka_unit_test(import),
                                       cmocka_unit_test(share)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char command[320];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    return system(command) != 0 || failed;
}
