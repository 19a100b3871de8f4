// SPDX-License-Identifier: Apache-2.0
// pricing: what the machine of a run costs, and what a time on it costs.
//
// The price is, in this order: what the user said it is (--price), the offer that the user named
// for it (--offer), the label that an import kept, the run's own provider and instance type in the
// book on the run's date. Otherwise it is not known, and never 0.
#ifndef FARE_ADVISE_PRICING_H
#define FARE_ADVISE_PRICING_H

#include "bill/rule.h"
#include "record/run.h"

struct pricing_options {
    const char **prices; // "SELECTOR=USD_PER_HOUR", or the price alone for all
    size_t price_count;
    const char **offers; // "SELECTOR=OFFER", or the offer alone for all
    size_t offer_count;
    const char *book;  // the book's imported layer, as book_open() takes it
    const char *share; // where the shipped tables lie; null: the program's own, and the user's
    const char *date;  // of prices and rules, instead of the run's own; null: the run's
    bool prorated;     // rate × time, whatever the provider's rule
};

struct price {
    bool known;
    bool assumed; // the provider's rule is not known: whole seconds
    bool prorated;
    int64_t nano; // USD an hour
    int64_t start_s;
    struct rule rule;
    const struct tariff *tariff; // where the rule comes from; null: prorated. The pricing's
    int64_t discount_permille;   // the user's own
    int64_t unit_nano_usd;       // what one unit of the rule's currency is worth
    int64_t fees; // USD: monthly and for setting up, which a run does not cause: not in its cost
    char provider[64]; // who charges it; empty: unknown
    char from[160];    // "--price k80", "label of the run"; where it is not known: why, or empty
    char note[600];    // what has to be said: an old price; mostly empty
};

struct pricing;

// ERR_USAGE for options that are none: no price, below zero, no date.
int pricing_new(struct pricing **out, const struct pricing_options *options,
                struct err *err) MUST_USE;
void pricing_free(struct pricing *pricing); // null is fine

int pricing_of(struct pricing *pricing, const struct run *run, struct price *out,
               struct err *err) MUST_USE;

// After all runs: ERR_USAGE where a --price or --offer fitted none of them, a misspelt one say.
int pricing_check(const struct pricing *pricing, struct err *err) MUST_USE;

// The rule in words, appended.
void price_words(const struct price *price, struct buf *out);

// One use of the machine for so long. ERR_OVERFLOW where that leaves the range of money.
int price_cost(const struct price *price, int64_t length_ns, int64_t *nano_usd,
               struct err *err) MUST_USE;

#endif
