// SPDX-License-Identifier: Apache-2.0
// Texts as price files, straight into a stock or a book.
#ifndef FARE_TESTS_PRICE_SCRATCH_H
#define FARE_TESTS_PRICE_SCRATCH_H

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "tables/device.h"
#include "book/book.h"
#include "book/image.h"
#include "book/import.h"

enum { DAY = 20687 }; // 2026-08-22

static inline int use_share(void **state)
{
    (void)state;
    return setenv("FARE_SHARE", TESTS_DIR "/../share", 1);
}

// A text of a format, read into an image of its own.
struct read {
    struct image image;
    struct import_report report;
    struct stock_counts counts;
    struct err err;
    int rc;
};

static inline struct read read_text(const char *format, const char *name, const char *text)
{
    struct read r = {0};
    struct stock stock = {0};
    struct buf bytes = {0};
    const struct image nothing = {0};
    struct devices *devices = NULL;
    r.rc = devices_open(&devices, &r.err);
    assert_int_equal(r.rc, 0);
    r.rc = import_text(&stock, devices, format, name, text, strlen(text), DAY, &r.report, &r.err);
    if (r.rc == 0)
        r.rc = stock_build(&stock, &nothing, &bytes, &r.counts, &r.err);
    if (r.rc == 0)
        r.rc = image_of(&r.image, bytes.data, bytes.len, bytes.data, &r.err);
    else
        buf_release(&bytes);
    stock_release(&stock);
    devices_close(devices);
    return r;
}

// The only offer of that name, place and kind; zone or region.
static inline const struct image_offer *the(const struct read *r, const char *name,
                                            const char *place, enum offer_kind kind)
{
    const struct image *m = &r->image;
    const struct image_offer *found = NULL;
    for (size_t i = 0; i < m->offer_count; i++) {
        const struct image_offer *o = &m->offers[i];
        const char *where = image_word(m, *image_word(m, o->zone) ? o->zone : o->region);
        if (strcmp(image_word(m, o->name), name) == 0 && strcmp(where, place) == 0 &&
            o->kind == (uint8_t)kind) {
            assert_null(found);
            found = o;
        }
    }
    return found;
}

static inline int64_t rate(const struct read *r, const char *name, const char *place,
                           enum offer_kind kind)
{
    const struct image_offer *o = the(r, name, place, kind);
    return o ? r->image.prices[o->first_price + o->price_count - 1].rate : -1;
}

static inline size_t noted(const struct read *r, const char *why)
{
    for (size_t i = 0; i < r->report.note_count; i++)
        if (strstr(r->report.notes[i].why, why))
            return r->report.notes[i].count;
    return 0;
}

#endif
