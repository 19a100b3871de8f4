// SPDX-License-Identifier: Apache-2.0
// DAWNBench training logs: tab-separated epoch, hours since the start, and accuracy in per cent
// (top 1 on CIFAR10, top 5 on ImageNet).
#include "ledger/import.h"

#include <string.h>

#include "base/csv.h"

static bool knows(const char *text, size_t len)
{
    const char *end = memchr(text, '\n', len);
    size_t line = end ? (size_t)(end - text) : len;
    return memmem(text, line, "epoch\thours\t", 12) != NULL;
}

static int read_row(const struct csv *csv, const int at[3], struct run *run, double *before,
                    struct err *err)
{
    struct maybe_real values[3];
    for (int c = 0; c < 3; c++) {
        const char *text = csv_text(csv, at[c]);
        if (!import_number(text ? text : "", &values[c]) || (c < 2 && !values[c].known))
            return csv_fault(csv, at[c], err, "bad number '%s'", text ? text : "");
    }
    struct maybe_int whole = import_ns(values[1].v, 3600);
    struct maybe_int ns = import_ns(values[1].v - *before, 3600);
    if (!ns.known || !whole.known || !(values[0].v >= 0 && values[0].v <= 1e9))
        return csv_fault(csv, at[1], err, "epochs and hours must increase");
    *before = values[1].v;
    if (values[2].known && !(values[2].v >= 0 && values[2].v <= 100))
        return csv_fault(csv, at[2], err, "bad accuracy '%s': expected 0 to 100",
                         csv_text(csv, at[2]));
    struct run_epoch *epoch = LIST_ADD(&run->epoch_list, err);
    if (!epoch)
        return ERR_MEMORY;
    epoch->epoch = some_int((int64_t)values[0].v);
    epoch->train_ns = ns;
    if (values[2].known)
        epoch->test_accuracy = some_real(values[2].v / 100);
    run->phases.wall_ns = whole;
    run->test_accuracy = epoch->test_accuracy;
    return 0;
}

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
                    struct err *err)
{
    static const struct csv_options tabs = {.separator = '\t', .no_quotes = true};
    struct csv csv;
    int rc = csv_init_text(&csv, file, text, len, &tabs, err);
    if (rc != 0)
        return rc;
    struct run *run = LIST_ADD(&out->runs, err);
    if (!run)
        rc = ERR_MEMORY;
    int at[3] = {-1, -1, csv_column(&csv, "top5Accuracy")};
    bool top5 = at[2] >= 0;
    if (rc == 0)
        rc = csv_need(&csv, "epoch", &at[0], err);
    if (rc == 0)
        rc = csv_need(&csv, "hours", &at[1], err);
    if (rc == 0 && !top5)
        rc = csv_need(&csv, "top1Accuracy", &at[2], err);
    double before = 0;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_row(&csv, at, run, &before, err);
    if (rc == 0 && run->epoch_list.count == 0)
        rc = err_set(err, ERR_FORMAT, "%s: it has no epochs", file);
    if (rc == 0) {
        run->epochs = some_int((int64_t)run->epoch_list.count);
        run->full = some_bool(true);
        rc = text_set(&run->ended, "finished", err);
    }
    if (rc == 0)
        rc = import_label(run, "accuracy", top5 ? "top 5" : "top 1", err);
    char stem[128];
    import_stem(file, stem, sizeof stem);
    if (rc == 0)
        rc = text_set(&run->name, stem, err);
    csv_release(&csv);
    return rc;
}

const struct importer importer_dawnbench = {
    .name = "dawnbench",
    .about = "DAWNBench's table of epochs, hours and accuracy",
    .knows = knows,
    .read = read_log,
};
