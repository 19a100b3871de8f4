// SPDX-License-Identifier: Apache-2.0
// offers: the prices of a GPU model: all its offers as a strip, and what they did over time.
#ifndef FARE_VIEW_OFFERS_H
#define FARE_VIEW_OFFERS_H

#include "book/listing.h"
#include "view/draft.h"

// A plot of one strip of the offers in a list of all places, which are of one GPU model: a row per
// provider, a mark per price of a GPU-hour. Prices within 2 percent are one mark.
void plot_offers(struct draft *d, const struct listing *list);

// The lowest price of a GPU-hour of a kind among the first lines, which are sorted by it; null:
// none has a price that can be.
const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind);

// "H100: from 1.49 USD per GPU-hour on demand at hyperbolic, 0.85 on spot at vast", of a list with
// offers of one model.
int offers_title(const struct listing *list, char **title, struct err *err) MUST_USE;

// Reads all places of a GPU model on that day (0: today). The caller releases the list in any case.
int offers_list(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct listing *list, struct err *err) MUST_USE;

// A plot of the histories of the cheapest offer of each provider, and one of spot prices zone by
// zone; each only if the book has prices that changed.
void plot_offer_histories(struct draft *d, struct market *market, const struct listing *list);

#endif
