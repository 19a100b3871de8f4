// SPDX-License-Identifier: Apache-2.0
// part: the small pieces that all pages are made of: chips, the figures that matter, sparklines,
// intervals and strips as large as a word, what to do on an empty page, a command to copy; and
// headings, sentences and tables.
//
// Each appends to a buffer whose failure is sticky; texts are escaped here. Small drawings repeat
// figures that stand beside them as text, so screen readers pass over them.
#ifndef FARE_RENDER_PART_H
#define FARE_RENDER_PART_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

// A labelled state. The tone is its colour; the text says it all.
enum part_tone { PART_PLAIN, PART_OK, PART_NOTE, PART_WAIT, PART_BAD };
void part_chip(struct buf *out, enum part_tone tone, const char *text);

// How a run ended: "finished" is good, "failed" and "killed" are not.
void part_state(struct buf *out, const char *ended); // null: nothing

// A row of figures between part_stats_begin() and part_stats_end(). A null or empty value is
// shown as "unknown", with `sub` to say why.
void part_stats_begin(struct buf *out);
void part_stat(struct buf *out, const char *name, const char *value, const char *sub);
void part_stats_end(struct buf *out);

// An empty page: what is missing, and the command that changes it (null: none).
void part_empty(struct buf *out, const char *says, const char *command);

void part_command(struct buf *out, const char *line);
void part_code(struct buf *out, const char *line); // within a sentence

#define PART_WIDE 96 // pixels of the drawings below
#define PART_HIGH 20

// A line through the values, from the smallest at the bottom to the largest at the top; equal ones
// lie in the middle. Under two values: nothing.
void part_sparkline(struct buf *out, const double *values, size_t count, const char *tip);

// A figure with its interval. A bar starts at zero on a linear scale to `most`; a whisker has a dot
// on a logarithmic scale from `least` to `most`, both above 0. Without an interval `low` is above
// `high`. An estimate is hollow. What ends beyond `most` has no end.
struct part_interval {
    double value, low, high;
    bool estimated;
    double startup, idle; // bars: of the value, drawn paler at the left and at the right end
};
void part_bar(struct buf *out, const struct part_interval *figure, double most, const char *tip);
void part_whisker(struct buf *out, const struct part_interval *figure, double least, double most,
                  const char *tip);

// Many values as a strip: a short line for each, above or below the middle, on a logarithmic scale
// that all strips share. Only the pixel of a value is kept, so that a million take no more.
enum { PART_RUG_WIDE = 240 };
struct part_rug {
    unsigned char taken[2][PART_RUG_WIDE]; // above, below
};
void part_rug_add(struct part_rug *rug, bool below, double value);
void part_rug(struct buf *out, const struct part_rug *rug);
void part_rug_axis(struct buf *out); // the scale's numbers, for the head of the column

#define PART_SEEN_OLD "last seen over 30 days ago (spot: over 7)" // of a price marked "†"

// ==== headings, sentences and tables ====

void html_piece(struct buf *out, struct buf *piece); // appends it and releases it

void html_heading(struct buf *out, int level, const char *text);
void html_paragraph(struct buf *out, const char *class, const char *text); // null or "": nothing
void html_item(struct buf *out, const char *text);                         // of a list

// A table that scrolls if wider than the page, and can be reached with the keyboard. The caller
// writes the rows.
struct html_column {
    const char *name;
    const char *class; // "num", "long" or ""; "more" with it: a phone has no room for it
};
void html_begin_table(struct buf *out, const char *label);
void html_table_head(struct buf *out, const struct html_column *columns, size_t count);
void html_head_cell(struct buf *out, const char *class, const char *name);
void html_cell(struct buf *out, const char *class, const char *text);
void html_figure(struct buf *out, const char *text); // with places to break it
void html_end_table(struct buf *out);
void html_offer(struct buf *out, const char *name); // with places to break it

#endif
