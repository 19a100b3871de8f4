// SPDX-License-Identifier: Apache-2.0
// import: reads price files of several formats into the book.
//
//     struct importing *m;
//     rc = importing_begin(&m, &options, err);
//     for each file: rc = importing_file(m, path, NULL, &report, err);
//     rc = rc == 0 ? importing_commit(m, &counts, err) : rc;
//     importing_free(m);
//
// importing_commit() changes the book atomically; an error in any file, reported with its line,
// leaves the book unchanged. Rows that are left out are counted by reason.
#ifndef FARE_BOOK_IMPORT_H
#define FARE_BOOK_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "book/stock.h"

enum { IMPORT_NOTES = 32, IMPORT_EXAMPLE = 96 };

// Rows that were left out or corrected, and why.
struct import_note {
    const char *why; // "no price"; constant
    bool left_out;   // otherwise corrected
    size_t count;
    size_t line;                  // of the first
    char example[IMPORT_EXAMPLE]; // the name of the first
};

struct import_report {
    const char *format;
    size_t rows;   // read
    size_t offers; // imported, including risks
    int day;
    struct import_note notes[IMPORT_NOTES];
    size_t note_count;
};

// The names of the formats; null after the last.
const char *import_format(size_t i);

struct price_import_options {
    const char *book;   // (optional) as book_path() takes it
    const char *format; // (optional) one of import_format()
    int day;            // 0: the date in the file's name, or that of its last change
};

struct importing;
int importing_begin(struct importing **out, const struct price_import_options *options,
                    struct err *err) MUST_USE;

// `known_as` (optional) replaces the path if its name matters: "skypilot/aws/vms.csv" means the
// provider aws. Compressed files are unpacked.
int importing_file(struct importing *importing, const char *path, const char *known_as,
                   struct import_report *report, struct err *err) MUST_USE;
// The names of GPUs so far that are not in share/devices, each once; null after the last.
const char *importing_unknown(const struct importing *importing, size_t i);
int importing_commit(struct importing *importing, struct stock_counts *counts,
                     struct err *err) MUST_USE;
void importing_free(struct importing *importing); // null is fine

// Reads a table in fare's own format into a stock. GPU names are looked up in `devices`; null: they
// stay unchanged.
struct devices;
int import_table(struct stock *stock, const char *path, const struct devices *devices,
                 struct err *err) MUST_USE;

// Reads a string that ends in a NUL; `name` replaces the path. For tests.
int import_text(struct stock *stock, const struct devices *devices, const char *format,
                const char *name, const char *text, size_t len, int day,
                struct import_report *report, struct err *err) MUST_USE;

#endif
