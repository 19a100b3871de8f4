// SPDX-License-Identifier: Apache-2.0
// MLPerf training logs: lines with ":::MLLOG" and one JSON object each, among other lines. One file
// is one run. Times are the log's milliseconds; the run lasts from run_start to run_stop, as in
// MLPerf's rules.
#include "ledger/import.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

static const char marker[] = ":::MLLOG";

static bool knows(const char *text, size_t len)
{
    return len > 0 && text[0] != '{' && memmem(text, len, marker, sizeof marker - 1);
}

#define MOST_MS 4e15 // after every date that a clock can show

struct state {
    struct run *run;
    double run_start, run_stop, init_start, epoch_start, eval_start; // ms; NAN: not yet
    int64_t epoch;
};

static double member_number(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static struct run_epoch *epoch_of(struct run *run, int64_t number, struct err *err)
{
    for (size_t i = run->epoch_list.count; i-- > 0;)
        if (run->epoch_list.items[i].epoch.v == number)
            return &run->epoch_list.items[i];
    struct run_epoch *epoch = LIST_ADD(&run->epoch_list, err);
    if (epoch)
        epoch->epoch = some_int(number);
    return epoch;
}

static int64_t epoch_number(const struct state *s, const json_t *event)
{
    double said = member_number(json_object_get(event, "metadata"), "epoch_num");
    return said >= 0 && said <= 1e9 ? (int64_t)said : s->epoch;
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

static int on_time(struct state *s, const char *key, const json_t *event, double ms,
                   struct err *err)
{
    struct run *run = s->run;
    int64_t number = epoch_number(s, event);
    if (strcmp(key, "init_start") == 0) {
        s->init_start = ms;
    } else if (strcmp(key, "init_stop") == 0) {
        return until(s->init_start, ms, &run->phases.setup_ns, err);
    } else if (strcmp(key, "run_start") == 0) {
        s->run_start = ms;
    } else if (strcmp(key, "run_stop") == 0) {
        s->run_stop = ms;
        TRY(until(s->run_start, ms, &run->phases.wall_ns, err));
        const char *status =
            json_string_value(json_object_get(json_object_get(event, "metadata"), "status"));
        bool good = status && strcmp(status, "success") == 0;
        run->full = some_bool(good);
        run->reached = some_bool(good);
        return text_set(&run->ended, good ? "finished" : "failed", err);
    } else if (strcmp(key, "epoch_start") == 0) {
        s->epoch_start = ms;
        s->epoch = number;
    } else if (strcmp(key, "eval_start") == 0) {
        s->eval_start = ms;
    } else if (strcmp(key, "epoch_stop") == 0 || strcmp(key, "eval_stop") == 0) {
        bool eval = key[1] == 'v';
        struct run_epoch *epoch = epoch_of(run, number, err);
        if (!epoch)
            return ERR_MEMORY;
        return until(eval ? s->eval_start : s->epoch_start, ms,
                     eval ? &epoch->test_ns : &epoch->train_ns, err);
    }
    return 0;
}

static int on_value(struct state *s, const char *key, const json_t *event, struct err *err)
{
    struct run *run = s->run;
    const json_t *value = json_object_get(event, "value");
    const char *text = json_string_value(value);
    int64_t whole = json_is_integer(value) ? json_integer_value(value) : -1;
    int64_t number = epoch_number(s, event);
    if (text && strcmp(key, "submission_benchmark") == 0)
        return text_set(&run->workload, text, err);
    if (text && strcmp(key, "submission_platform") == 0)
        return text_set(&run->machine.name, text, err);
    if (text && strcmp(key, "submission_org") == 0)
        return import_label(run, "submission_org", text, err);
    if (text && strcmp(key, "opt_name") == 0)
        return text_set(&run->recipe, text, err);
    if (whole >= 0 && strcmp(key, "global_batch_size") == 0)
        run->batch = some_int(whole);
    else if (whole >= 0 && strcmp(key, "seed") == 0)
        run->seed = some_int(whole);
    else if (whole >= 0 && strcmp(key, "train_samples") == 0)
        run->data.train_samples = some_int(whole);
    else if (whole >= 0 && strcmp(key, "eval_samples") == 0)
        run->data.test_samples = some_int(whole);
    else if (json_is_number(value) && strcmp(key, "eval_accuracy") == 0) {
        struct run_epoch *epoch = epoch_of(run, number, err);
        if (!epoch)
            return ERR_MEMORY;
        epoch->test_accuracy = some_real(json_number_value(value));
        run->test_accuracy = epoch->test_accuracy;
    }
    return 0;
}

static int read_event(struct state *s, const char *text, size_t len, struct err *err)
{
    int line; // always 1: an event is one line
    json_t *event = import_json(text, len, &line, err);
    if (!event)
        return err ? err->code : ERR_FORMAT;
    const char *key = json_string_value(json_object_get(event, "key"));
    int rc = 0;
    if (!key)
        rc = err_set(err, ERR_FORMAT, "the event has no key");
    double ms = member_number(event, "time_ms");
    if (rc == 0 && (ms < 0 || ms > MOST_MS))
        rc = err_set(err, ERR_FORMAT, "time_ms: %.12g is not a time", ms);
    if (rc == 0)
        rc = on_time(s, key, event, ms, err);
    if (rc == 0)
        rc = on_value(s, key, event, err);
    json_decref(event);
    return rc;
}

static int sum_up(struct state *s, const char *file, struct err *err)
{
    struct run *run = s->run;
    if (isnan(s->run_start))
        return err_set(err, ERR_FORMAT, "%s: it has no run_start", file);
    int rc = 0;
    run->phases.wall_ns = since(s->run_start, s->run_stop);
    char iso[CLOCK_ISO_BYTES] = "";
    if (s->run_start > 0 && s->run_start < MOST_MS)
        clock_iso((int64_t)(s->run_start / 1000), iso);
    if (iso[0])
        rc = text_set(&run->started, iso, err);
    if (rc == 0 && isnan(s->run_stop)) { // cut off
        run->full = some_bool(false);
        rc = text_set(&run->ended, "stopped", err);
    }
    // Some logs number samples instead of epochs: count only epochs with a start and a stop.
    int64_t trained = 0;
    for (size_t i = 0; i < run->epoch_list.count; i++)
        trained += run->epoch_list.items[i].train_ns.known;
    if (trained > 0)
        run->epochs = some_int(trained);
    char stem[128];
    import_stem(file, stem, sizeof stem);
    if (rc == 0 && !run->workload)
        rc = text_set(&run->name, stem, err);
    return rc;
}

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    struct run *run = LIST_ADD(&out->runs, err);
    if (!run)
        return ERR_MEMORY;
    struct state s = {run, (double)NAN, (double)NAN, (double)NAN, (double)NAN, (double)NAN, 0};
    const char *end = text + len;
    int rc = 0;
    size_t line = 1;
    for (const char *p = text; p < end && rc == 0; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop : end;
        const char *mark = memmem(p, (size_t)(stop - p), marker, sizeof marker - 1);
        if (mark) {
            mark += sizeof marker - 1;
            rc = read_event(&s, mark, (size_t)(stop - mark), err);
            if (rc == ERR_FORMAT)
                err_context(err, "%s, line %zu", file, line);
        }
        p = stop + 1;
    }
    return rc == 0 ? sum_up(&s, file, err) : rc;
}

const struct importer importer_mllog = {
    .name = "mllog",
    .about = "MLPerf training log with :::MLLOG lines",
    .knows = knows,
    .read = read_log,
};
