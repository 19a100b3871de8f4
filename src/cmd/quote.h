// SPDX-License-Identifier: Apache-2.0
// quote: what the files of `fare quote` share; not for others.
#ifndef FARE_CMD_QUOTE_H
#define FARE_CMD_QUOTE_H

#include "advise/advice.h"
#include "cmd/cmd.h"

struct quote_options {
    struct cmd_common common;
    const char *ledger, *book, *format;
    const char *offer, *gpu, *provider, *region, *kind;
    bool all, pinned, interrupted;
    const char *date, *rule, *hour_of_mine;
    int64_t max_age, commit, used_ns, boot_ns, storage, keep_ns, egress, ingress;
    int64_t deadline_ns, hours_per_month, runs, watts, life;
    const char *budget, *buy, *resale, *kwh;
};

struct quote_job { // what is gathered before anything is computed, and the result
    bool asked;    // for one run, the first; else for a workload
    char *workload;
    LIST_OF(struct run) runs;
    int64_t epochs; // of the workload asked for; 0: unknown
    struct quote_evidence *evidence;
    struct comparison *against; // one for each of `runs`
    size_t evidence_count;
    struct book *book;
    struct devices *devices;
    struct tariff_book *tariffs;
    struct currencies *currencies;
    struct rates *rates;
    struct quote_ask ask;
    struct advice_wishes wishes;
    struct quote quote;
};

#define QUOTE_MAX_AGE 730 // days: prices that were not seen since are history

bool quote_is_workload(const char *word);

// `word`: a run, a workload, or null: the last run. Fills runs and evidence; `asked` must be set.
// `ledger` as in ledger.h; "": none, for workloads.
int quote_load(struct quote_job *job, const char *word, const char *ledger,
               struct err *err) MUST_USE;

// The book and the rules. `book`: see book_open().
int quote_open(struct quote_job *job, const char *book, struct err *err) MUST_USE;
void quote_release(struct quote_job *job);

void quote_show(struct out *out, const struct quote_job *job, const struct quote_options *options);

// Rows with the columns of FOCUS, the open specification of cost data.
int quote_focus(struct out *out, const struct quote_job *job, struct err *err) MUST_USE;

#endif
