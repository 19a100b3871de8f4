// SPDX-License-Identifier: Apache-2.0
// format: what a format of price files is, and what its reader works with; for import*.c.
#ifndef FARE_PRICE_FORMAT_H
#define FARE_PRICE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/csv.h"
#include "price/device.h"
#include "price/import.h"
#include "price/offer.h"

// One file, unpacked, on its way into the stock.
struct import {
    const char *name; // for errors
    const char *text; // with a NUL behind it
    size_t len, at;   // `at`: how far csv has read
    int day;
    char provider[64]; // from the file's name: "aws" of aws.csv.gz and of aws/vms.csv
    char source[192];
    struct stock *stock;
    const struct devices *devices; // null: names stay as they are
    struct import_report *report;
    char gpu_name[96]; // format_gpu()'s
    // The GPU that was looked up last.
    char gpu_text[64];
    const struct device *gpu;
};

struct price_format {
    const char *name;
    // Whether a file that begins so is one; `head` has a NUL behind it.
    bool (*knows)(const char *head, size_t len);
    int (*read)(struct import *import, struct err *err);
};
extern const struct price_format format_skypilot, format_gpuhunt, format_aws_spot,
    format_aws_spot_advisor, format_fare;

// Whether the first line has all these columns.
bool format_has_columns(const char *head, const char *const *names);

// The text as a table.
int format_csv(struct import *import, struct csv *csv, struct err *err) MUST_USE;

// Notes: `why` is constant, `example` what the row is about.
void format_left_out(struct import *import, size_t line, const char *why, const char *example);
void format_noted(struct import *import, size_t line, const char *why, const char *example);

// Fields of the current record. An empty or absent one is "not given", which is no error. Errors
// name file, line and column.
int format_word(const struct csv *csv, int column, const char **out, struct err *err) MUST_USE;
int format_price(const struct csv *csv, int column, int64_t *nano, bool *given,
                 struct err *err) MUST_USE;
// In thousandths ("0.125" → 125) and GiB in MiB; 0 where it is not given.
int format_milli(const struct csv *csv, int column, int *out, struct err *err) MUST_USE;
int format_gib(const struct csv *csv, int column, int *mib, struct err *err) MUST_USE;

// A decimal number that may have more digits than fit, as programs print their floats: rounded to
// nano-units, half to even. Refuses what money_parse() refuses otherwise, and negative ones.
int format_decimal(const char *text, int64_t *nano, struct err *err) MUST_USE;

// The name that devices have for a GPU of that name and memory (0: unknown; filled in where the
// device tells), of which the offer has `gpus_milli`. With a memory that none of that name has, it
// is another GPU: then the memory becomes part of the name. The text lives until the next call.
const char *format_gpu(struct import *import, const char *text, int gpus_milli, int *memory_mib);
const struct device *format_device(struct import *import, const char *text);

// A zeroed offer but for provider, source, date, an hour and USD.
struct offer format_offer(const struct import *import);
int format_add(struct import *import, const struct offer *offer, struct err *err) MUST_USE;

bool format_is_bare_metal(const char *name); // as AWS and GCP name them

#endif
