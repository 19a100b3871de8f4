// SPDX-License-Identifier: Apache-2.0
// quote_job: gathers everything a quote is made from: the runs of a workload, the book, the rules.
#ifndef FARE_ADVISE_QUOTE_JOB_H
#define FARE_ADVISE_QUOTE_JOB_H

#include "advise/advice.h"

struct quote_job { // the input of a quote, and the quote
    bool asked;    // for one run, the first; else for a workload
    char *workload;
    LIST_OF(struct run) runs;
    struct quote_evidence *evidence;
    struct comparison *against; // one for each of `runs`
    size_t evidence_count;
    struct buf says;      // warnings for people, a line each: what the ledger could not take in
    const char *date;     // as it was given, for the record; null: today
    struct quote_ask ask; // `ask.market` belongs to the caller
    struct advice_wishes wishes;
    struct quote quote;
};

#define QUOTE_MAX_AGE 730 // days; older prices do not count

bool quote_is_workload(const char *word);

// `word`: a run, a workload, or null: the last run. Fills runs and evidence; `asked` must be set.
// `ledger` as in ledger.h; "": none, for workloads.
int quote_load(struct quote_job *job, const char *word, const char *ledger,
               struct err *err) MUST_USE;

// The same for a run that need not be in a ledger.
int quote_load_run(struct quote_job *job, const struct run *run, const char *ledger,
                   struct err *err) MUST_USE;

// Only these runs, those of the first one's workload.
int quote_load_runs(struct quote_job *job, const struct run *runs, size_t count,
                    struct err *err) MUST_USE;

// Other runs of its training, on any data of the same size: made samples take as long as real ones.
// `run->workload` is one of ours. Without the ledger where that cannot be read.
int quote_load_like(struct quote_job *job, const struct run *run, const char *ledger,
                    struct err *err) MUST_USE;

// Puts into `says`, in place of what was there, the rows of the user's rates.csv that hold on the
// day asked for and fit no offer: a name was mistyped, or is not in the book.
int quote_check_rates(struct quote_job *job, struct err *err) MUST_USE;

// Makes the quote of what was loaded: its head, bills and advice. The power of a machine that is
// bought is what the run measured, where the user gives no other.
int quote_assemble(struct quote_job *job, struct err *err) MUST_USE;

void quote_release(struct quote_job *job);

#endif
