// SPDX-License-Identifier: Apache-2.0
// The GPU's account adds up to the step time that was measured. h200-loaders.jsonl has records of
// a ResNet-50 on an H200 whose loader (w0, w2 and w8 workers; w8bar with tqdm) is slower than the
// GPU, of the same net with its data on the GPU ("resident"), and of two programs that wait for the
// host. Expectations follow from the measured step times and from the resident run.
#include "record/reconcile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/read.h"
#include "view/account.h"
#include "test.h"

static void read_run(const char *text, size_t len, struct run *run)
{
    struct err err = {0};
    memset(run, 0, sizeof *run);
    assert_ok(record_from_text(run_fields, text, len, run, &err), &err);
}

static void loader(const char *name, struct run *run)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    FILE *file = fopen(TESTS_DIR "/record/h200-loaders.jsonl", "r");
    assert_non_null(file);
    memset(run, 0, sizeof *run);
    while (!run->name && (len = getline(&line, &cap, file)) > 0) {
        read_run(line, (size_t)len, run);
        if (strcmp(run->name, name) != 0)
            record_release(run_fields, run);
    }
    assert_non_null(run->name);
    free(line);
    fclose(file);
}

static void says(const struct run *run, const char *sentence)
{
    struct buf out = {0};
    account_sentence(&run->account, &out);
    assert_string_equal(buf_str(&out), sentence);
    buf_release(&out);
}

#define assert_near(value, expected, most) assert_true(fabs((value) - (expected)) <= (most))

static void adds_up(const struct run *run)
{
    const struct run_account *a = &run->account;
    double work = 0;
    for (size_t i = 0; i < a->work.count; i++)
        work += a->work.items[i].share.v;
    assert_near(work, a->busy_share.v, 1e-4);
    assert_near(a->busy_share.v + a->data_share.v + a->sync_share.v + a->host_share.v +
                    a->short_share.v + a->unseen_share.v,
                1, 1e-4);
}

// A recorded step of 15 ms in which the GPU works 92 %; steps of 109 ms; 8 % busy by NVML and GPM.
// So the GPU works 0.92 × 15 = 13.8 ms of 109: 12.7 %. The records have 1.2 ms of waiting, and what
// is missing are 94 ms.
#define BURST                                                                                      \
    "{\"step_ms\":109,\"steady\":{\"steps\":500,\"from_s\":10,\"to_s\":64.5},\"phases\":{"         \
    "\"train_ns\":54500000000},\"account\":{\"steps\":7,\"step_ms\":15,\"busy_share\":0.92,"       \
    "\"data_share\":0,\"sync_share\":0.02,\"host_share\":0.05,\"short_share\":0.01,\"processes\":" \
    "1,\"launches_per_step\":500,\"work\":[{\"name\":\"convolutions\",\"share\":0.9},{\"name\":"   \
    "\"copies to the GPU\",\"share\":0.02}]},"

static void burst(const char *rest, struct run *run)
{
    char text[2048];
    int len = snprintf(text, sizeof text, BURST "%s}", rest);
    read_run(text, (size_t)len, run);
}

TEST(a_burst_between_two_waits)
{
    struct run run;
    burst("\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":8,\"sm_percent\":8,\"cpu_percent\":830,"
          "\"workers_cpu_percent\":800}}",
          &run);
    assert_true(run_reconcile(&run));
    assert_near(run.account.full_step_ms.v, 109, 0.001);
    assert_near(run.account.busy_share.v, 13.8 / 109, 1e-4);
    assert_near(run.account.data_share.v, 94.0 / 109, 1e-4);
    assert_near(run.account.host_share.v, 0.05 * 15 / 109, 1e-4);
    assert_near(run.account.work.items[0].share.v, 0.9 * 15 / 109, 1e-4);
    assert_true(run.account.step_ms.v == 15 && run.account.launches_per_step.v == 500);
    adds_up(&run);
    says(&run, "the GPU waits 86 % of each step for data; a faster GPU will not help");
    assert_false(run_reconcile(&run)); // once
    assert_near(run.account.busy_share.v, 13.8 / 109, 1e-4);
    record_release(run_fields, &run);
}

// Nothing shows what the program waits for: its main process works all the time, without workers.
TEST(an_unknown_reason)
{
    struct run run;
    burst(
        "\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":8,\"sm_percent\":8,\"cpu_percent\":100}}",
        &run);
    assert_true(run_reconcile(&run));
    assert_near(run.account.unseen_share.v, 94.0 / 109, 1e-4);
    assert_true(run.account.data_share.v == 0);
    adds_up(&run);
    says(&run,
         "the GPU waits 86 % of each step outside of the steps that were recorded; a faster GPU "
         "will not help");
    record_release(run_fields, &run);
}

// Epochs, whose time says nothing of a step.
TEST(epochs_are_no_steps)
{
    struct run run;
    burst("\"progress\":{\"counts\":\"epochs\"}", &run);
    assert_false(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 0.92, 1e-9);
    record_release(run_fields, &run);
    // Trainer without its bar (H200, 2026-11-18): an epoch of 13.4 s "launched 327010 kernels".
    static const char text[] =
        "{\"step_ms\":13400,\"steady\":{\"steps\":2,\"from_s\":2,\"to_s\":29},\"phases\":{\"train_"
        "ns\":"
        "27000000000},\"progress\":{\"counts\":\"epochs\"},\"account\":{\"steps\":7,\"step_ms\":12,"
        "\"between_ms\":12,\"busy_share\":0.24,\"host_share\":0.76,\"processes\":1,"
        "\"launches_per_step\":290}}";
    read_run(text, sizeof text - 1, &run);
    run_reconcile(&run);
    assert_near(run.account.launches_per_step.v, 290, 1e-9);
    record_release(run_fields, &run);
}

// Without utilisation the measured step time alone counts.
TEST(no_utilisation)
{
    struct run run;
    burst("\"use\":{\"gpus\":1}", &run);
    assert_true(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 13.8 / 109, 1e-4);
    adds_up(&run);
    record_release(run_fields, &run);
}

// On an H200 with tqdm (w8bar, 2026-11-18), a few kernels of the optimizer passed for steps of
// 0.034 ms: 0.03 % of the step, and by GPM the GPU works for 11.5 % of the time. Nothing is known
// then.
TEST(far_too_little_work)
{
    static const char text[] =
        "{\"step_ms\":122.3,\"steady\":{\"steps\":161,\"from_s\":10.4,\"to_s\":27.8},\"phases\":{"
        "\"train_ns\":17600000000},\"account\":{\"steps\":8,\"step_ms\":0.0343,\"between_ms\":114."
        "3,"
        "\"busy_share\":0.94,\"host_share\":0.06,\"processes\":1,\"launches_per_step\":1,\"work\":["
        "{"
        "\"name\":\"optimizer\",\"share\":0.94}]},\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":"
        "9.4,\"sm_percent\":11.5,\"cpu_percent\":830,\"workers_cpu_percent\":800}}}";
    struct run run;
    read_run(text, sizeof text - 1, &run);
    assert_true(run_reconcile(&run));
    assert_false(run.account.busy_share.known || run.account.launches_per_step.known);
    assert_int_equal(run.account.work.count, 0);
    assert_string_equal(run.account.off, "the recorded steps contradict the GPU's utilisation");
    says(&run, "");
    record_release(run_fields, &run);
}

// Of a GPT-2 on an H200 (share/published/2026-gpt2.jsonl) the kernels show layers: 3.57 ms of
// 139.7. By NVML its GPU is busy 86 % of the time, so it does not wait 97 % of it.
TEST(steps_that_are_layers)
{
    struct run run;
    burst("\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":86,\"sm_percent\":83}}", &run);
    assert_false(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 0.92, 1e-9);
    assert_near(run.account.full_step_ms.v, 109, 0.001);
    assert_near(run.account.launches_per_step.v, 500 * 109.0 / 15, 0.01);
    adds_up(&run);
    record_release(run_fields, &run);
}

// The number of launches tells which of the two it is, without any utilisation: from burst to burst
// a step takes as long as in the burst, or as long as the run's.
TEST(launches_tell)
{
    struct run run;
    burst("\"use\":{\"gpus\":1}", &run);
    run.account.between_ms = some_real(15.5);
    assert_false(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 0.92, 1e-9);
    assert_near(run.account.launches_per_step.v, 500 * 109 / 15.5, 0.01);
    record_release(run_fields, &run);
    burst("\"use\":{\"gpus\":1}", &run);
    run.account.between_ms = some_real(112);
    assert_true(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 13.8 / 109, 1e-4);
    adds_up(&run);
    record_release(run_fields, &run);
    // Layers, and between two bursts the GPU waits for half of the time.
    burst("\"use\":{\"gpus\":1}", &run);
    run.account.between_ms = some_real(30);
    assert_true(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 0.46, 1e-4);
    adds_up(&run);
    record_release(run_fields, &run);
}

// A bar counts batches, and the optimizer runs after four: half of the time is work, in both. The
// records' step is four of the bar's.
TEST(batches_and_updates)
{
    static const char text[] =
        "{\"step_ms\":25,\"steady\":{\"steps\":2000,\"from_s\":10,\"to_s\":60},\"phases\":{"
        "\"train_ns\":50000000000},\"account\":{\"steps\":8,\"step_ms\":100,\"busy_share\":0.5,"
        "\"host_share\":0.5,\"processes\":1,\"launches_per_step\":4000,\"work\":[{\"name\":"
        "\"attention\",\"share\":0.5}]},\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":60}}}";
    struct run run;
    read_run(text, sizeof text - 1, &run);
    assert_false(run_reconcile(&run));
    assert_true(run.account.busy_share.v == 0.5 && run.account.host_share.v == 0.5);
    assert_near(run.account.launches_per_step.v, 1000, 1e-6);
    record_release(run_fields, &run);
}

// A checkpoint after each 100 steps takes as long as they do: utilisation is half of the steps'.
TEST(checkpoints_between)
{
    static const char text[] =
        "{\"step_ms\":20,\"steady\":{\"steps\":1000,\"from_s\":10,\"to_s\":50},\"phases\":{"
        "\"train_ns\":20000000000,\"checkpoint_ns\":20000000000},\"account\":{\"steps\":8,"
        "\"step_ms\":19.8,\"busy_share\":0.95,\"short_share\":0.05,\"processes\":1,\"work\":[{"
        "\"name\":\"attention\",\"share\":0.95}]},\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":"
        "49,\"sm_percent\":40}}}";
    struct run run;
    read_run(text, sizeof text - 1, &run);
    assert_false(run_reconcile(&run));
    assert_true(run.account.busy_share.v == 0.95);
    assert_near(run.account.full_step_ms.v, 20, 1e-9);
    record_release(run_fields, &run);
}

// CUDA graphs have no launches to count: steps between bursts are derived from the recorded step
// time, which then agrees with itself. The utilisation does not.
TEST(utilisation_alone)
{
    struct run run;
    burst("\"use\":{\"gpus\":1,\"steady\":{\"gpu_percent\":8,\"cpu_percent\":20}}", &run);
    run.phases.train_ns = some_int(7500000000); // 500 × 15 ms
    run.steady.to_s = some_real(17.5);
    assert_true(run_reconcile(&run));
    assert_near(run.account.busy_share.v, 0.08, 1e-9);
    adds_up(&run);
    says(&run, "the GPU waits 84 % of each step for data; a faster GPU will not help");
    record_release(run_fields, &run);
}

// The work per step is that of the net with its data on the GPU, 0.9185 × 16.52 = 15.18 ms, and 0.8
// ms for the copy of a batch (38.5 MB), whatever the loader; the rest of the measured step is
// waiting, for data.
TEST(loaders_on_an_h200)
{
    static const struct {
        const char *name;
        double step_ms; // (to_s - from_s) / steps
    } cases[] = {{"w0", 134.01}, {"w2", 160.29}, {"w8", 106.79}, {"w8bar", 104.30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run;
        loader(cases[i].name, &run);
        run_reconcile(&run);
        const struct run_account *a = &run.account;
        assert_near(a->full_step_ms.v, cases[i].step_ms, 0.01 * cases[i].step_ms);
        assert_near(a->busy_share.v * a->full_step_ms.v, 15.98, 0.1 * 15.98);
        assert_true(a->data_share.v > 0.6);
        adds_up(&run);
        struct buf out = {0};
        account_sentence(a, &out);
        assert_non_null(strstr(buf_str(&out), "for data; a faster GPU will not help"));
        buf_release(&out);
        record_release(run_fields, &run);
    }
}

TEST(others_on_an_h200)
{
    struct run run;
    loader("resident", &run);
    assert_false(run_reconcile(&run));
    assert_near(run.account.full_step_ms.v, 17.03, 0.01); // 16.691 s, 980 steps
    says(&run, "the GPU works 92 % of each step, 67 % of that on element-wise and reductions");
    record_release(run_fields, &run);
    // Recording slowed these by a third and a sixth; the GPU's own work does not change: 0.1756 ×
    // 14.945 ms of 11.197, 0.265 × 2.593 of 2.230.
    loader("trainer", &run);
    run_reconcile(&run);
    assert_near(run.account.busy_share.v, 0.2344, 0.0005);
    adds_up(&run);
    record_release(run_fields, &run);
    loader("plain", &run);
    run_reconcile(&run);
    assert_near(run.account.busy_share.v, 0.3082, 0.0005);
    adds_up(&run);
    record_release(run_fields, &run);
}

TEST(nothing_to_reconcile)
{
    static const char *const texts[] = {
        "{}",
        "{\"step_ms\":10}",
        "{\"account\":{\"busy_share\":0.5,\"step_ms\":10}}",
        "{\"step_ms\":10,\"account\":{\"busy_share\":0,\"step_ms\":10}}",
        "{\"step_ms\":10,\"account\":{\"busy_share\":0.5,\"step_ms\":0}}",
        "{\"step_ms\":0,\"account\":{\"busy_share\":0.5,\"step_ms\":10}}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct run run;
        read_run(texts[i], strlen(texts[i]), &run);
        assert_false(run_reconcile(&run));
        assert_false(run.account.full_step_ms.known);
        record_release(run_fields, &run);
    }
}

// What a reader accepts, a reader accepts afterwards.
TEST(extremes)
{
    static const double ms[] = {5e-324, 1e-300, 1, 3e12}, shares[] = {0, 5e-324, 1e-12, 1};
    enum { MS = sizeof ms / sizeof *ms, SHARES = sizeof shares / sizeof *shares };
    for (int i = 0; i < MS * MS * (MS + 1) * SHARES * SHARES * SHARES; i++) {
        int n = i;
        struct run run = {.account.step_ms = some_real(ms[n % MS])};
        run.step_ms = some_real(ms[(n /= MS) % MS]);
        n /= MS;
        run.account.between_ms =
            n % (MS + 1) < MS ? some_real(ms[n % (MS + 1)]) : run.samples_per_s;
        run.account.busy_share = some_real(shares[(n /= MS + 1) % SHARES]);
        run.account.host_share = some_real(shares[(n /= SHARES) % SHARES]);
        run.use.steady.gpu_percent = some_real(100 * shares[(n /= SHARES) % SHARES]);
        run.account.launches_per_step = some_real(n % 2 ? 0 : 1e30);
        run_reconcile(&run);
        struct err err = {0};
        struct buf text = {0};
        assert_ok(record_to_line(run_fields, &run, &text, &err), &err);
        assert_ok(record_judge_text(run_fields, text.data, text.len, &err), &err);
        buf_release(&text);
    }
}
