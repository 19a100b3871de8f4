// SPDX-License-Identifier: Apache-2.0
// choices: the offers of a training that matter most: the cheapest and the fastest, with a run and
// by estimate.
#ifndef FARE_VIEW_RESULTS_H
#define FARE_VIEW_RESULTS_H

#include "base/buf.h"
#include "record/bill.h"

// A group of rows below a heading ("cnn: from 0.061 USD, or in 45.6 s"); nothing without bills.
// `link`: where the name leads, escaped.
void html_choices(struct buf *out, const char *name, const char *link, const struct quote *quote);

// The table of these groups.
void html_choices_table(struct buf *out, const struct buf *groups);

#endif
