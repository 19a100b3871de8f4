// SPDX-License-Identifier: Apache-2.0
// account: where the GPU's time goes in a training step: its work by class, and why it waits.
//
// Only whole steps count, and none that is much longer than the others: those hold an evaluation, a
// checkpoint or a compilation. Where several devices are used, the busiest one stands for all.
#ifndef FARE_TRACE_ACCOUNT_H
#define FARE_TRACE_ACCOUNT_H

#include "record/run.h"
#include "trace/classes.h"
#include "trace/pattern.h"

// A gap up to SHORT lies between two kernels even where the host is far ahead. A gap before data
// counts as waiting for it from DATA_LEAST and DATA_SHARE of the step on; a shorter one is the
// host's.
#define ACCOUNT_SHORT_NS      5000
#define ACCOUNT_DATA_LEAST_NS 1000000
#define ACCOUNT_DATA_SHARE    0.03

enum account_gap { GAP_DATA, GAP_SYNC, GAP_HOST, GAP_SHORT, GAPS };

struct account {
    int64_t steps, covered_ns, step_ns;
    int64_t busy_ns, gap_ns[GAPS];
    int64_t exposed_ns;                   // of busy_ns: nothing but collectives runs
    int64_t work_ns[CLASSES][PRECISIONS]; // sums of times, which may overlap
    double launches;                      // per step, median
};

// The items must be sorted by start. Without steps the result is zero.
int account_make(const struct trace_item *items, size_t count, const struct pattern *pattern,
                 struct account *out, struct err *err) MUST_USE;

// Adds up several processes' accounts.
void account_add(struct account *to, const struct account *other);

// Time in collectives, which may overlap.
int64_t account_collectives_ns(const struct account *account);

int account_record(const struct account *account, struct run_account *record,
                   struct err *err) MUST_USE;

#endif
