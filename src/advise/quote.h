// SPDX-License-Identifier: Apache-2.0
// quote: what a training costs on everything it was measured on, or on what is the same.
//
// Evidence are runs: the one that was asked for, and others of the same training on other machines
// (the ledger's, imported and published ones). An offer fits a run that used GPUs where it has the
// same GPU, in at least that number and with enough memory; a run on CPUs where it is the very
// instance type, or has the same processor and as many virtual CPUs. Of several runs that fit, the
// one asked for counts, then those on the very instance type, then the fastest. Nothing else is
// guessed: it is not measured.
#ifndef FARE_ADVISE_QUOTE_H
#define FARE_ADVISE_QUOTE_H

#include "advise/comparable.h"
#include "bill/bill.h"
#include "bill/own.h"
#include "price/device.h"
#include "price/book.h"
#include "record/run.h"

struct quote_evidence {
    const struct run *run;
    const struct comparison *against; // (optional) the run asked for: its notes go into the bill
};

struct quote_ask {
    const struct quote_evidence *evidence;
    size_t evidence_count;
    bool asked; // the first is the run that was asked for; otherwise all are alike
    const struct book *book;
    const struct devices *devices;
    struct bill_context context;
    int64_t boot_ns;   // -1: as each run saw it
    const char *offer; // only this one: the machine of the run asked for is declared to be it,
                       // where it is not the same; of a workload what was measured on it
    const char *gpu, *provider, *region;
    const enum offer_kind *kind;   // null: any
    bool every_region;             // not only the cheapest of each offer
    const struct own_machine *own; // (optional) the first run's machine, bought: an offer too
    int max_age;                   // days; prices that were not seen since are history, not offers
};

// Where nothing fits, names an offer that would but for the age of its price.
// Fills the bills, cheapest first (those with something unpriced last), misfits and the count of
// what is not measured. ERR_MISSING where `offer` is not in the book; no fitting offer is no error.
int quote_make(const struct quote_ask *ask, struct quote *quote, struct err *err) MUST_USE;

// The offer of a bill of that quote.
int quote_offer(const struct quote_ask *ask, const struct bill *bill, struct offer *offer,
                struct err *err) MUST_USE;

// How long the run asked for takes where it was measured; false: unknown.
bool quote_base(const struct quote_ask *ask, struct bill_time *time);

#endif
