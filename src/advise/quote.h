// SPDX-License-Identifier: Apache-2.0
// quote: the cost of a training on every offer that matches a machine it was measured on.
//
// The evidence is runs: the one asked for, and others of the same training on other machines (from
// the ledger, imported or published). evidence.h says which run an offer matches. All other offers
// are not measured; if asked for, those with GPUs get an estimate (estimates.h), in a list of their
// own.
#ifndef FARE_ADVISE_QUOTE_H
#define FARE_ADVISE_QUOTE_H

#include "advise/comparable.h"
#include "advise/quote_spot.h"
#include "bill/own.h"
#include "market/bill.h"
#include "record/run.h"

#define QUOTE_TRAININGS 20 // in one quote: the one asked for and others

struct quote_evidence {
    const struct run *run;
    const struct comparison *against; // (optional) with the run asked for: notes for the bill
    char *label;     // "pytorch, 2018, tweets, 1578627 samples": which training it is
    int year;        // when it ran or was published; 0: unknown
    size_t training; // 0: the one asked for; others by label, below QUOTE_TRAININGS
};

struct quote_ask {
    const struct quote_evidence *evidence;
    size_t evidence_count;
    bool asked; // the first run is the one asked for; otherwise none is preferred
    struct market *market;
    struct wishes wishes;
    struct startup_given startup;
    struct spot_ask spot;
    const struct run_history *history; // (optional) evidence for estimates (run_history.h)

    const char *offer; // only this one: the machine of the run asked for is assumed to be it;
                       // for a workload, the run that was measured on it counts
    const char *gpu, *provider, *region;
    const enum offer_kind *kind;   // null: any
    int gpus;                      // to train on, at the same batch per GPU; 0: as many as the run
#define QUOTE_GPUS_ANY (-1)        // as many of an offer's GPUs as is fastest
    bool exact_gpus;               // offers with more GPUs than the run used do not match
    bool every_region;             // not only the cheapest of each offer
    const struct own_machine *own; // (optional) a machine to buy: an offer too
    const char *own_gpu;           // with `own`: its GPU; null: it is the first run's machine
    int max_age;                   // days; offers whose price was not seen since are left out
    bool estimates;                // for offers without a run, too
    size_t most_estimates;         // bills of the cheapest (add_estimates); 0: of all
    size_t most_misfits;           // rows of offers left out; 0: a few, or with every_region all
};

// Fills the bills, cheapest first (incomplete ones last), offers left out and the number of those
// not measured. If no offer matches, names one whose price is too old; that is no error.
// ERR_MISSING if `offer` is not in the book.
int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err) MUST_USE;

#define QUOTE_MISFITS 20 // rows of offers left out, unless more are asked for

#define QUOTE_ALIKE 0.99 // times this close are one: the cheaper offer is as fast

// Whether it may be named as cheapest, fastest or the answer to a deadline or budget: its price can
// be believed, it ends, and neither its bill nor its time is a lower bound (bill_is_bound).
bool quote_can_lead(const struct bill *bill);

// Of sorted bills: the cheapest and the fastest of those that can lead; null: none can. Times of
// estimates count with the end of their interval; of two that are alike the cheaper one counts.
const struct bill *quote_cheapest(const struct bill *bills, size_t count);
const struct bill *quote_fastest(const struct bill *bills, size_t count);

// The first lower bound in front of the cheapest, or of all if none can lead: nobody knows whether
// it is cheaper. Null: none.
const struct bill *quote_least_bound(const struct bill *bills, size_t count);

// The cheapest estimate if it goes before the cheapest bill, or there is none; null: it does not.
const struct bill *quote_cheaper_estimate(const struct quote *quote);

// The cheapest of bills and estimates; null: none can lead.
const struct bill *quote_leader(const struct quote *quote);

// The same, or else the lowest bound: for figures with their ≥, not to be called cheapest. Null:
// there is no bill.
const struct bill *quote_lowest(const struct quote *quote);

// Whether `a` ends before `b`, or only `a` can lead.
bool quote_sooner(const struct bill *a, const struct bill *b);

// Whether it is sure to end within that time, or to cost no more than that: at the end of its
// interval, with everything priced and owed. A lower bound is sure of nothing.
enum quote_keeps { QUOTE_MISSES, QUOTE_MAY_KEEP, QUOTE_KEEPS };
enum quote_keeps quote_in_time(const struct bill *bill, double within_s);
enum quote_keeps quote_within(const struct bill *bill, int64_t nano_usd);

// The most that it may cost: at the end of its interval, by started hours where the rule is
// assumed, and all that a commitment owes.
int64_t quote_dearest(const struct bill *bill);

// Why a bill stands behind dearer ones: "bill incomplete", "price doubtful", "rule assumed"; null:
// nothing is in doubt.
const char *quote_doubt(const struct bill *bill);

// Bills, then estimates: the `i`th of both, and how many there are.
const struct bill *quote_at(const struct quote *quote, size_t i);
size_t quote_count(const struct quote *quote);

// Measured and estimated bills in one order, cheapest first, ending in null; the caller frees it.
// A measured bill goes before an estimate whose interval overlaps its own (quote_order.c).
const struct bill **quote_rows(const struct quote *quote, struct err *err) MUST_USE;

// How the estimate for an offer comes about, in about ten lines.
int quote_explain(const struct quote_ask *ask, const char *offer, struct buf *out,
                  struct err *err) MUST_USE;

// The offer that a bill of this quote is for.
int quote_offer(const struct quote_ask *ask, const struct bill *bill, struct offer *offer,
                struct err *err) MUST_USE;

// The time of a run on an offer, with start-up; `*known` false: unknown.
int quote_time(const struct quote_ask *ask, const struct run *run, const struct offer *offer,
               struct bill_time *time, bool *known, struct err *err) MUST_USE;

// The time of the run asked for, on its own machine, without start-up; false: unknown.
bool quote_base(const struct quote_ask *ask, struct bill_time *time);

#endif
