// SPDX-License-Identifier: Apache-2.0
// The index of a site: names of files, and indexes that somebody else wrote.
#include "record/site.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

TEST(names)
{
    static const struct {
        const char *text, *name; // null: a hash
    } cases[] = {
        {"cnn", "cnn"},
        {"train.py", "train.py"},
        {"published-2018-tweets-aws-p2-xlarge", "published-2018-tweets-aws-p2-xlarge"},
        {"20261115T074512Z-3f9a2c81d04e", "20261115t074512z-3f9a2c81d04e"},
        {"20261115t074512z-3f9a2c81d04e", NULL}, // it would be the other's
        {"20261115T074512Z", NULL},
        {"CNN", NULL},
        {"..", NULL},
        {".x", NULL},
        {"-x", NULL},
        {"x.", NULL},
        {"a/b", NULL},
        {"a b", NULL},
        {"a:b", NULL},
        {"x-abc", NULL}, // as hashes begin
        {"", NULL},
        {"\xc3\xa9", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[SITE_NAME_BYTES];
        site_name(cases[i].text, name);
        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        else
            assert_true(strncmp(name, "x-", 2) == 0 && strlen(name) == 34);
        for (size_t k = 0; k < i; k++) {
            char other[SITE_NAME_BYTES];
            site_name(cases[k].text, other);
            assert_string_not_equal(name, other);
        }
    }
    char longest[4096], name[SITE_NAME_BYTES];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    site_name(longest, name);
    assert_int_equal(strlen(name), 34);
}

#define SUM             "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FILE_OF(path)   "{\"path\":\"" path "\",\"run\":\"r\",\"bytes\":1,\"sha256\":\"" SUM "\"}"
#define INDEX_OF(files) "{\"schema\":\"fare.site/1\",\"files\":[" files "]}"

static int read_index(const char *text, struct site_index *index, struct err *err)
{
    *index = (struct site_index){0};
    return site_index_read(text, strlen(text), index, err);
}

TEST(accepted)
{
    struct site_index index;
    struct err err = {0};
    assert_ok(read_index(INDEX_OF(FILE_OF("runs/a.json") "," FILE_OF("runs/a.html") "," FILE_OF(
                             "index.html") "," FILE_OF("compare/a.json")),
                         &index, &err),
              &err);
    assert_int_equal(index.files.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(site_is_record(&index.files.items[i]), i == 0);
    record_release(site_index_fields, &index);
}

TEST(refused)
{
    static const char *const cases[] = {
        "",
        "{}",
        "[]",
        "{\"schema\":\"fare.page/1\",\"files\":[]}",
        INDEX_OF(FILE_OF("../a")),
        INDEX_OF(FILE_OF("runs/../a")),
        INDEX_OF(FILE_OF("a/b/c")),
        INDEX_OF(FILE_OF("/a")),
        INDEX_OF(FILE_OF("a//b")),
        INDEX_OF(FILE_OF("a/")),
        INDEX_OF(FILE_OF(".a")),
        INDEX_OF(FILE_OF("a\\\\b")),
        INDEX_OF(FILE_OF("a b")),
        INDEX_OF(FILE_OF("A")),
        INDEX_OF(FILE_OF("a?b")),
        INDEX_OF(FILE_OF("a%2eb")),
        INDEX_OF(FILE_OF("a\\u0000b")),
        INDEX_OF(FILE_OF("site.json")),
        INDEX_OF("{\"path\":\"a\",\"bytes\":1}"),
        INDEX_OF("{\"path\":\"a\",\"bytes\":-1,\"sha256\":\"" SUM "\"}"),
        INDEX_OF("{\"path\":\"a\",\"sha256\":\"" SUM "\"}"),
        INDEX_OF("{\"path\":\"a\",\"bytes\":1,\"sha256\":\"abc\"}"),
        INDEX_OF("{\"path\":\"a\",\"bytes\":1,\"sha256\":\"" SUM "0\"}"),
        INDEX_OF("{\"bytes\":1,\"sha256\":\"" SUM "\"}"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct site_index index;
        struct err err = {0};
        int rc = read_index(cases[i], &index, &err);
        if (rc != ERR_FORMAT)
            fail_msg("accepted: %s", cases[i]);
        record_release(site_index_fields, &index);
    }
}
