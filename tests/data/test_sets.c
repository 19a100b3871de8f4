// SPDX-License-Identifier: Apache-2.0
#include "data/sets.h"

#include "data/fetch.h"
#include "data/files.h"
#include "workload/workload.h"

// A path that stays below the folder it is put in.
static bool is_inside(const char *path)
{
    if (path[0] == '\0' || path[0] == '/' || path[0] == '.')
        return false;
    for (const char *p = path; (p = strchr(p, '/')); p++)
        if (p[1] == '.' || p[1] == '/')
            return false;
    return true;
}

static void check_file(const struct public_set *set, const struct public_file *file)
{
    assert_true(is_inside(file->name));
    assert_true(!file->url != !file->from);
    assert_true(!file->url || strncmp(file->url, "http", 4) == 0);
    // Without a sum only the transport vouches for a file.
    assert_true(!file->url || file->sha256 || !strstr(file->url, "http://"));
    if (file->sha256) {
        assert_int_equal(strlen(file->sha256), 64);
        assert_int_equal(strspn(file->sha256, "0123456789abcdef"), 64);
    }
    // An archive is downloaded before it is unpacked.
    size_t len = file->from ? strcspn(file->from, ":") : 0;
    bool found = !file->from;
    for (const struct public_file *f = set->files; f < file; f++)
        found |= f->url && strlen(f->name) == len && memcmp(f->name, file->from, len) == 0;
    assert_true(found);
}

static void test_rows(void **state)
{
    (void)state;
    for (const struct public_set *set = public_sets; set->name; set++) {
        assert_true(is_inside(set->name) && !strchr(set->name, '/'));
        assert_true(set->open && set->make && set->format && set->train > 0 && set->shape.classes);
        assert_non_null(strchr(set->made, ' '));
        assert_true(strlen(set->source) > 10); // ends in a date
        assert_memory_equal(set->source + strlen(set->source) - 10, "2026-", 5);
        for (const struct public_set *other = public_sets; other < set; other++)
            assert_string_not_equal(other->name, set->name);
        for (const struct public_file *file = set->files; file->name; file++)
            check_file(set, file);
    }
}

// No workload names a set that does not exist, and every set has one.
static void test_workloads(void **state)
{
    (void)state;
    struct err err = {0};
    for (size_t i = 0; workloads[i]; i++) {
        assert_int_equal(!workloads[i]->data, !workloads[i]->build);
        if (workloads[i]->data)
            assert_non_null(public_set_find(workloads[i]->data, &err));
    }
    for (const struct public_set *set = public_sets; set->name; set++) {
        bool used = false;
        for (size_t i = 0; workloads[i]; i++)
            used |= workloads[i]->data && strcmp(workloads[i]->data, set->name) == 0;
        assert_true(used);
    }
}

// The identity of a set follows from its files' sums, where all of these are known.
static void test_mnist_identity(void **state)
{
    (void)state;
    struct err err = {0};
    const struct public_set *set = public_set_find("mnist", &err);
    struct buf list = {0};
    char hex[SHA256_HEX_BYTES];
    for (const struct public_file *file = set->files; file->name; file++)
        if (file->from)
            buf_printf(&list, "%s  %s\n", file->sha256, file->name);
    files_sha(list.data, list.len, hex);
    assert_string_equal(hex, set->identity);
    buf_release(&list);
}

static void test_find(void **state)
{
    (void)state;
    struct err err = {0};
    assert_null(public_set_find("quite another", &err));
    assert_string_equal(err.text, "'quite another' is not a data set");
    assert_string_equal(err.hint, "'fare workloads data list' lists them");
}

static void test_cache_dir(void **state)
{
    (void)state;
    struct buf dir = {0};
    struct err err = {0};
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
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_workloads),
        cmocka_unit_test(test_mnist_identity), cmocka_unit_test(test_find),
        cmocka_unit_test(test_cache_dir),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
