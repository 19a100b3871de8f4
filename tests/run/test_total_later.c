// SPDX-License-Identifier: Apache-2.0
// A total that is given after the run: what is projected follows from the measured parts, by hand.
#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "record/read.h"
#include "run/total_later.h"

static struct run run;

static void make(const char *text)
{
    struct err err = {0};
    memset(&run, 0, sizeof run);
    assert_ok(record_from_text(run_fields, text, strlen(text), &run, &err), &err);
}

static int end(void **state)
{
    (void)state;
    record_release(run_fields, &run);
    return 0;
}

#define HEAD "{\"id\":\"a\",\"name\":\"t\",\"steps\":100,\"step_ms\":200,"

// 5 s of start-up and 100 steps in 20 s, with one evaluation of 4 s: 1,000 steps take 5 + 200 s,
// and ten evaluations 40.
static void steps(void **state)
{
    (void)state;
    struct err err = {0};
    make(HEAD "\"step_plot_ms\":[200,200,200,200,200,200,200,200,200,200],\"phases\":{\"setup_ns\":"
              "5000000000,\"train_ns\":20000000000,\"evaluate_ns\":4000000000}}");
    assert_ok(total_later(&run, 1000, 0, &err), &err);
    assert_int_equal(run.total_steps.v, 1000);
    assert_string_equal(run.progress.total_from, "option");
    assert_true(run.projection.wall_s.v > 244 && run.projection.wall_s.v < 246);
    assert_true(run.projection.low_s.v < 245 && run.projection.high_s.v > 245);
    assert_true(run.projection.low_s.v > 5 * 0.6 + 200 * 0.98);
    assert_ok(total_later(&run, 50, 0, &err), &err); // less than was measured
    assert_true(run.projection.wall_s.v > 14 && run.projection.wall_s.v < 20);
}

// Without the times of its stretches, as a list of runs reads it.
static void without_a_plot(void **state)
{
    (void)state;
    struct err err = {0};
    make(HEAD "\"steady\":{\"low_ms\":190,\"high_ms\":210},\"phases\":{\"setup_ns\":5000000000,"
              "\"train_ns\":20000000000},\"progress\":{\"unseen\":[\"evaluation\"]}}");
    assert_ok(total_later(&run, 1000, 0, &err), &err);
    assert_true(run.projection.wall_s.v > 204 && run.projection.wall_s.v < 206);
    assert_true(run.projection.high_s.v > 205 + 0.35 * 180); // docs/projection.md
}

static void epochs(void **state)
{
    (void)state;
    struct err err = {0};
    make(HEAD "\"steps_per_epoch\":50,\"phases\":{\"setup_ns\":0,\"train_ns\":20000000000}}");
    assert_ok(total_later(&run, 0, 18, &err), &err);
    assert_int_equal(run.total_steps.v, 900);
    assert_true(run.projection.wall_s.v > 179 && run.projection.wall_s.v < 181);
    record_release(run_fields, &run);
    // It counts epochs itself.
    make(HEAD "\"progress\":{\"counts\":\"epochs\"},\"phases\":{\"train_ns\":20000000000}}");
    assert_ok(total_later(&run, 0, 300, &err), &err);
    assert_true(run.projection.wall_s.v > 59 && run.projection.wall_s.v < 61);
}

static void what_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"id\":\"a\",\"workload\":\"mlp\",\"steps\":100,\"phases\":{\"train_ns\":1000}}",
        "{\"id\":\"a\",\"phases\":{\"train_ns\":1000}}",
        "{\"id\":\"a\",\"steps\":0,\"phases\":{\"train_ns\":1000}}",
        "{\"id\":\"a\",\"steps\":2,\"step_ms\":1,\"phases\":{\"train_ns\":2000000}}",
        "{\"id\":\"a\",\"steps\":100,\"step_ms\":0,\"phases\":{\"train_ns\":0}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        make(bad[i]);
        assert_int_equal(total_later(&run, 1000, 0, &err), ERR_USAGE);
        assert_false(run.projection.wall_s.known);
        record_release(run_fields, &run);
    }
    struct err err = {0};
    make(HEAD "\"phases\":{\"train_ns\":20000000000}}");
    assert_int_equal(total_later(&run, 0, 3, &err), ERR_USAGE); // no steps per epoch
    record_release(run_fields, &run);
    make(HEAD "\"steps_per_epoch\":4503599627370496,\"phases\":{\"train_ns\":20000000000}}");
    assert_int_equal(total_later(&run, 0, 4503599627370496, &err), ERR_USAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(steps, end),
        cmocka_unit_test_teardown(without_a_plot, end),
        cmocka_unit_test_teardown(epochs, end),
        cmocka_unit_test_teardown(what_cannot_be, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
