// SPDX-License-Identifier: Apache-2.0
// Shared by the files of quote, and private to them.
#ifndef FARE_ADVISE_QUOTE_PARTS_H
#define FARE_ADVISE_QUOTE_PARTS_H

#include "advise/quote.h"

// ---- order (quote_order.c)

// Sorts the lists of bills, cheapest first, and sets the place of each measured and estimated one.
int quote_sort(struct quote *quote, struct err *err) MUST_USE;

// ---- offers without a bill (quote_left_out.c)

struct leaving {
    struct quote *quote;
    size_t most; // rows in quote->misfits
    const char *provider, *name;
    uint64_t seen; // of that name: reasons × kinds
};

// Counts each name and kind once per reason; the book is sorted by name. `reason` is a constant.
// `listed`: it gets a row, too.
int quote_leave_out(struct leaving *leaving, const struct offer *offer, const char *reason,
                    const char *why, bool listed, struct err *err) MUST_USE;

#endif
