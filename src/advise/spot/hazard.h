// SPDX-License-Identifier: Apache-2.0
// hazard: how often a spot machine is taken away, and who says so.
//
// In this order: a trace that the user names, a mean time that the user gives, an imported trace of
// such a machine (availability.h), its prices if the user bids (it is away while the price is above
// the bid), AWS's spot advisor. Traces and prices are replayed as they were; the others mean random
// interruptions with a constant rate. If none of them knows, neither does fare.
#ifndef FARE_ADVISE_SPOT_HAZARD_H
#define FARE_ADVISE_SPOT_HAZARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advise/spot/history.h"
#include "base/buf.h"
#include "base/err.h"
#include "bill/market.h"
#include "tables/offer.h"

// availability: a record of when a spot machine was available, asked at regular times.
//
// A file has one line a sample, "index,timestamp,x", oldest first; x is 1 if a machine could not be
// had then, else 0. A sample holds until the next one, the last one as long as the one before it (a
// single one: 10 minutes). Files are named DATE_ZONE_GPU_COUNT.txt
// ("2022-10-26_us-west-2a_v100_1.txt"); 'fare prices import' keeps them in the user's data folder,
// in availability/.

struct availability_span { // nanoseconds after the first sample
    int64_t from_ns, until_ns;
};

struct availability {
    char *name; // the file's, without its folder
    int64_t first_s, length_ns;
    struct availability_span *up; // when it was available: in order, apart from each other
    size_t count;
    unsigned char *samples; // 1: available
    size_t sample_count;
    int64_t tick_ns; // between two samples: the mean, as whole minutes if it is over one
};

// Whether a file that starts with these bytes is one, and whether that file is.
bool availability_knows(const char *head, size_t len);
bool availability_file(const char *path);

// `text` need not end in a NUL. ERR_FORMAT names the line: times that do not ascend, an x other
// than 0 and 1, no sample at all.
int availability_read(const char *name, const char *text, size_t len, struct availability *out,
                      struct err *err) MUST_USE;
int availability_open(const char *path, struct availability *out, struct err *err) MUST_USE;
void availability_release(struct availability *a);

// The share of the time in which a machine was available, and the mean length of an uninterrupted
// stretch; 0 if there is none.
double availability_share(const struct availability *a);
double availability_mean_s(const struct availability *a);

// Whether the file's name says that it is about such a machine: its zone (or a zone of its region),
// its GPU and their number.
bool availability_fits(const char *name, const struct offer *offer);

// ERR_FORMAT for a name that does not say which machine it is of.
int availability_named(const char *path, struct err *err) MUST_USE;

// Copies a file into the user's data folder.
int availability_keep(const char *path, struct err *err) MUST_USE;

// ---- hazard

enum hazard_kind {
    HAZARD_UNKNOWN,
    HAZARD_TRACE,   // `trace`
    HAZARD_PRICES,  // `trace`, made from prices and a bid
    HAZARD_GIVEN,   // `mean_ns`
    HAZARD_ADVISOR, // `mean_ns`
};
const char *hazard_word(enum hazard_kind kind); // "trace", "prices", "given", "advisor", "unknown"

struct hazard_given { // all zero: nothing is
    int64_t mean_ns;
    const struct availability *trace;
    int64_t bid; // nano-USD an hour
};

struct hazard {
    enum hazard_kind kind;
    const struct availability *trace; // the given one, or `own`
    struct availability own;
    int64_t mean_ns;
    int64_t life_ns;  // the provider ends it after this time at the latest; 0: it does not
    struct buf words; // "availability trace 2022-10-26_us-west-2a_v100_1.txt: ..."
};

// The interruptions that a share of machines with at least one in a month of 730 hours means, if
// they come with a constant rate; `percent` above 0 and below 100.
int64_t hazard_mean_ns(double percent);

// `history` (optional) is the offer's. `day`: days since 1970; 0: today.
int hazard_find(struct market *market, const struct offer *offer, int day,
                const struct hazard_given *given, const struct spot_series *prices,
                struct hazard *out, struct err *err) MUST_USE;
void hazard_release(struct hazard *hazard);

// When the price was at most `bid`, as if it were a trace, with a sample every 10 minutes.
int hazard_by_prices(const struct spot_series *prices, int64_t bid, struct availability *out,
                     struct err *err) MUST_USE;

// warning: how providers take spot machines away, and how long before it they say so:
// share/spot.csv; rows of the user's file of that name come first.
//
// The columns are provider, notice_s (seconds; empty: unknown; 0: none), taken (capacity: when the
// provider needs it; price: when another bids more), words, source, date.

struct warning {
    char *provider, *source; // `source` ends in its date
    char *words;             // null: none
    int64_t ns;              // -1: unknown
    char *taken;             // "capacity", or "price": the higher bid gets it
};

struct warnings {
    struct warning *items;
    size_t count;
    bool known;
};

// ERR_FORMAT names the file, line and column.
int warnings_open(struct warnings *out, struct err *err) MUST_USE;
void warnings_release(struct warnings *warnings);

// Null: nothing is known of this provider.
const struct warning *warnings_find(const struct warnings *warnings, const char *provider);

#endif
