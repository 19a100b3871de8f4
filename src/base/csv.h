// SPDX-License-Identifier: Apache-2.0
// csv: tables in text files (RFC 4180, and tab-separated ones), read record by record.
//
// The first record names the columns and fields are asked for by name, so their order is free.
// Memory stays the same however long the file is: one chunk, one record, with caps on both.
//
//     rc = csv_open(&csv, path, NULL, err);
//     if (rc == 0)
//         rc = csv_need(&csv, "Price", &price, err);
//     while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
//         rc = money_parse(csv_text(&csv, price), &nano, err);
//         if (rc != 0)
//             csv_context(&csv, price, err);
//     }
//     csv_release(&csv);
//
// A field may be quoted; inside quotes a separator, a line feed and a doubled quote are data.
// Lines end in CRLF or LF, the last one may lack it, empty lines are skipped, a UTF-8 byte order
// mark at the start too. Faults, with file and line: a NUL byte, a carriage return alone, a quote
// inside an unquoted field, text after a closing quote, an unclosed quote, a record with more
// or fewer fields than columns, two columns of one name, a cap reached. The line is the one on
// which the record starts, as an editor counts. Bytes are not checked for being UTF-8, and spaces
// around a field belong to it.
#ifndef FARE_BASE_CSV_H
#define FARE_BASE_CSV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define CSV_MAX_COLUMNS 4096

// All zero, or a null pointer, is RFC 4180.
struct csv_options {
    char separator;           // 0: a comma
    bool no_quotes;           // a quote is a byte like any other, as in most .tsv files
    bool stray_quotes;        // a quote inside an unquoted field is data, as Python has it
    bool short_rows;          // fields missing at the end of a record are absent
    const char *const *names; // for a file without a header: its columns, then a null; kept by
                              // the caller only until csv_open() returns
    size_t max_field;         // bytes; 0: 1 MiB
    size_t max_record;        // bytes; 0: 4 MiB
};

// Fills `into` with 1 to `size` bytes and returns their number; 0 at the end; a negative code,
// with `err` set, after a failure.
typedef ptrdiff_t csv_read_fn(void *arg, void *into, size_t size, struct err *err);

struct csv_row {
    struct buf text; // the fields, each with its NUL
    size_t *starts;  // where in `text` each begins
    size_t count, capacity;
};

// Read it through the functions below; it must stay where it is while it is open.
struct csv {
    char *name; // for errors
    csv_read_fn *read;
    void *arg;
    int fd;           // -1: none
    const char *text; // csv_init_text(): what is left of it
    size_t left;
    struct csv_options options;
    bool stops[256]; // which bytes end a run of an unquoted field
    char *chunk;
    size_t at, filled; // in the chunk
    bool ended;        // the source said so
    int failed;        // the code that ended the reading
    size_t line;       // on which the next byte lies
    size_t record_line;
    struct csv_row header, record;
};

// Both read the header. After a failure there is nothing to release, though releasing is
// harmless; errors name the file by `name`.
int csv_open(struct csv *csv, const char *path, const struct csv_options *options,
             struct err *err) MUST_USE;
int csv_init(struct csv *csv, const char *name, csv_read_fn *read, void *arg,
             const struct csv_options *options, struct err *err) MUST_USE;
// The same from memory; `text` must stay valid.
int csv_init_text(struct csv *csv, const char *name, const char *text, size_t len,
                  const struct csv_options *options, struct err *err) MUST_USE;
void csv_release(struct csv *csv);

const char *csv_name(const struct csv *csv, size_t column); // below csv->header.count

// Which column has this name (every letter counts); -1 where there is none.
int csv_column(const struct csv *csv, const char *name);

// The same for a required column; the error lists those that exist.
int csv_need(const struct csv *csv, const char *name, int *column, struct err *err) MUST_USE;

// Several columns at once. The first `needed` of them must exist; the others are -1 if absent.
int csv_find(const struct csv *csv, const char *const *names, size_t count, size_t needed, int *at,
             struct err *err) MUST_USE;

// An error where there is any other column, so that a misspelt name is not ignored.
int csv_only(const struct csv *csv, const char *const *names, size_t count,
             struct err *err) MUST_USE;

// The next record. 1: there is one; 0: the end; negative: an error, and from then on always
// that. Not 0 or a code as elsewhere, so that it can be a loop's condition.
int csv_next(struct csv *csv, struct err *err) MUST_USE;

// A field of the record, until the next csv_next(). Null where it is absent: in a short row, or
// with `column` -1. An empty field is "".
const char *csv_text(const struct csv *csv, int column);

size_t csv_line(const struct csv *csv); // on which the record starts, from 1

// Puts "FILE, line 12, column 'Price': " before the text of `err`; -1 leaves out the column.
// Returns err->code, as err_context() does.
int csv_context(const struct csv *csv, int column, struct err *err);

// Sets an error, ERR_FORMAT, with that context.
int csv_fault(const struct csv *csv, int column, struct err *err, const char *format, ...)
    PRINTF_LIKE(4, 5);

// Writing: fields are appended to a buffer, quoted only where they must be. Failures stick in the
// buffer, whose owner checks it and, with long tables, empties it into a file now and then.
struct csv_writer {
    struct buf *out;
    char separator; // 0: a comma
    bool crlf;      // ends of lines; otherwise LF
    size_t fields;  // so far in this record
    bool first_empty;
};
void csv_put(struct csv_writer *w, const char *text); // null is an empty field
// The same for a text from elsewhere, which a spreadsheet must not take for a formula.
void csv_put_text(struct csv_writer *w, const char *text);
void csv_end(struct csv_writer *w); // ends the record

#endif
