// SPDX-License-Identifier: Apache-2.0
// prices: what the files of `fare prices` share; not for others.
#ifndef FARE_CMD_PRICES_H
#define FARE_CMD_PRICES_H

#include "cmd/cmd.h"
#include "price/listing.h"
#include "price/offer_record.h"

struct prices_options {
    struct cmd_common common;
    const char *book;
    // which
    const char *gpu, *gpus, *provider, *region, *kind, *max_price, *date;
    int64_t vcpus, memory, gpu_memory; // bytes
    int64_t max_age;                   // ns
    bool spot, bare_metal, all;
    int64_t last;
    // import
    const char *format;
};

// --date in days since 1970; 0 where it is not given.
int prices_day(const struct prices_options *options, int *day, struct err *err) MUST_USE;

// `everywhere`: offers are shown with their region, for there are several of each. `rate`: the one
// that was used for another currency, in words, or null.
void prices_table(struct out *out, const struct listing_line *lines, size_t count, int day,
                  bool everywhere, const char *rate);
int prices_page(const struct cmd_call *call, const struct book *book, const struct offer *offer,
                int day, struct err *err) MUST_USE;

int prices_import(const struct cmd_call *call, struct err *err) MUST_USE;
int prices_update(const struct cmd_call *call, struct err *err) MUST_USE;

#endif
