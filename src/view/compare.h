// SPDX-License-Identifier: Apache-2.0
// compare: a comparison as Markdown and CSV, and its figures as table cells.
#ifndef FARE_VIEW_COMPARE_H
#define FARE_VIEW_COMPARE_H

#include "base/array.h"
#include "base/buf.h"
#include "record/compare.h"

void compare_markdown(struct buf *out, const struct compare *compare);
// Without the summary; `said`: without the sentences of each workload, too.
void compare_markdown_tables(struct buf *out, const struct compare *compare, bool said);
void compare_csv(struct buf *out, const struct compare *compare);

// A row's figures for people: "$0.526", "12.3 s"; "-" if unknown.
#define COMPARE_CELL 64
void compare_time_words(const struct compare_row *row, char out[COMPARE_CELL]);
const char *compare_cost_mark(const struct compare_row *row); // "≥" of a lower bound, else ""
void compare_cost_words(const struct compare_row *row, char out[COMPARE_CELL]);
// "$0.0097 to $0.0105", with the given texts before and between; false if there is none.
// The cost in the currency asked for; "" without one, "unknown" without its rate.
void compare_local_words(const struct compare_row *row, char out[COMPARE_CELL]);
// Appends "0.25 (0.24–0.26), 0.22 EUR".
void compare_cost_cell(const struct compare_row *row, struct buf *out);
// Appends the exchange rates of the rows, each once, after `before`; at most a few.
void compare_exchange(const struct compare *compare, const char *before, struct buf *out);
bool compare_cost_interval(const struct compare_row *row, const char *before, const char *between,
                           char out[COMPARE_CELL]);
void compare_ratio_words(const struct compare_against *against, char out[COMPARE_CELL]);
void compare_work_words(const struct compare_row *row, char out[COMPARE_CELL]);
// "quality" if some row has another metric than accuracy, else `accuracy`.
const char *compare_quality_head(const struct compare_workload *workload, const char *accuracy);
void compare_quality_words(const struct compare_row *row, char out[COMPARE_CELL]);
void compare_percent_words(struct maybe_real share, double scale, char out[COMPARE_CELL]);
// 95 % intervals; false if there is none, or if the digits shown would not tell the ends apart.
bool compare_work_interval(const struct compare_row *row, const char *between,
                           char out[COMPARE_CELL]);
bool compare_quality_interval(const struct compare_row *row, const char *between,
                              char out[COMPARE_CELL]);
bool compare_percent_interval(const struct compare_figure *share, double scale, const char *between,
                              char out[COMPARE_CELL]);

// The distinct notes of a workload's rows, numbered. The record owns the texts. False: no memory.
struct compare_notes {
    struct index numbers;
    const char **items;
};
bool compare_notes_init(struct compare_notes *notes, const struct compare_workload *workload);
void compare_notes_release(struct compare_notes *notes);
// A row's note numbers: "1,3", or "".
void compare_notes_of(struct compare_notes *notes, const struct compare_row *row,
                      char out[COMPARE_CELL]);

#endif
