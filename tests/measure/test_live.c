// SPDX-License-Identifier: Apache-2.0
// How far a run is: meters that began some time ago, and a machine that costs 36 USD an hour, a
// cent for each second that was begun, but at least five.
#include "measure/session.h"

#include <math.h>

#include "base/clock.h"
#include "base/money.h"
#include "test.h"

#define CENT (MONEY_UNIT / 100)

static int cents(const void *price, int64_t ns, int64_t *nano, struct err *err)
{
    (void)price, (void)err;
    int64_t begun = (ns + NS_PER_S - 1) / NS_PER_S;
    *nano = (begun > 5 ? begun : 5) * CENT;
    return 0;
}

static int too_much(const void *price, int64_t ns, int64_t *nano, struct err *err)
{
    (void)price, (void)ns, (void)nano;
    return err_set(err, ERR_OVERFLOW, "too much");
}

static const struct live_price price = {.offer = "acme", .hour = 36 * MONEY_UNIT, .cost = cents};

static const struct run_plan whole = {.full = true};

// Begun `ago_s` seconds ago, all of it but `before_s` for steps.
static struct meter *meter_of(double ago_s, double before_s, int64_t steps, int64_t total)
{
    struct err err = {0};
    struct meter *meter;
    int64_t start_ns = clock_now_ns() - (int64_t)(ago_s * 1e9);
    assert_ok(meter_new(&meter, start_ns, &err), &err);
    meter_plan(meter, &(struct meter_plan){.stage_steps = {total}});
    meter_at(meter, start_ns + (int64_t)(before_s * 1e9));
    meter_phase(meter, METER_TRAIN);
    for (int64_t i = 0; i < steps; i++) {
        double each_s = (ago_s - before_s) / (double)steps;
        meter_at(meter, start_ns + (int64_t)((before_s + each_s * (double)(i + 1)) * 1e9));
        meter_steps(meter, 0, 1);
    }
    meter_at(meter, 0);
    return meter;
}

TEST(samples)
{
    struct live live;
    struct meter *meter = meter_of(8.2, 0.2, 0, 0);
    const struct run_plan timed = {.max_s = 20, .within = 0.02};
    live_look(&timed, &price, meter, 3, 100, &live);
    assert_true(fabs(live.elapsed_s - 8.2) < 0.1 && fabs(live.left_s - 11.8) < 0.1);
    assert_true(fabs(live_share(&live) - 0.41) < 0.01); // of its time, not 3 of 100
    assert_true(live.at_most && live.timed);
    assert_int_equal(live.bill, 9 * CENT);
    assert_int_equal(live.projected, 20 * CENT);
    assert_true(live.whole < 0);

    // Its money ends it before.
    struct run_plan spent = timed;
    spent.until_ns = clock_now_ns() + 4 * NS_PER_S - NS_PER_S / 2;
    live_look(&spent, &price, meter, 0, 0, &live);
    assert_true(fabs(live.left_s - 3.5) < 0.1 && live.at_most);
    assert_int_equal(live.projected, 12 * CENT);

    // A command that tells nothing: no end, no share, but a bill.
    live_look(&whole, &price, meter, 0, 0, &live);
    assert_true(live.left_s < 0 && live_share(&live) < 0 && live.projected < 0 && !live.at_most);
    assert_int_equal(live.bill, 9 * CENT);

    // No price, or none that can be counted: no money.
    live_look(&whole, NULL, meter, 0, 0, &live);
    assert_true(live.bill < 0 && live.projected < 0 && live.whole < 0);
    const struct live_price none = {.offer = NULL}, large = {.offer = "x", .cost = too_much};
    live_look(&whole, &none, meter, 0, 0, &live);
    assert_true(live.bill < 0);
    live_look(&whole, &large, meter, 0, 0, &live);
    assert_true(live.bill < 0);
    meter_free(meter);
}

// 60 steps in six seconds after two: a tenth of a second each.
TEST(counted)
{
    struct live live;
    struct meter *meter = meter_of(8, 2, 60, 100);
    const struct run_plan fixed = {.steps = 100, .max_s = 60};
    live_look(&fixed, &price, meter, 60, 100, &live);
    assert_true(fabs(live.left_s - 4) < 0.1 && fabs(live_share(&live) - 0.6) < 1e-9);
    assert_false(live.timed || live.at_most);
    live_look(&fixed, &price, meter, 160, 100, &live); // it told nonsense
    assert_true(live.left_s == 0 && live_share(&live) == 1);
    meter_free(meter);
}

// Once the meter has looked, its projection counts: 100 steps of a tenth and the two seconds.
TEST(projected)
{
    struct live live;
    struct meter_outlook outlook;
    struct meter *meter = meter_of(8, 2, 60, 100);
    meter_outlook(meter, &outlook);
    assert_true(outlook.wall_s == 0 && outlook.steps == 60 && fabs(outlook.before_s - 2) < 1e-6);
    assert_false(meter_enough(meter));
    live_look(&whole, &price, meter, 60, 100, &live);
    assert_true(fabs(live.elapsed_s + live.left_s - 12) < 0.2);
    assert_in_range(live.projected, 12 * CENT, 13 * CENT);
    assert_true(live.whole < 0); // it is the whole
    live_look(&(struct run_plan){.max_s = 9}, &price, meter, 60, 100, &live);
    assert_true(live.left_s < 1.1);
    assert_in_range(live.whole, 12 * CENT, 13 * CENT);
    live_look(&(struct run_plan){.max_s = 60}, &price, meter, 60, 100, &live);
    assert_true(live.left_s < 4.3); // the training itself ends before that
    meter_free(meter);
}

TEST(record)
{
    struct err err = {0};
    struct run_live out = {0};
    const struct live live = {.elapsed_s = 8.5,
                              .left_s = 1.5,
                              .timed = true,
                              .bill = 9 * CENT,
                              .projected = 10 * CENT,
                              .whole = -1};
    assert_ok(live_fill(&live, &price, &out, &err), &err);
    assert_true(out.elapsed_s.v == 8.5 && out.left_s.v == 1.5 && out.share.v == 0.85);
    assert_false(out.at_most.known);
    assert_string_equal(out.offer, "acme");
    assert_string_equal(money_exact(out.usd_per_hour).s, "36.00");
    assert_string_equal(money_exact(out.bill_usd).s, "0.09");
    assert_string_equal(money_exact(out.projected_usd).s, "0.10");
    assert_false(out.whole_usd.known);
    struct run run = {.live = out};
    record_release(run_fields, &run);
}
