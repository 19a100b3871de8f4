// SPDX-License-Identifier: Apache-2.0
// timeline: the changes of one spot price from several files, made into one series; for
// stock_build.c.
//
//     timeline_add() or timeline_add_old(), once per source, in any order
//     timeline_join()
//
// Sources may overlap. Of two prices at the same second the higher one counts. A price that is
// repeated is no change. Where more than a day lies between what one source saw and what the next
// one saw, the price is unknown: the series has a change to 0 there.
#ifndef FARE_BOOK_TIMELINE_H
#define FARE_BOOK_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "book/image.h"

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
