// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct run_data
static const struct field data_fields[] = {
    TEXT(name, "name of the set"),
    TEXT(source, "the folder it was read from, or the seed it was made from"),
    TEXT(identity, "SHA-256 over its files, or how it was made"),
    BOOL(made, "made by fare: results are not comparable with those on a real set"),
    INT(train_samples, "samples to train on"),
    INT(test_samples, "samples held out"),
    INT(classes, "classes"),
    INT(time, "texts: tokens of a sample"),
    INT(vocabulary, "texts: different tokens"),
    FIELD_END,
};
#undef T

#define T struct run_epoch
static const struct field epoch_fields[] = {
    INT(epoch, "number, from 1"),
    INT(steps, "steps of it that were made"),
    REAL(train_loss, "mean loss while training"),
    REAL(train_accuracy, "share of right answers while training"),
    REAL(test_loss, "mean loss on the held-out part"),
    REAL(test_accuracy, "share of right answers on the held-out part"),
    INT(train_ns, "time of its steps, batches and augmentation included"),
    INT(test_ns, "time of its evaluation"),
    FIELD_END,
};
#undef T

#define T struct run
const struct field run_fields[] = {
    TEXT(schema, "`" RUN_SCHEMA "`"),
    TEXT(workload, "what was trained"),
    TEXT(engine, "what trained it"),
    TEXT(precision, "f32 or bf16"),
    INT(threads, "threads"),
    INT(seed, "seed of parameters, order, dropout and augmentation"),
    INT(batch, "samples per step"),
    FIELD_IN(T, data, data_fields, "the data"),
    BOOL(full, "trained to the end; otherwise a sample"),
    BOOL(stopped, "stopped by the user before its end"),
    INT(steps, "steps made in this run"),
    INT(steps_per_epoch, "steps of one epoch"),
    INT(epochs, "epochs of the full training"),
    REAL(step_ms, "measured: time of the steps made, divided by their number"),
    REAL(samples_per_s, "measured: samples trained per second"),
    REAL(epoch_s, "derived: step_ms × steps_per_epoch"),
    REAL(first_loss, "mean loss over the first tenth of the steps"),
    REAL(last_loss, "mean loss over the last tenth of the steps"),
    REAL(test_accuracy, "on the held-out part, at the end"),
    BOOL(reached, "a full run on the real data reached what a correct one does"),
    INT(load_ns, "time to load or make the data"),
    INT(compile_ns, "time to compile the net"),
    INT(train_ns, "time of all steps"),
    INT(evaluate_ns, "time of all evaluations"),
    INT(checkpoint_ns, "time of all checkpoints"),
    INT(peak_memory_bytes, "largest resident memory of the process so far"),
    REAL(l1_pairs_per_s, "l1: element differences per second"),
    REAL(l1_largest_error, "l1: largest relative error against f64, over a sample of pairs"),
    TEXT(problem, "why it failed"),
    FIELD_SUB(FIELD_LIST, T, epoch_list, epoch_fields, "epoch by epoch"),
    FIELD_END,
};
#undef T

#define T struct runs
const struct field runs_fields[] = {
    TEXT(schema, "`" RUNS_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, runs, run_fields, "one per workload"),
    FIELD_END,
};
#undef T

#define T struct report
const struct field report_fields[] = {
    TEXT(schema, "`" REPORT_SCHEMA "`"),
    FIELD_IN(T, machine, machine_fields, "as `fare check --json` prints it"),
    FIELD_SUB(FIELD_LIST, T, runs, run_fields, "as `fare run --json` prints them"),
    FIELD_END,
};
#undef T
