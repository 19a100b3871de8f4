// SPDX-License-Identifier: Apache-2.0
// history_record: the figures of a spot price's history as a record.
#ifndef FARE_SPOT_HISTORY_RECORD_H
#define FARE_SPOT_HISTORY_RECORD_H

#include "record/offer.h"
#include "spot/history.h"

struct spot_view {
    const char *place; // (optional) only this region or zone
    int day;           // as seen up to the end of this day; 0: all of it
    int64_t under;     // nano-USD an hour; -1: the on-demand price, or the lowest median of a zone
    size_t plot;       // points of each zone's plot; 0: none
};

// Fills a zeroed record, which stays empty if the book has no spot price of the offer's machine in
// these places on that day. The caller releases it.
int spot_describe(struct market *market, const struct offer *offer, const struct spot_view *ask,
                  struct spot_prices *out, struct err *err) MUST_USE;

#endif
