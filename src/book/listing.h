// SPDX-License-Identifier: Apache-2.0
// listing: the offers that match a filter, sorted by price per GPU-hour (machines without GPUs: per
// vCPU-hour); doubtful prices come last. Lists each machine once, in its cheapest place, unless
// `all` is set. Which price may be called the lowest follows the rule of ages below.
#ifndef FARE_BOOK_LISTING_H
#define FARE_BOOK_LISTING_H

#include <stdbool.h>

#include "book/book.h"
#include "tables/currency.h"
#include "tables/device.h"
#include "tables/offer.h"
#include "record/offer.h"

#define LISTING_STALE_DAYS 730 // prices not seen for this long are not listed

// A price is current for some days. Where none is, prices that old count from the newest on: they
// are of one generation. Only those may be called cheapest (advise/verdict.h); older ones are
// hidden after a while where newer ones exist.
#define PRICE_CURRENT_DAYS 30
#define PRICE_HIDDEN_DAYS  180

// The age up to which a price is of the generation whose newest price has that age, in days.
int64_t price_oldest_age(int64_t newest_age);

// An offer with the price of an hour in nano-USD, converted if needed; -1 if there is no rate for
// its currency.
struct listing_line {
    struct offer offer;
    int64_t usd_hour;
    const char *doubt; // why the price is not to be believed (doubt.h), or that it is retired:
                       // listed last; null: nothing speaks against it
};

struct devices;
enum { LISTING_LEADS = 2 * OFFER_KINDS }; // each kind with GPUs, then each without

struct listing {
    // set by the caller
    int64_t max_rate;              // nano-USD per hour; -1: any
    bool all;                      // list every place of each machine
    int oldest;                    // prices last seen before this day are counted, not listed
    bool hide_old;                 // so are those over PRICE_HIDDEN_DAYS old, of newer kinds
    const struct devices *devices; // (optional) without them nothing is doubted
    const struct currencies *currencies;
    // the result
    struct listing_line *items;
    size_t count;
    size_t seen, stale, outdated;            // outdated: hidden by `hide_old`
    struct listing_line lead[LISTING_LEADS]; // the lowest undoubted prices that may be called so
    size_t later; // of an empty list: offers with a price after the day only; set by offers_list()
    struct currency_rate rate; // the first exchange rate used; 0: none
    // internal
    size_t cap, group;
    int day, current[LISTING_LEADS]; // no older price leads
    int hidden[LISTING_LEADS];       // older prices are outdated
};

// The strings in the lines belong to the book. The caller releases the list, also on failure.
int listing_make(struct listing *list, const struct book *book, const struct book_filter *filter,
                 struct err *err) MUST_USE;
void listing_release(struct listing *list);

// The lowest price of a kind that may be called so, of machines with GPUs if the list has any, else
// of those without; null: none.
const struct listing_line *listing_lead(const struct listing *list, enum offer_kind kind);

// What `doubt` of a line is, on that day (0: today).
const char *listing_doubt(const struct devices *devices, const struct listing_line *line, int day);

// doubt: why an offer's price is not to be believed, or nobody can pay it.

// Whether the electricity of the offer's GPUs under load costs more than `hour`, its price of an
// hour in nano-USD, even at DOUBT_LEAST_KWH: such a price cannot be. Never for a monthly price.
#define DOUBT_LEAST_KWH INT64_C(50000000) // nano-USD; no table of 2025 has less
bool doubt_power(const struct devices *devices, const struct offer *offer, int64_t hour);

extern const char doubt_power_words[]; // its reason, as doubt_of() gives it

// The reason, a constant: "the lowest bid of an auction: one pays that or more"; null: none. `hour`
// is its price of an hour in nano-USD; -1: unknown. A user's own rate is never asked about.
const char *doubt_of(const struct devices *devices, const struct offer *offer, int64_t hour);

// The same in two steps, for machines with many prices: nano-USD an hour for the electricity of its
// GPUs (0: unknown), and the doubt about one price.
int64_t doubt_least(const struct devices *devices, const struct offer *offer);
const char *doubt_below(int64_t least, const struct offer *offer, int64_t hour);

// offer_record: an offer as a record, and its figures as text.

// The same of a line of a list, with its doubt.
struct listing_line;
int offer_line_record(const struct listing_line *line, int day, struct offer_record *out,
                      struct err *err) MUST_USE;

// Fills in all members but the doubt.
int offer_describe(const struct book *book, const struct offer *offer, int day,
                   struct offer_record *out, struct err *err) MUST_USE;

void offer_date(int day, char out[12]);    // "2026-08-22"
void offer_milli(int value, char out[24]); // thousandths: "8", "0.125"

// The share of one GPU (or one vCPU if there is no GPU) in the price of an hour; -1: unknown.
int64_t offer_unit(const struct offer *offer, int64_t hour);

// Whether SkyPilot rents machines of this provider (`--on sky:OFFER`); `*keeps` (optional): a
// machine cannot take itself down there.
bool listing_in_sky(const char *provider, bool *keeps);

#endif
