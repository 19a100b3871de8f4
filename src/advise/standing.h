// SPDX-License-Identifier: Apache-2.0
// standing: whether a row may be called cheapest, fastest or best; if not, what it is and why.
//
// The one rule of that. A row may lead if its machine can run the program, it can be ordered, its
// price is current (book/listing.h), and its expected bill is known. The fifth condition compares
// rows, and is the verdict's: nothing whose interval reaches below the leader is surer (verdict.h).
#ifndef FARE_ADVISE_STANDING_H
#define FARE_ADVISE_STANDING_H

#include "record/bill.h"

enum standing {
    STANDING_LEADS,
    STANDING_TRIAL,  // worth a minute's trial: something about it is unknown
    STANDING_OLD,    // its price is older than others'
    STANDING_HIDDEN, // not shown unless everything is
};
enum standing standing_of(const struct bill *bill);

// Sets `standing` and `standing_why` of all bills of a quote, and its `prices_of`, the date of the
// newest prices if none is current.
int standing_judge(struct quote *quote, struct err *err) MUST_USE;

#endif
