// SPDX-License-Identifier: Apache-2.0
// compare_estimates: rows of a comparison for machines on which nobody measured it, each estimated
// from the rows beside it. They win nothing.
#ifndef FARE_ADVISE_COMPARE_ESTIMATES_H
#define FARE_ADVISE_COMPARE_ESTIMATES_H

#include "bill/market.h"
#include "record/compare.h"
#include "record/run.h"

struct compare_targets;

// `names`: GPUs, or offers of the book, which have a price too; they and the market must outlive
// the result. ERR_USAGE for an unknown GPU, and for an offer without a whole one.
int compare_targets_new(struct compare_targets **out, const char **names, size_t count,
                        struct market *market, const struct wishes *wishes,
                        struct err *err) MUST_USE;
void compare_targets_free(struct compare_targets *targets); // null is fine

// Adds a row for each target, from the best of `runs`; apart with its reason, if it would not work
// there. A target that one of the runs was measured on gets none.
int compare_targets_add(const struct compare_targets *targets, const struct run *const *runs,
                        size_t count, struct compare_workload *to, struct err *err) MUST_USE;

// Whether the row is an estimate.
bool compare_estimated(const struct compare_row *row);

// compare_local: the costs of a comparison in the currency of --currency, beside USD. The costs of
// a group of runs are converted by compare_local_group() in compare_parts.h.

#endif
