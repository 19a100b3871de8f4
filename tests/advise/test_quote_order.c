// SPDX-License-Identifier: Apache-2.0
// The order of measured and estimated bills. Expected places were worked out by hand from the rule:
// by the expected bill, but an estimate goes behind each measured bill that its interval overlaps.
#include "test.h"

#include <stdlib.h>

#include "advise/quote_parts.h"

struct line {
    const char *name, *total, *low, *high; // low and high null: no interval
    const char *by_hours, *waiting;
    bool estimate, incomplete;
};

static struct maybe_money amount(const char *text)
{
    int64_t nano = 0;
    return text && money_parse(text, &nano, NULL) == 0 ? some_money(nano) : (struct maybe_money){0};
}

static void add(struct quote *quote, const struct line *line)
{
    struct bill *b =
        line->estimate ? LIST_ADD(&quote->estimates, NULL) : LIST_ADD(&quote->bills, NULL);
    assert_non_null(b);
    b->total = amount(line->total);
    b->low = amount(line->low);
    b->high = amount(line->high);
    b->by_hours = amount(line->by_hours);
    b->waiting = amount(line->waiting);
    assert_int_equal(TEXTS_SET(NULL, {&b->offer, line->name},
                               {&b->certainty, line->estimate ? "estimated ±20 %" : NULL}),
                     0);
    if (line->incomplete)
        b->incomplete = some_bool(true);
}

static void check(const struct line *lines, size_t count, const char *expected)
{
    struct quote quote = {0};
    struct buf got = {0};
    for (size_t i = 0; i < count; i++)
        add(&quote, &lines[i]);
    assert_int_equal(quote_sort(&quote, NULL), 0);
    const struct bill **rows = quote_rows(&quote, NULL);
    assert_non_null(rows);
    for (size_t i = 0; rows[i]; i++) {
        assert_int_equal(rows[i]->place.v, i + 1);
        buf_printf(&got, "%s%s", i ? " " : "", rows[i]->offer);
    }
    assert_string_equal(buf_str(&got), expected);
    buf_release(&got);
    free(rows);
    record_release(quote_fields, &quote);
}
#define CHECK(expected, ...)                                                                       \
    do {                                                                                           \
        const struct line lines[] = {__VA_ARGS__};                                                 \
        check(lines, sizeof lines / sizeof *lines, expected);                                      \
    } while (0)
#define MEASURED(name, total, low, high)                                                           \
    {                                                                                              \
        name, total, low, high, NULL, NULL, false, false                                           \
    }
#define ESTIMATE(name, total, low, high)                                                           \
    {                                                                                              \
        name, total, low, high, NULL, NULL, true, false                                            \
    }

TEST(by_the_expected_bill)
{
    // No intervals overlap: plainly by the middle.
    CHECK("e1 m1 e2 m2 e3", MEASURED("m1", "3", "2.9", "3.1"), MEASURED("m2", "5", NULL, NULL),
          ESTIMATE("e3", "7", "6", "8"), ESTIMATE("e1", "1", "0.5", "2"),
          ESTIMATE("e2", "4", "3.5", "4.5"));
}

TEST(a_measured_one_first)
{
    // 2 (1 to 3) overlaps 3 (2.9 to 3.1): behind it, though cheaper at the middle.
    CHECK("m e", ESTIMATE("e", "2", "1", "3"), MEASURED("m", "3", "2.9", "3.1"));
    // 2 (1 to 2.9) touches it: that counts as overlapping.
    CHECK("m e", ESTIMATE("e", "2", "1", "2.9"), MEASURED("m", "3", "2.9", "3.1"));
    // 2 (1 to 2.89) is cheaper for sure.
    CHECK("e m", ESTIMATE("e", "2", "1", "2.89"), MEASURED("m", "3", "2.9", "3.1"));
    // Without an interval the measured bill is a point.
    CHECK("e m", ESTIMATE("e", "2", "1", "2.99"), MEASURED("m", "3", NULL, NULL));
    CHECK("m e", ESTIMATE("e", "2", "1", "3"), MEASURED("m", "3", NULL, NULL));
    // Equal middles: the measured one.
    CHECK("m e", ESTIMATE("e", "3", "3", "3"), MEASURED("m", "3", NULL, NULL));
}

TEST(behind_the_last_that_overlaps)
{
    // A rough 2 (0.2 to 20) overlaps 1, 5 and 18, not 30.
    CHECK("m1 m5 m18 e m30", ESTIMATE("e", "2", "0.2", "20"), MEASURED("m1", "1", NULL, NULL),
          MEASURED("m5", "5", NULL, NULL), MEASURED("m18", "18", NULL, NULL),
          MEASURED("m30", "30", NULL, NULL));
    // m10 reaches from 3 to 17, m9 is a point: 4 (2 to 6) overlaps m10 alone, and goes behind it.
    CHECK("m9 m10 e m11", ESTIMATE("e", "4", "2", "6"), MEASURED("m9", "9", NULL, NULL),
          MEASURED("m10", "10", "3", "17"), MEASURED("m11", "11", NULL, NULL));
    // Estimates of one key keep the order of their middles; a sure one stays in front.
    CHECK("s m a b", ESTIMATE("b", "4", "1", "9"), ESTIMATE("a", "3", "1", "9"),
          ESTIMATE("s", "3.5", "3.4", "3.6"), MEASURED("m", "5", NULL, NULL));
}

TEST(with_all_that_is_ranked)
{
    // Incomplete ones last, measured ones first among them.
    CHECK("e m hm he", {"he", "1", "0.5", "4", NULL, NULL, true, true},
          {"hm", "2", NULL, NULL, NULL, NULL, false, true}, ESTIMATE("e", "3", "3", "4"),
          MEASURED("m", "5", NULL, NULL));
    // Under an assumed rule started hours count: 1 by seconds is 3 by hours (interval 2.5 to 3.5).
    CHECK("m e", {"e", "1", "0.5", "1.5", "3", NULL, true, false}, MEASURED("m", "2", NULL, NULL));
    // Waiting counts: 1 (0.9 to 1.1) and 4 of waiting are 5 (4.9 to 5.1).
    CHECK("m e", {"e", "1", "0.9", "1.1", NULL, "4", true, false},
          MEASURED("m", "4.5", NULL, NULL));
}
