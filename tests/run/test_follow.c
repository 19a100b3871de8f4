// SPDX-License-Identifier: Apache-2.0
// What becomes of the lines that programs print: steps, epochs, totals, and who counts. The clock
// is virtual (-Wl,--wrap=clock_now_ns).
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "run/follow.h"

static int64_t clock_ns = 1000 * NS_PER_S;

int64_t __wrap_clock_now_ns(void);
int64_t __wrap_clock_now_ns(void)
{
    return clock_ns;
}

struct fixture {
    struct meter *meter;
    struct follow *follow;
    struct run run;
    struct buf says;
    int64_t start_ns;
    double stop_s; // when the command would be stopped; 0: never
    bool samples;  // stop then
};

static void begin(struct fixture *x, const struct follow_options *options)
{
    static const struct follow_options none;
    struct err err = {0};
    memset(x, 0, sizeof *x);
    x->start_ns = clock_ns;
    x->samples = options && options->sample;
    assert_ok(meter_new(&x->meter, clock_now_ns(), &err), &err);
    assert_ok(follow_new(&x->follow, options ? options : &none, x->meter, &x->run, &err), &err);
}

static void look(struct fixture *x)
{
    if (x->stop_s > 0 || !follow_enough(x->follow))
        return;
    x->stop_s = (double)(clock_ns - x->start_ns) / 1e9;
    if (x->samples)
        follow_stop(x->follow);
}

// Time passes, in the ticks of the command's loop.
static void wait_s(struct fixture *x, double s)
{
    int64_t to_ns = clock_ns + (int64_t)(s * 1e9);
    while (clock_ns < to_ns) {
        int64_t next_ns = clock_ns + 50 * NS_PER_MS;
        clock_ns = next_ns < to_ns ? next_ns : to_ns;
        look(x);
    }
}

// Each line comes at a time of its own.
static void tell(struct fixture *x, bool event, const char *format, va_list args) PRINTF_LIKE(3, 0);
static void tell(struct fixture *x, bool event, const char *format, va_list args)
{
    char line[1024];
    int len = vsnprintf(line, sizeof line, format, args);
    if (event)
        follow_event(x->follow, line, (size_t)len);
    else
        follow_output(x->follow, line, (size_t)len, true);
    clock_ns += 20000;
    look(x);
}

static void event(struct fixture *x, const char *format, ...) PRINTF_LIKE(2, 3);
static void event(struct fixture *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(x, true, format, args);
    va_end(args);
}

static void print(struct fixture *x, const char *format, ...) PRINTF_LIKE(2, 3);
static void print(struct fixture *x, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tell(x, false, format, args);
    va_end(args);
}

// A bar of tqdm with n of total; the label has its colon.
static void bar(struct fixture *x, const char *label, int n, int total)
{
    print(x, "%s%3d%%|####      | %d/%d [00:01<00:01, 9.9it/s]", label, 100 * n / total, n, total);
}

static void finish(struct fixture *x)
{
    struct err err = {0};
    assert_ok(follow_finish(x->follow, !(x->samples && x->stop_s > 0), &x->says, &err), &err);
    follow_free(x->follow);
    meter_free(x->meter);
}

static void end(struct fixture *x)
{
    record_release(run_fields, &x->run);
    buf_release(&x->says);
}

static void events_count(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int i = 1; i <= 40; i++)
        event(&x, "{\"step\": %d, \"samples\": 32, \"loss\": %d, \"epoch\": %d}", i, 41 - i,
              i <= 20 ? 0 : 1);
    event(&x, "{\"phase\": \"eval\"}");
    event(&x, "{\"accuracy\": 0.75}");
    finish(&x);
    assert_int_equal(x.run.steps.v, 40);
    assert_int_equal(x.run.steps_per_epoch.v, 20);
    assert_int_equal(x.run.epoch_list.count, 2);
    assert_int_equal(x.run.epoch_list.items[0].epoch.v, 1);
    assert_int_equal(x.run.epoch_list.items[1].epoch.v, 2);
    assert_true(x.run.epoch_list.items[0].train_loss.v == 30.5); // the mean of 40 to 21
    assert_true(x.run.epoch_list.items[1].test_accuracy.v == 0.75);
    assert_true(x.run.test_accuracy.v == 0.75);
    assert_true(x.run.first_loss.v == 38.5 && x.run.last_loss.v == 2.5); // tenths of 40
    assert_true(x.run.samples_per_s.known && x.run.samples_per_s.v > 0);
    assert_int_equal(x.says.len, 0);
    end(&x);
}

// Lines that are read together, each with its own time: ten steps a millisecond apart, told in one
// go; then one from a clock that is not ours, and one from the future.
static void events_have_their_own_time(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    event(&x, "{\"phase\":\"train\"}");
    clock_ns += 15 * 1000000;
    double first_s = (double)clock_now_ns() / 1e9 - 0.011;
    char line[128];
    for (int i = 0; i <= 10; i++) {
        int len =
            snprintf(line, sizeof line, "{\"step\":%d,\"at\":%.6f}", i + 1, first_s + i * 0.001);
        follow_event(x.follow, line, (size_t)len);
    }
    event(&x, "{\"step\":12,\"at\":1e-3}");
    event(&x, "{\"step\":13,\"at\":9e8}");
    finish(&x);
    assert_int_equal(x.run.steps.v, 13);
    assert_true(x.run.step_plot_ms.count >= 12);
    for (size_t i = 1; i <= 10; i++)
        assert_in_range((uint64_t)(x.run.step_plot_ms.items[i] * 1000 + 0.5), 995, 1005);
    assert_true(x.run.phases.wall_ns.v >= 15 * 1000000);
    end(&x);
}

static void first_reports(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL); // every 100 steps
    for (int i = 100; i <= 1000; i += 100)
        event(&x, "{\"step\": %d}", i);
    finish(&x);
    assert_int_equal(x.run.steps.v, 1000);
    end(&x);
    begin(&x, NULL); // resumed
    for (int i = 5001; i <= 5010; i++)
        event(&x, "{\"step\": %d, \"total_steps\": 6000}", i);
    finish(&x);
    assert_int_equal(x.run.steps.v, 9);
    assert_int_equal(x.run.total_steps.v, 6000);
    end(&x);
    begin(&x, NULL); // "steps" where nobody counts
    event(&x, "{\"phase\": \"train\"}");
    for (int i = 0; i < 10; i++)
        event(&x, "{\"steps\": 3}");
    finish(&x);
    assert_int_equal(x.run.steps.v, 30);
    end(&x);
}

static void workers(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int i = 1; i <= 10; i++)
        for (int rank = 0; rank < 8; rank++)
            event(&x, "{\"step\": %d, \"samples\": 4, \"rank\": %d, \"world\": 8}", i, rank);
    finish(&x);
    assert_int_equal(x.run.steps.v, 10);
    double batch = x.run.samples_per_s.v * x.run.step_ms.v / 1e3;
    assert_true(batch > 31.99 && batch < 32.01);
    end(&x);
}

static void better_sources_win(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    print(&x, " 50%%|#####     | 50/100 [00:01<00:01, 9.9it/s]");
    print(&x, " 51%%|#####     | 51/100 [00:01<00:01, 9.9it/s]");
    print(&x, ":::MLLOG {\"key\": \"x\", \"metadata\": {\"step_num\": 1}}");
    for (int i = 1; i <= 10; i++) {
        event(&x, "{\"step\": %d}", i);
        print(&x, " 60%%|#####     | %d/100 [00:01<00:01, 9.9it/s]", 60 + i);
        print(&x, ":::MLLOG {\"key\": \"x\", \"metadata\": {\"step_num\": %d}}", 100 * i);
    }
    finish(&x);
    assert_in_range(x.run.steps.v, 10, 12);
    end(&x);
}

static void epochs_of_bars(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_epochs = 5});
    for (int epoch = 0; epoch < 3; epoch++)
        for (int i = 0; i <= 20; i++)
            print(&x, "Epoch %d: 1%%|#     | %d/20 [00:01<00:01, 9.9it/s, loss=%d]", epoch, i,
                  20 - i);
    finish(&x);
    assert_int_equal(x.run.steps.v, 60);
    assert_int_equal(x.run.total_steps.v, 100);
    assert_int_equal(x.run.steps_per_epoch.v, 20);
    assert_int_equal(x.run.epoch_list.count, 3);
    end(&x);
}

// As with leave=False: the last numbers before the end are never shown.
static void bars_that_are_wiped(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int epoch = 0; epoch < 4; epoch++)
        for (int i = 0; i <= 190; i += 38)
            print(&x, "train: 1%%|#     | %d/200 [00:01<00:01, 9.9it/s]", i);
    finish(&x);
    assert_int_equal(x.run.steps.v, 790);
    end(&x);
}

static void bars_in_bars(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_epochs = 3});
    print(&x, "Epochs:   0%%|     | 0/3 [00:00<?, ?it/s]");
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int i = 0; i <= 50; i++)
            print(&x, "Train:  1%%|#     | %d/50 [00:01<00:01, 9.9it/s]", i);
        print(&x, "Epochs:  33%%|###  | %d/3 [00:05<00:10, 5.0s/it]", epoch + 1);
    }
    finish(&x);
    assert_in_range(x.run.steps.v, 125, 150); // the first few tell which bar it is
    assert_int_equal(x.run.total_steps.v, 150);
    end(&x);
}

static void keras_says_all(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int epoch = 1; epoch <= 2; epoch++) {
        print(&x, "Epoch %d/4", epoch);
        for (int i = 1; i <= 10; i++)
            print(&x, "%2d/10 [==>.......] - ETA: 0s - loss: 0.5 - accuracy: 0.8", i);
        print(&x, "10/10 [==========] - 1s 3ms/step - loss: 0.4 - accuracy: 0.8 - val_loss: 0.3 - "
                  "val_accuracy: 0.9");
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 20);
    assert_int_equal(x.run.total_steps.v, 40);
    assert_int_equal(x.run.epochs.v, 4);
    assert_int_equal(x.run.epoch_list.count, 2);
    assert_true(x.run.epoch_list.items[1].test_accuracy.v == 0.9);
    end(&x);
}

static void trainer_bar_is_whole(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_epochs = 3});
    for (int i = 0; i <= 30; i++) {
        print(&x, " 1%%|#     | %d/300 [00:01<00:01, 9.9it/s]", i);
        if (i % 10 == 0)
            print(&x, "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': %.2f}", i / 100.0);
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 30);
    assert_int_equal(x.run.total_steps.v, 300);
    assert_true(x.run.last_loss.v == 0.5);
    end(&x);
}

static void mlperf_epochs(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_epochs = 4});
    print(&x, ":::MLLOG {\"key\": \"global_batch_size\", \"value\": 100, \"metadata\": {}}");
    print(&x, ":::MLLOG {\"key\": \"train_samples\", \"value\": 1050, \"metadata\": {}}");
    print(&x, ":::MLLOG {\"key\": \"run_start\", \"value\": null, \"metadata\": {}}");
    for (int epoch = 1; epoch <= 2; epoch++) {
        print(&x, ":::MLLOG {\"key\": \"epoch_start\", \"metadata\": {\"epoch_num\": %d}}", epoch);
        print(&x, ":::MLLOG {\"key\": \"epoch_stop\", \"metadata\": {\"epoch_num\": %d}}", epoch);
        print(&x, ":::MLLOG {\"key\": \"eval_start\", \"metadata\": {\"epoch_num\": %d}}", epoch);
        print(&x, ":::MLLOG {\"key\": \"eval_accuracy\", \"value\": 0.5, \"metadata\": {}}");
        print(&x, ":::MLLOG {\"key\": \"eval_stop\", \"metadata\": {\"epoch_num\": %d}}", epoch);
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 22); // 1050 samples are 11 batches of 100
    assert_int_equal(x.run.total_steps.v, 44);
    assert_int_equal(x.run.epoch_list.count, 2);
    assert_true(x.run.epoch_list.items[0].test_accuracy.v == 0.5);
    end(&x);
}

// Language models report a loss under the key of the accuracy. Values from results of rounds 4.0
// and 5.1; the benchmark's name comes long before them.
static void mlperf_qualities(void **state)
{
    (void)state;
    static const struct {
        const char *benchmark;
        double value, accuracy, loss; // 0: none
    } rows[] = {{"llama2_70b_lora", 0.9243, 0, 0.9243},
                {"gpt3", 2.6892, 0, 2.6892},
                {"resnet", 0.7592, 0.7592, 0},
                {NULL, 0.7592, 0.7592, 0},
                {NULL, 2.6892, 0, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture x;
        begin(&x, NULL);
        if (rows[i].benchmark)
            print(&x, ":::MLLOG {\"key\": \"submission_benchmark\", \"value\": \"%s\"}",
                  rows[i].benchmark);
        print(&x, ":::MLLOG {\"key\": \"run_start\", \"value\": null, \"metadata\": {}}");
        print(&x, ":::MLLOG {\"key\": \"epoch_stop\", \"metadata\": {\"epoch_num\": 1}}");
        print(&x, ":::MLLOG {\"key\": \"eval_accuracy\", \"value\": %.4f}", rows[i].value);
        finish(&x);
        assert_int_equal(x.run.epoch_list.count, 1);
        const struct run_epoch *epoch = &x.run.epoch_list.items[0];
        assert_true(epoch->test_accuracy.v == rows[i].accuracy);
        assert_true(epoch->test_loss.v == rows[i].loss);
        end(&x);
    }
}

static void own_pattern(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.step_pattern = "it (\\d+) of (\\d+)"});
    for (int i = 1; i <= 10; i++) {
        print(&x, "it %d of 50", i);
        print(&x, " 1%%|#     | %d/300 [00:01<00:01, 9.9it/s]", 10 * i); // not asked for
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 10);
    assert_int_equal(x.run.total_steps.v, 50);
    end(&x);
    begin(&x, &(struct follow_options){.step_pattern = "never"});
    finish(&x);
    assert_non_null(strstr(buf_str(&x.says), "--step-pattern"));
    assert_false(x.run.steps.known);
    end(&x);
}

static void nonsense_is_counted(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int i = 0; i < 1000; i++)
        event(&x, "{\"step\": %s}", i % 2 ? "-1" : "null");
    event(&x, "{\"about\": {\"batch\": \"many\"}}");
    event(&x, "{\"about\": {\"batch\": 64, \"data\": {\"name\": \"mnist\"}, \"total_steps\": 70}}");
    event(&x, "{\"step\": 9007199254740992, \"samples\": 9007199254740992, \"world\": 1000000}");
    event(&x, "{\"step\": 0}");
    event(&x, "{\"step\": 9007199254740992, \"epoch\": 999999999}");
    finish(&x);
    assert_non_null(strstr(buf_str(&x.says), "501 progress lines"));
    assert_int_equal(x.run.batch.v, 64);
    assert_string_equal(x.run.data.name, "mnist");
    end(&x);
}

static void long_runs_stay_small(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    char line[64];
    for (int i = 1; i <= 200000; i++) {
        int len = snprintf(line, sizeof line, "{\"step\":%d,\"loss\":%d,\"epoch\":%d}", i, i, i);
        follow_event(x.follow, line, (size_t)len);
    }
    finish(&x);
    assert_int_equal(x.run.epoch_list.count, 10000);
    assert_true(x.run.first_loss.v > 5000 && x.run.first_loss.v < 15000);
    assert_true(x.run.last_loss.v > 180000);
    end(&x);
}

static void stages_are_listed_once(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    event(&x,
          "{\"about\":{\"total_steps\":9,\"stages\":[{\"total_steps\":6},{\"total_steps\":3}]}}");
    event(&x, "{\"phase\":\"train\"}");
    for (int i = 1; i <= 9; i++)
        event(&x, "{\"step\":%d,\"stage\":%d}", i, i > 6 ? 2 : 1);
    finish(&x);
    assert_int_equal(x.run.stages.count, 2);
    assert_int_equal(x.run.stages.items[0].total_steps.v, 6);
    assert_int_equal(x.run.stages.items[0].steps.v, 6);
    assert_int_equal(x.run.stages.items[1].steps.v, 3);
    end(&x);
}

// Steps from the kernels count until the program reports some itself.
static void kernels_are_the_last_resort(void **state)
{
    (void)state;
    struct fixture x;
    struct follow_state now;
    begin(&x, &(struct follow_options){.total_steps = 100});
    for (int i = 0; i < 10; i++)
        follow_trace(x.follow, 2, clock_now_ns());
    follow_state(x.follow, &now);
    assert_string_equal(now.source, "GPU kernels");
    assert_int_equal(now.step, 20);
    assert_int_equal(now.total, 100);
    assert_int_equal(now.total_from, FOLLOW_TOTAL_OPTION);
    for (int i = 21; i <= 30; i++) {
        event(&x, "{\"step\": %d}", i);
        follow_trace(x.follow, 2, clock_now_ns());
    }
    finish(&x);
    assert_string_equal(x.run.progress.source, "events");
    assert_string_equal(x.run.progress.total_from, "option");
    assert_int_equal(x.run.progress.unseen.count, 0);
    end(&x);
}

// A bar without words, then silence, and steps by the kernels: the bar was loading.
static void kernels_after_a_loading_bar(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) { // with a total, the bar contradicts it
        struct fixture x;
        begin(&x, &(struct follow_options){.total_steps = given ? 700 : 0});
        for (int i = 0; i <= 20; i++) {
            bar(&x, "", i * 50, 1000);
            wait_s(&x, 0.1);
        }
        for (int i = 0; i < 300; i++) {
            wait_s(&x, 0.1);
            follow_trace(x.follow, 1, clock_ns);
        }
        finish(&x);
        assert_string_equal(x.run.progress.source, "GPU kernels");
        assert_in_range(x.run.steps.v, 190, 301); // without, it waits for 10 s
        assert_true(fabs(x.run.step_ms.v - 100) < 1);
        end(&x);
    }
}

// A run that is wanted anyway ends only at a limit it was given.
static void only_samples_end_early(void **state)
{
    (void)state;
    for (int sample = 0; sample < 2; sample++) {
        struct fixture x;
        begin(&x, &(struct follow_options){
                      .total_steps = 100000, .sample = sample, .within = 1, .max_s = 0.1});
        event(&x, "{\"phase\": \"train\"}");
        bool enough = false;
        for (int i = 1; i <= 300; i++) {
            char line[64];
            int len = snprintf(line, sizeof line, "{\"step\": %d}", i);
            follow_event(x.follow, line, (size_t)len);
            clock_ns += NS_PER_MS;
            enough |= follow_enough(x.follow);
        }
        assert_int_equal(enough, sample);
        finish(&x);
        end(&x);
    }
}

#define SAMPLE .sample = true, .within = 0.05, .max_s = 60

// The projection when it stopped holds what the training takes in all.
static void assert_holds(const struct fixture *x, double whole_s)
{
    const struct run_projection *p = &x->run.projection;
    assert_true(x->stop_s > 0 && p->wall_s.known);
    if (p->low_s.v > whole_s || p->high_s.v < whole_s)
        fail_msg("%.1f s is not within %.1f to %.1f s", whole_s, p->low_s.v, p->high_s.v);
}

// 5,000 items in 1.2 s, then 300 steps of 0.5 s: 1.2 + 150 s.
static void an_index_is_not_the_training(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct fixture x;
        begin(&x, &(struct follow_options){.total_steps = given ? 300 : 0, SAMPLE});
        for (int i = 0; i <= 5000; i += 500) {
            bar(&x, given ? "Building index: " : "", i, 5000);
            wait_s(&x, 0.12);
        }
        for (int i = 0; i <= 300 && x.stop_s == 0; i++) {
            bar(&x, "", i, 300);
            wait_s(&x, 0.5);
        }
        finish(&x);
        assert_true(x.stop_s > 3);
        assert_int_equal(x.run.total_steps.v, 300);
        assert_true(fabs(x.run.step_ms.v - 500) < 5);
        assert_string_equal(x.run.progress.total_from, given ? "option" : "bar");
        assert_true(x.run.phases.load_ns.v >= NS_PER_S);
        assert_holds(&x, 1.32 + 150);
        end(&x);
    }
}

// 30 epochs of 0.5 s in a bar, and no other number: 15 s.
static void epochs_in_a_bar(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        struct fixture x;
        begin(&x, &(struct follow_options){.total_epochs = given ? 30 : 0, SAMPLE});
        for (int i = 0; i <= 30 && x.stop_s == 0; i++) {
            bar(&x, "", i, 30);
            wait_s(&x, 0.5);
        }
        finish(&x);
        assert_int_equal(x.run.total_steps.v, 30);
        assert_holds(&x, 15);
        end(&x);
    }
}

// Three epochs of 50 steps in a bar of epochs: the inner bar counts, the outer one has the epochs.
static void bars_in_bars_have_a_total(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    bar(&x, "", 0, 3);
    for (int epoch = 0; epoch < 3; epoch++) {
        for (int i = 0; i <= 50; i++) {
            bar(&x, "", i, 50);
            wait_s(&x, i < 50 ? 0.2 : 0);
        }
        bar(&x, "", epoch + 1, 3);
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 150);
    assert_int_equal(x.run.total_steps.v, 150);
    assert_int_equal(x.run.epochs.v, 3);
    end(&x);
}

// Epochs of 100 steps of 0.1 s and an evaluation of 3 s, which nothing but a pause shows: 10 x 13
// s. A sample waits for the end of the first epoch.
static void the_end_of_an_epoch_is_waited_for(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    for (int epoch = 1; epoch <= 10 && x.stop_s == 0; epoch++) {
        print(&x, "Epoch %d/10", epoch);
        for (int i = 1; i <= 100 && x.stop_s == 0; i++) {
            wait_s(&x, 0.1);
            print(&x, "%3d/100 [==>.......] - ETA: 0s - loss: 0.5", i);
        }
        wait_s(&x, 3);
    }
    finish(&x);
    assert_true(x.stop_s > 13);
    assert_int_equal(x.run.progress.unseen.count, 0);
    assert_true(fabs(x.run.projection.wall_s.v / 130 - 1) < 0.05);
    assert_holds(&x, 130);
    end(&x);
}

// The same with epochs of 100 s: the first end is beyond the limit. The interval has room for it.
static void an_unseen_end_widens_the_interval(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    print(&x, "Epoch 1/10");
    for (int i = 1; x.stop_s == 0; i++) {
        wait_s(&x, 0.1);
        print(&x, "%3d/1000 [==>.......] - ETA: 0s - loss: 0.5", i);
    }
    finish(&x);
    assert_true(x.stop_s < 30); // it does not help to wait
    assert_int_equal(x.run.progress.unseen.count, 1);
    assert_string_equal(x.run.progress.unseen.items[0], "epoch end");
    assert_true(x.run.projection.assumption.v);
    assert_holds(&x, 10 * (100 + 20));
    assert_holds(&x, 10 * 100);
    end(&x);
}

// Steps that go beyond the total contradict it: no projection, and no end.
static void a_total_that_is_too_small(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_steps = 20, .sample = true, .within = 0.05});
    for (int i = 1; i <= 200; i++) {
        event(&x, "{\"step\": %d}", i);
        if (i == 15)
            x.stop_s = 0;
        wait_s(&x, 0.1);
        assert_true(x.stop_s == 0 || i <= 20);
        if (x.stop_s > 0)
            break;
    }
    finish(&x);
    end(&x);
    begin(&x, &(struct follow_options){.total_steps = 20, .sample = true, .within = 0.05});
    for (int i = 1001; i <= 1300; i++) {
        event(&x, "{\"step\": %d}", i);
        wait_s(&x, 0.1);
    }
    struct follow_state now;
    follow_state(x.follow, &now);
    assert_int_equal(now.total, 0);
    assert_int_equal(now.total_from, FOLLOW_TOTAL_UNKNOWN);
    finish(&x);
    assert_true(x.stop_s == 0);
    assert_false(x.run.total_steps.known);
    end(&x);
}

// A bar during which the machine idles comes after one during which it works, even if the first has
// not ended.
static void idle_bars_are_loading(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    follow_activity(x.follow, 0, (struct maybe_real){0});
    for (int i = 0; i <= 40; i++) {
        bar(&x, "", i, 100);
        wait_s(&x, 0.1);
        follow_activity(x.follow, 0.02, (struct maybe_real){0});
    }
    for (int i = 0; i <= 300; i++) {
        bar(&x, "", i, 300);
        wait_s(&x, 0.1);
        follow_activity(x.follow, 0.95, (struct maybe_real){0});
    }
    finish(&x);
    assert_int_equal(x.run.total_steps.v, 300);
    assert_int_equal(x.run.steps.v, 300);
    assert_true(x.run.phases.load_ns.v >= 4 * NS_PER_S);
    end(&x);
}

// 300 steps of 0.1 s, each reported, and after every 100 a pause of 3 s in which 500 MB are
// written: 30 + 9 s. The program says nothing of it. Pauses without writes stay training.
static void writes_in_a_pause_are_a_checkpoint(void **state)
{
    (void)state;
    for (int writes = 0; writes < 2; writes++) {
        struct fixture x;
        int64_t bytes = 0;
        begin(&x, NULL);
        for (int i = 0; i <= 300; i++) {
            bar(&x, "", i, 300);
            follow_written(x.follow, bytes += 4096); // its log
            wait_s(&x, 0.1);
            if (i == 0 || i % 100 != 0)
                continue;
            wait_s(&x, 3);
            follow_written(x.follow, bytes += writes * 500000000);
        }
        bar(&x, "", 300, 300);
        finish(&x);
        assert_int_equal(x.run.steps.v, 300);
        // The last pause comes after the last step.
        double saved_s = (double)x.run.phases.checkpoint_ns.v / 1e9;
        assert_true(writes ? saved_s > 5.8 && saved_s < 6.2 : saved_s == 0);
        end(&x);
    }
}

// Steps of 100 ms while other programs use half of the CPUs, which end after 10 s: then 50 ms. The
// whole of 600 steps is 10 + 500 * 0.05 = 35 s.
static void other_programs_may_end(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct fixture x;
        begin(&x, &(struct follow_options){.sample = true, .max_s = 600});
        for (int i = 1; i <= 100; i++) {
            if (told)
                follow_others(x.follow, 0.5);
            wait_s(&x, 0.1);
            bar(&x, "", i, 600);
        }
        follow_stop(x.follow);
        x.samples = true;
        x.stop_s = 1;
        finish(&x);
        const struct run_projection *p = &x.run.projection;
        assert_true(fabs(p->wall_s.v - 60) < 1);
        assert_int_equal(p->low_s.v <= 35 && 35 <= p->high_s.v, told);
        end(&x);
    }
}

// A GPT on two H200 machines whose sequences grow in 16 levels of 100 steps: the host needs 28 ms a
// step, the GPU 4.1 ms more with each level, so the step time is flat for six levels: 6 x 2.8 s and
// then 115 x 0.41 s are 64 s in all; or 19.6 and 3.6 ms, 53 s. Cut off when the step time has just
// begun to grow, or later, the sample must be called unsteady and its interval must hold the whole.
// With random levels it must not.
static void work_that_grows(void **state)
{
    (void)state;
    static const struct {
        double host_s, level_s;
        int cut;
        bool random;
    } rows[] = {{0.028, 0.0041, 760, false},   {0.028, 0.0041, 760, true},
                {0.0196, 0.0036, 760, false},  {0.0196, 0.0036, 992, false},
                {0.0196, 0.0036, 1300, false}, {0.0196, 0.0036, 992, true}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct fixture x;
        struct rng rng;
        double whole_s = 0, since_s = 0, busy_s = 0;
        bool random = rows[row].random;
        int cut = rows[row].cut;
        rng_init(&rng, 5);
        begin(&x, &(struct follow_options){.sample = true, .max_s = 600});
        follow_activity(x.follow, 0, some_real(0));
        for (int i = 0; i < 1600; i++) {
            int level = random ? 1 + (int)(16 * rng_double(&rng)) : 1 + i / 100;
            double work_s = rows[row].level_s * level, step_s = fmax(rows[row].host_s, work_s);
            whole_s += step_s;
            if (i >= cut)
                continue;
            bar(&x, "", i + 1, 1600);
            wait_s(&x, step_s);
            since_s += step_s;
            busy_s += fmin(work_s, step_s);
            if (since_s >= 0.5) {
                follow_activity(x.follow, busy_s / since_s, some_real(busy_s / since_s));
                since_s = busy_s = 0;
            }
        }
        struct follow_state now;
        follow_state(x.follow, &now);
        assert_int_equal(now.unsteady, !random);
        follow_stop(x.follow);
        x.samples = true;
        x.stop_s = 1;
        finish(&x);
        assert_true(x.run.projection.wall_s.known);
        assert_true(x.run.projection.low_s.v <= whole_s && whole_s <= x.run.projection.high_s.v);
        end(&x);
    }
}

// 100 epochs of 8 steps of 0.25 s after a scan of 128 labels in 2 s
// (github.com/ultralytics/ultralytics/issues/1411 has such lines): 2 + 200 s.
static void scanned_labels_are_not_steps(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    for (int i = 0; i <= 128; i += 16) {
        print(&x,
              "train: Scanning datasets/coco128/labels/train2017... %d images, 2 backgrounds, 0 "
              "corrupt: %3d%%|####    | %d/128 [00:00<00:00, 1480.21it/s]",
              i, 100 * i / 128, i);
        wait_s(&x, 0.25);
    }
    for (int epoch = 1; epoch <= 100 && x.stop_s == 0; epoch++)
        for (int i = 0; i <= 8 && x.stop_s == 0; i++) {
            print(&x,
                  "      %d/100      2.51G      1.217      1.424      1.224        %d        640: "
                  "%3d%%|####    | %d/8 [00:01<00:01,  4.00it/s]",
                  epoch, 90 + i, 100 * i / 8, i);
            wait_s(&x, i < 8 ? 0.25 : 0);
        }
    finish(&x);
    assert_int_equal(x.run.total_steps.v, 800);
    assert_int_equal(x.run.epochs.v, 100);
    assert_true(fabs(x.run.step_ms.v - 250) < 5);
    assert_holds(&x, 2.25 + 200);
    end(&x);
}

// Loaded twice, before and after the training; nothing is a checkpoint.
static void loading_checkpoints_are_no_checkpoints(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int time = 0; time < 2; time++) {
        for (int i = 0; i <= 3; i++) {
            bar(&x, "Loading checkpoint shards: ", i, 3);
            wait_s(&x, 1);
        }
        for (int i = 0; i <= 50 && time == 0; i++) {
            bar(&x, "", i, 50);
            wait_s(&x, 0.2);
        }
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 50);
    assert_int_equal(x.run.phases.checkpoint_ns.v, 0);
    assert_true(x.run.phases.load_ns.v >= 3 * NS_PER_S);
    end(&x);
}

// Lightning 1: 200 steps of 0.1 s and 40 of validation of 0.05 s in one bar of 240, with a bar of
// their own. Five epochs: 5 x (20 + 2) s.
static void validation_in_the_trainings_bar(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){.total_epochs = 5, SAMPLE});
    bar(&x, "Validation sanity check: ", 0, 2);
    wait_s(&x, 1);
    for (int epoch = 0; epoch < 5 && x.stop_s == 0; epoch++) {
        char label[16];
        snprintf(label, sizeof label, "Epoch %d: ", epoch);
        for (int i = 0; i <= 240 && x.stop_s == 0; i += 2) {
            if (i > 200)
                bar(&x, "Validating: ", i - 200, 40);
            bar(&x, label, i, 240);
            wait_s(&x, i == 240 ? 0 : i < 200 ? 0.2 : 0.1);
        }
    }
    finish(&x);
    assert_int_equal(x.run.total_steps.v, 1000);
    assert_true(fabs(x.run.step_ms.v - 100) < 2);
    assert_true(fabs(x.run.projection.evaluate_s.v / 10 - 1) < 0.2);
    assert_holds(&x, 1 + 5 * 22);
    end(&x);
}

// As nanoGPT prints: steps of 0.2 s, every 100 of them an evaluation of 6 s and a checkpoint of
// 2 s; the log has the time of every tenth step.
static void evaluations_are_split_off(void **state)
{
    (void)state;
    char steps[] = "--max_iters=1000", every[] = "--eval_interval=100";
    char *argv[] = {steps, every, NULL};
    struct fixture x;
    begin(&x, &(struct follow_options){.argv = argv, SAMPLE});
    for (int n = 0; n <= 1000 && x.stop_s == 0; n += 10) {
        if (n % 100 == 0) {
            wait_s(&x, 6);
            print(&x, "step %d: train loss 2.1234, val loss 2.2345", n);
            print(&x, "saving checkpoint to out");
            wait_s(&x, 2);
        }
        print(&x, "iter %d: loss 2.1000, time 200.00ms, mfu 17.94%%", n);
        wait_s(&x, 2);
    }
    finish(&x);
    assert_int_equal(x.run.total_steps.v, 1000);
    assert_string_equal(x.run.progress.total_from, "arguments");
    assert_true(fabs(x.run.step_ms.v - 200) < 4);
    assert_true(x.run.phases.evaluate_ns.v + x.run.phases.checkpoint_ns.v > 7.5 * NS_PER_S);
    assert_holds(&x, 11 * 8 + 1000 * 0.2);
    end(&x);
}

// A bar of steps, and a line with the samples so far after each: two counters, no evaluations. A
// second bar that runs for 4 s while the first stands still is one.
static void counters_side_by_side(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, NULL);
    for (int i = 0; i <= 100; i++) {
        bar(&x, "", i, 100);
        print(&x, "consumed samples: %d", 64 * i);
        wait_s(&x, 0.2);
        for (int k = 0; k <= 20 && i == 50; k++) {
            bar(&x, "", k, 20);
            wait_s(&x, 0.2);
        }
    }
    finish(&x);
    assert_int_equal(x.run.steps.v, 100);
    assert_true(fabs(x.run.step_ms.v - 200) < 4);
    assert_true(fabs((double)x.run.phases.evaluate_ns.v / 4.2e9 - 1) < 0.1);
    end(&x);
}

// A million lines of every kind in a row: each costs microseconds, and memory is bounded.
static void many_lines(void **state)
{
    (void)state;
    struct fixture x;
    char line[128];
    begin(&x, NULL);
    for (int i = 0; i < 1000000; i++) {
        int len = i % 4 == 0   ? snprintf(line, sizeof line, "step %d/1000000 | loss 0.5", i)
                  : i % 4 == 1 ? snprintf(line, sizeof line, "epoch %d/9 loss nan acc 1e999", i)
                  : i % 4 == 2
                      ? snprintf(line, sizeof line, "Saving model checkpoint to %d", i)
                      : snprintf(line, sizeof line, "%dabc %d of 9223372036854775807", i, i);
        follow_output(x.follow, line, (size_t)len, true);
        clock_ns += 1000;
    }
    finish(&x);
    end(&x);
}

// Lines of all kinds in any order, with any numbers: the phases still add up to the time, and what
// is projected has an interval around it.
static void any_order(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "%lld%%|###   | %lld/%lld [00:01<00:01, 9.9it/s, loss=0.5]",
        "Epoch %lld:  10%%|###   | %lld/%lld [00:01<00:01, 9.9it/s]",
        "Epoch %lld/%lld",
        "Validation DataLoader %lld:  10%%|###   | %lld/%lld [00:01<00:01, 9.9it/s]",
        "{'loss': 0.5, 'learning_rate': 1e-05, 'epoch': %lld.%lld}",
        "{'eval_loss': 0.5, 'eval_runtime': %lld.5, 'epoch': %lld}",
        "step %lld: train loss 2.1, val loss 2.2",
        "iter %lld: loss 2.1, time 200.00ms",
        "Saving model checkpoint to out/checkpoint-%lld",
        "epoch %lld iter %lld/%lld loss 0.1",
        "%lld/%lld - 15s - 33ms/step - loss: 0.1",
        "Total optimization steps = %lld",
        "Num Epochs = %lld",
        "Train Epoch: %lld [%lld/%lld (1%%)] Loss: 0.5",
    };
    static const long long limits[] = {2, 10, 300, 100000, 999999999999999};
    struct rng rng;
    rng_init(&rng, 7);
    for (int trial = 0; trial < 100; trial++) {
        struct fixture x;
        begin(&x, &(struct follow_options){.total_epochs = trial % 3, SAMPLE});
        for (int i = 0; i < 400; i++) {
            long long limit = limits[(size_t)(rng_double(&rng) * 5)];
            long long n[3];
            for (int k = 0; k < 3; k++)
                n[k] = (long long)(rng_double(&rng) * (double)limit);
            char line[256];
            const char *form = forms[(size_t)(rng_double(&rng) * 14)];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            int len = snprintf(line, sizeof line, form, n[0], n[1], n[2]);
#pragma GCC diagnostic pop
            follow_output(x.follow, line, (size_t)len, true);
            follow_activity(x.follow, rng_double(&rng), (struct maybe_real){0});
            wait_s(&x, rng_double(&rng));
            struct follow_state now;
            follow_state(x.follow, &now);
            assert_true(now.step >= 0 && now.total >= 0);
        }
        finish(&x);
        const struct run_phases *p = &x.run.phases;
        assert_int_equal(p->wall_ns.v, clock_ns - x.start_ns);
        assert_int_equal(p->setup_ns.v + p->load_ns.v + p->warmup_ns.v + p->train_ns.v +
                             p->evaluate_ns.v + p->checkpoint_ns.v + p->idle_ns.v,
                         p->wall_ns.v);
        const struct run_projection *q = &x.run.projection;
        assert_true(!q->wall_s.known || (q->low_s.v <= q->high_s.v && q->wall_s.v <= q->high_s.v));
        end(&x);
    }
}

// Resumed with epoch 5 of 10: six epochs are left.
static void resumed_epochs(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    for (int epoch = 5; epoch <= 10 && x.stop_s == 0; epoch++) {
        print(&x, "Epoch %d/10", epoch);
        for (int i = 1; i <= 100 && x.stop_s == 0; i++) {
            wait_s(&x, 0.1);
            print(&x, "%3d/100 [==>.......] - ETA: 0s - loss: 0.5", i);
        }
    }
    finish(&x);
    assert_int_equal(x.run.total_steps.v, 1000);
    assert_holds(&x, 60);
    end(&x);
}

// Bars that run backwards, change their total, have thousands of names, and large numbers.
static void hostile_bars(void **state)
{
    (void)state;
    struct fixture x;
    begin(&x, &(struct follow_options){SAMPLE});
    for (int i = 100; i >= 0; i--)
        bar(&x, "", i, 100);
    for (int i = 1; i <= 1000; i++)
        bar(&x, "", i, 1000 + i * 7 % 13);
    for (int i = 0; i < 5000; i++) {
        char label[32];
        snprintf(label, sizeof label, "%c%c%c: ", 'a' + i % 26, 'a' + i / 26 % 26, 'a' + i / 676);
        bar(&x, label, i % 50, 50);
    }
    for (int i = 0; i < 20000; i++)
        print(&x, "train: 50%%|###   | %lld/999999999999999 [00:01<00:01, 9.9it/s]",
              i % 2 ? 999999999999999LL : 0LL);
    for (int i = 0; i < 100; i++)
        event(&x,
              "{\"step\": %lld, \"total_steps\": 9007199254740991, \"epoch\": 9007199254740991}",
              9007199254740991LL - i);
    finish(&x);
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_count),
        cmocka_unit_test(events_have_their_own_time),
        cmocka_unit_test(first_reports),
        cmocka_unit_test(workers),
        cmocka_unit_test(better_sources_win),
        cmocka_unit_test(epochs_of_bars),
        cmocka_unit_test(bars_that_are_wiped),
        cmocka_unit_test(bars_in_bars),
        cmocka_unit_test(keras_says_all),
        cmocka_unit_test(trainer_bar_is_whole),
        cmocka_unit_test(mlperf_epochs),
        cmocka_unit_test(mlperf_qualities),
        cmocka_unit_test(own_pattern),
        cmocka_unit_test(nonsense_is_counted),
        cmocka_unit_test(long_runs_stay_small),
        cmocka_unit_test(stages_are_listed_once),
        cmocka_unit_test(kernels_are_the_last_resort),
        cmocka_unit_test(only_samples_end_early),
        cmocka_unit_test(an_index_is_not_the_training),
        cmocka_unit_test(epochs_in_a_bar),
        cmocka_unit_test(bars_in_bars_have_a_total),
        cmocka_unit_test(the_end_of_an_epoch_is_waited_for),
        cmocka_unit_test(an_unseen_end_widens_the_interval),
        cmocka_unit_test(a_total_that_is_too_small),
        cmocka_unit_test(idle_bars_are_loading),
        cmocka_unit_test(writes_in_a_pause_are_a_checkpoint),
        cmocka_unit_test(work_that_grows),
        cmocka_unit_test(other_programs_may_end),
        cmocka_unit_test(resumed_epochs),
        cmocka_unit_test(hostile_bars),
        cmocka_unit_test(scanned_labels_are_not_steps),
        cmocka_unit_test(loading_checkpoints_are_no_checkpoints),
        cmocka_unit_test(validation_in_the_trainings_bar),
        cmocka_unit_test(evaluations_are_split_off),
        cmocka_unit_test(many_lines),
        cmocka_unit_test(counters_side_by_side),
        cmocka_unit_test(any_order),
        cmocka_unit_test(kernels_after_a_loading_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
