// SPDX-License-Identifier: Apache-2.0
// verdict: the statement at the top of a report, in parts. Internal to report/.
//
// Each claim names its scope (the rows compared, machines with a run, estimates), so that no table
// of the page contradicts it. Names leave out hashes and run ids; the tables have them.
#ifndef FARE_VIEW_VERDICT_H
#define FARE_VIEW_VERDICT_H

#include "view/draft.h"

// Appends the verdict on the comparison: over all workloads, or of the only one compared.
void verdict_compared(const struct page *page, struct buf *out);

// The same in one short sentence, for a title: "cnn: box-2 takes 2 times the time of box-1". It
// claims only what the intervals show; nothing without two rows that can win.
void verdict_title(const struct page *page, struct buf *out);

#endif
