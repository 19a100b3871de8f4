// SPDX-License-Identifier: Apache-2.0
// tariffs: how each provider charges, by date: share/providers/*.json (record/tariff.h), and in
// front of them the user's own in providers/ of the configuration folder.
#ifndef FARE_PRICE_TARIFFS_H
#define FARE_PRICE_TARIFFS_H

#include "base/err.h"
#include "price/offer.h"
#include "record/tariff.h"

struct tariff_book;

int tariff_book_open(struct tariff_book **out, struct err *err) MUST_USE;
void tariff_book_close(struct tariff_book *book); // null is fine

// The tariff of that provider and kind on that day (days since 1970); where there is none,
// "default": per second, no minimum, and `*assumed` is set, which whoever prints says.
const struct tariff *tariff_find(const struct tariff_book *book, const char *provider,
                                 enum offer_kind kind, int day, bool *assumed);
const struct tariff *tariff_by_id(const struct tariff_book *book, const char *id);

// The rule in a sentence: "per second, at least 60 s; 100 GB at 0.08 USD a month".
struct buf;
void tariff_words(const struct tariff *tariff, struct buf *out);

#endif
