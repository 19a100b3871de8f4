// SPDX-License-Identifier: Apache-2.0
// What a process's file of exchanges means; the file is the command's, and may hold anything.
#include "follow/trace/exchanges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

static struct exchanges_file content(void)
{
    return (struct exchanges_file){.magic = EXCHANGES_MAGIC,
                                   .version = sizeof(struct exchanges_file),
                                   .pid = 7,
                                   .rank = 1,
                                   .size = 4,
                                   .by = EXCHANGES_MPI,
                                   .open_ns = 100,
                                   .all_ns = 300};
}

TEST(sums_grow_while_it_is_in_one)
{
    struct exchanges_file f = content();
    struct exchanges_one one = {0};
    assert_true(exchanges_judge(&f, 10000, &one));
    assert_int_equal(one.open_ns, 100);
    assert_int_equal(one.rank, 1);
    f.open_since_ns = f.all_since_ns = 10500;
    assert_true(exchanges_judge(&f, 11000, &one));
    assert_int_equal(one.open_ns, 600);
    assert_int_equal(one.all_ns, 800);
    assert_false(one.hidden);
    f.other = 3; // only other threads, and the main one never waited
    assert_true(exchanges_judge(&f, 11000, &one));
    assert_true(one.hidden);
}

TEST(what_cannot_be)
{
    struct exchanges_file f = content();
    struct exchanges_one one = {0}, before;
    assert_true(exchanges_judge(&f, 10000, &one));
    before = one;
    f.open_ns = UINT64_MAX;
    assert_false(exchanges_judge(&f, 20000, &one));
    f.open_ns = 400; // more than all
    assert_false(exchanges_judge(&f, 20000, &one));
    f = content();
    f.all_ns = 20000; // more than passed since
    assert_false(exchanges_judge(&f, 20000, &one));
    f.all_ns = 299; // less than before
    f.open_ns = 100;
    assert_false(exchanges_judge(&f, 20000, &one));
    assert_memory_equal(&one, &before, sizeof one);
    f = content();
    f.rank = 4; // of four: it has no place
    assert_true(exchanges_judge(&f, 20000, &one));
    assert_int_equal(one.rank, -1);
    assert_int_equal(one.size, -1);
}

static void write_file(const char *folder, int number, const void *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%d.exchanges", folder, number);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, len, f), len);
    fclose(f);
}

TEST(files)
{
    struct err err = {0};
    struct exchanges *e = NULL;
    static struct exchanges_one list[EXCHANGES_MOST];
    assert_ok(exchanges_new(&e, "/dev/null", &err), &err);
    char *const *env = exchanges_environment(e);
    assert_non_null(env[0]);
    assert_non_null(strstr(env[1], "LD_PRELOAD="));
    assert_non_null(strstr(env[1], "/dev/null"));
    const char *folder = strchr(env[0], '=') + 1;
    assert_int_equal(exchanges_read(e, list), 0);
    struct exchanges_file f = content();
    write_file(folder, 0, &f, sizeof f);
    write_file(folder, 1, &f, 20); // not complete yet
    assert_int_equal(exchanges_read(e, list), 1);
    f.pid = 8;
    write_file(folder, 1, &f, sizeof f);
    write_file(folder, 0, &f, 10); // cut short by the command
    assert_int_equal(exchanges_read(e, list), 2);
    assert_int_equal(list[0].pid, 7); // as it was
    assert_int_equal(list[1].pid, 8);
    f.turn = 1; // for ever
    write_file(folder, 1, &f, sizeof f);
    assert_int_equal(exchanges_read(e, list), 2);
    exchanges_free(e);
    assert_int_not_equal(access(folder, F_OK), 0);
}

TEST(a_library_that_cannot_be_named)
{
    struct err err = {0};
    struct exchanges *e = NULL;
    assert_ok(exchanges_new(&e, "/nonexistent", &err), &err);
    assert_null(exchanges_environment(e)[0]);
    exchanges_free(e);
}
