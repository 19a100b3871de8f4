// SPDX-License-Identifier: Apache-2.0
// files: finds and reads the tables: those shipped in share/, and the user's own in
// $XDG_CONFIG_HOME/fare
// (~/.config/fare), which have precedence.
#ifndef FARE_TABLES_FILES_H
#define FARE_TABLES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/err.h"

// Append the path of `name` ("currencies.csv", "providers") in the shipped and in the user's
// folder. Without a home folder files_own() appends nothing and succeeds.
int files_shipped(const char *name, struct buf *path, struct err *err) MUST_USE;
int files_own(const char *name, struct buf *path, struct err *err) MUST_USE;

// Visits the files in a folder whose names end in `ending`, in byte order; skips hidden ones. A
// missing folder is empty.
typedef int files_visit_fn(void *arg, const char *path, struct err *err);
int files_each(const char *dir, const char *ending, files_visit_fn *visit, void *arg,
               struct err *err) MUST_USE;

// A date in a table, "2026-01-31", in days since 1970. ERR_FORMAT for anything else.
int files_day(const char *text, int64_t *day, struct err *err) MUST_USE;

// Chooses between two dated rows: true if that of day `a` applies on `day` rather than that of `b`.
// A row on or before the day beats a later one, then the nearer wins; of one date, `a`.
bool files_applies(int64_t a, int64_t b, int64_t day);

// ---- columns: reads CSV files into a list of structs, by a table of the columns: share/'s and the
// user's own file of that name, whose rows come first.
//
//     static const struct column hosts_columns[] = {
//         {"gpu", COLUMN_TEXT, offsetof(struct hosts_row, gpu), .may_be = COLUMN_EMPTY},
//         {"share", COLUMN_NANO, offsetof(struct hosts_row, share), .least = 1, .most = 100},
//         {0}};
//
// Their order in the file is free. ERR_FORMAT names the file, line and column.

enum { COLUMNS_MOST = 40, COLUMNS_ROWS_MOST = 100000 };

#define COLUMN_ABOVE_0 1e-9 // for `least`

enum column_kind {
    COLUMN_TEXT,   // char *, trimmed; null if empty
    COLUMN_STRING, // char *, as it is; "" if empty
    COLUMN_JOINED, // appended to the COLUMN_TEXT of the same member: "its source, 2026-01-31"
    COLUMN_DATE,   // as COLUMN_STRING: a date
    COLUMN_DAY,    // int64_t: a date, in days since 1970
    COLUMN_NANO,   // int64_t: up to nine decimals, in billionths
    COLUMN_WHOLE,  // int64_t
    COLUMN_REAL,   // double
    COLUMN_INT,    // int
    COLUMN_MILLI,  // int, in thousandths
    COLUMN_KIBI,   // int, in 1024ths
};

enum column_may_be { COLUMN_NEEDED, COLUMN_EMPTY, COLUMN_ABSENT }; // the last: or empty

struct column {
    const char *name;
    enum column_kind kind;
    size_t at; // of the member
    enum column_may_be may_be;
    const char *const *words; // (optional) text: one of these, then a null; a date: or one of these
    double least, most;       // numbers; both 0: any
    int64_t empty;            // the value of an empty number or day
};

struct columns_row { // the row that is read
    const struct csv *csv;
    int at[COLUMNS_MOST]; // where the columns are in the file; -1: absent
    bool own;             // in the user's file
    void *arg;
};

struct columns {
    const struct column *columns; // at most COLUMNS_MOST, then {0}
    size_t size;                  // of a row
    bool only;                    // any other column in the file is an error
    int (*finish)(const struct columns_row *at, void *row, struct err *err); // (optional) checks it
};

// Appends the rows of a file to a LIST_OF() them. A file of the user's may be missing, or null.
int columns_load(const struct columns *columns, const char *path, bool own, void *list, void *arg,
                 struct err *err) MUST_USE;

// The user's file, if there is one, then the shipped one.
int columns_both(const struct columns *columns, const char *own, const char *shipped, void *list,
                 void *arg, struct err *err) MUST_USE;

void columns_release(const struct columns *columns, void *list);

// The same in a new struct with nothing but a LIST_OF(); null if `*rc`, which it sets, is not 0.
void *columns_new(const struct columns *columns, const char *own, const char *shipped, int *rc,
                  struct err *err) MUST_USE;
void columns_free(const struct columns *columns, void *table); // null is fine

// For finish(): an error in this column; null: in the row.
int columns_fault(const struct columns_row *at, const char *column, struct err *err,
                  const char *format, ...) PRINTF_LIKE(4, 5);

#endif
