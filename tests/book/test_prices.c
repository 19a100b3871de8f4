// SPDX-License-Identifier: Apache-2.0
// An offer's history, row by row, and against a plain list of what was seen on each day.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "book/stock.h"

static struct image_price at(int64_t rate, int since, int seen)
{
    return (struct image_price){.rate = rate, .per_s = 3600, .since = since, .seen = seen};
}

static void see(struct prices *p, int64_t rate, int day, bool expected)
{
    struct err err = {0};
    bool changed;
    struct image_price price = at(rate, day, day);
    assert_ok(prices_observe(p, &price, &changed, &err), &err);
    assert_int_equal(changed, expected);
}

TEST(same_price_is_one_row)
{
    struct prices p = {0};
    see(&p, 90, 100, true);
    see(&p, 90, 130, false);
    see(&p, 90, 110, false);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.items[0].since, 100);
    assert_int_equal(p.items[0].seen, 130);
    prices_release(&p);
}

TEST(change_adds_a_row)
{
    struct prices p = {0};
    see(&p, 90, 100, true);
    see(&p, 80, 130, true);
    see(&p, 90, 160, true);
    assert_int_equal(p.count, 3);
    assert_int_equal(prices_on(p.items, p.count, 129)->rate, 90);
    assert_int_equal(prices_on(p.items, p.count, 130)->rate, 80);
    assert_int_equal(prices_on(p.items, p.count, 0)->rate, 90);
    assert_null(prices_on(p.items, p.count, 99));
    prices_release(&p);
}

TEST(older_file_comes_later)
{
    struct prices p = {0};
    see(&p, 80, 130, true);
    see(&p, 90, 100, true);  // before everything
    see(&p, 80, 120, false); // 80 held earlier than was known
    assert_int_equal(p.count, 2);
    assert_int_equal(p.items[1].since, 120);
    assert_int_equal(p.items[1].seen, 130);
    prices_release(&p);
}

TEST(in_the_middle_of_a_known_time)
{
    struct prices p = {0};
    see(&p, 90, 100, true);
    see(&p, 90, 200, false);
    see(&p, 70, 150, true);
    assert_int_equal(p.count, 3);
    assert_int_equal(prices_on(p.items, p.count, 150)->rate, 70);
    assert_int_equal(prices_on(p.items, p.count, 200)->rate, 90);
    assert_int_equal(prices_on(p.items, p.count, 100)->rate, 90);
    prices_release(&p);
}

TEST(two_prices_on_one_date)
{
    struct prices p = {0};
    see(&p, 90, 100, true);
    see(&p, 80, 100, true); // a correction: both stay, the later one holds
    see(&p, 90, 100, false);
    assert_int_equal(p.count, 2);
    assert_int_equal(prices_on(p.items, p.count, 0)->rate, 80);
    prices_release(&p);
}

// Whatever the order of sightings: rows stay in order, and what was seen last holds on its day. In
// the order of time, every sighting ever made holds on its day. (Out of order that cannot be: of a
// price that was seen thrice only the first and the last date are kept.)
TEST(any_order)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int round = 0; round < 3000; round++) {
        struct prices p = {0};
        int64_t truth[64] = {0};
        for (int n = 0; n < 20; n++) {
            int day = round % 2 ? 1 + (int)rng_below(&rng, 60) : 1 + 3 * n;
            int64_t rate = 1 + (int64_t)rng_below(&rng, 3);
            if (truth[day] != 0)
                rate = truth[day];
            truth[day] = rate;
            struct err err = {0};
            bool changed;
            struct image_price price = at(rate, day, day);
            assert_ok(prices_observe(&p, &price, &changed, &err), &err);
            assert_int_equal(prices_on(p.items, p.count, day)->rate, rate);
        }
        for (size_t i = 0; i < p.count; i++) {
            assert_true(p.items[i].since <= p.items[i].seen);
            if (i > 0)
                assert_true(p.items[i - 1].seen < p.items[i].since);
        }
        for (int day = 1; day < 64; day++)
            if (truth[day] != 0 && round % 2 == 0)
                assert_int_equal(prices_on(p.items, p.count, day)->rate, truth[day]);
        prices_release(&p);
    }
}
