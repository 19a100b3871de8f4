// SPDX-License-Identifier: Apache-2.0
// Repetitions: their median and spread, and what is none.
#include "test.h"

#include <stdlib.h>

#include "measure/after.h"

static void add(struct runs *runs, double ms, const char *ended)
{
    struct err err = {0};
    struct run *run = LIST_ADD(&runs->runs, &err);
    assert_non_null(run);
    assert_ok(text_set(&run->workload, "mlp", &err), &err);
    assert_ok(text_set(&run->ended, ended, &err), &err);
    run->batch = some_int(128);
    run->step_ms = some_real(ms);
}

TEST(runs_that_were_cut_off_are_no_repetitions)
{
    struct runs runs = {0};
    struct err err = {0};
    add(&runs, 100, "failed"); // the first of its kind
    add(&runs, 1, "sampled");
    add(&runs, 50, "stopped");
    add(&runs, 3, "finished");
    assert_ok(repeat_group(&runs, &err), &err);
    assert_int_equal(runs.groups.count, 1);
    const struct run_group *g = &runs.groups.items[0];
    assert_int_equal(g->runs.v, 2);
    assert_float_equal(g->step_ms.v, 2, 1e-12);
    assert_float_equal(g->low_ms.v, 1, 1e-12);
    assert_float_equal(g->high_ms.v, 3, 1e-12);
    assert_float_equal(g->spread.v, 1.4142135623730951 / 2, 1e-12); // of 1 and 3
    record_release(runs_fields, &runs);
}

TEST(one_that_is_left_has_no_spread)
{
    struct runs runs = {0};
    struct err err = {0};
    add(&runs, 1, "sampled");
    add(&runs, 9, "failed");
    assert_ok(repeat_group(&runs, &err), &err);
    assert_int_equal(runs.groups.items[0].runs.v, 1);
    assert_false(runs.groups.items[0].spread.known);
    record_release(runs_fields, &runs);
}

static void add_batch(struct runs *runs, int64_t batch, double samples_per_s)
{
    add(runs, 1, "sampled");
    struct run *run = &runs->runs.items[runs->runs.count - 1];
    run->batch = some_int(batch);
    run->samples_per_s = some_real(samples_per_s);
}

TEST(the_largest_batch_tried_saturates_nothing)
{
    struct runs runs = {0};
    struct err err = {0};
    add_batch(&runs, 512, 1400); // +40 %, and not in order
    add_batch(&runs, 128, 800);
    add_batch(&runs, 256, 1000);
    assert_ok(repeat_group(&runs, &err), &err);
    assert_int_equal(runs.groups.count, 3);
    assert_false(runs.groups.items[0].saturated.known);
    for (size_t i = 1; i < 3; i++) {
        assert_true(runs.groups.items[i].saturated.known);
        assert_false(runs.groups.items[i].saturated.v);
    }
    record_release(runs_fields, &runs);
}

TEST(a_batch_saturates_where_larger_ones_gain_little)
{
    struct runs runs = {0};
    struct err err = {0};
    add_batch(&runs, 32, 1000);
    add_batch(&runs, 64, 2000);
    add_batch(&runs, 128, 2080); // +4 %
    assert_ok(repeat_group(&runs, &err), &err);
    assert_false(runs.groups.items[0].saturated.v);
    assert_true(runs.groups.items[1].saturated.v);
    assert_false(runs.groups.items[2].saturated.known);
    record_release(runs_fields, &runs);
}

static void add_full(struct runs *runs, double accuracy, bool reached)
{
    add(runs, 1, "finished");
    struct run *run = &runs->runs.items[runs->runs.count - 1];
    run->full = some_bool(true);
    run->test_accuracy = some_real(accuracy);
    run->reached = some_bool(reached);
}

// The workload's own target.
static bool passed(const struct runs *runs)
{
    struct buf says = {0};
    bool good = gate_passed(&(struct gate){0}, runs, &says);
    buf_release(&says);
    return good;
}

// mlp's target, 98.0 %, is for the mean of several seeds (WORKLOADS.md).
TEST(seeds_are_judged_by_their_mean)
{
    struct runs runs = {0};
    struct err err = {0};
    assert_false(passed(&runs)); // there is nothing to judge
    add(&runs, 1, "sampled");
    assert_false(passed(&runs));
    add_full(&runs, 0.979, false);
    assert_false(passed(&runs));
    add_full(&runs, 0.981, true);
    add_full(&runs, 0.9805, true);
    assert_true(passed(&runs));
    assert_ok(repeat_group(&runs, &err), &err);
    const struct run_group *g = &runs.groups.items[0];
    assert_float_equal(g->accuracy.v, 2.9405 / 3, 1e-12);
    assert_float_equal(g->low_accuracy.v, 0.979, 0);
    assert_float_equal(g->high_accuracy.v, 0.981, 0);
    assert_float_equal(g->accuracy_spread.v, 0.00104083299973, 1e-12); // sqrt(13 / 12) / 1000
    assert_int_equal(g->reached.v, 2);
    add_full(&runs, 0.97, false); // the mean is 97.76 % now
    assert_false(passed(&runs));
    record_release(runs_fields, &runs);
}
