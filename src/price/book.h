// SPDX-License-Identifier: Apache-2.0
// book: the offers that are known, with their history.
//
// Three layers make the book: what fare ships (share/offers/*.csv), what was imported (one file in
// the user's data folder, sorted, mapped into memory, written whole or not at all), and the user's
// own tables (*.csv in the user's configuration folder: XDG_CONFIG_HOME/fare/offers). Where the
// user's own has a price for a thing, that holds; of the other two the one that was seen last, and
// the imported one where both were on one date. A price that changed adds a row with its date;
// nothing is overwritten.
//
// What is on offer is named PROVIDER/NAME, with @REGION (or @ZONE) and :spot, :monthly or
// :on-demand behind where that matters: "aws/p3.2xlarge", "aws/p3.2xlarge@eu-west-1:spot".
// Without a region it is the cheapest one's; without a kind, on demand, where it can be had so.
#ifndef FARE_PRICE_BOOK_H
#define FARE_PRICE_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "price/offer.h"

struct book;

// `path`: the imported layer, instead of FARE_BOOK or book in the user's data folder ("-": none).
// A file of these two that is not there is an empty layer, a `path` that is not there ERR_MISSING;
// FARE_BOOK may be "-" too.
int book_open(struct book **out, const char *path, struct err *err) MUST_USE;
void book_close(struct book *book); // null is fine

// All zero: everything that is on offer today, on demand and spot. Texts are compared whole, but
// for `text`, which is looked for in the GPU's, the offer's and the provider's name ("aws/p3": in
// the names of that provider's); all whatever the letters' case.
struct book_filter {
    const char *text;
    const char *provider, *name, *region, *zone, *gpu;
    const enum offer_kind *kind; // null: any
    bool bare_metal;             // only those
    bool with_gpu, without_gpu;
    int day;         // prices as of this date, in days since 1970; 0: as of today
    bool aged;       // only prices that were seen within `max_age`
    int max_age;     // days before `day` (or today)
    int gpus_milli;  // at least so many
    int vcpus_milli; // at least
    int memory_mib, gpu_memory_mib;
    int64_t max_rate; // per hour, nano-USD; 0: any. Other currencies pass: see currency.h
};

// Given each offer once, in the order of provider, name, region, zone and kind, with the price that
// held on the filter's date. A value other than 0 ends the walk and is returned. 200,000 offers
// take about 4 ms.
typedef int book_visit_fn(void *arg, const struct offer *offer, struct err *err);
int book_each(const struct book *book, const struct book_filter *filter, book_visit_fn *visit,
              void *arg, struct err *err) MUST_USE;

// The offer of that name ("aws/p3.2xlarge:spot") on that day (0: today). ERR_MISSING with
// names that are alike, where there are some. The provider may be left out where the name alone
// tells.
int book_find(const struct book *book, const char *name, int day, struct offer *out,
              struct err *err) MUST_USE;

// All prices that this offer (its provider, name, region, zone and kind) ever had, oldest first,
// of all layers.
int book_history(const struct book *book, const struct offer *offer, book_visit_fn *visit,
                 void *arg, struct err *err) MUST_USE;

// Appends the offer's name as book_find() takes it, region and all.
void book_name(const struct offer *offer, struct buf *out);

// How often the provider takes such a spot machine away, where a source says so.
struct offer_risk {
    int low_percent, high_percent; // of those in use, within a month; 100: no upper bound known
    int saving_percent;            // against the price on demand; -1: unknown
    int day;
    const char *source;
};
bool book_risk(const struct book *book, const struct offer *offer, int day, struct offer_risk *out);

// Days between the date on which the price was last seen and `day` (0: today), and whether that is
// OLD: over 30 days on demand, over 7 spot. An offer by the month ages like one on demand.
int offer_age(const struct offer *offer, int day);
bool offer_old(const struct offer *offer, int day);

// Nobody published the price: its source begins with "estimated:" and says from what.
bool offer_estimated(const struct offer *offer);

// "on-demand", "spot", "monthly", and back; false for anything else.
extern const char *const offer_kinds[]; // null-terminated
const char *offer_kind_word(enum offer_kind kind);
bool offer_kind_parse(const char *word, enum offer_kind *kind);

// The price of an hour in nano-units of its currency, rounded half to even; 0 where it overflows.
int64_t offer_per_hour(const struct offer *offer);

int book_today(void); // in days since 1970, UTC

// Where the imported layer is: `path`, FARE_BOOK, or the user's; appended to `out`.
int book_path(const char *path, struct buf *out, struct err *err) MUST_USE;

#endif
