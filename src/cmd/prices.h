// SPDX-License-Identifier: Apache-2.0
// prices: shared by the files of `fare prices`.
#ifndef FARE_CMD_PRICES_H
#define FARE_CMD_PRICES_H

#include "cmd/cmd.h"
#include "price/listing.h"
#include "price/offer_record.h"

// The options of all subcommands; each has a table with those it takes.
struct prices_options {
    struct cmd_common common;
    const char *book, *date;
    // which
    const char *gpu, *gpus, *provider, *region, *kind, *max_price;
    int64_t vcpus, memory, gpu_memory; // bytes
    int64_t max_age;                   // ns
    bool spot, bare_metal, all;
    int64_t last;
    // import
    const char *format;
};

extern const struct command prices_import, prices_update, prices_devices;

// `everywhere`: show the region of each offer, since there may be several. `rate`: the exchange
// rate used, in words, or null.
void prices_table(struct out *out, const struct listing_line *lines, size_t count, int day,
                  bool everywhere, const char *rate);
int prices_page(const struct cmd_call *call, const struct book *book, const struct offer *offer,
                int day, struct err *err) MUST_USE;

#endif
