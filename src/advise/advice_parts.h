// SPDX-License-Identifier: Apache-2.0
// Shared by the files of advice, and private to them.
#ifndef FARE_ADVISE_ADVICE_PARTS_H
#define FARE_ADVISE_ADVICE_PARTS_H

#include "advise/advice.h"
#include "advise/verdict_words.h"

bool advice_is_own(const struct bill *bill); // a bought machine

// The ends of an estimated training time as shares of it; 1 and 1: it is not estimated.
void advice_spread(const struct bill *bill, double *low, double *high);

// Several runs, and use by the month, as far as asked for (advice_runs.c).
int advice_several(const struct quote_ask *ask, const struct advice_wishes *wishes,
                   struct quote *quote, struct err *err) MUST_USE;

#endif
