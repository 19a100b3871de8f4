// SPDX-License-Identifier: Apache-2.0
// prices: shared by the files of `fare prices`.
#ifndef FARE_CMD_PRICES_H
#define FARE_CMD_PRICES_H

#include "advise/quote_job.h"
#include "cmd/cmd.h"
#include "bill/price.h"
#include "book/listing.h"

// The options of all subcommands; each has a table with those it takes.
struct prices_options {
    struct cmd_common common;
    const char *book, *date, *currency;
    // which
    struct offer_words words;
    int64_t vcpus, memory, gpu_memory; // bytes
    int64_t max_age;                   // ns
    bool bare_metal, all;
    int64_t last;
    // import
    const char *format;
};

extern const struct command prices_import, prices_update, prices_devices;

// `everywhere`: show the region of each offer, since there may be several.
struct prices_view {
    struct market *market;
    const char *currency; // (optional) shown beside USD
    int day;              // 0: today
    bool everywhere;
};
int prices_table(struct out *out, const struct prices_view *view, const struct listing *list,
                 size_t count, struct err *err) MUST_USE;
int prices_page(const struct cmd_call *call, struct market *market, const struct offer *offer,
                int day, struct err *err) MUST_USE;

// What a spot price did: its plot, figures and the price to count on. `tells` is false if there is
// a single price only.
bool prices_spot_tells(const struct spot_prices *spot);
void prices_spot(struct out *out, const struct spot_prices *spot);
enum { PRICES_SPOT_POINTS = 60 };
size_t prices_spot_columns(const struct out *out); // points that its plot has room for

// Why prices are doubtful, each reason once, for the line below a table that marks them with "#".
struct doubts {
    const char *items[8];
    size_t count;
};
void doubts_add(struct doubts *doubts, const char *why); // null: nothing to add
void doubts_print(struct out *out, const struct doubts *doubts);

// The price of an hour in the currency asked for.
int prices_local(const struct prices_view *view, const struct listing_line *line,
                 struct offer_record *record, struct err *err) MUST_USE;

#endif
