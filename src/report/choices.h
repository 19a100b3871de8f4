// SPDX-License-Identifier: Apache-2.0
// choices: the offers of a training that matter most: the cheapest and the fastest, with a run and
// by estimate.
#ifndef FARE_REPORT_CHOICES_H
#define FARE_REPORT_CHOICES_H

#include "base/buf.h"
#include "record/bill.h"

// A section with a heading ("cnn costs 0.061 to 4.10 USD") and a table; nothing without bills.
// `link`: where the name leads, escaped.
void html_choices(struct buf *out, const char *name, const char *link, const struct quote *quote);

#endif
