// SPDX-License-Identifier: Apache-2.0
// notice: how providers take spot machines away, and how long before it they say so:
// share/spot.csv; rows of the user's file of that name come first.
//
// The columns are provider, notice_s (seconds; empty: unknown; 0: none), taken (capacity: when the
// provider needs it; price: when another bids more), words, source, date.
#ifndef FARE_SPOT_NOTICE_H
#define FARE_SPOT_NOTICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct notice {
    char *provider, *source; // `source` ends in its date
    char *words;             // null: none
    int64_t ns;              // -1: unknown
    bool by_price;           // whoever bids more gets it
};

struct notices {
    struct notice *items;
    size_t count;
    bool known;
};

// ERR_FORMAT names the file, line and column.
int notices_open(struct notices *out, struct err *err) MUST_USE;
void notices_release(struct notices *notices);

// Null: nothing is known of this provider.
const struct notice *notices_find(const struct notices *notices, const char *provider);

#endif
