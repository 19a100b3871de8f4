// SPDX-License-Identifier: Apache-2.0
// compare: a comparison as a document, and as CSV.
#ifndef FARE_VIEW_COMPARE_H
#define FARE_VIEW_COMPARE_H

#include "record/compare.h"
#include "render/doc.h"

// Summary, tables and legend.
void view_compare(struct doc *doc, const struct compare *compare);

// One workload's table; `said`: heading and verdict stand elsewhere.
void view_compare_workload(struct doc *doc, const struct compare *compare, size_t number,
                           bool said);

// The exchange rates of the rows, each once; at most a few.
void view_compare_rates(struct doc *doc, const struct compare *compare);

// A row's figures: cell_words() words them.
struct cell compare_time(const struct compare_row *row);
struct cell compare_cost(const struct compare_row *row);

void compare_csv(struct buf *out, const struct compare *compare);

#endif
