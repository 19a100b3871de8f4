// SPDX-License-Identifier: Apache-2.0
// out: a command's output, collected and written once at its end, so that a closed pipe or a full
// disk is reported as an error. Texts that come from elsewhere may be printed as they are: bytes
// that a terminal obeys are replaced by '?'. Tables: table.h.
#ifndef FARE_CMD_OUT_H
#define FARE_CMD_OUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/field.h"

struct doc;

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_RED, OUT_YELLOW, OUT_GREEN };

struct out {
    struct buf text;
    bool colour;  // only on a terminal, without NO_COLOR, unless --color says otherwise
    bool unicode; // blocks and lines can be drawn; else ASCII
    int width;    // columns to fill: the terminal's, between 40 and 100; 80 elsewhere
    int fd;       // the target: stdout, unless a user's command has that
};

// `color` is the value of --color: "auto", "always", "never", or null for auto.
void out_init(struct out *out, const char *color);
void out_release(struct out *out);

void out_styled(struct out *out, enum out_style style, const char *format, ...) PRINTF_LIKE(3, 4);
void out_printf(struct out *out, const char *format, ...) PRINTF_LIKE(2, 3);

// A space at which a line breaks only if the text does not fit otherwise.
#define OUT_GLUE '\x1f'

// "Label    text", the text wrapped at spaces below itself. A null label continues the last.
void out_row(struct out *out, const char *label, const char *format, ...) PRINTF_LIKE(3, 4);

// Appends to a row of parts: "a, b, c". A short part stays on one line. out_parts() prints the row,
// if it has any part, and empties it.
void out_part(struct buf *row, const char *format, ...) PRINTF_LIKE(2, 3);
void out_parts(struct out *out, const char *label, struct buf *row);

// The same for a text of parts.
void out_fact(struct out *out, const char *label, const char *value);

// Text wrapped at spaces to the width, each line after `indent` spaces. The second form begins
// at the cursor, which must be in that column.
void out_wrap(struct out *out, int indent, const char *text);
void out_wrap_here(struct out *out, int indent, const char *text);

// The same for formatted text, and for a buffer, which is released. An empty buffer prints
// nothing.
void out_wrapf(struct out *out, int indent, const char *format, ...) PRINTF_LIKE(3, 4);
void out_wrap_take(struct out *out, int indent, struct buf *text);

void out_bullet(struct out *out, const char *text); // "  - text", wrapped

int out_columns(const char *text); // that it takes on a terminal

// Values as a line of blocks, with the least and the largest below; means if there are more than
// fit. Fewer than two are not drawn.
void out_sparkline(struct out *out, const char *label, const char *says, const double *values,
                   size_t count, const char *unit);

// One block of such a line, from the lowest (0) to the highest (1).
void out_block(struct buf *line, double share, bool unicode);

// The line alone, of at most `columns`, appended.
void out_blocks(struct buf *line, const double *values, size_t count, size_t columns, bool unicode,
                double *low, double *high);

// A document (render/doc.h) as text.
void out_doc(struct out *out, const struct doc *doc);

// A record as JSON, indented, with a newline at the end.
int out_record(struct out *out, const struct field *fields, const void *record,
               struct err *err) MUST_USE;

// Writes the collected text to `fd` and empties it.
int out_write(struct out *out, struct err *err) MUST_USE;

// Writes each line to stderr at once, after "fare: ". Long lines are wrapped on a terminal.
void out_complain(const char *lines);

// ==== tables ====
// table: rows of texts in columns that fit the terminal.
//
// Add the rows, then print. A column is as wide as its widest cell, and left out if all its cells
// are unknown ("" or "-"). On a narrow terminal, columns are left out by priority, then shortened.
// The first column, and those after it that are `name`, hold names to paste and are never cut: a
// row with a name that is too long has its names on a separate line above it. The last column is
// wrapped, if aligned left.

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
