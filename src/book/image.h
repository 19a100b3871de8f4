// SPDX-License-Identifier: Apache-2.0
// image: the book's file format: sorted arrays of offers, prices and words, mapped into memory and
// read in place. Internal to price/, but for the changes that book_changes() gives.
//
//     header | offers | prices | risks | changes | series | word offsets | words, each with its NUL
//
// A series has every change of a spot price, to the second; `prices` has the price of a day.
// Version 1 had no series, and is still read.
//
// Words are sorted: comparing their numbers compares the strings. Offers are unique and sorted by
// provider, name, region, zone and kind. An offer's prices are adjacent, oldest first. Opening an
// image checks everything (checksum, sizes, order, every number), so that readers need not.
#ifndef FARE_BOOK_IMAGE_H
#define FARE_BOOK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum { DAY_MAX = 2932896 }; // 9999-12-31

struct image_offer { // 48 bytes
    uint32_t provider, name, region, zone, gpu, cpu;
    int32_t gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    uint32_t first_price;
    uint16_t price_count;
    uint8_t kind;
    uint8_t bare_metal;
};

struct image_price { // 32 bytes
    int64_t rate;
    uint32_t per_s;
    uint32_t currency, source;
    int32_t since, seen; // days; since <= seen
    uint16_t valid_to;   // day; 0: no end is known. It and the two below were 0 until 2026-11
    uint8_t basis, lacks;
};

struct image_risk { // 32 bytes: how often a spot machine is interrupted
    uint32_t provider, name, region, source;
    int16_t low_percent, high_percent; // of machines in use, per month; high 100: no bound
    int16_t saving_percent;            // -1: unknown
    uint16_t reserved[3];              // 0
    int32_t day;
};

struct image_change { // 16 bytes: a spot price from then on
    int64_t at_s;     // POSIX time
    int64_t nano_usd; // of an hour; 0: nobody looked from then until the next change
};

struct image_series { // 24 bytes: the changes of one offer
    uint32_t offer;   // its number
    uint32_t first_change, change_count;
    uint32_t source;
    int64_t until_s; // it was seen until before then
};

struct image_head {
    char magic[8]; // "fareBOOK"
    uint32_t version;
    uint32_t order; // 0x01020304 in this machine's byte order
    uint64_t size;  // of the file
    uint64_t sum;   // checksum of everything after the header
    uint32_t offers, prices, risks, words;
    uint64_t word_bytes;
    uint32_t changes, series; // since version 2
};

struct image {
    const struct image_offer *offers;
    const struct image_price *prices;
    const struct image_risk *risks;
    const struct image_change *changes;
    const struct image_series *series; // by offer
    size_t offer_count, price_count, risk_count, change_count, series_count, word_count;
    const uint32_t *word_at;
    const char *words;
    void *map; // to unmap, or null
    size_t size;
    char *heap; // to free, or null
};

// A missing file is an empty image. ERR_FORMAT describes the damage.
int image_open(struct image *image, const char *path, struct err *err) MUST_USE;

// Opens bytes in memory, aligned to 8. The image takes over `heap`, even on failure; null: the
// caller keeps the bytes.
int image_of(struct image *image, const void *bytes, size_t size, char *heap,
             struct err *err) MUST_USE;
void image_release(struct image *image); // a zeroed struct is fine

static inline const char *image_word(const struct image *image, uint32_t number)
{
    return image->words + image->word_at[number];
}

// The number of this word; false if the image does not have it.
bool image_find_word(const struct image *image, const char *text, uint32_t *number);

// The number of changes at that time or before.
size_t image_changes_by(const struct image_change *changes, size_t count, int64_t at_s);

// For writing images.
uint64_t image_sum(const void *bytes, size_t len);
#define IMAGE_MAGIC   "fareBOOK"
#define IMAGE_VERSION 2
#define IMAGE_ORDER   0x01020304

// ---- timeline ----
//
// timeline: the changes of one spot price from several files, made into one series; for
// stock.c.
//
//     timeline_add() or timeline_add_old(), once per source, in any order
//     timeline_join()
//
// Sources may overlap. Of two prices at the same second the higher one counts. A price that is
// repeated is no change. Where more than a day lies between what one source saw and what the next
// one saw, the price is unknown: the series has a change to 0 there.

#define TIMELINE_UNSEEN_S INT64_C(86400)

struct timeline_span { // somebody looked at the price all the time
    int64_t from_s, until_s;
};

// A zeroed struct is empty.
struct timeline {
    struct image_change *items;
    size_t count, cap;
    struct timeline_span *spans;
    size_t span_count, span_cap;
    int64_t until_s; // set by timeline_join()
};

void timeline_release(struct timeline *timeline);
void timeline_clear(struct timeline *timeline); // keeps the memory

// Changes without a 0 among them, all seen from `from_s` to before `until_s`: at least the second
// of the last change.
int timeline_add(struct timeline *timeline, const struct image_change *items, size_t count,
                 int64_t from_s, int64_t until_s, struct err *err) MUST_USE;

// A series of an image.
int timeline_add_old(struct timeline *timeline, const struct image_change *items, size_t count,
                     int64_t until_s, struct err *err) MUST_USE;

// Leaves the series in `items`. It is empty only if nothing was added.
int timeline_join(struct timeline *timeline, struct err *err) MUST_USE;

#endif
