// SPDX-License-Identifier: Apache-2.0
// row: what the ledger's columns hold of a record; for ledger.c, not for others.
#ifndef FARE_LEDGER_ROW_H
#define FARE_LEDGER_ROW_H

#include "base/buf.h"
#include "base/err.h"
#include "record/run.h"

// The head of a record: a few members of struct run, read without the rest.
struct row_machine {
    char *fingerprint;
    char *name;
    char *cpu;
    char *gpu;
    char *instance_type;
};
struct row {
    char *schema;
    char *id;
    char *started;
    char *name;
    char *workload;
    char *framework;
    struct row_machine machine;
    LIST_OF(struct run_label) labels;
    char *ended;
    struct maybe_bool full;
    struct maybe_real step_ms;
    struct run_phases phases;
    struct run_steady steady;
    struct run_projection projection;
};

// Checks the whole record and reads its head. ERR_FORMAT where it is no run, or its id could not
// be one: 1 to 120 letters, digits and . _ : - with no dot in front.
int row_read(const char *text, size_t len, struct row *row, struct err *err) MUST_USE;

// The same for a record that others wrote: what it says must be possible too (record/judge.h).
int row_judge(const char *text, size_t len, struct row *row, struct err *err) MUST_USE;
void row_release(struct row *row);

// The time of the whole training in seconds: measured where it was trained to the end, otherwise
// projected. False where neither is known.
bool row_wall_s(const struct row *row, double *seconds);

// The record without the lists that grow with a run (steps, samples, epochs): what whoever walks
// through many runs reads. The epochs stay where only they tell how long the training took. `text`
// is what `row` was read from. False, and nothing in `head`, where the record is short or that
// would save less than half: the record is its own head then.
bool row_head(const struct row *row, const char *text, size_t len, struct buf *head);

#endif
