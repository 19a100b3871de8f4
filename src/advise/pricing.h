// SPDX-License-Identifier: Apache-2.0
// pricing: matches --price and --offer of a comparison with its runs. bill/run_price.h has the
// prices themselves.
#ifndef FARE_ADVISE_PRICING_H
#define FARE_ADVISE_PRICING_H

#include "bill/run_price.h"

struct pricing_options {
    const char **prices; // "SELECTOR=USD_PER_HOUR", or the price alone for all
    size_t price_count;
    const char **offers; // "SELECTOR=OFFER", or the offer alone for all
    size_t offer_count;
    const enum offer_kind *kind; // (optional) of the prices, where an offer's name has none
    struct market *market;
    const char *date; // of prices and rules, instead of the run's own; null: the run's
    bool prorated;    // rate × time, whatever the provider's rule
};

struct pricing;

// ERR_USAGE for an invalid option: not a price, below zero, not a date.
int pricing_new(struct pricing **out, const struct pricing_options *options,
                struct err *err) MUST_USE;
void pricing_free(struct pricing *pricing); // null is fine

int pricing_of(struct pricing *pricing, const struct run *run, struct run_price *out,
               struct err *err) MUST_USE;

// Call it after all runs: ERR_USAGE if a --price or --offer matched none, such as a misspelt one.
int pricing_check(const struct pricing *pricing, struct err *err) MUST_USE;

#endif
