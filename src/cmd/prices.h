// SPDX-License-Identifier: Apache-2.0
// prices: what the files of `fare prices` share; not for others.
#ifndef FARE_CMD_PRICES_H
#define FARE_CMD_PRICES_H

#include "cmd/cmd.h"
#include "price/book.h"
#include "record/offer.h"

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

// An offer as a record, all but tariff, interruptions and history.
int prices_record(const struct offer *offer, int day, struct offer_record *out,
                  struct err *err) MUST_USE;

void prices_date(int day, char out[12]);    // "2026-08-22"
void prices_milli(int value, char out[24]); // thousandths: "8", "0.125"
int prices_set_money(char **member, int64_t nano, struct err *err) MUST_USE;
int prices_set_date(char **member, int day, struct err *err) MUST_USE;

// Of the price of an hour that of one GPU, or of one vCPU where there is none; -1: unknown.
int64_t prices_unit(const struct offer *offer, int64_t hour);

// A line of a list: an offer with its hour in nano-USD, converted where that is not its currency;
// -1 where there is no rate for it.
struct prices_line {
    struct offer offer;
    int64_t usd_hour;
};

// `everywhere`: offers are shown with their region, for there are several of each. `rate`: the one
// that was used for another currency, in words, or null.
void prices_table(struct out *out, const struct prices_line *lines, size_t count, int day,
                  bool everywhere, const char *rate);
int prices_page(const struct cmd_call *call, const struct book *book, const struct offer *offer,
                int day, struct err *err) MUST_USE;

int prices_import(const struct cmd_call *call, struct err *err) MUST_USE;
int prices_update(const struct cmd_call *call, struct err *err) MUST_USE;

#endif
