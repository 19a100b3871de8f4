// SPDX-License-Identifier: Apache-2.0
// tariffs: how each provider charges, by date. They come from share/providers/*.json
// (record/tariff.h) and from providers/ in the user's configuration folder.
//
// If several hold on a day, the user's own wins, then one that names the offer, then the one that
// began last, then the later one in its file.
#ifndef FARE_BOOK_TARIFFS_H
#define FARE_BOOK_TARIFFS_H

#include <stdbool.h>

#include "base/err.h"
#include "tables/offer.h"
#include "record/tariff.h"

struct tariff_book;

// ERR_FORMAT names the file, the tariff and the member that is wrong.
int tariff_book_open(struct tariff_book **out, struct err *err) MUST_USE;
void tariff_book_close(struct tariff_book *book); // null is fine

// The same from these folders; null or "": none.
int tariff_book_read(struct tariff_book **out, const char *shipped, const char *own,
                     struct err *err) MUST_USE;

// The offer's tariff on that day (days since 1970; 0: today), by its provider, kind and name.
// Without one it is "default": per second, no minimum. `*assumed` (optional) is set if the
// unit of time is a guess: say so wherever the price is printed.
const struct tariff *tariff_for(const struct tariff_book *book, const struct offer *offer, int day,
                                bool *assumed);

// Whether `day` is in a validity: from the first date to before the second; null: no bound.
bool tariff_holds(const char *from, const char *to, int64_t day);

// Whether an offer's name fits one of the patterns; without patterns every name does.
bool tariff_names(char *const *patterns, size_t count, const char *name);

// Whether some of the provider's tariffs have factors for regions.
bool tariff_has_regions(const struct tariff_book *book, const char *provider);

// Whether some of them end a machine (ends_after_s).
bool tariff_has_end(const struct tariff_book *book, const char *provider);

// All of them, the user's own first; null past the last.
const struct tariff *tariff_at(const struct tariff_book *book, size_t index);

// The rule in a sentence: "per second, at least 60 s a start; storage 0.08 USD per GB and month".
struct buf;
// Of an offer (optional, its name) only what holds for it on that day.
void tariff_words(const struct tariff *tariff, const char *offer, int64_t day, struct buf *out);

// A part of that sentence; nothing if it is not known.
enum tariff_part { TARIFF_UNIT, TARIFF_STORAGE, TARIFF_TRAFFIC }; // unit: with the minimum
void tariff_part_words(const struct tariff *tariff, enum tariff_part part, struct buf *out);

// The share of the rate, in thousandths.
int64_t tariff_commitment_permille(const struct tariff_commitment *commitment);

// Checks every member that is present. ERR_FORMAT names the tariff and the member.
int tariff_check(const struct tariff *tariff, struct err *err) MUST_USE;

#endif
