// SPDX-License-Identifier: Apache-2.0
// compare_local: the costs of a comparison in the currency of --currency, beside USD. The costs of
// a group of runs are converted by compare_local_group() in compare_parts.h.
#ifndef FARE_ADVISE_COMPARE_LOCAL_H
#define FARE_ADVISE_COMPARE_LOCAL_H

#include "bill/market.h"
#include "record/compare.h"

// All costs of a row at the rate of one day; a null currency changes nothing.
int compare_local_row(struct market *market, const char *currency, int day, struct compare_row *row,
                      struct err *err) MUST_USE;

#endif
