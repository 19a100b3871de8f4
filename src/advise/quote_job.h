// SPDX-License-Identifier: Apache-2.0
// quote_job: gathers the runs a quote is made from, and makes the quote.
#ifndef FARE_ADVISE_QUOTE_JOB_H
#define FARE_ADVISE_QUOTE_JOB_H

#include "advise/advice.h"
#include "advise/run_history.h"

struct quote_job { // the input of a quote, and the quote
    bool asked;    // for one run, the first of `runs`; else for a workload
    char *workload;
    LIST_OF(struct run) runs;
    size_t lent; // the last of these: published ones, which belong to the market
    struct quote_evidence *evidence;
    struct comparison *against; // one for each of `runs`
    size_t evidence_count;
    struct run_history history;
    struct buf says;      // warnings for the user, one per line
    const char *date;     // as the user gave it, for the record; null: today
    int64_t total_steps;  // of the whole training, given for commands' runs; 0: not
    int64_t total_epochs; // the same
    struct quote_ask ask; // `ask.market` belongs to the caller, and must be set before loading
    struct advice_wishes wishes;
    struct quote quote;
};

#define QUOTE_MAX_AGE 730 // days; older prices do not count

bool quote_is_workload(const char *word);

// `word`: a run, a workload, or null for the last run. Fills runs and evidence; `asked` must be
// set. `ledger` may be null for a workload, and for a run that is given.
int quote_load(struct quote_job *job, const char *word, struct ledger *ledger,
               struct err *err) MUST_USE;

// The same for a run that may be in no ledger.
int quote_load_run(struct quote_job *job, const struct run *run, struct ledger *ledger,
                   struct err *err) MUST_USE;

// Uses only these runs, as far as they are of the first one's workload.
int quote_load_runs(struct quote_job *job, const struct run *runs, size_t count,
                    struct err *err) MUST_USE;

// Uses other runs of its training, on any data of the same size: made samples take as long as real
// ones. `run->workload` must be one of fare's. A ledger that cannot be read is left out.
int quote_load_like(struct quote_job *job, const struct run *run, struct ledger *ledger,
                    struct err *err) MUST_USE;

struct quote_given {         // a time that the user knows
    int64_t low_ns, high_ns; // of the whole training, or of a step; equal: no interval
    int64_t steps;           // 0: the time is the whole training's
    const char *gpu;         // takes this time; null: the machine is `ask.offer`
    int64_t gpus;
    bool or_more; // offers with more GPUs match too
};

// Quotes that time without any run. `ask.market`, `ask.offer` and the date must be set. ERR_USAGE
// for an unknown GPU or over 50 years.
int quote_load_given(struct quote_job *job, const struct quote_given *given,
                     struct err *err) MUST_USE;

// Replaces `says` by the rows of the user's rates.csv that are valid on the day asked for and match
// no offer: the name was mistyped, or is not in the book.
int quote_check_rates(struct quote_job *job, struct err *err) MUST_USE;

// Makes the quote from the loaded runs: head, bills and advice. Unless the user gives it, the power
// of a bought machine is the one that the run measured, with its host's share (bill/power.h).
int quote_assemble(struct quote_job *job, struct err *err) MUST_USE;

// Keeps the first `bills` bills, the first `estimates` estimates and those that lead; releases the
// rest. The shorter quote has the same verdict.
void quote_keep(struct quote *quote, size_t bills, size_t estimates);

void quote_release(struct quote_job *job);

#endif
