// SPDX-License-Identifier: Apache-2.0
// compare: runs side by side, relative to a base: time, cost, and the confidence that they differ.
//
//     rc = comparing_new(&comparing, &options, err);
//     while (rc == 0 && there is one)
//         rc = comparing_add(comparing, text, len, err);
//     if (rc == 0)
//         rc = comparing_finish(comparing, &compare, err);
//
// Runs of the same training on the same machine by the same framework are one row, as long as they
// were measured alike (precision, batch, data, sampled or to the end, noisy or not). Each record is
// read once and reduced to a few figures, so tens of thousands are cheap. comparable.h decides
// which rows stand beside the base; docs/comparing.md explains the figures.
#ifndef FARE_ADVISE_COMPARE_H
#define FARE_ADVISE_COMPARE_H

#include "advise/pricing.h"
#include "bill/power.h"
#include "record/compare.h"

struct compare_options {
    const char *base;     // a selector; null: the row most workloads have, the oldest of several
    const char *workload; // only this one's runs; null: any
    // Only runs that fit one of these: selectors, a run's name, or a workload. Runs that were named
    // by an id or a label are rows of their own, even where they are otherwise alike.
    const char **words;
    size_t word_count;
    // Rows for machines nobody measured (compare_estimates.h); `pricing.market` must be set.
    const char **estimates;
    size_t estimate_count;
    struct pricing_options pricing; // `prorated` or `published`, or neither
    bool published;                 // costs as comparisons print them, beside what is charged
    // (optional) Electricity of machines whose price is unknown; needs pricing.market.
    const struct power_given *power;
    const char *currency; // (optional) of costs, beside USD; needs pricing.market
};

struct comparing;

int comparing_new(struct comparing **out, const struct compare_options *options,
                  struct err *err) MUST_USE;
void comparing_free(struct comparing *comparing); // null is fine

// A run's record, as the ledger or share/ keeps it; one that was not asked for is passed over.
int comparing_add(struct comparing *comparing, const char *text, size_t len,
                  struct err *err) MUST_USE;

// Fills a zeroed record, which the caller releases, also on failure. ERR_MISSING where a word fits
// no run; ERR_USAGE where the base fits no row, or several of one workload.
int comparing_finish(struct comparing *comparing, struct compare *out, struct err *err) MUST_USE;

// Whether its rows are rented machines of several providers, which have a type.
bool compare_rented(const struct compare_workload *workload);

// Appends "k80 + tensorflow (bf16)": the brackets tell it from other rows of that name.
void compare_label(const struct compare_row *row, struct buf *out);

#endif
