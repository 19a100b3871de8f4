// SPDX-License-Identifier: Apache-2.0
// stock: offers on their way into a book: collected in any order, then laid out as an image
// together with what was known before. For this room alone.
//
// What is added is what was seen: this offer, at this price, on this date. A price that is seen
// again keeps its row, which remembers the last date; another one adds a row. Where a date lies
// before what is known, the row is put where it belongs. Nothing is overwritten: two prices for one
// date are both kept, and the one that came later holds.
#ifndef FARE_PRICE_STOCK_H
#define FARE_PRICE_STOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "price/image.h"
#include "price/offer.h"
#include "price/words.h"

struct stock_row {
    uint32_t provider, name, region, zone, gpu, cpu; // numbers of words
    int32_t gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    uint8_t kind, bare_metal;
    struct image_price price;
    uint32_t table, line; // of a table of fare's own kind: its name, and where; 0: a catalogue
};

// A zeroed struct is an empty stock.
struct stock {
    struct words words;
    struct stock_row *rows;
    size_t count, room;
    struct image_risk *risks;
    size_t risk_count, risk_room;
};

struct stock_counts {
    size_t offers;  // not known before
    size_t prices;  // of known offers that changed
    size_t seen;    // of known offers that did not
    size_t leaps;   // of those that changed: to over ten times what it was, or under a tenth
    size_t doubles; // other prices for the same thing on the same date: the lowest of a catalogue's
                    // counts; tables that people write are refused
};

void stock_release(struct stock *stock);

// The offer's texts are copied. ERR_FORMAT where there are more than fit.
int stock_add(struct stock *stock, const struct offer *offer, struct err *err) MUST_USE;

struct offer_risk;
int stock_add_risk(struct stock *stock, const char *provider, const char *name, const char *region,
                   const struct offer_risk *risk, struct err *err) MUST_USE;

// Of the rows from `first` on: where all zones of a region have the same price, one row for the
// region takes their place. Spot prices of `zonal` (a provider; may be null) keep their zones.
int stock_join_zones(struct stock *stock, size_t first, const char *zonal,
                     struct err *err) MUST_USE;

// The row that was added last is from this line of a table that people write.
int stock_from(struct stock *stock, const char *table, size_t line, struct err *err) MUST_USE;

// Appends the image of `old` (may be empty) and the stock to `out`. ERR_FORMAT where a table has
// two prices for the same thing on the same date, with file and line.
int stock_build(struct stock *stock, const struct image *old, struct buf *out,
                struct stock_counts *counts, struct err *err) MUST_USE;

#endif
