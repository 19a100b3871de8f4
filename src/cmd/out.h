// SPDX-License-Identifier: Apache-2.0
// out: what a command prints, collected and written once at its end, so that a closed pipe or a
// full disk is an error with a name and not silence.
#ifndef FARE_CMD_OUT_H
#define FARE_CMD_OUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "record/field.h"

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_RED, OUT_YELLOW, OUT_GREEN };

struct out {
    struct buf text;
    bool colour;  // only on a terminal, without NO_COLOR, unless --color says otherwise
    bool unicode; // blocks and lines can be drawn; else with what ASCII has
    int width;    // columns to fill: the terminal's, between 40 and 100; 80 elsewhere
    int fd;       // where it goes: stdout, unless that belongs to somebody else
};

// `color` is the value of --color: "auto", "always", "never", or null for auto.
void out_init(struct out *out, const char *color);
void out_release(struct out *out);

void out_styled(struct out *out, enum out_style style, const char *format, ...) PRINTF_LIKE(3, 4);
void out_printf(struct out *out, const char *format, ...) PRINTF_LIKE(2, 3);

// A space at which a line is not broken, unless a line is too short for all of it. Printed as a
// space.
#define OUT_GLUE '\x1f'

// "Label    text", the text wrapped at spaces below itself. A null label continues the last.
void out_row(struct out *out, const char *label, const char *format, ...) PRINTF_LIKE(3, 4);

// Text wrapped at spaces to the width, each line after `indent` spaces. The second form begins
// where the cursor stands, which must be at that column.
void out_wrap(struct out *out, int indent, const char *text);
void out_wrap_here(struct out *out, int indent, const char *text);

// A table's cell: `text` in exactly `width` columns, cut with an ellipsis where it is longer. The
// first is followed by a space, the second, which aligns to the right, is not.
void out_cell(struct out *out, int width, const char *text);
void out_cell_right(struct out *out, int width, const char *text);
int out_columns(const char *text); // that it takes on a terminal

// A table whose columns give way on a narrow terminal.
struct out_column {
    const char *head;
    int width;     // 0: left out
    bool right;    // aligned to the right
    int gives_way; // 0: never; else the higher ones go first
};

// Leaves out what has no room in `width` columns. What is left over, or still lacks, the column
// `flexible` gets, or the first one where that was left out.
void out_fit(struct out_column *columns, size_t count, size_t flexible, int width);

void out_heads(struct out *out, const struct out_column *columns, size_t count);
void out_field(struct out *out, const struct out_column *column, const char *text);

// Values as a line of blocks, from the least to the largest, and below it what those are; where
// there are more than fit, means. Fewer than two are not drawn.
void out_sparkline(struct out *out, const char *label, const double *values, size_t count,
                   const char *unit);

// The line alone, of at most `columns`, appended.
void out_blocks(struct buf *line, const double *values, size_t count, size_t columns, bool unicode,
                double *low, double *high);

// A record as JSON, indented, with a newline at the end.
int out_record(struct out *out, const struct field *fields, const void *record,
               struct err *err) MUST_USE;

// Writes what was collected to `fd` and empties it.
int out_write(struct out *out, struct err *err) MUST_USE;

// Writes each line to stderr at once, after "fare: ": what a person should know beyond the result.
// On a terminal what is longer than that goes on below itself, broken at spaces.
void out_complain(const char *lines);

#endif
