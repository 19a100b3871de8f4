// SPDX-License-Identifier: Apache-2.0
// Shared by the files of quote, and private to them.
#ifndef FARE_ADVISE_QUOTE_PARTS_H
#define FARE_ADVISE_QUOTE_PARTS_H

#include "advise/estimates.h"
#include "advise/evidence.h"
#include "advise/quote.h"

// ---- order (quote_order.c)

// Sorts the lists of bills, cheapest first, and sets the place of each measured and estimated one.
int quote_sort(struct quote *quote, struct err *err) MUST_USE;

// ---- offers without a bill (quote_left_out.c)

struct leaving {
    struct quote *quote;
    size_t most; // rows in quote->misfits
    const char *provider, *name;
    uint64_t seen; // of that name: reasons × kinds
};

// Counts each name and kind once per reason; the book is sorted by name. `reason` is a constant.
// `listed`: it gets a row, too.
int quote_leave_out(struct leaving *leaving, const struct offer *offer, const char *reason,
                    const char *why, bool listed, struct err *err) MUST_USE;

// Null, or the reason to leave it out: the provider ends the machine before the training is over.
// `ends_s` 0: never.
const char *quote_too_late(int64_t ends_s, double time_s, char why[EVIDENCE_WHY]);

// The same: on that day it can no longer be ordered.
const char *quote_not_offered(const struct offer *offer, int day, char why[EVIDENCE_WHY]);

// The same for an estimate: nothing of that day trains on its GPU, or its host is an ARM processor.
// A run on such a machine shows that it does. `device`: the GPU, or the processor; may be null.
const char *quote_cannot_run(const struct device *device, int day, char why[EVIDENCE_WHY]);

// The same for a model's plan that keeps states in the host's memory.
const char *quote_no_host_memory(const struct estimated *estimated, const struct offer *offer,
                                 char why[EVIDENCE_WHY]);

// The same for the framework of the run that the estimate is from, as it was built.
const char *quote_unsupported(struct market *market, const struct run *run,
                              const struct device *device, char why[EVIDENCE_WHY]);

// ---- the bill of one offer (quote_bill.c)

struct candidate {
    struct offer offer;
    const struct proof *proof;
    struct proof_match match;          // (optional) the proof as one of several that are as near
    int64_t per_hour;                  // nano-USD
    const struct estimated *estimated; // null: measured
    double expected;                   // estimates: about the bill, to find the cheapest
    int64_t ends_s;                    // the provider ends it; 0: it does not
};

// How long the whole training takes there, with start-up. `*known`: as quote_time()'s.
int quote_candidate_time(const struct quote_ask *ask, const struct candidate *c,
                         struct bill_time *time, bool *known, struct err *err) MUST_USE;

// Adds it to the quote's bills, estimates or others. A price that cannot be computed (a currency
// without a rate, an overflow) makes this offer a misfit; the quote goes on. `basis` may be null.
int quote_add_bill(const struct quote_ask *ask, const struct candidate *c, const char *basis,
                   struct leaving *leaving, struct err *err) MUST_USE;

// ---- the search for offers (quote.c)

struct candidates { // laid out as any list
    struct candidate *items;
    size_t count;
    bool known;
};

// What is known of an offer's machine, whatever its region and price: a book has many offers of one
// in a row.
struct quote_machine {
    struct offer offer; // of which the members that proofs, estimates and doubts depend on count
    struct proof_match best[QUOTE_TRAININGS];
    bool found;                       // best[0] is a proof
    const struct estimated *estimate; // null: none, or it was not asked for
    const char *unfit;                // why the training would not run there; null: it would
    char unfit_why[EVIDENCE_WHY];
    int64_t least_hour; // doubt_least()
};

struct quote_search {
    const struct quote_ask *ask;
    const struct book *book;
    const struct tariff_book *tariffs;
    const struct currencies *currencies;
    int day; // of the prices
    struct proofs proofs;
    struct estimates *estimates; // null: none are made
    const struct startups *startups;
    struct candidates found, estimated;
    struct quote *quote;
    struct leaving leaving;
    // To count offers that are not measured: each provider's name and kind once.
    const char *last_provider, *last_name;
    unsigned int kinds_seen, kinds_found;
    int64_t not_measured;
    struct quote_machine machine; // of the last offer
    bool matched;                 // some offer is a machine with a run
    const char *provider; // the last one: whether its regions have factors, and its machines an end
    bool factors, ends;
};

// When the provider ends the machine; 0: it does not.
int64_t quote_ends_after_s(struct quote_search *search, const struct offer *offer);

// Adds the bill of ask->offer (quote_job.c).
int quote_add_named(struct quote_search *search, struct err *err) MUST_USE;

#endif
