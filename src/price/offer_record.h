// SPDX-License-Identifier: Apache-2.0
// offer_record: an offer of the book as a record, and its figures as people read them.
#ifndef FARE_PRICE_OFFER_RECORD_H
#define FARE_PRICE_OFFER_RECORD_H

#include "price/book.h"
#include "record/offer.h"

// All but tariff, interruptions and history; into a zeroed record, released by the caller.
int offer_to_record(const struct offer *offer, int day, struct offer_record *out,
                    struct err *err) MUST_USE;

// All of it.
int offer_describe(const struct book *book, const struct offer *offer, int day,
                   struct offer_record *out, struct err *err) MUST_USE;

void offer_date(int day, char out[12]);    // "2026-08-22"
void offer_milli(int value, char out[24]); // thousandths: "8", "0.125"

// Of the price of an hour that of one GPU, or of one vCPU where there is none; -1: unknown.
int64_t offer_unit(const struct offer *offer, int64_t hour);

#endif
