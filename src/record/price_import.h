// SPDX-License-Identifier: Apache-2.0
// The record of a price import: what each file yielded, and what was skipped.
#ifndef FARE_RECORD_PRICE_IMPORT_H
#define FARE_RECORD_PRICE_IMPORT_H

#include "record/field.h"

#define PRICE_IMPORT_SCHEMA "fare.price-import/1"

struct price_note {
    char *why;
    struct maybe_bool left_out;
    struct maybe_int rows;
    struct maybe_int line;
    char *example;
};

struct price_file {
    char *file;
    char *format;
    char *date;
    char *error;
    struct maybe_int rows;
    struct maybe_int offers;
    LIST_OF(struct price_note) notes;
};

struct price_import {
    char *schema;
    LIST_OF(struct price_file) files;
    struct maybe_int new_offers;
    struct maybe_int changed_prices;
    struct maybe_int leaps;
    struct maybe_int seen_again;
    struct maybe_int doubles;
};

extern const struct field price_import_fields[];

#endif
