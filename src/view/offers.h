// SPDX-License-Identifier: Apache-2.0
// offers: the book of prices: a list of offers, and all its GPU models. As documents (render/doc.h)
// and plots.
#ifndef FARE_VIEW_OFFERS_H
#define FARE_VIEW_OFFERS_H

#include "bill/market.h"
#include "book/listing.h"
#include "render/doc.h"
#include "view/draft.h"

// ==== a list of offers ====

// Reads the offers of the filter; the caller sets `all` and `max_rate`, and releases the list in
// any case. Without a largest age in the filter, prices of over two years are counted only, and
// unless all are listed those that are hidden where newer ones exist.
int offers_list(struct market *market, const struct book_filter *filter, struct listing *list,
                struct err *err) MUST_USE;

struct offers_view {
    struct market *market;
    const char *currency; // (optional) shown beside USD
    int day;              // 0: today
    size_t most;          // rows shown
    bool places;          // names have their region or zone
    bool full_names;      // as in the book, instead of short ones
    const char *link;     // (optional) put before an offer's name, escaped: "/offer?name="
};

int view_offers(struct doc *doc, const struct listing *list, const struct offers_view *view,
                struct err *err) MUST_USE;

// The same as a record, into a zeroed struct that the caller releases in any case.
int offers_record(const struct listing *list, const struct offers_view *view, struct offers *out,
                  struct err *err) MUST_USE;

// What is said of old prices below a table that marks them with "†", unless all are old.
void view_old_prices(struct doc *doc, size_t old, size_t all);

// How many offers are not in the figures.
void view_left_out(struct doc *doc, size_t doubtful);

// ==== the offers of one GPU model ====

extern const char *const offers_kind_names[OFFER_KINDS]; // by enum offer_kind: "on demand"

// The price of a GPU-hour in nano-USD; -1: unknown or doubtful.
int64_t offers_unit(const struct listing_line *line);

// The lowest price of a GPU-hour of a kind that may be called so (listing.h); null: none.
const struct listing_line *offers_cheapest(const struct listing *list, enum offer_kind kind);

// "H100: from 1.49 USD per GPU-hour on demand at hyperbolic, 0.85 on spot at vast", of a list with
// offers of one model.
int offers_title(const struct listing *list, char **title, struct err *err) MUST_USE;

// Of the offers in a list of all places, which are of one GPU model (plots_offers.c): a strip with
// a row per provider and a mark per price of a GPU-hour, prices within 2 percent being one mark;
// the histories of the cheapest offer of each provider, and spot prices zone by zone, each only if
// the book has prices that changed.
void plot_offers(struct draft *d, const struct listing *list);
void plot_offer_histories(struct draft *d, struct market *market, const struct listing *list);

// ==== prices that changed lately ====
//
// Of each GPU model and kind the offer with the lowest price before or now, if the book has both
// (moved.c).

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

// The links are put before names, escaped for addresses: "/gpu?name=".
void view_moved(struct doc *doc, const struct moved *moved, const char *gpu_link,
                const char *offer_link);

// ==== the book by GPU model ====
//
// How many offers and providers each has, the lowest prices of a GPU-hour, and where all its prices
// lie on one logarithmic axis. Two walks over the book, in memory that does not depend on the
// number of offers.

enum { MODELS_MOST = 400 };

struct model {
    const char *gpu; // the book's
    const char *last_provider;
    size_t offers, providers;
    struct model_price {    // the lowest of a kind that may be called so (listing.h)
        struct offer offer; // without a provider: none
        int64_t unit;       // of a GPU-hour, nano-USD
        int newest;         // day of the newest price
    } least[OFFER_KINDS];
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

struct models_view {
    size_t most;                       // models shown, on a page before a fold
    const char *gpu_link, *offer_link; // on a page: put before a name, escaped: "/gpu?name="
};

void view_models(struct doc *doc, const struct models *models, const struct models_view *view);

#endif
