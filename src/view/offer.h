// SPDX-License-Identifier: Apache-2.0
// offer: one offer, with what it costs elsewhere and what its price did; as documents
// (render/doc.h).
#ifndef FARE_VIEW_OFFER_H
#define FARE_VIEW_OFFER_H

#include "bill/market.h"
#include "record/offer.h"
#include "render/doc.h"

struct offer_ask {
    const char *name;     // as --offer takes it
    int day;              // 0: today
    const char *currency; // (optional) beside its own
    // of a spot offer, as in struct spot_view
    int64_t under;
    size_t plot;
    bool region; // all zones of its region, not only the place in its name
};

struct offer_page {
    struct offer_record record;
    struct offer offer;
    int day;
    size_t places;     // with such an offer of the same kind; its prices of an hour there
    int64_t low, high; // in its currency
    bool has_other;
    struct offer other; // the cheapest of another kind
};

// Fills a zeroed struct, whose record the caller releases in any case. Its offers' texts live as
// long as the market.
int offer_page_make(struct market *market, const struct offer_ask *ask, struct offer_page *out,
                    struct err *err) MUST_USE;

// Price, machine, how it is billed, other places.
void view_offer(struct doc *doc, const struct offer_page *page);

// Spot prices zone by zone, with the price to count on, if they tell anything; and its prices, the
// newest first, at most `most`.
void view_offer_prices(struct doc *doc, const struct offer_record *offer, size_t most);

bool offer_spot_tells(const struct spot_prices *spot); // false: a single price only

#endif
