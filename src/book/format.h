// SPDX-License-Identifier: Apache-2.0
// format: the interface of price file formats, and helpers for their readers; for import*.c.
#ifndef FARE_BOOK_FORMAT_H
#define FARE_BOOK_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/csv.h"
#include "base/err.h"
#include "base/gzip.h"
#include "tables/device.h"
#include "book/import.h"
#include "tables/offer.h"
#include "book/stock.h"

// One unpacked file being read into a stock.
struct import {
    const char *name; // for errors
    const char *text; // ends in a NUL
    size_t len;
    struct gzip *rest; // what follows the text; null: nothing. Only for formats that stream
    int day;
    char provider[64]; // from the file's name: "aws" of aws.csv.gz and of aws/vms.csv
    char source[192];
    struct stock *stock;
    const struct devices *devices;       // null: do not look up GPU names
    const struct catalogues *catalogues; // null: what the file says is all
    struct index *unknown;               // (optional) collects names of GPUs that `devices` lacks
    struct ecb *rates;                   // (optional) collects exchange rates
    struct import_report *report;
    char gpu_name[96]; // the result of format_gpu()
    char gpu_text[64]; // the GPU looked up last
    const struct device *gpu;
};

struct price_format {
    const char *name;
    // True if a file that starts with `head` has this format; `head` ends in a NUL.
    bool (*knows)(const char *head, size_t len);
    int (*read)(struct import *import, struct err *err);
    bool streams; // (optional) it reads import.rest; its files may be larger than memory
};

// The formats, in the order in which they are tried: one row each.
#define PRICE_FORMATS(ROW)                                                                         \
    ROW(skypilot)                                                                                  \
    ROW(gpuhunt)                                                                                   \
    ROW(aws_spot)                                                                                  \
    ROW(aws_spot_advisor)                                                                          \
    ROW(ecb)                                                                                       \
    ROW(fare)
#define ROW(name) extern const struct price_format format_##name;
PRICE_FORMATS(ROW)
#undef ROW

// True if the first line has all these columns.
bool format_has_columns(const char *head, const char *const *names, size_t count);

// Opens the text as a table.
int format_csv(struct import *import, struct csv *csv, struct err *err) MUST_USE;

// Count a row as left out or as corrected. `why` must be constant; `example` names the row.
void format_left_out(struct import *import, size_t line, const char *why, const char *example);
void format_noted(struct import *import, size_t line, const char *why, const char *example);

// Fields of the current row. An empty or absent field is "not given", not an error. Errors name
// file, line and column.
int format_word(const struct csv *csv, int column, const char **out, struct err *err) MUST_USE;
int format_price(const struct csv *csv, int column, int64_t *nano, bool *given,
                 struct err *err) MUST_USE;

// Several fields at once, each into one of the three.
struct format_field {
    int column; // index into `at`
    const char **word;
    int *milli, *gib;
};
int format_fields(const struct csv *csv, const int *at, const struct format_field *fields,
                  size_t count, struct err *err) MUST_USE;
#define FORMAT_FIELDS(csv, at, err, ...)                                                           \
    format_fields(                                                                                 \
        csv, at, (const struct format_field[]){__VA_ARGS__},                                       \
        sizeof((const struct format_field[]){__VA_ARGS__}) / sizeof(struct format_field), err)

// Parses a decimal number of any length, such as a printed float, rounded half to even to
// nano-units. Otherwise as strict as money_parse(); refuses negative numbers.
int format_decimal(const char *text, int64_t *nano, struct err *err) MUST_USE;

// The device table's name for a GPU with this name and memory; the offer has `gpus_milli` of them.
// A memory of 0 is unknown and filled in from the device. If no GPU of that name has this memory,
// it is another model, and the memory becomes part of the name. The result is valid until the next
// call.
const char *format_gpu(struct import *import, const char *text, int gpus_milli, int *memory_mib);
const struct device *format_device(struct import *import, const char *text);

// True if that is the memory of all GPUs: no GPU of this name has as much, but its share is right.
bool format_is_total(struct import *import, const char *text, int gpus_milli, int memory_mib);

// True for accelerators that are not GPUs, in any letter case: measurements do not apply to them.
bool format_is_other(const char *accelerator);

// An offer with provider, source, date, a price per hour in USD set, and the rest zero.
struct offer format_offer(const struct import *import);
// Declares what the catalogue leaves open, then adds it.
int format_add_listed(struct import *import, struct offer *offer, struct err *err) MUST_USE;
int format_add(struct import *import, const struct offer *offer, struct err *err) MUST_USE;

bool format_is_bare_metal(const char *name); // by the naming of AWS and GCP

// catalogue: what catalogues do not say about their prices, from share/catalogues.csv and the
// user's own file of that name, which goes first: their currency, what kind of price it is, and the
// day from which on a machine cannot be ordered. docs/adding-a-provider.md describes the columns.

struct catalogues;

int catalogues_open(struct catalogues **out, struct err *err) MUST_USE;
void catalogues_close(struct catalogues *catalogues); // null is fine

#endif
