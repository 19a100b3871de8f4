// SPDX-License-Identifier: Apache-2.0
// What becomes of the lines that programs print: steps, epochs, totals, and who counts.
#include <math.h>
#include <string.h>

#include "follow/followed.h"

TEST(events_count)
{
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
TEST(events_have_their_own_time)
{
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

TEST(first_reports)
{
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

TEST(workers)
{
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

TEST(better_sources_win)
{
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

TEST(epochs_of_bars)
{
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
TEST(bars_that_are_wiped)
{
    struct fixture x;
    begin(&x, NULL);
    for (int epoch = 0; epoch < 4; epoch++)
        for (int i = 0; i <= 190; i += 38)
            print(&x, "train: 1%%|#     | %d/200 [00:01<00:01, 9.9it/s]", i);
    finish(&x);
    assert_int_equal(x.run.steps.v, 790);
    end(&x);
}

TEST(bars_in_bars)
{
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

TEST(keras_says_all)
{
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

TEST(trainer_bar_is_whole)
{
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

TEST(mlperf_epochs)
{
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
TEST(mlperf_qualities)
{
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

TEST(own_pattern)
{
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

TEST(stages_are_listed_once)
{
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
TEST(kernels_are_the_last_resort)
{
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
TEST(kernels_after_a_loading_bar)
{
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

// A bar of steps, and a line with the samples so far after each: two counters, no evaluations. A
// second bar that runs for 4 s while the first stands still is one.
TEST(counters_side_by_side)
{
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
