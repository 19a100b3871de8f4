// SPDX-License-Identifier: Apache-2.0
// offers: the prices of a GPU model: all its offers as a strip, and what they did over time.
#ifndef FARE_VIEW_OFFERS_H
#define FARE_VIEW_OFFERS_H

#include "bill/market.h"
#include "book/listing.h"
#include "render/part.h"
#include "view/draft.h"

// A plot of one strip of the offers in a list of all places, which are of one GPU model: a row per
// provider, a mark per price of a GPU-hour. Prices within 2 percent are one mark.
void plot_offers(struct draft *d, const struct listing *list);

// The lowest price of a GPU-hour of a kind among the first lines, which are sorted by it; null:
// none has a price that can be.
const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind);

// "H100: from 1.49 USD per GPU-hour on demand at hyperbolic, 0.85 on spot at vast", of a list with
// offers of one model.
int offers_title(const struct listing *list, char **title, struct err *err) MUST_USE;

// Reads all places of a GPU model on that day (0: today). The caller releases the list in any case.
int offers_list(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct listing *list, struct err *err) MUST_USE;

// A plot of the histories of the cheapest offer of each provider, and one of spot prices zone by
// zone; each only if the book has prices that changed.
void plot_offer_histories(struct draft *d, struct market *market, const struct listing *list);

// models: the book by GPU model: how many offers and providers each has, the lowest prices of a
// GPU-hour, and where all its prices lie on one logarithmic axis.
//
// One walk over the book, in memory that does not depend on the number of offers.

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

// moved: prices that changed lately: of each GPU model and kind the offer with the lowest price
// before or now, if the book has both.

#define MOVED_DAYS 30

enum { MOVED_MOST = 8 };

struct moved_price {
    struct offer offer;  // at its price of today
    int64_t before, now; // of a GPU-hour, nano-USD
    int seen;            // the day on which it last had the price before
};

struct moved {
    struct moved_price items[MOVED_MOST]; // those that changed most first
    size_t count;
};

// The offers' texts live as long as the market. Changes under a percent are left out, and those of
// more than ten times, which are errors of a catalogue.
int moved_find(struct market *market, struct moved *out, struct err *err) MUST_USE;

// A table; nothing without any. `gpu_link` and `offer_link` are put before names, escaped for
// addresses: "/gpu?name=".
void html_moved(struct buf *out, const struct moved *moved, const char *gpu_link,
                const char *offer_link);

#endif
