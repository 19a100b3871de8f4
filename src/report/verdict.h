// SPDX-License-Identifier: Apache-2.0
// verdict: the statement at the top of a report, in parts. Internal to report/.
//
// Each claim names its scope (the rows compared, machines with a run, estimates), so that no table
// of the page contradicts it. Names leave out hashes and run ids; the tables have them.
#ifndef FARE_REPORT_VERDICT_H
#define FARE_REPORT_VERDICT_H

#include "report/draft.h"

void verdict_time(struct buf *out, double seconds);

// "a " before "machine with an H200", which has no name of its own; else nothing.
const char *verdict_article(const char *machine);

// "k80 + tensorflow (bf16)", without the hashes of compare_label().
void verdict_label(const struct compare_row *row, struct buf *out);

// Whether the user gave the machines' prices.
bool verdict_priced(const struct page_ask *ask);

// Appends which row is the cheapest and which the fastest: over all workloads, or of the only one
// compared. Nothing without two rows that can win.
void verdict_compared(const struct page *page, struct buf *out);

// The same in one short sentence, for a title: "cnn: box-2 takes 2 times the time of box-1". It
// claims only what the intervals show; nothing without two rows that can win.
void verdict_title(const struct page *page, struct buf *out);

// Appends the cheapest and the fastest offer; of several workloads, the sum of the cheapest.
void verdict_rent(const struct page *page, struct buf *out);

// Adds the answer to a deadline to the page's verdict, a sentence for each workload.
int verdict_deadlines(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                      struct err *err) MUST_USE;

#endif
