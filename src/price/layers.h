// SPDX-License-Identifier: Apache-2.0
// layers: the three parts of a book and their order of precedence; for book*.c.
//
// The two small layers are matched with the imported one when the book is opened. A walk over the
// imported layer then only checks whether the next exception is due.
#ifndef FARE_PRICE_LAYERS_H
#define FARE_PRICE_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "price/book.h"
#include "price/image.h"

enum layer { LAYER_SHIPPED, LAYER_IMPORTED, LAYER_OWN, LAYERS };

// One offer in each layer.
struct stack {
    const struct image_offer *in[LAYERS]; // null: absent
};

struct extra {
    size_t at;   // its position in the imported layer
    bool shared; // the imported layer has it too
    struct stack stack;
};

struct book {
    struct image layers[LAYERS];
    struct extra *extras;
    size_t extra_count;
};

// Fills `extras`.
int layers_match(struct book *book, struct err *err) MUST_USE;

// The offer with its price on that day; false if it has none yet.
bool layers_offer(const struct book *book, const struct stack *stack, int day, struct offer *out);

// An offer from one layer, with one of its prices.
void layers_fill(const struct image *image, const struct image_offer *offer,
                 const struct image_price *price, struct offer *out);

#endif
