// SPDX-License-Identifier: Apache-2.0
// words: what people ask of a quote or a list of offers, from the options of a command or the
// parameters of a page.
//
// Both are read by the same rows (base/opt.h) and checked here. An error is ERR_USAGE and names the
// option or parameter as it was written: `--max-price`, or `max_price` of a page.
#ifndef FARE_ADVISE_WORDS_H
#define FARE_ADVISE_WORDS_H

#include "advise/quote_job.h"
#include "base/opt.h"

// "'--date' takes a date such as 2026-11-01, not 'x'".
int word_bad(const char *name, const char *text, const char *expected, struct err *err) MUST_USE;

// Money of 0 or more, in nano-units; null changes nothing.
int word_amount(const char *name, const char *text, int64_t *nano, struct err *err) MUST_USE;

// --kind, or --spot for `--kind spot`.
int word_kind(const char *kind, bool spot, const char **out, struct err *err) MUST_USE;

// ---- a quote; begins as QUOTE_WORDS

struct quote_words {
    const char *region, *kind, *budget;
    bool spot, measured;
    int64_t deadline_ns, hours_per_month; // -1: not given
};
// clang-format off
#define QUOTE_WORDS {.deadline_ns = -1, .hours_per_month = -1}

// Rows; OF(member) is the offset of a member of struct quote_words.
#define SPOT_WORD(at, group) \
    {"spot", 0, OPT_FLAG, NULL, NULL, at, group, "the same as --kind spot"}
#define QUOTE_WORDS_WHERE(OF) \
    {"region", 0, OPT_TEXT, "NAME", NULL, OF(region), "Where", "only in this region"}, \
    {"kind", 0, OPT_CHOICE, "KIND", offer_kinds, OF(kind), "Where", \
     "only on-demand, spot or monthly offers"}, \
    SPOT_WORD(OF(spot), "Where")
#define QUOTE_WORDS_MEASURED(OF) \
    {"measured", 0, OPT_FLAG, NULL, NULL, OF(measured), "Where", \
     "only machines with a run; no estimates"}
#define QUOTE_WORDS_ADVICE(OF) \
    {"deadline", 0, OPT_DURATION, "TIME", NULL, OF(deadline_ns), "Advice", \
     "name the cheapest offer that is sure to finish within this time, even at the end of its " \
     "interval"}, \
    {"budget", 0, OPT_TEXT, "USD", NULL, OF(budget), "Advice", \
     "name the fastest offer that is sure to be within this budget, even at the end of its " \
     "interval"}, \
    {"hours-per-month", 0, OPT_COUNT, "H", NULL, OF(hours_per_month), "Advice", \
     "name the best offer for occasional, steady (H hours) and heavy use", .least = 1}
// clang-format on

// Sets those of the job's wishes that these words are for.
int quote_words_take(const struct quote_words *words, bool page, struct quote_job *job,
                     struct err *err) MUST_USE;

// ---- a list of offers

struct offer_words {
    const char *text, *gpu, *gpus, *provider, *region, *kind, *max_price;
    bool spot;
};

// Fills a filter, which points to `kind` and borrows the texts. `*max_rate` as in listing.h.
int offer_words_take(const struct offer_words *words, bool page, const struct devices *devices,
                     struct book_filter *filter, enum offer_kind *kind, int64_t *max_rate,
                     struct err *err) MUST_USE;

#endif
