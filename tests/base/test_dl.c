// SPDX-License-Identifier: Apache-2.0
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dl.h"

struct math {
    double (*cosine)(double);
    double (*absent)(double);
};

static const struct dl_symbol symbols[] = {
    {"cos", offsetof(struct math, cosine), DL_REQUIRED},
    {"no_such_function", offsetof(struct math, absent), DL_OPTIONAL},
};

static const char *const names[] = {"libnone.so.9", "libm.so.6", NULL};

TEST(opens_and_fills)
{
    struct err err = {0};
    struct dl dl;
    struct math math;
    memset(&math, 0xFF, sizeof math);
    const struct dl_spec spec = {
        .what = "libm", .names = names, .symbols = symbols, .symbol_count = 2};
    assert_ok(dl_open(&dl, &spec, &math, &err), &err);
    assert_true(math.cosine(0) == 1.0);
    assert_null(math.absent);
    assert_non_null(strstr(dl.path, "libm.so.6"));
    dl_close(&dl);
    dl_close(&dl);
}

TEST(absent_library_and_symbol_are_named)
{
    struct err err = {0};
    struct dl dl;
    struct math math;
    const char *const none[] = {"libnone.so.9", NULL};
    struct dl_spec spec = {.what = "the none library",
                           .names = none,
                           .dirs = dl_vendor_dirs,
                           .symbols = symbols,
                           .symbol_count = 2,
                           .hint = "install it"};
    assert_int_equal(dl_open(&dl, &spec, &math, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "the none library is not on this machine"));
    assert_non_null(strstr(err.text, "libnone.so.9"));
    assert_string_equal(err.hint, "install it");

    const struct dl_symbol wrong[] = {{"no_such_function", 0, DL_REQUIRED}};
    err = (struct err){0};
    spec = (struct dl_spec){.what = "libm", .names = names, .symbols = wrong, .symbol_count = 1};
    assert_int_equal(dl_open(&dl, &spec, &math, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "no_such_function"));
    assert_null(dl.handle);
}

// A table that two users share: each requires its own symbols, and those of everyone.
TEST(each_user_requires_its_own_symbols)
{
    const struct dl_symbol shared[] = {{"cos", offsetof(struct math, cosine), 1},
                                       {"no_such_function", offsetof(struct math, absent), 2}};
    struct dl_spec spec = {
        .what = "libm", .names = names, .symbols = shared, .symbol_count = 2, .user = 1};
    struct err err = {0};
    struct dl dl;
    struct math math;
    assert_ok(dl_open(&dl, &spec, &math, &err), &err);
    assert_non_null(math.cosine);
    assert_null(math.absent);
    dl_close(&dl);
    for (unsigned user = 2; user <= 3; user++) {
        spec.user = user;
        assert_int_equal(dl_open(&dl, &spec, &math, NULL), ERR_MISSING);
    }
    spec.user = 0; // everyone
    assert_int_equal(dl_open(&dl, &spec, &math, NULL), ERR_MISSING);
}

// A file that is there but is no library: the loader's own words matter more than "not found".
TEST(broken_library_says_why)
{
    char path[512];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/libbroken.so", base ? base : "/tmp");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not an ELF file, whatever its name says, and long enough for a header: "
          "xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
          file);
    fclose(file);
    struct err err = {0};
    struct dl dl;
    struct math math;
    setenv("FARE_TEST_LIBRARY", path, 1);
    const struct dl_spec spec = {.what = "it",
                                 .variable = "FARE_TEST_LIBRARY",
                                 .names = names,
                                 .symbols = symbols,
                                 .symbol_count = 2};
    assert_int_equal(dl_open(&dl, &spec, &math, &err), ERR_MISSING);
    assert_non_null(strstr(err.text, "invalid ELF header"));
    unsetenv("FARE_TEST_LIBRARY");
    unlink(path);
}

// Where the loader's own paths have nothing, the vendors' folders are searched.
TEST(vendor_folders_are_searched)
{
    char dir[256], link[300];
    const char *base = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/dl-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(dir));
    snprintf(link, sizeof link, "%s/libfare-vendor.so.1", dir);
    struct err err = {0};
    struct dl dl;
    struct math math;
    const struct dl_spec libm = {
        .what = "libm", .names = names, .symbols = symbols, .symbol_count = 2};
    assert_ok(dl_open(&dl, &libm, &math, &err), &err);
    assert_int_equal(symlink(dl.path, link), 0);
    const char *const vendor[] = {"libfare-vendor.so.1", NULL};
    const char *const dirs[] = {"/nonexistent", dir, NULL};
    struct dl_spec spec = {
        .what = "vendor", .names = vendor, .dirs = dirs, .symbols = symbols, .symbol_count = 2};
    assert_ok(dl_open(&dl, &spec, &math, &err), &err);
    spec.dirs = dl_vendor_dirs;
    assert_int_equal(dl_open(&dl, &spec, &math, &err), ERR_MISSING);
}
