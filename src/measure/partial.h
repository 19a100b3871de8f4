// SPDX-License-Identifier: Apache-2.0
// partial: a run's record as it would be were the run killed now, kept in a journal
// (ledger/journal.h) every few seconds while it runs.
//
// To be called between steps, outside of what is timed. The text is made here, in a millisecond or
// two, and written by the journal's thread; where making it takes longer it is made less often, so
// that it stays below PARTIAL_SHARE of the time.
#ifndef FARE_RUN_PARTIAL_H
#define FARE_RUN_PARTIAL_H

#include "ledger/journal.h"
#include "record/run.h"

#define PARTIAL_SHARE 0.0008

struct partial {
    struct journal *journal; // null: nothing is kept
    int64_t start_ns;        // of the run
    int64_t next_ns;         // when it is due
};

void partial_begin(struct partial *partial, struct journal *journal, int64_t start_ns);

bool partial_due(const struct partial *partial);

// `fill` adds to a copy of `run` what is known by now and not in it. What fails is left out: the
// run itself goes on.
typedef int partial_fn(void *context, struct run *part, struct err *err);
void partial_keep(struct partial *partial, const struct run *run, partial_fn *fill, void *context);

void partial_end(struct partial *partial);

#endif
