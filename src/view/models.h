// SPDX-License-Identifier: Apache-2.0
// models: the book by GPU model: how many offers and providers each has, the lowest prices of a
// GPU-hour, and where all its prices lie on one logarithmic axis.
//
// One walk over the book, in memory that does not depend on the number of offers.
#ifndef FARE_VIEW_MODELS_H
#define FARE_VIEW_MODELS_H

#include "bill/market.h"
#include "render/part.h"

enum { MODELS_MOST = 400 };

struct model {
    const char *gpu; // the book's
    const char *last_provider;
    size_t offers, providers;
    int64_t on_demand, spot; // lowest price of a GPU-hour, nano-USD; -1: none
    struct part_rug rug;
};

struct models {
    struct model *items; // those of most providers first
    size_t count;
    size_t doubtful; // offers left out: their price is not to be believed, or they are retired
};

// Fills a zeroed struct; the texts live as long as the market. `max_rate` as in listing.h.
int models_make(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct models *out, struct err *err) MUST_USE;
void models_release(struct models *models);

// A table of them. `link` (optional) is put before a name, escaped for addresses: "/gpu?name=".
void html_models(struct buf *out, const struct models *models, const char *link);

#endif
