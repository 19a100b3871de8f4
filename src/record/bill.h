// SPDX-License-Identifier: Apache-2.0
// Records of bills and quotes: the cost of a run on an offer, line by line, and offers side by
// side. Plain data.
#ifndef FARE_RECORD_BILL_H
#define FARE_RECORD_BILL_H

#include "record/field.h"

#define QUOTE_SCHEMA "fare.quote/2"

enum { QUOTE_ROWS_MOST = 1000000 }; // offers in a quote, see field.h

// What lines of a bill are for, besides parts of the time ("boot", "train").
#define LINE_IDLE            "idle to the end of the billing unit"
#define LINE_UNUSED          "unused GPUs"
#define LINE_STOPPED         "time while stopped"
#define LINE_STORAGE         "storage"
#define LINE_STORAGE_STOPPED "storage while stopped"
#define LINE_EGRESS          "egress"
#define LINE_INGRESS         "ingress"
#define LINE_MONTHLY_FEE     "monthly fee"
#define LINE_SETUP_FEE       "set-up fee"
#define LINE_DISCOUNT        "discount"
#define LINE_ROUNDING        "rounding"
#define LINE_CREDIT          "credit"

// Ways to train on a spot machine that a reader looks for: `way` of a struct spot_row.
#define SPOT_ON_DEMAND "on-demand"
#define SPOT_BEST      "best"
#define SPOT_FALL_BACK "fall-back"
#define SPOT_POLICY    "policy"

// Why nobody can say that a training runs on a GPU as estimated: `untried` of a bill.
#define BILL_UNTRIED_PART   "part"
#define BILL_UNTRIED_VENDOR "vendor"

#include "record/bill.def"

static inline void bill_release(struct bill *record)
{
    record_release(bill_fields, record);
}

#endif
