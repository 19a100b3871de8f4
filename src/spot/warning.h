// SPDX-License-Identifier: Apache-2.0
// warning: how providers take spot machines away, and how long before it they say so:
// share/spot.csv; rows of the user's file of that name come first.
//
// The columns are provider, notice_s (seconds; empty: unknown; 0: none), taken (capacity: when the
// provider needs it; price: when another bids more), words, source, date.
#ifndef FARE_SPOT_WARNING_H
#define FARE_SPOT_WARNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct warning {
    char *provider, *source; // `source` ends in its date
    char *words;             // null: none
    int64_t ns;              // -1: unknown
    bool by_price;           // whoever bids more gets it
};

struct warnings {
    struct warning *items;
    size_t count;
    bool known;
};

// ERR_FORMAT names the file, line and column.
int warnings_open(struct warnings *out, struct err *err) MUST_USE;
void warnings_release(struct warnings *warnings);

// Null: nothing is known of this provider.
const struct warning *warnings_find(const struct warnings *warnings, const char *provider);

#endif
