// SPDX-License-Identifier: Apache-2.0
// hyperfine --export-json: one run per command. Its time is the mean of the executions, labels hold
// their spread, and the plot shows each of them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "ledger/import.h"

// Its only key is "results".
static bool knows(const char *text, size_t len)
{
    static const char key[] = "\"results\"";
    size_t at = 0;
    while (at < len && strchr(" \t\r\n{", text[at]) && text[at])
        at++;
    return at > 0 && len - at > sizeof key && memcmp(text + at, key, sizeof key - 1) == 0;
}

static int label_number(struct run *run, const json_t *result, const char *key, const char *label,
                        struct err *err)
{
    const json_t *value = json_object_get(result, key);
    char text[32];
    if (!json_is_number(value))
        return 0;
    snprintf(text, sizeof text, "%.9g", json_number_value(value));
    return import_label(run, label, text, err);
}

static int read_times(struct run *run, const json_t *result, struct err *err)
{
    const json_t *times = json_object_get(result, "times");
    size_t count = json_array_size(times);
    if (count == 0)
        return 0;
    // Keep every n-th execution so that the plot has at most 200 points.
    size_t every = (count + 199) / 200, points = 0;
    SCOPED(free_pointer) double *ms = malloc((count / every + 1) * sizeof *ms);
    if (!ms)
        return err_memory(err);
    for (size_t i = 0; i < count; i += every)
        ms[points++] = json_number_value(json_array_get(times, i)) * 1000;
    TRY(reals_set(&run->step_plot_ms, ms, points, err));
    char text[24];
    snprintf(text, sizeof text, "%zu", count);
    return import_label(run, "executions", text, err);
}

static int read_result(const json_t *result, struct run *run, struct err *err)
{
    const char *command = json_string_value(json_object_get(result, "command"));
    const json_t *mean = json_object_get(result, "mean");
    struct maybe_int wall = {0};
    if (json_is_number(mean))
        wall = import_ns(json_number_value(mean), 1);
    if (!command || !json_is_number(mean))
        return err_set(err, ERR_FORMAT, "a result needs 'command' and 'mean'");
    if (!wall.known)
        return err_set(err, ERR_FORMAT, "mean: %.12g is not a time", json_number_value(mean));
    run->phases.wall_ns = wall;
    run->full = some_bool(true);
    run->exit_code = some_int(0);
    size_t index;
    json_t *code;
    json_array_foreach(json_object_get(result, "exit_codes"), index, code)
    {
        if (json_is_integer(code) && json_integer_value(code) != 0)
            run->exit_code = some_int(json_integer_value(code));
    }
    bool failed = run->exit_code.v != 0;
    if (!json_is_array(json_object_get(result, "exit_codes")))
        run->exit_code.known = false;
    TRY(TEXTS_SET(err, {&run->ended, failed ? "failed" : "finished"}, {&run->framework, "command"},
                  {&run->name, command}));
    TRY(texts_add(&run->command, command, err));
    static const char *const labels[][2] = {{"stddev", "stddev_s"}, {"median", "median_s"},
                                            {"min", "min_s"},       {"max", "max_s"},
                                            {"user", "user_s"},     {"system", "system_s"}};
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        TRY(label_number(run, result, labels[i][0], labels[i][1], err));
    return read_times(run, result, err);
}

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    int line;
    json_auto_t *json = import_json(text, len, &line, err);
    if (!json)
        return err_context(err, "%s, line %d", file, line);
    json_t *results = json_object_get(json, "results"), *result;
    size_t index;
    int rc =
        json_array_size(results) > 0 ? 0 : err_set(err, ERR_FORMAT, "%s: it has no results", file);
    json_array_foreach(results, index, result)
    {
        struct run *run = LIST_ADD(&out->runs, err);
        rc = run ? read_result(result, run, err) : ERR_MEMORY;
        if (rc == ERR_FORMAT)
            err_context(err, "%s, result %zu", file, index + 1);
        if (rc != 0)
            break;
    }
    return rc;
}

const struct importer importer_hyperfine = {
    .name = "hyperfine",
    .about = "hyperfine --export-json",
    .knows = knows,
    .read = read_log,
};

// ==== import_keras ====
// Keras's CSVLogger and similar logs: epoch, loss, acc, val_loss, val_acc, and often the epoch's
// seconds as `elapsed`. Those seconds include validation; they are stored as the epoch's training
// time, with a label that says so.

static bool import_keras_knows(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    return line >= 10 && text[0] != '{' && memmem(text, line, "epoch", 5) &&
           memchr(text, ',', line) &&
           (memmem(text, line, "loss", 4) || memmem(text, line, "acc", 3));
}

enum { EPOCH, ELAPSED, LOSS, ACC, VAL_LOSS, VAL_ACC, COLUMNS };

static void find_columns(const struct csv *csv, int at[COLUMNS])
{
    static const char *const names[COLUMNS][2] = {
        [EPOCH] = {"epoch", "epoch"},
        [ELAPSED] = {"elapsed", "epoch_time"},
        [LOSS] = {"loss", "loss"},
        [ACC] = {"acc", "accuracy"},
        [VAL_LOSS] = {"val_loss", "val_loss"},
        [VAL_ACC] = {"val_acc", "val_accuracy"},
    };
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = csv_column(csv, names[c][0]);
        if (at[c] < 0)
            at[c] = csv_column(csv, names[c][1]);
    }
}

static int read_row(const struct csv *csv, const int at[COLUMNS], struct run *run, bool *from_zero,
                    struct err *err)
{
    struct maybe_real values[COLUMNS] = {0};
    for (int c = 0; c < COLUMNS; c++) {
        const char *text = csv_text(csv, at[c]);
        if (text && !import_number(text, &values[c]))
            return csv_fault(csv, at[c], err, "bad number '%s'", text);
    }
    if (!values[EPOCH].known || values[EPOCH].v < 0 || values[EPOCH].v > 1e9)
        return csv_fault(csv, at[EPOCH], err, "no epoch");
    struct maybe_int ns = {0};
    const char *elapsed = csv_text(csv, at[ELAPSED]);
    if (elapsed && *elapsed) { // a loss may be "nan", a time may not
        if (values[ELAPSED].known)
            ns = import_ns(values[ELAPSED].v, 1);
        if (!ns.known || ns.v == 0)
            return csv_fault(csv, at[ELAPSED], err, "bad time '%s'", csv_text(csv, at[ELAPSED]));
    }
    static const int shares[] = {ACC, VAL_ACC};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct maybe_real share = values[shares[i]];
        if (share.known && !(share.v >= 0 && share.v <= 1))
            return csv_fault(csv, at[shares[i]], err, "bad accuracy '%s': expected 0 to 1",
                             csv_text(csv, at[shares[i]]));
    }
    if (run->epoch_list.count == 0)
        *from_zero = values[EPOCH].v < 1;
    struct run_epoch *epoch = LIST_ADD(&run->epoch_list, err);
    if (!epoch)
        return ERR_MEMORY;
    epoch->epoch = some_int((int64_t)values[EPOCH].v + *from_zero);
    epoch->train_ns = ns;
    epoch->train_loss = values[LOSS];
    epoch->train_accuracy = values[ACC];
    epoch->test_loss = values[VAL_LOSS];
    epoch->test_accuracy = values[VAL_ACC];
    return 0;
}

static int sum_up(struct run *run, struct err *err)
{
    size_t count = run->epoch_list.count;
    const struct run_epoch *last = &run->epoch_list.items[count - 1];
    int64_t wall = 0;
    bool timed = true, tested = false;
    for (size_t i = 0; i < count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        timed &= e->train_ns.known && !__builtin_add_overflow(wall, e->train_ns.v, &wall);
        tested |= e->test_loss.known || e->test_accuracy.known;
    }
    if (timed)
        run->phases.wall_ns = some_int(wall);
    else
        TRY(run_taint(run, "the log has no time for each epoch (elapsed or epoch_time)", err));
    run->epochs = some_int((int64_t)count);
    run->full = some_bool(true);
    run->first_loss = run->epoch_list.items[0].train_loss;
    run->last_loss = last->train_loss;
    run->test_accuracy = last->test_accuracy;
    TRY(text_set(&run->ended, "finished", err));
    if (timed && tested)
        TRY(import_label(run, "epoch_time", "includes validation", err));
    return 0;
}

// "mnist_mlp_tensorflow.csv" names workload and framework.
static int names_from_file(const char *file, struct run *run, struct err *err)
{
    static const char *const frameworks[] = {"tensorflow", "cntk", "theano", "pytorch",
                                             "mxnet",      "jax",  NULL};
    char stem[128];
    import_stem(file, stem, sizeof stem);
    char *bar = strrchr(stem, '_');
    int rc = 0;
    for (size_t i = 0; bar && frameworks[i]; i++)
        if (strcmp(bar + 1, frameworks[i]) == 0) {
            rc = text_set(&run->framework, frameworks[i], err);
            *bar = '\0';
            break;
        }
    return rc == 0 ? text_set(&run->name, stem, err) : rc;
}

static int import_keras_read_log(const char *file, const char *text, size_t len, struct runs *out,
                                 struct err *err)
{
    struct csv csv;
    int at[COLUMNS], rc = csv_init_text(&csv, file, text, len, NULL, err);
    if (rc != 0)
        return rc;
    struct run *run = LIST_ADD(&out->runs, err);
    if (!run)
        rc = ERR_MEMORY;
    int epoch;
    if (rc == 0)
        rc = csv_need(&csv, "epoch", &epoch, err);
    find_columns(&csv, at);
    bool from_zero = false;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_row(&csv, at, run, &from_zero, err);
    if (rc == 0 && run->epoch_list.count == 0)
        rc = err_set(err, ERR_FORMAT, "%s: it has no epochs", file);
    if (rc == 0)
        rc = sum_up(run, err);
    if (rc == 0)
        rc = names_from_file(file, run, err);
    csv_release(&csv);
    return rc;
}

const struct importer importer_keras = {
    .name = "keras-csv",
    .about = "Keras CSVLogger: one row per epoch",
    .knows = import_keras_knows,
    .read = import_keras_read_log,
};

// ==== import_dawnbench ====
// DAWNBench training logs: tab-separated epoch, hours since the start, and quality on held-out
// data, in any order. A submission's time is that of its first row at the task's target
// (github.com/stanford-futuredata/dawn-bench-entries); the log may go on after it.

static const struct task {
    const char *column, *metric;
    const char *label; // null: no accuracy
    double target;
    double scale; // of the column
} tasks[] = {
    {"top5Accuracy", "top-5 accuracy", "top 5", 0.93, 100}, // ImageNet; the accuracy is top 1
    {"top1Accuracy", "top-1 accuracy", "top 1", 0.94, 100}, // CIFAR10
    {"f1Score", "F1", NULL, 0.73, 1},                       // SQuAD
};

enum { TASKS = sizeof tasks / sizeof *tasks };

struct dawnbench_reading {
    const struct task *task;
    int at[3]; // columns: epoch, hours, quality
    int top1;  // beside top 5, or -1
    double before_h;
    struct run *run;
    struct run_quality *quality;
};

static bool import_dawnbench_knows(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    for (size_t i = 0; i < TASKS; i++)
        if (memmem(text, line, tasks[i].column, strlen(tasks[i].column)))
            return memmem(text, line, "hours", 5) && memmem(text, line, "epoch", 5) &&
                   memchr(text, '\t', line);
    return false;
}

static bool read_number(const char *text, struct maybe_real *out)
{
    char trimmed[64];
    text += strspn(text, " ");
    size_t len = strlen(text);
    while (len > 0 && text[len - 1] == ' ')
        len--;
    if (len >= sizeof trimmed)
        return false;
    memcpy(trimmed, text, len);
    trimmed[len] = '\0';
    return import_number(trimmed, out);
}

static int import_dawnbench_read_row(const struct csv *csv, struct dawnbench_reading *r,
                                     struct err *err)
{
    struct maybe_real values[3];
    const int *at = r->at;
    for (int c = 0; c < 3; c++) {
        const char *text = csv_text(csv, at[c]);
        if (!read_number(text ? text : "", &values[c]) || (c < 2 && !values[c].known))
            return csv_fault(csv, at[c], err, "bad number '%s'", text ? text : "");
    }
    double hours = values[1].v, scale = r->task->scale, quality = values[2].v / scale;
    struct maybe_int whole = import_ns(hours, 3600);
    struct maybe_int ns = import_ns(hours - r->before_h, 3600);
    if (!ns.known || !whole.known || !(values[0].v >= 0 && values[0].v <= 1e9))
        return csv_fault(csv, at[1], err, "epochs and hours must increase");
    if (values[2].known && !(quality >= 0 && quality <= 1))
        return csv_fault(csv, at[2], err, "bad %s '%s': expected 0 to %g",
                         r->task->label ? "accuracy" : "score", csv_text(csv, at[2]), scale);
    struct maybe_real top1 = {0};
    const char *text = r->top1 >= 0 ? csv_text(csv, r->top1) : NULL;
    if (text && (!read_number(text, &top1) || (top1.known && !(top1.v >= 0 && top1.v <= 100))))
        return csv_fault(csv, r->top1, err, "bad accuracy '%s': expected 0 to 100", text);
    r->before_h = hours;
    struct run_epoch *epoch = LIST_ADD(&r->run->epoch_list, err);
    if (!epoch)
        return ERR_MEMORY;
    epoch->epoch = some_int((int64_t)values[0].v);
    epoch->train_ns = ns;
    if (top1.known)
        epoch->test_accuracy = some_real(top1.v / 100);
    r->run->phases.wall_ns = whole;
    if (!values[2].known)
        return 0;
    if (r->task->label && r->top1 < 0)
        epoch->test_accuracy = some_real(quality);
    r->quality->value = some_real(quality);
    if (quality >= r->task->target && !r->quality->reached_s.known)
        r->quality->reached_s = some_real(hours * 3600);
    return 0;
}

static int import_dawnbench_find_columns(const struct csv *csv, struct dawnbench_reading *r,
                                         struct err *err)
{
    r->at[2] = -1;
    for (size_t i = 0; i < TASKS && r->at[2] < 0; i++) {
        r->task = &tasks[i];
        r->at[2] = csv_column(csv, tasks[i].column);
    }
    if (r->at[2] < 0) // names the missing column
        TRY(csv_need(csv, tasks[1].column, &r->at[2], err));
    r->top1 = r->task == tasks ? csv_column(csv, tasks[1].column) : -1;
    TRY(csv_need(csv, "epoch", &r->at[0], err));
    TRY(csv_need(csv, "hours", &r->at[1], err));
    r->quality = LIST_ADD(&r->run->quality, err);
    if (!r->quality)
        return ERR_MEMORY;
    r->quality->target = some_real(r->task->target);
    r->quality->lower = some_bool(false);
    return text_set(&r->quality->metric, r->task->metric, err);
}

static int import_dawnbench_sum_up(struct dawnbench_reading *r, const char *file, struct err *err)
{
    struct run *run = r->run;
    if (run->epoch_list.count == 0)
        return err_set(err, ERR_FORMAT, "%s: it has no epochs", file);
    run->epochs = some_int((int64_t)run->epoch_list.count);
    run->full = some_bool(true);
    run->reached = some_bool(r->quality->reached_s.known);
    if (r->task->label) {
        run->test_accuracy = run->epoch_list.items[run->epoch_list.count - 1].test_accuracy;
        TRY(import_label(run, "accuracy", r->top1 >= 0 ? tasks[1].label : r->task->label, err));
    }
    char stem[128];
    import_stem(file, stem, sizeof stem);
    TRY(text_set(&run->name, stem, err));
    return text_set(&run->ended, "finished", err);
}

static int import_dawnbench_read_log(const char *file, const char *text, size_t len,
                                     struct runs *out, struct err *err)
{
    static const struct csv_options tabs = {.separator = '\t', .no_quotes = true};
    struct csv csv;
    TRY(csv_init_text(&csv, file, text, len, &tabs, err));
    struct dawnbench_reading r = {.run = LIST_ADD(&out->runs, err)};
    int rc = r.run ? import_dawnbench_find_columns(&csv, &r, err) : ERR_MEMORY;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = import_dawnbench_read_row(&csv, &r, err);
    if (rc == 0)
        rc = import_dawnbench_sum_up(&r, file, err);
    csv_release(&csv);
    return rc;
}

const struct importer importer_dawnbench = {
    .name = "dawnbench",
    .about = "DAWNBench's table of epochs, hours and accuracy or F1 score",
    .knows = import_dawnbench_knows,
    .read = import_dawnbench_read_log,
};
