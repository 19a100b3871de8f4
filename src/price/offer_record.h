// SPDX-License-Identifier: Apache-2.0
// offer_record: an offer as a record, and its figures as text.
#ifndef FARE_PRICE_OFFER_RECORD_H
#define FARE_PRICE_OFFER_RECORD_H

#include "price/book.h"
#include "record/offer.h"

// Fills a zeroed record, without tariff, interruptions and history. The caller releases it.
int offer_to_record(const struct offer *offer, int day, struct offer_record *out,
                    struct err *err) MUST_USE;

// The same of a line of a list, with its doubt.
struct listing_line;
int offer_line_record(const struct listing_line *line, int day, struct offer_record *out,
                      struct err *err) MUST_USE;

// Fills in all members but the doubt.
int offer_describe(const struct book *book, const struct offer *offer, int day,
                   struct offer_record *out, struct err *err) MUST_USE;

void offer_date(int day, char out[12]);    // "2026-08-22"
void offer_milli(int value, char out[24]); // thousandths: "8", "0.125"

// The share of one GPU (or one vCPU if there is no GPU) in the price of an hour; -1: unknown.
int64_t offer_unit(const struct offer *offer, int64_t hour);

#endif
