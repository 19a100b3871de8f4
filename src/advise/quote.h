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
#include "advise/modelled.h"
#include "advise/quote_spot.h"
#include "bill/bill.h"
#include "bill/own.h"
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
    const struct modelled *model;      // (optional) all estimates are from it, none from a run

    const char *offer; // only this one: the machine of the run asked for is assumed to be it;
                       // for a workload, the run that was measured on it counts
    const char *gpu, *provider, *region;
    const enum offer_kind *kind; // null: any
    int gpus;                    // to train on, at the same batch per GPU; 0: as many as the run
#define QUOTE_GPUS_ANY (-1)      // as many of an offer's GPUs as is fastest
    bool exact_gpus;             // offers with more GPUs than the run used do not match
    bool together; // several machines with QUOTE_NODE_GPUS or more each may have these GPUs
    const struct device *const *among; // only machines with one of these GPUs
    size_t among_count;                // 0: any
    bool every_region;                 // not only the cheapest of each offer
    const struct own_machine *own;     // (optional) a machine to buy: an offer too
    const char *own_gpu;               // with `own`: its GPU; null: it is the first run's machine
    int max_age;                       // days; offers whose price was not seen since are left out
    bool estimates;                    // for offers without a run, too
    size_t most_estimates;             // bills of the cheapest (add_estimates); 0: of all
    size_t most_misfits; // rows of offers left out; 0: a few, or with every_region all
};

// Fills the bills, cheapest first (incomplete ones last), offers left out and the number of those
// not measured. If no offer matches, names one whose price is too old; that is no error.
// ERR_MISSING if `offer` is not in the book.
int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err) MUST_USE;

#define QUOTE_NODE_GPUS 8 // machines with fewer have no link to others that is worth it

#define QUOTE_MISFITS 20 // rows of offers left out, unless more are asked for

#define QUOTE_ALIKE 0.99 // times this close are one: the cheaper offer is as fast

// The most that it may cost: at the end of its interval, by started hours where the rule is
// assumed, and all that a commitment owes.
int64_t quote_dearest(const struct bill *bill);
int64_t quote_least(const struct bill *bill); // its amount, or all that is owed if that is more

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

// The time of the run asked for, on its own machine, without start-up; false: unknown, or a model's
// description is asked about.
bool quote_base(const struct quote_ask *ask, struct bill_time *time);

#endif
