// SPDX-License-Identifier: Apache-2.0
// table: rows of texts in columns that fit the terminal.
//
// Add the rows, then print. A column is as wide as its widest cell, and left out if all its cells
// are unknown ("" or "-"). On a narrow terminal, columns are left out by priority, then shortened.
// The first column, and those after it that are `name`, hold names to paste and are never cut: a
// row with a name that is too long has its names on a separate line above it. The last column is
// wrapped, if aligned left.
#ifndef FARE_CMD_TABLE_H
#define FARE_CMD_TABLE_H

#include "cmd/out.h"

enum table_align {
    TABLE_LEFT,
    TABLE_RIGHT,
    TABLE_POINT, // amounts, on the decimal point
};

struct table_column {
    const char *head; // null in all columns: no line of heads
    enum table_align align;
    int priority;      // 0: never left out; else the highest goes first
    int least;         // may be shortened to this width; 0: may not
    const char *below; // (optional) if left out, its cells are printed below, followed by this
    bool name;
};

enum { TABLE_COLUMNS = 24 }; // at most

struct table {
    const struct table_column *columns;
    size_t count;
    int indent;
    struct buf rows; // for each row its style, its cells and the text below it, each with a NUL
};

// An empty table with the columns of an array.
#define TABLE(of)                                                                                  \
    {                                                                                              \
        .columns = (of), .count = sizeof(of) / sizeof *(of)                                        \
    }

// `cells` has one text per column, `below` (optional) is printed below the row, wrapped. Both are
// copied.
void table_row(struct table *table, enum out_style style, const char *const *cells,
               const char *below);

// Prints and empties it.
void table_print(struct table *table, struct out *out);

#endif
