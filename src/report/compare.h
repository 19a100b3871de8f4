// SPDX-License-Identifier: Apache-2.0
// compare: a comparison as Markdown and CSV, and its figures as cells of tables.
#ifndef FARE_REPORT_COMPARE_H
#define FARE_REPORT_COMPARE_H

#include "base/buf.h"
#include "base/index.h"
#include "record/compare.h"

void compare_markdown(struct buf *out, const struct compare *compare);
void compare_markdown_tables(struct buf *out, const struct compare *compare); // without the summary
void compare_csv(struct buf *out, const struct compare *compare);

// "$0.526", "12.3 s": the figures of a row for people; "-" where they are not known.
#define COMPARE_CELL 64
void compare_time_words(const struct compare_row *row, char out[COMPARE_CELL]);
void compare_cost_words(const struct compare_row *row, char out[COMPARE_CELL]);
// "$0.0097 to $0.0105", with these words before and between; false where there is none.
bool compare_cost_interval(const struct compare_row *row, const char *before, const char *between,
                           char out[COMPARE_CELL]);
void compare_ratio_words(const struct compare_against *against, char out[COMPARE_CELL]);
void compare_work_words(const struct compare_row *row, char out[COMPARE_CELL]);
void compare_percent_words(struct maybe_real share, double scale, char out[COMPARE_CELL]);
// Their 95 % intervals; false where there is none, or none that the digits shown would tell.
bool compare_work_interval(const struct compare_row *row, const char *between,
                           char out[COMPARE_CELL]);
bool compare_percent_interval(const struct compare_figure *share, double scale, const char *between,
                              char out[COMPARE_CELL]);

// The distinct notes of a workload's rows, numbered; the texts belong to the record. False: no
// memory.
struct compare_notes {
    struct index numbers;
    const char **items;
};
bool compare_notes_init(struct compare_notes *notes, const struct compare_workload *workload);
void compare_notes_release(struct compare_notes *notes);
// Those of a row: "1,3", or "".
void compare_notes_of(struct compare_notes *notes, const struct compare_row *row,
                      char out[COMPARE_CELL]);

#endif
