// SPDX-License-Identifier: Apache-2.0
// Records of bills and quotes: the cost of a run on an offer, line by line, and offers side by
// side. Plain data.
#ifndef FARE_RECORD_BILL_H
#define FARE_RECORD_BILL_H

#include "record/field.h"

#define QUOTE_SCHEMA "fare.quote/1"

enum { QUOTE_ROWS_MOST = 1000000 }; // offers in a quote, see field.h

#include "record/bill.def"

#endif
