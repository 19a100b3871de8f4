// SPDX-License-Identifier: Apache-2.0
#include "data/sets.h"

#include "data/files.h"
#include "data/fetch.h"

#define HEADER "name,file,url,from,sha256,bytes,source,date\n"
#define SUM    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

static int with(const char *text, struct err *err)
{
    struct data_sets sets;
    int rc = data_sets_read(&sets, files_puts("sets.csv", text), err);
    data_sets_release(&sets);
    return rc;
}

static void test_read(void **state)
{
    (void)state;
    struct data_sets sets;
    struct err err = {0};
    const char *path =
        files_puts("sets.csv", HEADER "a,x.tgz,http://h/x.tgz,," SUM ",12,source,2026-01-02\n"
                                      "a,dir/,,x.tgz:d/,,,source,2026-01-02\n");
    assert_ok(data_sets_read(&sets, path, &err), &err);
    assert_int_equal(sets.count, 2);
    assert_string_equal(sets.files[0].name, "a");
    assert_string_equal(sets.files[0].url, "http://h/x.tgz");
    assert_string_equal(sets.files[0].sha256, SUM);
    assert_int_equal(sets.files[0].bytes, 12);
    assert_string_equal(sets.files[1].from, "x.tgz:d/");
    assert_int_equal(sets.files[1].bytes, 0);
    data_sets_release(&sets);
    data_sets_release(&sets);
}

static void test_faults(void **state)
{
    (void)state;
    struct data_sets sets;
    assert_fails(data_sets_read(&sets, files_at("absent"), failed), ERR_MISSING, "absent");
    assert_fails(with("name,file\n", failed), ERR_FORMAT, "url");
    static const char *const bad[] = {
        "../a,x,u,,,,s,d\n", "a,../x,u,,,,s,d\n", "a,/x,u,,,,s,d\n", "a,b/../x,u,,,,s,d\n",
        "a/b,x,u,,,,s,d\n",  "a,.x,u,,,,s,d\n",   "a,,u,,,,s,d\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[200];
        snprintf(text, sizeof text, HEADER "%s", bad[i]);
        assert_fails(with(text, failed), ERR_FORMAT, "line 2: bad name");
    }
    assert_fails(with(HEADER "a,x,u,f,,,s,d\n", failed), ERR_FORMAT, "either url or from");
    assert_fails(with(HEADER "a,x,,,,,s,d\n", failed), ERR_FORMAT, "either url or from");
    assert_fails(with(HEADER "a,x,u,,abc,,s,d\n", failed), ERR_FORMAT, "the sum is not 64 digits");
    assert_fails(with(HEADER "a,x,u,,,1k,s,d\n", failed), ERR_FORMAT, "bad number of bytes '1k'");
    assert_fails(with(HEADER "a,x,u,,,-5,s,d\n", failed), ERR_FORMAT, "bad number of bytes '-5'");
}

// The file that is shipped: every kind of data has its set, and every row a source and a date.
static void test_shipped(void **state)
{
    (void)state;
    struct data_sets sets;
    struct err err = {0};
    assert_ok(data_sets_read(&sets, TESTS_DIR "/../share/data/sets.csv", &err), &err);
    for (int kind = DATA_MNIST; kind <= DATA_FLOWERS; kind++) {
        int files = 0;
        for (size_t i = 0; i < sets.count; i++)
            files += strcmp(sets.files[i].name, data_set_name(kind)) == 0;
        assert_true(files > 0);
    }
    for (size_t i = 0; i < sets.count; i++) {
        const struct data_file *f = &sets.files[i];
        assert_true(f->source[0] && strlen(f->date) == 10);
        assert_true(!f->url[0] || strncmp(f->url, "http", 4) == 0);
        // What is unpacked was downloaded before.
        size_t len = strcspn(f->from, ":");
        bool found = len == 0;
        for (size_t k = 0; k < i; k++)
            found |= strcmp(sets.files[k].name, f->name) == 0 &&
                     strlen(sets.files[k].file) == len &&
                     memcmp(sets.files[k].file, f->from, len) == 0;
        assert_true(found);
    }
    data_sets_release(&sets);
}

static void test_names(void **state)
{
    (void)state;
    struct buf dir = {0};
    struct err err = {0};
    assert_string_equal(data_set_name(DATA_MNIST), "mnist");
    assert_string_equal(data_set_name(DATA_TEXT), "nietzsche");
    setenv("XDG_CACHE_HOME", "/cache", 1);
    assert_ok(data_cache_dir("mnist", &dir, &err), &err);
    assert_string_equal(buf_str(&dir), "/cache/fare/data/mnist");
    setenv("XDG_CACHE_HOME", "relative", 1); // to be ignored, says the specification
    setenv("HOME", "/home/me", 1);
    buf_reset(&dir);
    assert_ok(data_cache_dir(NULL, &dir, &err), &err);
    assert_string_equal(buf_str(&dir), "/home/me/.cache/fare/data");
    unsetenv("XDG_CACHE_HOME");
    unsetenv("HOME");
    assert_fails(data_cache_dir("x", &dir, failed), ERR_MISSING, "no place for data");
    buf_release(&dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_faults),
        cmocka_unit_test(test_shipped),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
