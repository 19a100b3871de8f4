// SPDX-License-Identifier: Apache-2.0
// book: all known offers with their price history.
//
// The book has three layers: the shipped tables (share/offers/*.csv), the imported offers (one
// sorted file in the user's data folder, mapped into memory, replaced atomically), and the user's
// own tables (*.csv in XDG_CONFIG_HOME/fare/offers). The user's own prices win. Of the other two
// layers the price seen last wins; on the same date, the imported one. A changed price adds a row
// with its date; nothing is overwritten.
//
// A price that is more than PRICE_LEAP times the one before it, or less than that part of it, is
// marked until it is seen on a second day: it is more likely a wrong unit than a new price. Only a
// price of the year before counts.
//
// An offer is named PROVIDER/NAME, optionally with @REGION (or @ZONE) and :spot, :monthly or
// :on-demand: "aws/p3.2xlarge", "aws/p3.2xlarge@eu-west-1:spot". Without a region, the one with the
// lowest price is meant; without a kind, on demand if available.
#ifndef FARE_BOOK_BOOK_H
#define FARE_BOOK_BOOK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "book/image.h"
#include "tables/offer.h"

struct book;

// `path` is the imported layer; null: FARE_BOOK or `book` in the user's data folder. "-" as `path`
// or FARE_BOOK means none. A missing `path` is ERR_MISSING; a missing default is an empty layer.
int book_open(struct book **out, const char *path, struct err *err) MUST_USE;
void book_close(struct book *book); // null is fine

// All zero: every offer of today. Strings must be equal, except `text`, which matches a part of the
// GPU's, the offer's or the provider's name ("aws/p3": of that provider's offer names). Case is
// ignored.
struct book_filter {
    const char *text;
    const char *provider, *name, *region, *zone, *gpu;
    const enum offer_kind *kind; // null: any
    bool bare_metal;             // only bare metal
    bool with_gpu, without_gpu;
    bool spelled;                   // provider and name are given, as the book spells them
    int day;                        // prices as of this date, in days since 1970; 0: today
    bool aged;                      // only prices seen within `max_age`
    int max_age;                    // days before `day`
    int gpus_milli;                 // the least
    int vcpus_milli;                // the least
    int memory_mib, gpu_memory_mib; // the least
    int64_t max_rate; // per hour, nano-USD; 0: any. Other currencies pass: see currency.h
};

// Called for each offer once, in the order of provider, name, region, zone and kind, with its price
// on the filter's date. A result other than 0 ends the walk and is returned. 200,000 offers take
// about 4 ms; `spelled` ones are found without a walk.
typedef int book_visit_fn(void *arg, const struct offer *offer, struct err *err);
int book_each(const struct book *book, const struct book_filter *filter, book_visit_fn *visit,
              void *arg, struct err *err) MUST_USE;

// Whether the book has offers of that provider and name, spelled so.
bool book_has(const struct book *book, const char *provider, const char *name);

// Finds an offer by name ("aws/p3.2xlarge:spot") on that day (0: today). The provider may be left
// out if the name is unique. ERR_MISSING suggests similar names.
int book_find(const struct book *book, const char *name, int day, struct offer *out,
              struct err *err) MUST_USE;

// The name for people of a machine ("runpod/h200"), which book_find() takes too: its provider and
// its short name (names.h), or its own name where it has none. Appends region, zone and kind of an
// offer only if `whole`.
void book_short_name(const struct book *book, const struct offer *offer, bool whole,
                     struct buf *out);

// Visits all prices of this offer (its provider, name, region, zone and kind) in all layers, oldest
// first.
int book_history(const struct book *book, const struct offer *offer, book_visit_fn *visit,
                 void *arg, struct err *err) MUST_USE;

// Every change of a spot offer's price, oldest first, if the book has them; they belong to the
// book. A price of 0 means that nobody looked until the next change. False if there are none, or if
// the user's own tables have the offer: those win.
struct image_change;
struct book_changes {
    const struct image_change *items; // book/image.h
    size_t count;                     // at least 1; the first price is not 0
    int64_t until_s;                  // it was seen until before then
    const char *source;
};
bool book_changes(const struct book *book, const struct offer *offer, struct book_changes *out);

// Whether it has them for this machine anywhere.
bool book_has_changes(const struct book *book, const char *provider, const char *name);

// Appends the offer's full name for book_find(), region included.
void book_name(const struct offer *offer, struct buf *out);

// How often such a spot machine is interrupted, if a source says so.
struct offer_risk {
    int low_percent, high_percent; // of machines in use, per month; 100: no upper bound known
    int saving_percent;            // against on demand; -1: unknown
    int day;
    const char *source;
};
bool book_risk(const struct book *book, const struct offer *offer, int day, struct offer_risk *out);

// Days from the date on which the price was last seen to `day` (0: today), and whether that is OLD:
// over 7 days for spot, over 30 otherwise.
int offer_age(const struct offer *offer, int day);
bool offer_old(const struct offer *offer, int day);

// The price is not published: its source starts with "estimated:" and names the basis.
bool offer_estimated(const struct offer *offer);

// "on-demand", "spot", "monthly", and back; false for anything else.
extern const char *const offer_kinds[]; // null-terminated
const char *offer_kind_word(enum offer_kind kind);
bool offer_kind_parse(const char *word, enum offer_kind *kind);

// "list", "floor", "median", and back: "" and back is BASIS_UNSAID.
const char *offer_basis_word(enum offer_basis basis);
bool offer_basis_parse(const char *word, enum offer_basis *basis);

// What an offer lacks as "region;currency;spot", and back; "spot" is EQUALS_SPOT.
void offer_lacks_words(unsigned int lacks, struct buf *out);
bool offer_lacks_parse(const char *words, unsigned int *lacks);

// On that day (0: today) it can no longer be ordered.
bool offer_retired(const struct offer *offer, int day);

// The price of an hour in nano-units of its currency, rounded half to even; 0 on overflow.
int64_t offer_per_hour(const struct offer *offer);

int book_today(void); // in days since 1970, UTC

// Appends the path of the imported layer: `path`, FARE_BOOK, or the user's default.
int book_path(const char *path, struct buf *out, struct err *err) MUST_USE;

// layers: the three parts of a book and their order of precedence; for book*.c.
//
// The two small layers are matched with the imported one when the book is opened. A walk over the
// imported layer then only checks whether the next exception is due.

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

struct names;
struct book_names { // opened when they are first asked for, by whichever thread
    pthread_mutex_t lock;
    struct buf path; // of the names given here
    struct names *names;
    bool opened;
};

struct book {
    struct image layers[LAYERS];
    struct extra *extras;
    size_t extra_count;
    struct book_names *names;
};

// An offer from one layer, with one of its prices.
void layers_fill(const struct image *image, const struct image_offer *offer,
                 const struct image_price *price, struct offer *out);

#endif
