// SPDX-License-Identifier: Apache-2.0
// Lines as the tools print them, written after their documentation, and lines that only look so.
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow/event.h"
#include "follow/formats.h"
#include "train/meter.h"

static enum event_result read_with(const struct event_source *source, const char *text,
                                   struct event *e)
{
    memset(e, 0, sizeof *e);
    return source->read(text, strlen(text), e);
}

// The ready pattern that knows the line, or null.
static const char *ready(const char *text, struct event *e)
{
    static char line[1024]; // labels point into it
    size_t len = strlen(text);
    memcpy(line, text, len + 1);
    len = event_clean(line, len);
    for (const struct event_source *s = event_patterns; s->name; s++) {
        memset(e, 0, sizeof *e);
        if (s->read(line, len, e) == EVENT_READ)
            return e->source ? e->source : s->name;
    }
    return NULL;
}

TEST(json_lines)
{
    struct event e;
    assert_int_equal(read_with(&event_json,
                               "{\"step\": 12, \"samples\": 128, \"loss\": 0.25, \"accuracy\": 0.5,"
                               " \"epoch\": 2, \"phase\": \"train\", \"time\": 1.5, \"x\": []}",
                               &e),
                     EVENT_READ);
    assert_true(e.step.known && e.step.v == 12 && e.samples.v == 128 && e.epoch.v == 2);
    assert_true(e.loss.v == 0.25 && e.accuracy.v == 0.5 && e.phase.v == METER_TRAIN);
    assert_int_equal(read_with(&event_json, "{\"step\": 7.0, \"epoch\": 2.5}", &e), EVENT_READ);
    assert_true(e.step.v == 7 && e.epoch.v == 3);
    // Python writes these; the step beside them counts.
    assert_int_equal(read_with(&event_json, "{\"step\": 8, \"loss\": NaN, \"s\": \"NaN\\\"\"}", &e),
                     EVENT_READ);
    assert_true(e.step.v == 8 && !e.loss.known);
    assert_int_equal(read_with(&event_json, "{\"loss\": -Infinity, \"step\": 9}", &e), EVENT_READ);
    assert_true(e.step.v == 9 && !e.loss.known);
    assert_int_equal(read_with(&event_json, "{\"rank\": 3, \"pid\": 77, \"world\": 8}", &e),
                     EVENT_READ);
    assert_true(e.worker.v == 3 && e.world.v == 8);
    assert_int_equal(read_with(&event_json, "{\"about\": {\"batch\": 3}}", &e), EVENT_READ);
    assert_non_null(e.about);
    event_release(&e);
}

TEST(json_nonsense)
{
    static const char *const lines[] = {
        "nonsense",
        "{",
        "{}x",
        "[1]",
        "3",
        "{\"step\": -1}",
        "{\"step\": 1.5}",
        "{\"step\": \"1\"}",
        "{\"step\": 1e300}",
        "{\"step\": [1]}",
        "{\"loss\": \"low\"}",
        "{\"phase\": \"dreaming\"}",
        "{\"phase\": 3}",
        "{\"epoch\": -1}",
        "{\"epoch\": 1e10}",
        "{\"world\": 0}",
        "{\"about\": 3}",
        "{\"step\": 99999999999999999999999999}",
    };
    struct event e;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (read_with(&event_json, lines[i], &e) != EVENT_MALFORMED)
            fail_msg("%s", lines[i]);
        event_release(&e);
    }
    assert_int_equal(read_with(&event_json, "  ", &e), EVENT_NONE);
}

// From the logging rules of MLPerf Training, and its mlperf_logging package's examples.
TEST(mllog_lines)
{
    struct event e;
    assert_int_equal(
        read_with(&event_mllog,
                  ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1592412120337, \"event_type\": "
                  "\"POINT_IN_TIME\", \"key\": \"global_batch_size\", \"value\": 2048, "
                  "\"metadata\": {\"file\": \"train.py\", \"lineno\": 62}}",
                  &e),
        EVENT_READ);
    assert_true(e.batch.known && e.batch.v == 2048);
    assert_int_equal(read_with(&event_mllog,
                               "0: :::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": "
                               "\"INTERVAL_END\", \"key\": \"epoch_stop\", \"value\": null, "
                               "\"metadata\": {\"epoch_num\": 3}}",
                               &e),
                     EVENT_READ);
    assert_true(e.epoch_ended && e.epoch.v == 3);
    assert_int_equal(read_with(&event_mllog,
                               ":::MLLOG {\"key\": \"eval_accuracy\", \"value\": 0.759, "
                               "\"metadata\": {\"epoch_num\": 4}}",
                               &e),
                     EVENT_READ);
    assert_true(e.quality.v == 0.759);
    assert_int_equal(read_with(&event_mllog,
                               ":::MLLOG {\"key\": \"eval_accuracy\", \"value\": 2.6892, "
                               "\"metadata\": {\"samples_count\": 1572864}}",
                               &e),
                     EVENT_READ);
    assert_true(e.quality.v == 2.6892);
    assert_int_equal(read_with(&event_mllog,
                               ":::MLLOG {\"key\": \"train_loss\", \"value\": 2.5, \"metadata\": "
                               "{\"samples_count\": 4096}}",
                               &e),
                     EVENT_READ);
    assert_true(e.loss.v == 2.5 && e.all_samples.v == 4096);
    assert_int_equal(read_with(&event_mllog, ":::MLLOG {\"key\": \"eval_start\"}", &e), EVENT_READ);
    assert_true(e.phase.v == METER_EVALUATE);
    assert_int_equal(read_with(&event_mllog, ":::MLLOG {\"value\": 3}", &e), EVENT_MALFORMED);
    assert_int_equal(read_with(&event_mllog, ":::MLLOG not json", &e), EVENT_MALFORMED);
    assert_int_equal(read_with(&event_mllog, ":::MLL {}", &e), EVENT_NONE);
}

TEST(bars)
{
    struct event e, f;
    assert_string_equal(
        ready(" 37%|███▋      | 375/1000 [00:12<00:21, 29.50it/s, loss=0.52, acc=0.81]", &e),
        "tqdm");
    assert_true(e.step.v == 375 && e.total_steps.v == 1000 && e.bar != 0);
    assert_true(e.loss.v == 0.52 && e.accuracy.v == 0.81);
    assert_string_equal(ready("  0%|          | 0/1000 [00:00<?, ?it/s]", &f), "tqdm");
    assert_true(f.step.v == 0 && f.bar == e.bar);
    assert_string_equal(ready("  1%|          | 1/100 [00:10<16:30, 10.01s/it]", &e), "tqdm");
    assert_true(e.step.v == 1 && e.bar != f.bar);
    assert_string_equal(ready("375it [00:12, 29.5it/s]", &e), "tqdm");
    assert_true(e.step.v == 375 && !e.total_steps.known);
    // Lightning
    assert_string_equal(ready("Epoch 2:  45%|████▌     | 211/469 [00:03<00:04, 65.20it/s, v_num=0, "
                              "train_loss=0.117, val_loss=0.25]",
                              &e),
                        "tqdm");
    assert_true(e.step.v == 211 && e.total_steps.v == 469 && e.epoch.v == 2);
    assert_true(e.loss.v == 0.117 && e.test_loss.v == 0.25);
    ready("Epoch 3:   0%|          | 0/469 [00:00<?, ?it/s, v_num=0]", &f);
    assert_true(f.bar == e.bar);
    assert_string_equal(
        ready("Validation DataLoader 0:  50%|█████     | 39/78 [00:00<00:00, 90.1it/s]", &e),
        "tqdm");
    assert_true(e.step.v == 39 && e.phase.v == METER_EVALUATE);
    assert_true(e.label_len == 23 && strncmp(e.label, "Validation DataLoader 0", 23) == 0);
    // Lightning with rich, as version 2.6 printed it
    assert_string_equal(
        ready("\x1b[37mEpoch 0/2 \x1b[0m \x1b[35m━━━━━━━━╸\x1b[0m\x1b[37m━━━━━━━\x1b[0m 145/200 "
              "0:00:01 • 0:00:00 826.49it/s train_loss: 1.126  ",
              &e),
        "Lightning");
    assert_true(e.step.v == 145 && e.total_steps.v == 200 && e.epoch.v == 0 && e.epochs.v == 3);
    assert_true(e.loss.v == 1.126);
    // Colours and cursor movements around it.
    assert_string_equal(
        ready("\x1b[A\x1b[32m 50%|█████     | 5/10 [00:01<00:01,  4.9it/s]\x1b[0m", &e), "tqdm");
    assert_true(e.step.v == 5);
}

TEST(bars_of_other_things)
{
    struct event e;
    static const char *const lines[] = {
        "Downloading:  45%|████▌     | 1.20G/2.67G [00:12<00:14, 104MB/s]",
        "model.safetensors:  12%|█▏        | 53477376/440473133 [00:01<00:08, 45.1MB/s]",
        "45%|",
        "100%|",
        "%|||||",
        "it [",
        "999999999999999999999it [00:12, 29.5it/s]",
        "50%|##| 11/10 [00:12<00:14, 1it/s]",
        "50%|##| 1/0 [00:12<00:14, 1it/s]",
        "3/5 tests passed [ok]",
        "Epoch 3/20 was not good",
        "Epoch 0/0",
        "2024/11/03 [INFO] starting",
        "{'a': 1}",
        "{'epoch'",
        "",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (ready(lines[i], &e))
            fail_msg("%s", lines[i]);
    assert_string_equal(ready("Map: 100%|██████████| 25000/25000 [00:05<00:00, 4911.11it/s]", &e),
                        "tqdm");
    assert_true(e.counts == COUNTS_OTHER && e.phase.v == METER_LOAD);
    assert_string_equal(
        ready("Map:  50%|█████     | 2000/4000 [00:01<00:01, 9,000 examples/s]", &e), "tqdm");
    assert_true(e.counts == COUNTS_OTHER && e.phase.v == METER_LOAD);
}

TEST(plain_lines)
{
    struct event e;
    assert_non_null(ready("Epoch 3/20 done", &e));
    assert_true(e.epoch_ended && e.counts == COUNTS_EPOCHS && e.step.v == 3 && e.epochs.v == 20);
    assert_non_null(ready("{\"step\": 10, \"total_steps\": 1000, \"loss\": 2.5}", &e));
    assert_true(e.step.v == 10 && e.total_steps.v == 1000 && e.loss.v == 2.5);
    assert_non_null(ready("step 1001/1000 | loss 2.5", &e)); // a contradiction has no total
    assert_true(e.step.v == 1001 && !e.total_steps.known);
    // Two counters with the same word are the same; evaluations have another.
    ready("iter 10/50 loss 2.5", &e);
    uint32_t bar = e.bar;
    ready("iter 30/70 loss 3.5 lr 1", &e);
    assert_int_equal(e.bar, bar);
    ready("eval iter 30/70 loss 3.5", &e);
    assert_true(e.bar != bar && e.phase.v == METER_EVALUATE && e.test_loss.v == 3.5);
    // The steps of a diffusion are not those of a training.
    assert_null(ready("sampling (steps: 50)", &e));
    assert_null(ready("num_inference_steps=50", &e));
}

TEST(keras)
{
    struct event e;
    assert_string_equal(ready("Epoch 3/20", &e), "log lines");
    assert_true(e.epoch.v == 3 && e.epochs.v == 20 && !e.step.known);
    assert_string_equal(ready("118/469 [======>.......................] - ETA: 3s - loss: 0.2312 - "
                              "accuracy: 0.9301",
                              &e),
                        "Keras");
    assert_true(e.step.v == 118 && e.total_steps.v == 469);
    assert_true(e.loss.v == 0.2312 && e.accuracy.v == 0.9301);
    assert_string_equal(
        ready("469/469 [==============================] - 5s 11ms/step - loss: 0.2 - "
              "accuracy: 0.93 - val_loss: 0.11 - val_accuracy: 0.967",
              &e),
        "Keras");
    assert_true(e.test_loss.v == 0.11 && e.test_accuracy.v == 0.967 && e.loss.v == 0.2);
    assert_string_equal(
        ready("\x1b[1m 118/469\x1b[0m \x1b[32m━━━━━\x1b[0m\x1b[37m━━━━━━━━━━━━━━━\x1b[0m "
              "\x1b[1m1s\x1b[0m 3ms/step - accuracy: 0.8557 - loss: 0.5021",
              &e),
        "Keras");
    assert_true(e.step.v == 118 && e.accuracy.v == 0.8557);
    assert_string_equal(ready("     12/Unknown [=>..] - 3s 20ms/step - loss: 0.7", &e), "Keras");
    assert_true(e.step.v == 12 && !e.total_steps.known);
}

TEST(trainer)
{
    struct event e;
    assert_string_equal(
        ready("{'loss': 0.5213, 'grad_norm': 1.23, 'learning_rate': 1.5e-05, 'epoch': 0.5}", &e),
        "Hugging Face Trainer");
    assert_true(e.loss.v == 0.5213 && e.epoch.v == 1 && !e.step.known);
    assert_string_equal(ready("{'eval_loss': 0.41, 'eval_accuracy': 0.87, 'eval_runtime': 2.1, "
                              "'epoch': 2.0}",
                              &e),
                        "Hugging Face Trainer");
    assert_true(e.test_loss.v == 0.41 && e.test_accuracy.v == 0.87 && !e.loss.known &&
                e.epoch.v == 2);
    assert_string_equal(ready("{'loss': '0.5', 'epoch': '0.0'}", &e), "Hugging Face Trainer");
    assert_true(e.loss.v == 0.5 && e.epoch.v == 1);
}

TEST(words_by_role)
{
    static const struct {
        const char *word;
        enum formats_role role;
        int rank;
        bool test;
    } rows[] = {{"micro_step", ROLE_STEP, 1, false}, {"step", ROLE_STEP, 8, false},
                {"loss", ROLE_LOSS, 0, false},       {"val_loss", ROLE_LOSS, 0, true},
                {"train_step", ROLE_STEP, 8, false}, {"wps", ROLE_TEMPO, 0, false},
                {"test_time", ROLE_TOOK, 0, true},   {"training", ROLE_TRAIN, 0, false},
                {"acc", ROLE_ACCURACY, 0, false},    {"xent", ROLE_LOSS, 0, false},
                {"ste", ROLE_OTHER, 0, false},       {"stepp", ROLE_OTHER, 0, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int rank = 0;
        bool test;
        if (formats_role(rows[i].word, strlen(rows[i].word), &rank, &test) != rows[i].role ||
            rank != rows[i].rank || test != rows[i].test)
            fail_msg("%s", rows[i].word);
    }
}

TEST(own_patterns)
{
    struct err err = {0};
    struct event e = {0};
    regex_t pattern;
    assert_ok(event_pattern_compile("iter (\\d+)/([0-9]+)", &pattern, &err), &err);
    const char *line = "[x] iter 12/500 loss 3";
    assert_int_equal(event_pattern_read(&pattern, line, strlen(line), &e), EVENT_READ);
    assert_true(e.step.v == 12 && e.total_steps.v == 500);
    assert_int_equal(event_pattern_read(&pattern, "iter 12", 7, &e), EVENT_NONE);
    regfree(&pattern);
    assert_ok(event_pattern_compile("^batch done", &pattern, &err), &err);
    memset(&e, 0, sizeof e);
    assert_int_equal(event_pattern_read(&pattern, "batch done", 10, &e), EVENT_READ);
    assert_true(e.steps.v == 1 && !e.step.known);
    regfree(&pattern);
    assert_ok(event_pattern_compile("(loss)", &pattern, &err), &err);
    memset(&e, 0, sizeof e);
    assert_int_equal(event_pattern_read(&pattern, "loss", 4, &e), EVENT_MALFORMED);
    regfree(&pattern);
    assert_int_equal(event_pattern_compile("(", &pattern, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "--step-pattern"));
}

// regcomp() copies what is repeated: the refused ones would take gigabytes.
TEST(patterns_that_are_too_large)
{
    static const char *const good[] = {
        "step ([0-9]{1,9})/([0-9]{1,9})",
        "[[:space:]]{1,20}it[^]0-9{]*(\\d+)( of (\\d+))?",
        "(a|b)*{2}x{0,500}",
        "^\\[[0-9]{4}-[0-9]{2}-[0-9]{2}[^]]*\\] (step|iter)[a-z]* +([0-9]+) *[/|] *([0-9]+)",
        "a{x", // literal, or an error of its own
    };
    static const char *const bad[] = {
        "((((a{1,100}){1,100}){1,100}){1,100})",
        "a{0,30000}",
        "a{99999999999999999999}",
        "((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)",
        "([[:digit:]]{50}){50}",
        "(a{1,60})*{1,60}",
        "((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((a",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct err err = {0};
        regex_t pattern;
        int rc = event_pattern_compile(good[i], &pattern, &err);
        assert_null(strstr(err.text, "too large"));
        if (rc == 0)
            regfree(&pattern);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        regex_t pattern;
        assert_int_equal(event_pattern_compile(bad[i], &pattern, &err), ERR_USAGE);
        assert_non_null(strstr(err.text, "too large"));
    }
    static char longest[128 << 10]; // of an argument, on Linux
    memset(longest, 'x', sizeof longest - 1);
    struct err err = {0};
    regex_t pattern;
    assert_int_equal(event_pattern_compile(longest, &pattern, &err), ERR_USAGE);
    assert_non_null(strstr(err.text, "too large"));
    longest[0] = '[', longest[sizeof longest - 2] = ']';
    err = (struct err){0};
    assert_ok(event_pattern_compile(longest, &pattern, &err), &err);
    regfree(&pattern);
}

struct seen {
    char text[4096];
    size_t count, longest;
};

static void collect(void *context, char *line, size_t len, bool ended)
{
    struct seen *seen = context;
    assert_int_equal(line[len], '\0');
    assert_int_equal(strlen(line), len);
    seen->count++;
    seen->longest = len > seen->longest ? len : seen->longest;
    size_t used = strlen(seen->text);
    snprintf(seen->text + used, sizeof seen->text - used, "%s%.40s", ended ? "|" : "?", line);
}

TEST(lines_of_bytes)
{
    struct event_lines lines = {.line = malloc(EVENT_LINE_MAX + 1)};
    struct seen seen = {0};
    event_lines_add(&lines, "one\ntw", 6, collect, &seen);
    event_lines_add(&lines, "o\r\n\b\bthr\0e", 10, collect, &seen);
    event_lines_end(&lines, collect, &seen);
    assert_string_equal(seen.text, "|one|two|thr e");
    memset(&seen, 0, sizeof seen);
    event_lines_add(&lines, "\r 5%|x| [a]", 11, collect, &seen); // a bar, not ended
    event_lines_add(&lines, "\r", 1, collect, &seen);
    assert_string_equal(seen.text, "? 5%|x| [a]| 5%|x| [a]");
    memset(&seen, 0, sizeof seen);
    event_lines_add(&lines, "5/9 ━━ 1s", 13, collect, &seen); // others are drawn
    event_lines_add(&lines, "\r5/9 [=>.] - ETA: 1s", 20, collect, &seen);
    event_lines_add(&lines, "\rname? ", 7, collect, &seen); // not a bar
    assert_string_equal(seen.text, "?5/9 ━━ 1s|5/9 ━━ 1s?5/9 [=>.] - ETA: 1s|5/9 [=>.] - ETA: 1s");
    event_lines_add(&lines, "\n", 1, collect, &seen);
    // A line without end is cut, and what follows it is whole.
    memset(&seen, 0, sizeof seen);
    char block[1000];
    memset(block, 'x', sizeof block);
    for (int i = 0; i < 1000; i++)
        event_lines_add(&lines, block, sizeof block, collect, &seen);
    event_lines_add(&lines, "\nend\n", 5, collect, &seen);
    assert_int_equal(seen.longest, EVENT_LINE_MAX);
    assert_int_equal(seen.count, 2);
    free(lines.line);
}
