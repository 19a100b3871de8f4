// SPDX-License-Identifier: Apache-2.0
// offer: what the price of one offer did, as documents (render/doc.h).
#ifndef FARE_VIEW_OFFER_H
#define FARE_VIEW_OFFER_H

#include "record/offer.h"
#include "render/doc.h"

// Spot prices zone by zone, and the price to count on. At least one zone.
void view_spot(struct doc *doc, const struct spot_prices *spot);

// Its prices, the newest first; at most `most`.
void view_price_history(struct doc *doc, const struct offer_record *offer, size_t most);

#endif
