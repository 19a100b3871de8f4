// SPDX-License-Identifier: Apache-2.0
// csv and stats with the Nth allocation failing. money, clock, rng and sha256 allocate nothing.
#include "oom.h"

#include <stdio.h>
#include <unistd.h>

#include "base/csv.h"
#include "base/rng.h"
#include "base/stats.h"

struct source {
    const char *text;
    size_t at;
};

static ptrdiff_t source_read(void *arg, void *into, size_t room, struct err *err)
{
    (void)err;
    struct source *s = arg;
    size_t n = strlen(s->text + s->at);
    n = n < room ? n : room;
    memcpy(into, s->text + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

// Reads all of it; the fields are long and many, so that every buffer grows more than once.
static int read_all(struct csv *csv, struct err *err)
{
    int rc;
    while ((rc = csv_next(csv, err)) > 0)
        assert_int_equal(strlen(csv_text(csv, 0)), 300);
    return rc;
}

static char *make_table(void)
{
    struct buf table = {0};
    struct csv_writer w = {.out = &table};
    char wide[301];
    memset(wide, 'x', 300);
    wide[300] = '\0';
    for (int row = 0; row < 3; row++) {
        for (int i = 0; i < 40; i++) {
            char name[16];
            snprintf(name, sizeof name, "column %d", i);
            csv_put(&w, row == 0 ? name : wide);
        }
        csv_end(&w);
    }
    return buf_take(&table, NULL);
}

static void test_csv_read(void **state)
{
    (void)state;
    char *table = make_table();
    assert_non_null(table);
    OOM_EACH
    {
        struct err err = {0};
        struct csv csv;
        struct source source = {table, 0};
        int rc = csv_init(&csv, "t.csv", source_read, &source, NULL, &err);
        if (rc == 0)
            rc = read_all(&csv, &err);
        csv_release(&csv);
        OOM_EXPECT(rc, &err);
    }
    free(table);
}

static void test_csv_open_leaves_no_descriptor(void **state)
{
    (void)state;
    char path[] = "/tmp/fare-test-oom-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a,b\n1,2\n", 8), 8);
    OOM_EACH
    {
        struct err err = {0};
        struct csv csv;
        int rc = csv_open(&csv, path, NULL, &err);
        while (rc == 0 && (rc = csv_next(&csv, &err)) > 0)
            rc = 0;
        csv_release(&csv);
        OOM_EXPECT(rc, &err);
    }
    int next = dup(fd); // the lowest free number: nothing was left open
    assert_int_equal(next, fd + 1);
    close(next);
    close(fd);
    unlink(path);
}

static void test_csv_given_names(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", NULL};
    struct csv_options options = {.names = names};
    OOM_EACH
    {
        struct err err = {0};
        struct csv csv;
        struct source source = {"1,2\n", 0};
        int rc = csv_init(&csv, "t.csv", source_read, &source, &options, &err);
        csv_release(&csv);
        OOM_EXPECT(rc, &err);
    }
}

// A missing column is that error, and its hint just shorter, when there is no memory for it.
static void test_csv_need(void **state)
{
    (void)state;
    struct csv csv;
    struct source source = {"a,b\n", 0};
    assert_int_equal(csv_init(&csv, "t.csv", source_read, &source, NULL, NULL), 0);
    OOM_EACH
    {
        struct err err = {0};
        int column;
        int rc = csv_need(&csv, "c", &column, &err);
        oom_countdown = -1;
        assert_int_equal(rc, ERR_FORMAT);
        assert_string_equal(err.text, "t.csv has no column 'c'");
    }
    csv_release(&csv);
}

static void test_csv_write(void **state)
{
    (void)state;
    OOM_EACH
    {
        struct err err = {0};
        struct buf out = {0};
        struct csv_writer w = {.out = &out};
        for (int i = 0; i < 100; i++) {
            csv_put(&w, "plain");
            csv_put(&w, "with \"quotes\", and a comma");
            csv_end(&w);
        }
        int rc = buf_check(&out, &err);
        buf_release(&out);
        OOM_EXPECT(rc, &err);
    }
}

static void test_stats(void **state)
{
    (void)state;
    const double x[] = {3, 1, 4, 1, 5, 9, 2, 6};
    OOM_EACH
    {
        struct err err = {0};
        double median, mad;
        size_t outliers;
        struct stats_interval interval;
        struct rng rng;
        rng_init(&rng, 1);
        int rc = stats_median(x, 8, &median, &err);
        if (rc == 0)
            rc = stats_mad(x, 8, &median, &mad, &err);
        if (rc == 0)
            rc = stats_outliers(x, 8, &outliers, &err);
        if (rc == 0)
            rc = stats_bootstrap_median(x, 8, 50, 0.95, &rng, &interval, &err);
        OOM_EXPECT(rc, &err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_csv_read),
        cmocka_unit_test(test_csv_open_leaves_no_descriptor),
        cmocka_unit_test(test_csv_given_names),
        cmocka_unit_test(test_csv_need),
        cmocka_unit_test(test_csv_write),
        cmocka_unit_test(test_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
