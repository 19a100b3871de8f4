// SPDX-License-Identifier: Apache-2.0
// The totals of all starts of a job: what is known of one counts, what is not is said.
#include "save/guard.h"

#include <stdlib.h>

#include "test.h"

static char finished[] = "finished", interrupted[] = "interrupted", killed[] = "killed";

static struct run_saving total(struct run_attempt *starts, size_t count)
{
    struct err err = {0};
    struct run_saving s = {0};
    s.attempts.items = starts;
    s.attempts.count = count;
    assert_ok(history_total(&s, &err), &err);
    s.attempts.items = NULL; // not ours
    s.attempts.count = 0;
    return s;
}

TEST(test_all_known)
{
    struct run_attempt starts[] = {{.ended = interrupted,
                                    .wall_s = some_real(9),
                                    .lost_s = some_real(2),
                                    .usd = some_money(0),
                                    .on_demand_usd = some_money(4500000000)},
                                   {.ended = finished,
                                    .wall_s = some_real(10),
                                    .usd = some_money(1250000000),
                                    .on_demand_usd = some_money(4500000000)}};
    struct run_saving s = total(starts, 2);
    assert_string_equal(money_exact(s.usd).s, "1.25");
    assert_string_equal(money_exact(s.on_demand_usd).s, "9.00");
    assert_false(s.unpriced.known);
    assert_int_equal(s.interruptions.v, 1);
    assert_true(s.wall_s.v == 19 && s.lost_s.v == 2);
}

// Killed before it was heard of: the others keep their bill.
TEST(test_one_unknown)
{
    struct run_attempt starts[] = {{.ended = killed, .wall_s = some_real(0)},
                                   {.ended = finished,
                                    .wall_s = some_real(10),
                                    .usd = some_money(1250000000),
                                    .on_demand_usd = some_money(4500000000)}};
    struct run_saving s = total(starts, 2);
    assert_string_equal(money_exact(s.usd).s, "1.25");
    assert_string_equal(money_exact(s.on_demand_usd).s, "4.50");
    assert_int_equal(s.unpriced.v, 1);
    s = total(starts, 1);
    assert_false(s.usd.known);
    assert_false(s.on_demand_usd.known);
    assert_false(s.unpriced.known);
}
