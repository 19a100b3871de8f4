// SPDX-License-Identifier: Apache-2.0
// The whole training, from the lines so far: when a sample may end, and what its interval holds.
#include <math.h>

#include "base/rng.h"
#include "follow/followed.h"

// A run that is wanted anyway ends only at a limit it was given.
TEST(only_samples_end_early)
{
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

// The projection when it stopped holds what the training takes in all.
static void assert_holds(const struct fixture *x, double whole_s)
{
    const struct run_projection *p = &x->run.projection;
    assert_true(x->stop_s > 0 && p->wall_s.known);
    if (p->low_s.v > whole_s || p->high_s.v < whole_s)
        fail_msg("%.1f s is not within %.1f to %.1f s", whole_s, p->low_s.v, p->high_s.v);
}

// 5,000 items in 1.2 s, then 300 steps of 0.5 s: 1.2 + 150 s.
TEST(an_index_is_not_the_training)
{
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
TEST(epochs_in_a_bar)
{
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
TEST(bars_in_bars_have_a_total)
{
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
TEST(the_end_of_an_epoch_is_waited_for)
{
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
TEST(an_unseen_end_widens_the_interval)
{
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
TEST(a_total_that_is_too_small)
{
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
TEST(idle_bars_are_loading)
{
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
TEST(writes_in_a_pause_are_a_checkpoint)
{
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
TEST(other_programs_may_end)
{
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
TEST(work_that_grows)
{
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
TEST(scanned_labels_are_not_steps)
{
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
TEST(loading_checkpoints_are_no_checkpoints)
{
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
TEST(validation_in_the_trainings_bar)
{
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
TEST(evaluations_are_split_off)
{
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

// Resumed with epoch 5 of 10: six epochs are left.
TEST(resumed_epochs)
{
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
