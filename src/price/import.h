// SPDX-License-Identifier: Apache-2.0
// import: files of prices, of several formats, into the book.
//
//     struct importing *m;
//     rc = importing_begin(&m, &options, err);
//     for each file: rc = importing_file(m, path, NULL, &report, err);
//     rc = rc == 0 ? importing_commit(m, &counts, err) : rc;
//     importing_free(m);
//
// Nothing is in the book before importing_commit() is through, and then everything: an error in any
// file, which is named with its line, leaves the book as it was. What a file holds and the book
// does not take is counted by reason.
#ifndef FARE_PRICE_IMPORT_H
#define FARE_PRICE_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "price/stock.h"

enum { IMPORT_NOTES = 32, IMPORT_EXAMPLE = 96 };

// Rows that were left out, or taken with a correction, and why.
struct import_note {
    const char *why; // "no price"; constant
    bool left_out;   // otherwise it was taken
    size_t count;
    size_t line;                  // of the first
    char example[IMPORT_EXAMPLE]; // what it is called
};

struct import_report {
    const char *format;
    size_t rows;   // read
    size_t offers; // taken from them, with their prices; risks too
    int day;
    struct import_note notes[IMPORT_NOTES];
    size_t note_count;
};

// The names of the formats; null behind the last.
const char *import_format(size_t i);

struct import_options {
    const char *book;   // (optional) as book_path() takes it
    const char *format; // (optional) one of import_format()
    int day;            // 0: the date in the file's name, or that of its last change
};

struct importing;
int importing_begin(struct importing **out, const struct import_options *options,
                    struct err *err) MUST_USE;

// `known_as` (optional) stands for the path where names matter: "skypilot/aws/vms.csv" says that
// the provider is aws. Packed files are unpacked.
int importing_file(struct importing *importing, const char *path, const char *known_as,
                   struct import_report *report, struct err *err) MUST_USE;
int importing_commit(struct importing *importing, struct stock_counts *counts,
                     struct err *err) MUST_USE;
void importing_free(struct importing *importing); // null is fine

// A table of the native format straight into a stock: the layers that are no image. `devices` tell
// the GPUs' names; null: they stay as they are.
struct devices;
int import_table(struct stock *stock, const char *path, const struct devices *devices,
                 struct err *err) MUST_USE;

// Text in memory, with a NUL behind it; `name` stands for the path. For tests.
int import_text(struct stock *stock, const struct devices *devices, const char *format,
                const char *name, const char *text, size_t len, int day,
                struct import_report *report, struct err *err) MUST_USE;

#endif
