// SPDX-License-Identifier: Apache-2.0
// A total that is given after the run: what is projected follows from the measured parts, by hand.
#include "test.h"

#include <string.h>

#include "base/buf.h"
#include "record/read.h"
#include "follow/counters.h"

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
TEST_WITH(steps, NULL, end)
{
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
TEST_WITH(without_a_plot, NULL, end)
{
    struct err err = {0};
    make(HEAD "\"steady\":{\"low_ms\":190,\"high_ms\":210},\"phases\":{\"setup_ns\":5000000000,"
              "\"train_ns\":20000000000},\"progress\":{\"unseen\":[\"evaluation\"]}}");
    assert_ok(total_later(&run, 1000, 0, &err), &err);
    assert_true(run.projection.wall_s.v > 204 && run.projection.wall_s.v < 206);
    assert_true(run.projection.high_s.v > 205 + 0.35 * 180); // docs/projection.md
}

// 80 steps of 380 ms or more, far apart: 9,310 more take 59 min at least on a GPU, whatever else
// the CPUs did. On the CPUs others took at most as much from it as it used itself: a quarter of one
// of two.
TEST_WITH(beside_others, NULL, end)
{
    static const struct {
        const char *use;
        double faster;
    } cases[] = {
        {"\"use\":{\"gpus\":1,\"cpu_percent\":90,\"other_cpu_percent\":175}", 1},
        {"\"use\":{\"cpu_percent\":25,\"other_cpu_percent\":175}", 1 - 0.25 / 2},
        {"\"use\":{\"cpu_percent\":190,\"other_cpu_percent\":190}", 0.5},
        {"\"use\":{\"cpu_percent\":190,\"other_cpu_percent\":8}", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err err = {0};
        struct buf text = {0};
        buf_printf(&text,
                   "{\"id\":\"a\",\"name\":\"t\",\"steps\":80,\"step_ms\":800,\"machine\":{"
                   "\"usable_cpus\":2},%s,\"phases\":{\"train_ns\":64000000000},\"step_plot_ms\":[",
                   cases[i].use);
        for (int n = 0; n < 80; n++)
            buf_printf(&text, "%s%d", n ? "," : "", n / 8 % 2 ? 1220 : 380);
        buf_adds(&text, "]}");
        make(buf_str(&text));
        assert_ok(total_later(&run, 9390, 0, &err), &err);
        double least_s = cases[i].faster * 0.96 * 9310 * 0.38;
        assert_true(run.projection.low_s.v >= least_s && run.projection.low_s.v < 9390 * 0.8);
        buf_release(&text);
        record_release(run_fields, &run);
    }
    memset(&run, 0, sizeof run);
}

TEST_WITH(epochs, NULL, end)
{
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

TEST_WITH(what_cannot_be, NULL, end)
{
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
