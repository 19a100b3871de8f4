// SPDX-License-Identifier: Apache-2.0
// What is said below the table of trainings.
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/run_text.h"
#include "view/run_words.h"

static const struct run_plan plan = {.max_s = 60, .within = 0.02};

static void notes_of(struct run *run, struct buf *text)
{
    struct out out = {.width = 100};
    struct err err = {0};
    struct runs runs = {0};
    struct run *kept = LIST_ADD(&runs.runs, &err);
    assert_non_null(kept);
    *kept = *run;
    run_text_notes(&out, &runs, &plan);
    buf_adds(text, buf_str(&out.text));
    buf_release(&out.text);
    free(runs.runs.items);
}

TEST(what_was_measured_is_no_guess)
{
    char name[] = "mlp", kind[] = "unsteady";
    struct run run = {.workload = name, .steady = {.kind = kind}};
    struct buf text = {0};
    run.projection.wall_s = some_real(60);
    notes_of(&run, &text);
    assert_non_null(strstr(buf_str(&text), "never settled"));
    assert_non_null(strstr(buf_str(&text), "guess"));
    buf_reset(&text);
    run.projection.wall_s.known = false; // trained to the end
    notes_of(&run, &text);
    assert_non_null(strstr(buf_str(&text), "never settled"));
    assert_null(strstr(buf_str(&text), "guess"));
    buf_release(&text);
}

// A sample that ended at its limit says so, with the interval it got: 88 s to 104 s around 96 s are
// ±8.3 %.
TEST(the_time_limit_is_no_precision)
{
    char name[] = "mlp", by[] = "max-time", within[] = "within";
    struct run run = {.workload = name, .stopped_by = by};
    struct buf text = {0};
    run.projection.wall_s = some_real(96);
    run.projection.low_s = some_real(88);
    run.projection.high_s = some_real(104);
    notes_of(&run, &text);
    assert_non_null(
        strstr(buf_str(&text), "stopped at the time limit (60 s): total time known to ±8 %"));
    buf_reset(&text);
    run.stopped_by = within;
    assert_true(measure_stop_words(&plan, &run, &text));
    assert_string_equal(buf_str(&text), "stopped: total time known to ±8 %");
    buf_reset(&text);
    // A command's sample has a minute from its first step on, and may never show one.
    char none[] = "no-progress", no_total[] = "no-total";
    run.workload = NULL;
    run.stopped_by = by;
    assert_true(measure_stop_words(&plan, &run, &text));
    assert_string_equal(buf_str(&text), "stopped at the time limit (60 s after the first step): "
                                        "total time known to ±8 %");
    buf_reset(&text);
    run.stopped_by = none;
    assert_true(measure_stop_words(&plan, &run, &text));
    assert_string_equal(buf_str(&text),
                        "stopped: no progress was seen in 10 min (--max-time waits longer)");
    buf_reset(&text);
    run.stopped_by = no_total;
    assert_true(measure_stop_words(&plan, &run, &text));
    assert_string_equal(buf_str(&text), "stopped: its step time is known, its total is not");
    buf_reset(&text);
    run.stopped_by = within;
    run.projection.low_s = some_real(12);
    run.projection.high_s = some_real(305); // ±153 %
    assert_true(measure_stop_words(&plan, &run, &text));
    assert_string_equal(buf_str(&text),
                        "stopped: total time known only to be 12.0 s to 5 min 05 s");
    buf_reset(&text);
    run.stopped_by = NULL;
    assert_false(measure_stop_words(&plan, &run, &text));
    buf_release(&text);
}

// 60 s between 40 s and 100 s are ±50 %; between 12 s and 196 s they are ±153 %, which would read
// as if the training could end before it starts.
TEST(a_wide_interval_is_a_range)
{
    char name[] = "mlp";
    struct run run = {.workload = name};
    struct out out = {.width = 100};
    run.projection.wall_s = some_real(60);
    run.projection.low_s = some_real(40);
    run.projection.high_s = some_real(100);
    run_text_table(&out, &run, 1);
    assert_non_null(strstr(buf_str(&out.text), "1 min 00 s ± 50 %"));
    buf_reset(&out.text);
    run.projection.low_s = some_real(12);
    run.projection.high_s = some_real(196);
    run_text_table(&out, &run, 1);
    assert_non_null(strstr(buf_str(&out.text), "12.0 s to 3 min 16 s"));
    assert_null(strstr(buf_str(&out.text), "±"));
    buf_reset(&out.text);
    run.projection.low_s = some_real(60.02); // reversed: "± -0.0 %" once
    run.projection.high_s = some_real(60);
    run_text_table(&out, &run, 1);
    assert_non_null(strstr(buf_str(&out.text), "1 min 00 s ± 0.1 %"));
    buf_release(&out.text);
}

// Three batches, and whether each is saturated: -1 where that is not known.
static void say_batches(const int saturated[3], struct buf *text)
{
    static const int64_t sizes[] = {32, 64, 128};
    char name[] = "mlp";
    struct out out = {.width = 100};
    struct err err = {0};
    struct runs runs = {0};
    for (size_t i = 0; i < 3; i++) {
        struct run_group *g = LIST_ADD(&runs.groups, &err);
        assert_non_null(g);
        *g = (struct run_group){.workload = name, .batch = some_int(sizes[i])};
        g->samples_per_s = some_real(1);
        if (saturated[i] >= 0)
            g->saturated = some_bool(saturated[i]);
    }
    run_text_notes(&out, &runs, &plan);
    buf_reset(text);
    buf_adds(text, buf_str(&out.text));
    buf_release(&out.text);
    free(runs.groups.items);
}

TEST(it_saturates_only_where_a_larger_batch_was_tried)
{
    struct buf text = {0};
    say_batches((const int[]){0, 1, -1}, &text);
    assert_non_null(strstr(buf_str(&text), "saturates at batch 64:"));
    say_batches((const int[]){1, 1, -1}, &text);
    assert_non_null(strstr(buf_str(&text), "saturates at batch 32:"));
    assert_null(strstr(buf_str(&text), "64"));
    say_batches((const int[]){0, 0, -1}, &text);
    assert_null(strstr(buf_str(&text), "saturates"));
    assert_non_null(strstr(buf_str(&text), "batch 128, the largest tried, still gains"));
    buf_release(&text);
}

static void says_progress(const struct run *run, const char *expected)
{
    struct buf text = {0};
    run_words_progress(run, &text);
    assert_string_equal(buf_str(&text), expected);
    buf_release(&text);
}

// Lightning's rich bar into a pipe: everything comes in one piece at the end.
TEST(progress_is_told_in_one_sentence)
{
    char source[] = "Lightning", counter[] = "Epoch 11/11", counts[] = "steps", bar[] = "bar";
    struct run run = {.progress = {source, counter, counts, bar}, .full = some_bool(true)};
    says_progress(&run, "progress (Lightning) was reported only at the end, so only the time was "
                        "measured: some bars, such as rich's, are drawn only in a terminal");
    run.full = some_bool(false);
    says_progress(&run,
                  "progress (Lightning) was reported only once, so only the time was measured");
    run.steps = some_int(100);
    says_progress(&run, "steps and their total from Lightning ('Epoch 11/11')");
    run.progress.source = NULL;
    says_progress(&run, "");
}

// A trend is named, with its figures; answers that lengthen too.
TEST(a_step_time_that_changes_is_named)
{
    char source[] = "tqdm", counts[] = "steps", left[] = "time left";
    double times[] = {10, 10, 11, 13, 15, 15};
    struct run run = {.progress = {.source = source, .counts = counts, .total_from = left},
                      .full = some_bool(false),
                      .steps = some_int(100)};
    run.step_plot_ms.items = times;
    run.step_plot_ms.count = 6;
    says_progress(&run, "steps from tqdm, their total derived from the time left that it prints");
    run.progress.total_from = NULL;
    run.progress.unsteady = some_bool(true);
    says_progress(&run,
                  "steps from tqdm; the step time is not steady: it rose from 10 ms to 15 ms");
    run.progress.unsteady = (struct maybe_bool){0};
    run.progress.lengthens = some_bool(true);
    says_progress(&run, "steps from tqdm; the step time rose from 10 ms to 15 ms; steps generate "
                        "answers and take longer as these lengthen: the upper end allows for it");
    times[4] = times[5] = 10.2; // no change worth a word
    says_progress(&run,
                  "steps from tqdm; steps generate answers and take longer as these lengthen: "
                  "the upper end allows for it");
}
