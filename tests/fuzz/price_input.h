// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file of prices: an error with words, or a book that can be opened, walked, and to
// which the same file adds nothing.
#ifndef FARE_TESTS_FUZZ_PRICE_INPUT_H
#define FARE_TESTS_FUZZ_PRICE_INPUT_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "book/format.h"

static int price_input(const char *format, const char *name, const uint8_t *data, size_t size)
{
    struct stock stock = {0}, again = {0};
    struct import_report report;
    struct stock_counts counts;
    struct buf bytes = {0}, more = {0};
    struct image image = {0};
    const struct image nothing = {0};
    struct err err = {0};
    static struct devices *devices; // for all inputs: reading them takes longer than the rest
    if (!devices) {
        setenv("FARE_SHARE", TESTS_DIR "/../share", 1);
        if (devices_open(&devices, &err) != 0)
            abort();
    }
    char *text = malloc(size + 1); // readers may count on the NUL
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    int rc = import_text(&stock, devices, format, name, text, size, 20000, &report, &err);
    assert(rc == err.code && (rc == 0 || err.text[0]));
    if (rc == 0) {
        rc = stock_build(&stock, &nothing, &bytes, &counts, &err);
        // Two prices for one date are refused in tables that people write.
        assert(rc == 0 || (rc == ERR_FORMAT && strcmp(format, "fare") == 0 && counts.doubles > 0));
    }
    if (rc == 0) {
        assert(image_of(&image, bytes.data, bytes.len, bytes.data, &err) == 0);
        assert(import_text(&again, devices, format, name, text, size, 20000, &report, &err) == 0);
        assert(stock_build(&again, &image, &more, &counts, &err) == 0);
        assert(counts.offers == 0);
    } else {
        buf_release(&bytes);
    }
    image_release(&image);
    stock_release(&stock);
    stock_release(&again);
    buf_release(&more);
    free(text);
    return 0;
}

#endif
