// SPDX-License-Identifier: Apache-2.0
// layers: the parts of a book, laid over each other; for book*.c.
//
// The two small layers are compared with the imported one once, when the book is opened: what a
// walk then does for each of its offers is to look whether the next exception is due.
#ifndef FARE_PRICE_LAYERS_H
#define FARE_PRICE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "price/book.h"
#include "price/image.h"

enum layer { LAYER_SHIPPED, LAYER_IMPORTED, LAYER_OWN, LAYERS };

// One offer, in the layers that have it.
struct stack {
    const struct image_offer *in[LAYERS]; // null: not there
};

struct extra {
    size_t at;  // before this offer of the imported layer, or instead of it
    bool there; // the imported layer has it too
    struct stack stack;
};

struct book {
    struct image layers[LAYERS];
    struct extra *extras;
    size_t extra_count;
};

// Fills `extras` from the layers.
int layers_lay(struct book *book, struct err *err) MUST_USE;

// The offer with the price that holds on that day; false where it has none yet.
bool layers_offer(const struct book *book, const struct stack *stack, int day, struct offer *out);

// An offer of one layer, with one of its prices.
void layers_fill(const struct image *image, const struct image_offer *offer,
                 const struct image_price *price, struct offer *out);

#endif
