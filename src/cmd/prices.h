// SPDX-License-Identifier: Apache-2.0
// prices: shared by the files of `fare prices`.
#ifndef FARE_CMD_PRICES_H
#define FARE_CMD_PRICES_H

#include "advise/quote_job.h"
#include "cmd/cmd.h"
#include "bill/market.h"
#include "book/listing.h"

// The options of all subcommands; each has a table with those it takes.
struct prices_options {
    struct cmd_common common;
    const char *book, *ledger, *date, *currency;
    // which
    struct offer_words words;
    int64_t vcpus, memory, gpu_memory; // bytes
    int64_t max_age;                   // ns
    bool bare_metal, all, full_names;
    int64_t last;
    // import
    const char *format;
};

extern const struct command prices_import, prices_update, prices_devices;

int prices_provider(const struct cmd_call *call, struct market *market, struct err *err) MUST_USE;
int prices_page(const struct cmd_call *call, struct market *market, struct err *err) MUST_USE;

// Why prices are doubtful, each reason once, for the line below a table that marks them with "#".
struct doubts {
    const char *items[8];
    size_t count;
};
void doubts_add(struct doubts *doubts, const char *why); // null: nothing to add
void doubts_print(struct out *out, const struct doubts *doubts);

#endif
