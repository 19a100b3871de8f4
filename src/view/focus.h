// SPDX-License-Identifier: Apache-2.0
// focus: a bill as rows of FOCUS, the open specification for cost data.
#ifndef FARE_VIEW_FOCUS_H
#define FARE_VIEW_FOCUS_H

#include "advise/quote_job.h"

// The column names.
void focus_head(struct buf *out);

// The rows of the quote's first bill only, because readers of FOCUS add up all rows.
int focus_bill(struct buf *out, const struct quote_job *job, struct err *err) MUST_USE;

#endif
