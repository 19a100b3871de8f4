// SPDX-License-Identifier: Apache-2.0
// DAWNBench training logs: tab-separated epoch, hours since the start, and quality on held-out
// data, in any order. A submission's time is that of its first row at the task's target
// (github.com/stanford-futuredata/dawn-bench-entries); the log may go on after it.
#include "ledger/import.h"

#include <string.h>

#include "base/csv.h"

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

struct reading {
    const struct task *task;
    int at[3]; // columns: epoch, hours, quality
    int top1;  // beside top 5, or -1
    double before_h;
    struct run *run;
    struct run_quality *quality;
};

static bool knows(const char *text, size_t len)
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

static int read_row(const struct csv *csv, struct reading *r, struct err *err)
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

static int find_columns(const struct csv *csv, struct reading *r, struct err *err)
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

static int sum_up(struct reading *r, const char *file, struct err *err)
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

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    static const struct csv_options tabs = {.separator = '\t', .no_quotes = true};
    struct csv csv;
    int rc = csv_init_text(&csv, file, text, len, &tabs, err);
    if (rc != 0)
        return rc;
    struct reading r = {.run = LIST_ADD(&out->runs, err)};
    rc = r.run ? find_columns(&csv, &r, err) : ERR_MEMORY;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_row(&csv, &r, err);
    if (rc == 0)
        rc = sum_up(&r, file, err);
    csv_release(&csv);
    return rc;
}

const struct importer importer_dawnbench = {
    .name = "dawnbench",
    .about = "DAWNBench's table of epochs, hours and accuracy or F1 score",
    .knows = knows,
    .read = read_log,
};
