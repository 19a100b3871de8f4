// SPDX-License-Identifier: Apache-2.0
// Keras's CSVLogger and similar logs: epoch, loss, acc, val_loss, val_acc, and often the epoch's
// seconds as `elapsed`. Those seconds include validation; they are stored as the epoch's training
// time, with a label that says so.
#include "ledger/import.h"

#include <string.h>

#include "base/csv.h"

static bool knows(const char *text, size_t len)
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

static int read_log(const char *file, const char *text, size_t len, struct runs *out,
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
    .knows = knows,
    .read = read_log,
};
