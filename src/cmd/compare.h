// SPDX-License-Identifier: Apache-2.0
// compare: what the files of `fare compare` share; not for others.
#ifndef FARE_CMD_COMPARE_H
#define FARE_CMD_COMPARE_H

#include "base/index.h"
#include "cmd/cmd.h"
#include "record/compare.h"

void compare_table(struct out *out, const struct compare *compare);
void compare_markdown(struct out *out, const struct compare *compare);
void compare_csv(struct out *out, const struct compare *compare);

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
