// SPDX-License-Identifier: Apache-2.0
// The totals of all starts of a job: what is known of one counts, what is not is said.
#include "guard/guard.h"

#include <stdlib.h>

#include "test.h"

static char finished[] = "finished", interrupted[] = "interrupted", killed[] = "killed";
static char nothing[] = "0.00", some[] = "1.25", more[] = "4.50";

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

static void forget(struct run_saving *s)
{
    free(s->usd);
    free(s->on_demand_usd);
}

static void test_all_known(void **state)
{
    (void)state;
    struct run_attempt starts[] = {
        {.ended = interrupted,
         .wall_s = some_real(9),
         .lost_s = some_real(2),
         .usd = nothing,
         .on_demand_usd = more},
        {.ended = finished, .wall_s = some_real(10), .usd = some, .on_demand_usd = more}};
    struct run_saving s = total(starts, 2);
    assert_string_equal(s.usd, "1.25");
    assert_string_equal(s.on_demand_usd, "9.00");
    assert_false(s.unpriced.known);
    assert_int_equal(s.interruptions.v, 1);
    assert_true(s.wall_s.v == 19 && s.lost_s.v == 2);
    forget(&s);
}

// Killed before it was heard of: the others keep their bill.
static void test_one_unknown(void **state)
{
    (void)state;
    struct run_attempt starts[] = {
        {.ended = killed, .wall_s = some_real(0)},
        {.ended = finished, .wall_s = some_real(10), .usd = some, .on_demand_usd = more}};
    struct run_saving s = total(starts, 2);
    assert_string_equal(s.usd, "1.25");
    assert_string_equal(s.on_demand_usd, "4.50");
    assert_int_equal(s.unpriced.v, 1);
    forget(&s);
    s = total(starts, 1);
    assert_null(s.usd);
    assert_null(s.on_demand_usd);
    assert_false(s.unpriced.known);
    forget(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_known),
                                       cmocka_unit_test(test_one_unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
