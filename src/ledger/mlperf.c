// SPDX-License-Identifier: Apache-2.0
#include "ledger/mlperf.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "ledger/import.h"

#define IMAGENET    1281167    // images
#define COCO        117266     // images with annotations
#define OPEN_IMAGES 1170301    // images of MLPerf's subset
#define CRITEO      4195197692 // rows
#define IGBH        94605581   // labelled nodes
#define KITS19      168        // volumes

#define COCO_TEST        5000
#define OPEN_IMAGES_TEST 24781

#define YEAR_2021 1609459200
#define YEAR_2022 1640995200

#define ACCURACY(name, target)                                                                     \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, false, MLPERF_ACCURACY                                             \
        }                                                                                          \
    }
#define LOSS(name, target)                                                                         \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, true, MLPERF_LOSS                                                  \
        }                                                                                          \
    }
#define SCORE(name, target)                                                                        \
    {                                                                                              \
        {                                                                                          \
            name, NULL, target, false, MLPERF_OTHER                                                \
        }                                                                                          \
    }
#define WER(target)                                                                                \
    {                                                                                              \
        {                                                                                          \
            "WER", NULL, target, true, MLPERF_OTHER                                                \
        }                                                                                          \
    }
#define BOXES                                                                                      \
    {                                                                                              \
        {"box AP", "BBOX", 0.377},                                                                 \
        {                                                                                          \
            "mask AP", "SEGM", 0.339                                                               \
        }                                                                                          \
    }
#define PICTURES                                                                                   \
    {                                                                                              \
        {"FID", "FID", 90, .lower = true},                                                         \
        {                                                                                          \
            "CLIP", "CLIP", 0.15                                                                   \
        }                                                                                          \
    }

// clang-format off
static const struct mlperf benchmarks[] = {
    {"bert", YEAR_2021, MLPERF_SAMPLES, ACCURACY("masked-LM accuracy", 0.712), .trained = true},
    {"bert", 0, MLPERF_SAMPLES, ACCURACY("masked-LM accuracy", 0.72), .trained = true},
    {"deepseekv3_671b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.6)},
    {"dlrm", 0, MLPERF_EPOCHS, SCORE("AUC", 0.8025), CRITEO, .first_epoch = 1},
    {"dlrm_dcnv2", 0, MLPERF_EPOCHS, SCORE("AUC", 0.80275), CRITEO},
    {"flux1", 0, MLPERF_SAMPLES, LOSS("evaluation loss", 0.586)},
    {"gnmt", 0, MLPERF_EPOCHS, SCORE("BLEU", 24), .percent = true},
    {"gnn", 0, MLPERF_EPOCHS, ACCURACY("accuracy", 0.72), IGBH},
    {"gpt3", 0, MLPERF_TOKENS, LOSS("log perplexity", 2.69), .trained = true, .tokens = 2048},
    {"gpt_oss_20b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.34)},
    {"llama2_70b_lora", 0, MLPERF_SAMPLES, LOSS("evaluation loss", 0.925)},
    {"llama31_405b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 5.6)},
    {"llama31_8b", 0, MLPERF_SAMPLES, LOSS("log perplexity", 3.3)},
    {"mask", 0, MLPERF_EPOCHS, BOXES, COCO, COCO_TEST},
    {"maskrcnn", 0, MLPERF_EPOCHS, BOXES, COCO, COCO_TEST},
    {"minigo", 0, MLPERF_EPOCHS, SCORE("win rate", 0.5)},
    {"resnet", 0, MLPERF_EPOCHS, ACCURACY("top-1 accuracy", 0.759), IMAGENET, 50000},
    {"retinanet", 0, MLPERF_EPOCHS, SCORE("mAP", 0.34), OPEN_IMAGES, OPEN_IMAGES_TEST},
    {"rgat", 0, MLPERF_EPOCHS, ACCURACY("accuracy", 0.72), IGBH},
    {"rnnt", 0, MLPERF_EPOCHS, WER(0.058)},
    {"ssd", YEAR_2022, MLPERF_EPOCHS, SCORE("mAP", 0.23), COCO, COCO_TEST},
    {"ssd", 0, MLPERF_EPOCHS, SCORE("mAP", 0.34), OPEN_IMAGES, OPEN_IMAGES_TEST},
    {"stable_diffusion", 0, MLPERF_SAMPLES, PICTURES},
    {"transformer", 0, MLPERF_EPOCHS, SCORE("BLEU", 25), .percent = true},
    {"unet3d", 0, MLPERF_EPOCHS, SCORE("Dice score", 0.908), KITS19},
};
// clang-format on

const struct mlperf *mlperf_find(const char *name, int64_t date_s)
{
    for (size_t i = 0; i < sizeof benchmarks / sizeof *benchmarks; i++) {
        const struct mlperf *b = &benchmarks[i];
        if (strcmp(b->name, name) == 0 &&
            (b->before_s == 0 || (date_s > 0 && date_s < b->before_s)))
            return b;
    }
    return NULL;
}

enum mlperf_kind mlperf_kind(const struct mlperf *benchmark, double value)
{
    enum mlperf_kind kind = benchmark ? benchmark->metrics[0].kind : MLPERF_ACCURACY;
    bool share = value >= 0 && value <= 1;
    return !isfinite(value) || (kind == MLPERF_ACCURACY && !share) ? MLPERF_OTHER : kind;
}

// ==== import_mllog ====
// MLPerf training logs: one event per line, among other lines. One file is one run. Two forms:
//
//     :::MLL 1558570837.544 run_start: {"value": null, "metadata": {}}           round 0.6, seconds
//     :::MLLOG {"time_ms": 1744838717800, "key": "run_start", "value": null}     since round 0.7
//
// Time to train is run_start to run_stop, as in MLPerf's rules; initialisation lies before it.

static const char marker[] = ":::MLL";

// JSON may hold the marker in a string; there the quotes of an event are escaped.
static bool knows(const char *text, size_t len)
{
    static const char event[] = ":::MLLOG {\"";
    return len > 0 && (memmem(text, len, event, sizeof event - 1) ||
                       (text[0] != '{' && memmem(text, len, marker, sizeof marker - 1)));
}

#define FIRST_MS  1.5e12 // 2017, before the first round; some logs count from another start
#define MOST_MS   4e15   // after every date that a clock can show
#define MOST_MARK 1e15

enum {
    KEY_BYTES = 64,
    LOOK_BACK = 1024 // epochs and evaluations; keeps hostile logs linear
};

struct event {
    char key[KEY_BYTES];
    bool old;  // of round 0.6
    double ms; // NAN: none
    json_t *json;
    const json_t *value, *metadata;
};

struct point { // an evaluation
    double mark, values[MLPERF_METRICS];
};

struct mllog {
    struct run *run;
    const struct mlperf *benchmark; // null: unknown
    bool open;                      // of the open division, with data and targets of its own
    bool scored;                    // the log states the time to train
    double run_start, run_stop, init_start, init_stop, epoch_start, eval_start; // ms; NAN: not yet
    double mark;                  // epoch_num, samples_count or their like, latest
    double train_samples, target; // as logged; NAN: not yet
    struct point *points;
    size_t count, cap, last;
};

static double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_is_number(value) ? json_number_value(value) : (double)NAN;
    return number >= 0 && number <= MOST_MARK ? number : (double)NAN;
}

static double mark_of(const struct mllog *s, const struct event *e)
{
    double samples = member_number(e->metadata, "samples_count");
    double step = member_number(e->metadata, "step_num");
    double epoch = member_number(e->metadata, "epoch_num");
    if (!isnan(samples))
        return samples;
    step *= s->run->batch.known ? (double)s->run->batch.v : (double)NAN;
    if (step <= MOST_MARK && s->benchmark && s->benchmark->unit == MLPERF_SAMPLES)
        return step;
    return isnan(epoch) ? s->mark : epoch;
}

// Samples trained at a mark; NAN if unknown.
static double samples_at(const struct mllog *s, double mark)
{
    const struct mlperf *b = s->benchmark;
    if (!b)
        return (double)NAN;
    if (b->unit == MLPERF_TOKENS)
        return mark / b->tokens;
    if (b->unit == MLPERF_SAMPLES) // bert's early logs have 1, or a number of steps
        return b->trained && mark < 1e5 ? s->train_samples : mark;
    double epochs = mark - b->first_epoch;
    if (epochs < 0 || (b->first_epoch > 0 && epochs > 1))
        return (double)NAN;
    return epochs *
           (b->train_samples > 0 && !s->open ? (double)b->train_samples : s->train_samples);
}

static struct run_epoch *row_at(const struct mllog *s, double mark, struct err *err)
{
    struct run *run = s->run;
    bool whole = (!s->benchmark || s->benchmark->unit == MLPERF_EPOCHS) && mark == floor(mark);
    double samples = samples_at(s, mark);
    bool by_samples = !whole && samples <= MOST_MARK;
    const struct maybe_int number = some_int((int64_t)(by_samples ? samples : mark));
    for (size_t i = 0; i < run->epoch_list.count && i < LOOK_BACK; i++) {
        struct run_epoch *row = &run->epoch_list.items[run->epoch_list.count - 1 - i];
        if ((by_samples ? row->samples.v : row->epoch.v) == number.v)
            return row;
    }
    struct run_epoch *row = LIST_ADD(&run->epoch_list, err);
    if (row)
        *(by_samples ? &row->samples : &row->epoch) = number;
    return row;
}

static struct maybe_int since(double from_ms, double to_ms)
{
    return isnan(from_ms) || isnan(to_ms) ? (struct maybe_int){0}
                                          : import_ns(to_ms - from_ms, 1e-3);
}

// The time from `from_ms` to `to_ms`; unknown if either is.
static int until(double from_ms, double to_ms, struct maybe_int *ns, struct err *err)
{
    *ns = since(from_ms, to_ms);
    if (ns->known || isnan(from_ms) || isnan(to_ms))
        return 0;
    return err_set(err, ERR_FORMAT, "it ends %s",
                   to_ms < from_ms ? "before it began" : "over 100 years later");
}

static int on_run_stop(struct mllog *s, const struct event *e, struct err *err)
{
    struct run *run = s->run;
    if (!isnan(s->run_stop) || s->scored)
        return 0;
    s->run_stop = e->ms;
    TRY(until(s->run_start, e->ms, &run->phases.wall_ns, err));
    const char *status = json_string_value(json_object_get(e->metadata, "status"));
    bool good = status && strcmp(status, "success") == 0;
    run->full = some_bool(good);
    run->reached = some_bool(good);
    return text_set(&run->ended, good ? "finished" : "failed", err);
}

// minigo, round 0.6: seconds from run_start until the model that won was saved.
static int on_result(struct mllog *s, const struct event *e, struct err *err)
{
    double seconds = member_number(e->metadata, "timestamp");
    if (!e->old || !(seconds > 0))
        return 0;
    struct run *run = s->run;
    s->scored = true;
    run->phases.wall_ns = import_ns(seconds, 1);
    run->full = some_bool(true);
    run->reached = some_bool(true);
    return text_set(&run->ended, "finished", err);
}

static int on_time(struct mllog *s, const struct event *e, struct err *err)
{
    const char *key = e->key;
    if (strcmp(key, "init_start") == 0) { // every process may have one; the first counts
        s->init_start = isnan(s->init_start) ? e->ms : s->init_start;
    } else if (strcmp(key, "init_stop") == 0) {
        s->init_stop = e->ms;
    } else if (strcmp(key, "run_start") == 0) {
        if (isnan(s->run_start) || isnan(s->run_stop))
            s->run_start = e->ms;
    } else if (strcmp(key, "run_stop") == 0) {
        return on_run_stop(s, e, err);
    } else if (strcmp(key, "eval_result") == 0) {
        return on_result(s, e, err);
    } else if (strcmp(key, "epoch_start") == 0) {
        s->epoch_start = e->ms;
        s->mark = mark_of(s, e);
    } else if (strcmp(key, "eval_start") == 0) {
        s->eval_start = e->ms;
    } else if (strcmp(key, "epoch_stop") == 0 || strcmp(key, "eval_stop") == 0) {
        bool eval = key[1] == 'v';
        struct run_epoch *row = row_at(s, mark_of(s, e), err);
        if (!row)
            return ERR_MEMORY;
        return until(eval ? s->eval_start : s->epoch_start, e->ms,
                     eval ? &row->test_ns : &row->train_ns, err);
    }
    return 0;
}

// A number, a list of one, or a number as a string; NAN otherwise.
static double number_of(const json_t *value)
{
    struct maybe_real number;
    if (json_is_array(value) && json_array_size(value) == 1)
        value = json_array_get(value, 0);
    if (json_is_number(value))
        return json_number_value(value);
    const char *text = json_string_value(value);
    return text && import_number(text, &number) && number.known ? number.v : (double)NAN;
}

// The values of an evaluation: a number of one metric, or an object or list of two.
static void values_of(const struct mllog *s, const struct event *e, double values[MLPERF_METRICS])
{
    const json_t *value = e->value, *inner = json_object_get(value, "accuracy");
    const char *metric = json_string_value(json_object_get(e->metadata, "metric"));
    const struct mlperf *b = s->benchmark;
    value = inner ? inner : value;
    for (size_t m = 0; m < MLPERF_METRICS; m++) {
        const char *key = b ? b->metrics[m].key : NULL;
        values[m] = (double)NAN;
        if (key && json_is_object(value))
            values[m] = number_of(json_object_get(value, key));
        else if (key && json_is_array(value))
            values[m] = number_of(json_array_get(value, m));
        else if (m == 0 ? !key || !metric || strcmp(key, metric) == 0
                        : key && metric && strcmp(key, metric) == 0)
            values[m] = number_of(value);
        if (b && b->percent && values[m] <= 1)
            values[m] *= 100;
    }
}

static int on_evaluation(struct mllog *s, const struct event *e, struct err *err)
{
    double values[MLPERF_METRICS], mark = mark_of(s, e);
    values_of(s, e, values);
    size_t at = s->count;
    for (size_t i = 0; i < s->count && i < LOOK_BACK && at == s->count; i++)
        if (s->points[s->count - 1 - i].mark == mark)
            at = s->count - 1 - i;
    if (at == s->count) {
        TRY(array_grow(&s->points, s->count, &s->cap, sizeof *s->points, err));
        s->points[s->count++] = (struct point){mark, {(double)NAN, (double)NAN}};
    }
    s->last = at;
    for (size_t m = 0; m < MLPERF_METRICS; m++)
        if (isfinite(values[m]))
            s->points[at].values[m] = values[m];
    enum mlperf_kind kind = mlperf_kind(s->benchmark, values[0]);
    if (kind == MLPERF_OTHER)
        return 0;
    struct run_epoch *row = row_at(s, mark, err);
    if (!row)
        return ERR_MEMORY;
    *(kind == MLPERF_LOSS ? &row->test_loss : &row->test_accuracy) = some_real(values[0]);
    return 0;
}

static int on_value(struct mllog *s, const struct event *e, struct err *err)
{
    struct run *run = s->run;
    const char *key = e->key, *text = json_string_value(e->value);
    double number = number_of(e->value);
    bool whole = number >= 0 && number <= MOST_MARK && number == floor(number);
    if (text && strcmp(key, "submission_platform") == 0)
        return text_set(&run->machine.name, text, err);
    if (text && (strcmp(key, "submission_org") == 0 || strcmp(key, "submission_division") == 0)) {
        s->open = s->open || strcmp(text, "open") == 0;
        return import_label(run, key, text, err);
    }
    if (text && strcmp(key, "opt_name") == 0)
        return text_set(&run->recipe, text, err);
    if (strcmp(key, "eval_accuracy") == 0)
        return on_evaluation(s, e, err);
    if (whole && strcmp(key, "global_batch_size") == 0)
        run->batch = some_int((int64_t)number);
    else if (whole && strcmp(key, "seed") == 0)
        run->seed = some_int((int64_t)number);
    else if (whole && strcmp(key, "train_samples") == 0)
        s->train_samples = number;
    else if (whole && strcmp(key, "eval_samples") == 0)
        run->data.test_samples = some_int((int64_t)number);
    else if (strcmp(key, "target_accuracy") == 0)
        s->target = number;
    return 0;
}

// The first pass: the benchmark and its date, which say how to read the rest.
static int on_head(struct mllog *s, const struct event *e, struct err *err)
{
    const char *text = json_string_value(e->value);
    if (strcmp(e->key, "run_start") == 0)
        s->run_start = e->ms;
    return text && strcmp(e->key, "submission_benchmark") == 0
               ? text_set(&s->run->workload, text, err)
               : 0;
}

static int on_event(struct mllog *s, const struct event *e, struct err *err)
{
    TRY(on_time(s, e, err));
    return on_value(s, e, err);
}

// Round 0.6. Some lines are Python's, with single quotes, and some are torn by those of another
// process: 1 is returned for what cannot be read.
static int read_old(const char *text, size_t len, struct event *e, struct err *err)
{
    char head[128];
    double seconds;
    int at = 0, line;
    snprintf(head, sizeof head, "%.*s", (int)(len < sizeof head ? len : sizeof head - 1), text);
    if (sscanf(head, " %lf %63[A-Za-z0-9_] : %n", &seconds, e->key, &at) != 2 || at == 0)
        return 1;
    e->ms = seconds * 1e3;
    struct err reason = {0};
    e->json = import_json(text + at, len - (size_t)at, &line, &reason);
    if (e->json)
        return 0;
    char *copy = strndup(text + at, len - (size_t)at);
    if (!copy)
        return err_memory(err);
    for (char *p = copy; (p = strchr(p, '\'')) != NULL;)
        *p = '"';
    reason = (struct err){0};
    e->json = import_json(copy, strlen(copy), &line, &reason);
    free(copy);
    return e->json ? 0 : reason.code == ERR_MEMORY ? err_memory(err) : 1;
}

static int read_new(const char *text, size_t len, struct event *e, struct err *err)
{
    int line; // always 1: an event is one line
    e->json = import_json(text, len, &line, err);
    if (!e->json)
        return err ? err->code : ERR_FORMAT;
    const char *key = json_string_value(json_object_get(e->json, "key"));
    const json_t *ms = json_object_get(e->json, "time_ms");
    const json_t *seconds = json_object_get(e->json, "time_s"); // some logs of round 0.7
    if (!key)
        return err_set(err, ERR_FORMAT, "the event has no key");
    snprintf(e->key, sizeof e->key, "%s", key);
    e->ms = json_is_number(ms)        ? json_number_value(ms)
            : json_is_number(seconds) ? json_number_value(seconds) * 1e3
                                      : (double)NAN;
    return 0;
}

typedef int event_fn(struct mllog *s, const struct event *e, struct err *err);

static int read_event(struct mllog *s, const char *text, size_t len, event_fn *fn, struct err *err)
{
    struct event e = {.old = len < 2 || memcmp(text, "OG", 2) != 0};
    int rc = e.old ? read_old(text, len, &e, err) : read_new(text + 2, len - 2, &e, err);
    if (rc == 0 && (e.ms < 0 || e.ms > MOST_MS))
        rc = err_set(err, ERR_FORMAT, "time_ms: %.12g is not a time", e.ms);
    e.value = json_object_get(e.json, "value");
    e.metadata = json_object_get(e.json, "metadata");
    if (rc == 0)
        rc = fn(s, &e, err);
    json_decref(e.json);
    return rc > 0 ? 0 : rc;
}

static bool has(const char *text, size_t len, const char *word)
{
    return memmem(text, len, word, strlen(word)) != NULL;
}

static int each_event(struct mllog *s, const char *file, const char *text, size_t len, event_fn *fn,
                      struct err *err)
{
    const char *end = text + len;
    int rc = 0;
    size_t line = 1;
    for (const char *p = text; p < end && rc == 0; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        size_t left = (size_t)(stop - p);
        const char *mark = memmem(p, left, marker, sizeof marker - 1);
        if (mark && fn == on_head && !has(p, left, "run_start") &&
            !has(p, left, "submission_benchmark"))
            mark = NULL;
        if (mark) {
            mark += sizeof marker - 1;
            rc = read_event(s, mark, (size_t)(stop - mark), fn, err);
            if (rc == ERR_FORMAT)
                err_context(err, "%s, line %zu", file, line);
        }
        p = stop + 1;
    }
    return rc;
}

static bool reaches(const struct mlperf *b, const struct point *point)
{
    for (size_t m = 0; m < MLPERF_METRICS && b->metrics[m].name; m++) {
        const struct mlperf_metric *metric = &b->metrics[m];
        double value = point->values[m];
        if (!(metric->lower ? value <= metric->target : value >= metric->target))
            return false;
    }
    return true;
}

// The evaluation that counts: the last; of two metrics, whose evaluations come in any order, the
// earliest in the training that reached both targets.
static const struct point *final_point(const struct mllog *s)
{
    const struct point *best = NULL;
    if (s->benchmark && s->benchmark->metrics[1].name)
        for (size_t i = 0; i < s->count; i++)
            if (reaches(s->benchmark, &s->points[i]) && (!best || s->points[i].mark < best->mark))
                best = &s->points[i];
    return best ? best : s->count > 0 ? &s->points[s->last] : NULL;
}

static int add_quality(struct mllog *s, const struct point *point, struct err *err)
{
    static const struct mlperf_metric accuracy = {"accuracy", .kind = MLPERF_ACCURACY},
                                      unknown = {"eval_accuracy"};
    for (size_t m = 0; m < MLPERF_METRICS; m++) {
        double value = point->values[m];
        bool right = m == 0 && mlperf_kind(s->benchmark, value) == MLPERF_ACCURACY;
        const struct mlperf_metric *metric = s->benchmark ? &s->benchmark->metrics[m]
                                             : right      ? &accuracy
                                                          : &unknown;
        if (!metric->name || isnan(value))
            continue;
        struct run_quality *quality = LIST_ADD(&s->run->quality, err);
        if (!quality)
            return ERR_MEMORY;
        TRY(text_set(&quality->metric, metric->name, err));
        quality->value = some_real(value);
        if (isfinite(s->target) && m == 0)
            quality->target = some_real(s->target);
        else if (s->benchmark && !s->open)
            quality->target = some_real(metric->target);
        if (s->benchmark)
            quality->lower = some_bool(metric->lower);
        if (right)
            s->run->test_accuracy = some_real(value);
    }
    return 0;
}

static void count_samples(struct mllog *s, const struct point *point)
{
    struct run *run = s->run;
    const struct mlperf *b = s->benchmark;
    if (b && b->train_samples > 0 && !s->open)
        run->data.train_samples = some_int(b->train_samples);
    else if (!isnan(s->train_samples) && !(b && b->trained))
        run->data.train_samples = some_int((int64_t)s->train_samples);
    if (b && b->test_samples > 0 && !s->open)
        run->data.test_samples = some_int(b->test_samples);
    double samples = point ? samples_at(s, point->mark) : (double)NAN;
    if (samples >= 0 && samples <= MOST_MARK)
        run->samples_trained = some_int(llround(samples));
    // Some logs number samples instead of epochs: count only epochs with a start and a stop.
    int64_t trained = 0;
    for (size_t i = 0; i < run->epoch_list.count; i++)
        trained += run->epoch_list.items[i].train_ns.known;
    if (b && b->unit == MLPERF_EPOCHS && point && point->mark == floor(point->mark))
        run->epochs = some_int((int64_t)point->mark);
    else if (trained > 0 && !(b && b->unit != MLPERF_EPOCHS))
        run->epochs = some_int(trained);
}

static int sum_up(struct mllog *s, const char *file, struct err *err)
{
    struct run *run = s->run;
    if (isnan(s->run_start))
        return err_set(err, ERR_FORMAT, "%s: it has no run_start", file);
    const struct point *point = final_point(s);
    if (point)
        TRY(add_quality(s, point, err));
    count_samples(s, point);
    if (s->run_start > FIRST_MS) {
        char iso[CLOCK_ISO_BYTES];
        clock_iso((int64_t)(s->run_start / 1000), iso);
        TRY(text_set(&run->started, iso, err));
    }
    if (isnan(s->run_stop) && !s->scored) { // cut off
        run->full = some_bool(false);
        TRY(text_set(&run->ended, "stopped", err));
    }
    struct maybe_int init = since(s->init_start, s->init_stop);
    if (init.known) {
        char seconds[32];
        snprintf(seconds, sizeof seconds, "%.3f", (double)init.v / 1e9);
        TRY(import_label(run, "init_s", seconds, err));
    }
    char stem[128];
    import_stem(file, stem, sizeof stem);
    return run->workload ? 0 : text_set(&run->name, stem, err);
}

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    const double none = (double)NAN;
    struct run *run = LIST_ADD(&out->runs, err);
    if (!run)
        return ERR_MEMORY;
    struct mllog s = {.run = run, .run_start = none};
    int rc = each_event(&s, file, text, len, on_head, err);
    if (rc == 0 && run->workload)
        s.benchmark =
            mlperf_find(run->workload, s.run_start > FIRST_MS ? (int64_t)(s.run_start / 1000) : 0);
    s.run_start = s.run_stop = s.init_start = s.init_stop = s.epoch_start = s.eval_start = none;
    s.train_samples = s.target = none;
    if (rc == 0)
        rc = each_event(&s, file, text, len, on_event, err);
    if (rc == 0)
        rc = sum_up(&s, file, err);
    free(s.points);
    return rc;
}

const struct importer importer_mllog = {
    .name = "mllog",
    .about = "MLPerf training log with :::MLLOG lines",
    .knows = knows,
    .read = read_log,
};
