// SPDX-License-Identifier: Apache-2.0
// Counters in lines of no known format.
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "follow/shapes.h"

static struct shapes *shapes;

static int fresh(void **state)
{
    (void)state;
    shapes = calloc(1, sizeof *shapes);
    return shapes ? 0 : -1;
}

static int drop(void **state)
{
    (void)state;
    free(shapes);
    return 0;
}

static struct event show(const char *format, ...) PRINTF_LIKE(1, 2);
static struct event show(const char *format, ...)
{
    char line[SHAPES_BYTES * 2];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    struct event e = {0};
    enum event_result result = shapes_read(shapes, line, (size_t)len, &e);
    assert_true((result == EVENT_READ) == e.step.known);
    return e;
}

TEST_WITH(rising_numbers, fresh, drop)
{
    uint32_t bar = 0;
    for (int i = 1; i <= 20; i++) {
        struct event e = show("<%02d:%02d:07> trained %d/2400 minibatches; energy %.5f",
                              10 + i / 60, i % 60, 8 * i, 1.0 / i);
        assert_true(e.step.known == (i >= SHAPES_LINES));
        if (!e.step.known)
            continue;
        assert_int_equal(e.step.v, 8 * i);
        assert_int_equal(e.total_steps.v, 2400);
        assert_string_equal(e.source, "regular lines");
        assert_true(bar == 0 || e.bar == bar);
        bar = e.bar;
        // Other lines between them change nothing.
        show("cache %d MB", rand() % 100);
    }
}

// spaCy's table: https://github.com/explosion/spaCy/issues/7083
TEST_WITH(columns, fresh, drop)
{
    static const char *const rows[] = {
        "  0       0          0.00     40.00    9.57    6.09   22.33    0.10",
        "  0     200         35.70   2163.45   83.16   83.79   82.53    0.83",
        "  0     400         11.09   1182.04   88.91   89.03   88.78    0.89",
        "  0     600         13.27   1150.09   89.98   90.20   89.77    0.90",
        "  0     800         19.24   1087.27   92.02   91.73   92.32    0.92",
        "  0    1000         25.08   1343.08   93.06   92.75   93.38    0.93",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct event e = show("%s", rows[i]);
        assert_true(e.step.known == (i + 1 >= SHAPES_LINES));
        assert_true(!e.step.known || (e.step.v == (int64_t)i * 200 && !e.total_steps.known));
    }
}

TEST_WITH(other_lines, fresh, drop)
{
    for (int i = 0; i < 200; i++) {
        assert_false(show("2025-03-06 12:%02d:%02d connected", i / 60, i % 60).step.known); // times
        assert_false(show("elapsed %.1f s", i * 0.5).step.known);            // not whole
        assert_false(show("read %d bytes", i * i * (i % 3 + 1)).step.known); // not steady
        assert_false(show("free %d of 100", 100 - i % 100).step.known);      // falling
        assert_false(show("retry 3 of 5").step.known);                       // constant
        assert_false(show("gpu%d ready", i).step.known);                     // part of a name
        assert_false(show("%d%% done", i).step.known);                       // a percentage
        assert_false(show("no number").step.known);
    }
}

// A counter that restarts with each epoch is still one; one that jumps about is not.
TEST_WITH(restarts, fresh, drop)
{
    int seen = 0, astray = 0;
    for (int epoch = 0; epoch < 3; epoch++)
        for (int i = 10; i <= 100; i += 10) {
            struct event e = show("seen %d/100", i);
            assert_true(!e.step.known || e.step.v == i);
            seen += e.step.known;
        }
    assert_int_equal(seen, 30 - (SHAPES_LINES - 1));
    for (int i = 0; i < 100; i++)
        astray += show("seen %d/100", i * i * 7 % 101).step.known;
    assert_in_range(astray, 0, 20);
}

// Memory is fixed: a thousand kinds of lines push each other out, and those in use stay.
TEST_WITH(many_kinds, fresh, drop)
{
    int found = 0;
    for (int i = 1; i <= 1000; i++) {
        show("%c%c%c %d", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676, i);
        found += show("turn %d", i).step.known;
    }
    assert_in_range(found, 990, 1000);
    char longest[SHAPES_BYTES + 2];
    memset(longest, '7', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_false(show("%s", longest).step.known);
}

// "0,4.0,0.1": commas stand between columns, unless all of them group digits.
TEST_WITH(columns_without_words, fresh, drop)
{
    for (int i = 0; i < 8; i++) {
        struct event e = show("%d,%.1f,%.6f", i * 10, 4.0 - i, 1e-3 * i);
        assert_true(e.step.known == (i + 1 >= SHAPES_LINES));
        assert_true(!e.step.known || e.step.v == i * 10);
    }
    for (int i = 1; i < 8; i++)
        assert_false(show("heap at %d,%03d of 12,288 words", i, i).step.known);
}

// A bar that grows does not make another line.
TEST_WITH(bars_are_not_the_shape, fresh, drop)
{
    for (int i = 1; i <= 20; i++) {
        struct event e = show("pass [%.*s>%.*s] at %d/20", i, "====================", 20 - i,
                              "                    ", i);
        assert_true(e.step.known == (i >= SHAPES_LINES));
        assert_true(!e.step.known || (e.step.v == i && e.total_steps.v == 20));
    }
}

static struct event row(struct log_columns *columns, const char *line)
{
    struct event e = {0};
    columns_read(columns, line, strlen(line), &e);
    return e;
}

TEST_WITH(columns_with_a_header, fresh, drop)
{
    struct log_columns c = {0};
    assert_false(row(&c, "0,4.0,3.9").step.known);
    assert_false(row(&c, "epoch,loss,val_loss,lr").step.known);
    struct event e = row(&c, "2, 4.5, 3.9, 1e-3");
    assert_true(e.step.v == 2 && e.epoch.v == 2 && e.counts == COUNTS_EPOCHS && e.epoch_ended);
    assert_true(e.loss.v == 4.5 && e.test_loss.v == 3.9);
    assert_false(row(&c, "2,4.5,3.9").step.known);                              // another table
    assert_false(row(&c, "x,4.5,3.9,1e-3").step.known);                         // no number
    assert_false(row(&c, "In this epoch, the step, if any, fails").step.known); // prose
    assert_false(row(&c, "step,train/loss,epoch,").step.known);
    assert_true(row(&c, "3,4.25,3,0.1").loss.v == 4.25); // the last header with a word in each
    assert_false(row(&c, "step,train/loss,epoch").step.known);
    e = row(&c, "400,4.25,1");
    assert_true(e.step.v == 400 && e.counts == COUNTS_STEPS && e.epoch.v == 1 && e.loss.v == 4.25);
    assert_false(row(&c, "99999999999999999999,4.25,1").step.known);
    char many[200];
    memset(many, ',', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    assert_false(row(&c, many).step.known);
}
