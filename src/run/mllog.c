// SPDX-License-Identifier: Apache-2.0
// mllog: log lines of MLPerf submissions, as written by mlperf_logging:
//
//     :::MLLOG {"key": "epoch_stop", "value": null, "metadata": {"epoch_num": 3}, ...}
//
// Keys give the benchmark, phases and qualities. Steps come from step_num, else from samples_count
// and global_batch_size, else from epochs of train_samples.
#include "run/event.h"

#include <math.h>
#include <string.h>

#include "ledger/mlperf.h"
#include "run/meter.h"

#define MARK ":::MLLOG"

static struct maybe_int count_of(const json_t *v)
{
    double number = json_is_number(v) ? json_number_value(v) : -1;
    if (number >= 0 && number <= 9e15 && number == floor(number))
        return some_int((int64_t)number);
    return (struct maybe_int){0};
}

static struct maybe_real real_of(const json_t *v)
{
    if (json_is_number(v) && isfinite(json_number_value(v)))
        return some_real(json_number_value(v));
    return (struct maybe_real){0};
}

static void fill_key(const char *key, const json_t *value, struct event *event)
{
    static const struct {
        const char *key;
        enum meter_phase phase;
    } phases[] = {
        {"init_start", METER_SETUP},  {"init_stop", METER_LOAD},    {"run_start", METER_TRAIN},
        {"epoch_start", METER_TRAIN}, {"block_start", METER_TRAIN}, {"eval_start", METER_EVALUATE},
        {"eval_stop", METER_TRAIN},   {"run_stop", METER_IDLE},
    };
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        if (strcmp(phases[i].key, key) == 0)
            event->phase = some_int(phases[i].phase);
    event->begins = event->phase.known;
    if (strcmp(key, "global_batch_size") == 0)
        event->batch = count_of(value);
    else if (strcmp(key, "train_samples") == 0)
        event->epoch_samples = count_of(value);
    else if (strcmp(key, "eval_accuracy") == 0)
        event->quality = real_of(value);
    else if (strcmp(key, "submission_benchmark") == 0 && json_is_string(value))
        event->benchmark = mlperf_find(json_string_value(value), 0);
    else if (strcmp(key, "eval_loss") == 0)
        event->test_loss = real_of(value);
    else if (strcmp(key, "train_loss") == 0 || strcmp(key, "loss") == 0)
        event->loss = real_of(value);
    event->epoch_ended = strcmp(key, "epoch_stop") == 0;
}

static enum event_result read_mllog(const char *line, size_t len, struct event *event)
{
    const char *mark = memmem(line, len, MARK, sizeof MARK - 1);
    if (!mark)
        return EVENT_NONE;
    const char *text = mark + sizeof MARK - 1;
    json_t *json = json_loadb(text, len - (size_t)(text - line), 0, NULL);
    const json_t *metadata = json_object_get(json, "metadata");
    const char *key = json_string_value(json_object_get(json, "key"));
    if (key) {
        fill_key(key, json_object_get(json, "value"), event);
        event->step = count_of(json_object_get(metadata, "step_num"));
        event->all_samples = count_of(json_object_get(metadata, "samples_count"));
        // Submissions without epochs use epoch_num for other counts; only these keys mean epochs.
        if (strncmp(key, "epoch_", 6) == 0)
            event->epoch = count_of(json_object_get(metadata, "epoch_num"));
    }
    json_decref(json);
    return key ? EVENT_READ : EVENT_MALFORMED;
}

const struct event_source event_mllog = {"MLLOG", read_mllog};
