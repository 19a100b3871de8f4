// SPDX-License-Identifier: Apache-2.0
// stock: collects offers in any order, then merges them with an older image into a new one.
// Internal to price/.
//
// Each addition is an observation: this offer, at this price, on this date. An unchanged price
// extends the last date of its row; a new price adds a row, also for an earlier date. Nothing is
// overwritten: two prices for one date are both stored, and the later addition is valid.
//
// A spot price that is known to the second is added twice: the price of each day as above, and all
// its changes as a series.
#ifndef FARE_BOOK_STOCK_H
#define FARE_BOOK_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "book/image.h"
#include "tables/offer.h"

// words: an index of strings, each known by a number, of which 0 is the empty string. A catalogue
// repeats "us-east-1" fifty thousand times. Pointers from words_text() are valid until the next
// words_add().
int words_add(struct index *words, const char *text, uint32_t *number, struct err *err) MUST_USE;
const char *words_text(const struct index *words, uint32_t number);

// ranks[number] is the word's position in strcmp() order. The caller frees it; null if out of
// memory.
uint32_t *words_rank(const struct index *words, struct err *err) MUST_USE;

struct stock_row {
    uint32_t provider, name, region, zone, gpu, cpu; // numbers of words
    int32_t gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    uint8_t kind, bare_metal;
    struct image_price price;
    uint32_t table, line; // name and line of a hand-written table; 0: a catalogue
};

// The changes of a spot price that one file has.
struct stock_series {
    uint32_t provider, name, region, zone, source; // numbers of words
    size_t first, count;                           // in stock.changes
    int64_t from_s, until_s;
};

// A zeroed struct is empty.
struct stock {
    struct index words;
    struct stock_row *rows;
    size_t count, cap;
    struct image_risk *risks;
    size_t risk_count, risk_cap;
    struct stock_series *series;
    size_t series_count, series_cap;
    struct image_change *changes;
    size_t change_count, change_cap;
};

// A price that moves by more than this factor at once is more likely a wrong unit than a new price.
enum { PRICE_LEAP = 5 };

struct stock_counts {
    size_t offers;  // new offers
    size_t prices;  // known offers whose price changed
    size_t seen;    // known offers with the same price
    size_t leaps;   // prices that changed by more than a factor of PRICE_LEAP
    size_t doubles; // different prices for one offer and date: in a catalogue the lowest counts, a
                    // hand-written table is refused
};

void stock_release(struct stock *stock);

// Copies the offer's strings. ERR_FORMAT if there are too many offers.
int stock_add(struct stock *stock, const struct offer *offer, struct err *err) MUST_USE;

struct offer_risk;
int stock_add_risk(struct stock *stock, const char *provider, const char *name, const char *region,
                   const struct offer_risk *risk, struct err *err) MUST_USE;

// Every change of this spot offer that was seen from `from_s` to before `until_s`: times ascend,
// and no price is 0.
int stock_add_series(struct stock *stock, const struct offer *offer,
                     const struct image_change *changes, size_t count, int64_t from_s,
                     int64_t until_s, struct err *err) MUST_USE;

// Among the rows from `first` on, replaces the zones of a region by one row if they have the same
// price. Spot prices of the provider `zonal` (may be null) keep their zones.
int stock_join_zones(struct stock *stock, size_t first, const char *zonal,
                     struct err *err) MUST_USE;

// Among the rows from `first` on: where a machine's spot price equals the one on demand in every
// place, its catalogue has one number for both. Marks them (EQUALS_SPOT), but for prices on demand
// that are known to be the list's.
void stock_mark_copies(struct stock *stock, size_t first);

// Notes the table and line of the last row added, for errors in hand-written tables.
int stock_from(struct stock *stock, const char *table, size_t line, struct err *err) MUST_USE;

// Appends the image of `old` (may be empty) merged with the stock to `out`. ERR_FORMAT, with file
// and line, if a hand-written table has two prices for one offer and date.
int stock_build(struct stock *stock, const struct image *old, struct buf *out,
                struct stock_counts *counts, struct err *err) MUST_USE;

// prices: the price history of one offer under construction.

struct prices {
    struct image_price *items; // by date; each `seen` is before the next `since`
    size_t count, cap;
};

void prices_release(struct prices *prices);
int prices_append(struct prices *prices, const struct image_price *price, struct err *err) MUST_USE;

// The price was seen from `seen->since` to `seen->seen`. `*changed`: a row was added.
int prices_observe(struct prices *prices, const struct image_price *seen, bool *changed,
                   struct err *err) MUST_USE;

// The row valid on that day (0: the newest); null if there is none yet.
const struct image_price *prices_on(const struct image_price *items, size_t count, int day);

// Whether one rate is more than PRICE_LEAP times the other.
bool price_leaps(int64_t rate, int64_t per_s, int64_t other, int64_t other_per_s);

bool price_same(const struct image_price *a, const struct image_price *b);

#endif
