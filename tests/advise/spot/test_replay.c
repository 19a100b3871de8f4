// SPDX-License-Identifier: Apache-2.0
// Replays whose result is known by counting on one's fingers. test_second.py has many more.
#include "advise/spot/replay.h"

#include <string.h>

#include "base/clock.h"
#include "advise/spot/policy.h"
#include "test.h"

#define H (3600 * NS_PER_S)
#define M (60 * NS_PER_S)

static const struct rule by_second = {.rate = 3600000000000, // 1 a second
                                      .per_ns = H,
                                      .unit_ns = NS_PER_S,
                                      .monthly_cap = -1,
                                      .gb_bytes = 1000000000,
                                      .storage_month_ns = 2592000 * NS_PER_S,
                                      .decimals = 9};

// Two hours had, one not, one had: four hours, then again.
static struct availability made(void)
{
    static struct availability_span up[] = {{0, 2 * H}, {3 * H, 4 * H}};
    return (struct availability){.up = up, .count = 2, .length_ns = 4 * H};
}

static void run(const struct replay *r, size_t index, struct replay_result *x)
{
    struct err err = {0};
    assert_ok(replay_one(r, index, x, &err), &err);
}

TEST(counted)
{
    struct availability trace = made();
    struct replay_result x;
    // An hour of start-up and work in pieces of 30 minutes: one piece by 2 h (1 h, 30 min, 5 min),
    // 25 minutes are lost. The second machine, from 3 h on, goes on across the seam to 6 h.
    struct replay r = {.work_ns = 90 * M,
                       .interval_ns = 30 * M,
                       .checkpoint_ns = 5 * M,
                       .first_ns = H,
                       .restart_ns = 30 * M,
                       .trace = &trace,
                       .rule = &by_second,
                       .count = 4};
    run(&r, 0, &x);
    assert_true(x.finished);
    assert_int_equal(x.interruptions, 1);
    assert_int_equal(x.lost_ns, 25 * M);
    assert_int_equal(x.wall_ns, 3 * H + 30 * M + 65 * M);
    assert_int_equal(x.charged_ns, 2 * H + 95 * M);
    assert_int_equal(x.nano, x.charged_ns / NS_PER_S * 1000000000);
    // In units of 45 minutes the first machine is charged for three of them, and the second, of 95
    // minutes, for three. If the unit that is broken off is free, the first is charged for two.
    struct rule units = by_second;
    units.unit_ns = 45 * M;
    r.rule = &units;
    run(&r, 0, &x);
    assert_int_equal(x.charged_ns, 6 * 45 * M);
    units.spot_partial_free = true;
    run(&r, 0, &x);
    assert_int_equal(x.charged_ns, 5 * 45 * M);
    assert_int_equal(x.nano, x.charged_ns / NS_PER_S * 1000000000);
    r.rule = &by_second;
    // With a notice of 5 minutes all but these is saved: 60 minutes less the notice are 55, of
    // which the first piece and its checkpoint are 35, so 50 of 90 minutes.
    r.notice_ns = 5 * M;
    run(&r, 0, &x);
    assert_int_equal(x.lost_ns, 5 * M);
    assert_int_equal(x.wall_ns, 3 * H + 30 * M + 45 * M);
    // Too short a notice is of no use.
    r.notice_ns = 5 * M - 1;
    run(&r, 0, &x);
    assert_int_equal(x.lost_ns, 25 * M);
    r.notice_ns = 0;
    // The second replay starts at 1 h, the third at 2 h: nothing until 3 h.
    run(&r, 2, &x);
    assert_int_equal(x.wall_ns, H + H + 100 * M);
    assert_int_equal(x.interruptions, 0);
    // Without checkpoints nothing is kept; 3 hours at a stretch are just enough.
    r.interval_ns = 0;
    r.work_ns = 150 * M;
    run(&r, 0, &x);
    assert_int_equal(x.wall_ns, 6 * H);
    assert_int_equal(x.lost_ns, H);
    r.work_ns++;
    run(&r, 0, &x);
    assert_false(x.finished);
}

TEST(never)
{
    struct err err = {0};
    struct availability trace = made();
    struct replay_summary s;
    struct replay r = {.work_ns = 5 * H,
                       .interval_ns = 2 * H,
                       .checkpoint_ns = 2 * H,
                       .trace = &trace,
                       .rule = &by_second,
                       .count = 10};
    assert_ok(replay_all(&r, &s, &err), &err); // a checkpoint longer than any stretch less its work
    assert_int_equal(s.finished, 0);
    trace.count = 0; // never to be had
    r.checkpoint_ns = 0;
    assert_ok(replay_all(&r, &s, &err), &err);
    assert_int_equal(s.finished, 0);
    assert_true(s.mean_interruptions == 0);
    // A fall-back ends even then, and in time.
    r.demand = &by_second;
    r.deadline_ns = 6 * H;
    assert_ok(replay_all(&r, &s, &err), &err);
    assert_int_equal(s.finished, 10);
    assert_int_equal(s.wall_ns.high, 6 * H);
    // At random, with hardly any time between.
    r = (struct replay){.work_ns = H,
                        .interval_ns = H,
                        .checkpoint_ns = M,
                        .mean_ns = 1,
                        .rule = &by_second,
                        .count = 2};
    assert_ok(replay_all(&r, &s, &err), &err);
    assert_int_equal(s.finished, 0);
}

TEST(always)
{
    struct availability_span whole = {0, H};
    struct availability trace = {.up = &whole, .count = 1, .length_ns = H};
    struct replay_result x;
    struct replay r = {.work_ns = 100 * H,
                       .interval_ns = 30 * M,
                       .checkpoint_ns = M,
                       .trace = &trace,
                       .rule = &by_second,
                       .count = 3};
    run(&r, 1, &x);
    assert_int_equal(x.interruptions, 0);
    assert_int_equal(x.wall_ns, 100 * H + 199 * M);
    r.life_ns = 24 * H; // 46 pieces and their checkpoints are 23 h 46 min
    run(&r, 1, &x);
    assert_int_equal(x.interruptions, 4);
    assert_int_equal(x.lost_ns, 4 * 14 * M);
    r.trace = NULL; // no hazard at all
    r.life_ns = 0;
    run(&r, 1, &x);
    assert_int_equal(x.wall_ns, 100 * H + 199 * M);
}

// AWS: free if it interrupts within the first hour; by its older rule the started hour is.
TEST(interrupted)
{
    struct availability_span up[] = {{0, 59 * M}, {2 * H, 3 * H + 30 * M}};
    struct availability trace = {.up = up, .count = 2, .length_ns = 4 * H};
    struct rule rule = by_second;
    struct replay_result x;
    struct replay r = {
        .work_ns = 100 * M, .interval_ns = 10 * M, .trace = &trace, .rule = &rule, .count = 1};
    rule.spot_first_hour_free = true;
    run(&r, 0, &x); // 50 minutes of 59, then 50 of 90
    assert_int_equal(x.wall_ns, 2 * H + 50 * M);
    assert_int_equal(x.nano, 50 * 60 * INT64_C(1000000000));
    rule = by_second;
    rule.unit_ns = H;
    rule.spot_partial_free = true;
    r.work_ns = 200 * M; // 50, then 90 in 90, then 50, then 10
    run(&r, 0, &x);
    assert_int_equal(x.interruptions, 3);
    assert_int_equal(x.nano, 2 * 3600 * INT64_C(1000000000));
}

TEST(prices)
{
    struct err err = {0};
    struct replay_prices p;
    struct spot_change changes[] = {{100, 10}, {200, 30}, {400, 20}};
    struct spot_series series = {.changes = changes, .count = 3, .until_s = 500};
    assert_ok(replay_prices_init(&p, &series, &err), &err);
    assert_int_equal(replay_price(&p, 0, 100 * NS_PER_S), 10);
    assert_int_equal(replay_price(&p, 50 * NS_PER_S, 100 * NS_PER_S), 20);
    assert_int_equal(replay_price(&p, 0, 400 * NS_PER_S), 23);              // 22.5
    assert_int_equal(replay_price(&p, 350 * NS_PER_S, 100 * NS_PER_S), 15); // across the end
    assert_int_equal(replay_price(&p, 4000 * NS_PER_S, 1), 10);
    replay_prices_release(&p);
    changes[2].at_s = 200;
    assert_int_equal(replay_prices_init(&p, &series, &err), ERR_FORMAT);
    series.count = 0;
    assert_int_equal(replay_prices_init(&p, &series, &(struct err){0}), ERR_FORMAT);
}

TEST(best_interval)
{
    struct err err = {0};
    int64_t best;
    struct replay_summary at, near;
    struct replay r = {.work_ns = 100 * H,
                       .checkpoint_ns = 5 * M,
                       .restart_ns = 10 * M,
                       .mean_ns = 6 * H,
                       .rule = &by_second,
                       .count = 200};
    // From far off: Daly's 57 minutes are where the bill is lowest, and it is flat there.
    assert_ok(replay_best_interval(&r, 5 * H, &best, &err), &err);
    assert_in_range(best, 40 * M, 80 * M);
    r.interval_ns = best;
    assert_ok(replay_all(&r, &at, &err), &err);
    r.interval_ns = 57 * M;
    assert_ok(replay_all(&r, &near, &err), &err);
    assert_true(at.mean_nano <= near.mean_nano && at.mean_nano > 0.98 * near.mean_nano);
}

TEST(too_large_a_plan)
{
    struct err err = {0};
    struct policy_plan *plan;
    const struct policy_job job = {
        .available = (const unsigned char *)"\1", .ticks = 1, .deadline = 1000000, .work = 9000000};
    int64_t cost;
    assert_int_equal(policy_plan_new(&job, &plan, &err), ERR_FORMAT);
    const struct policy_job none = {.available = job.available, .ticks = 1, .work = 5};
    assert_false(policy_can(&none));
    assert_ok(policy_best(&none, 0, &cost, &err), &err);
    assert_int_equal(cost, -1);
}
