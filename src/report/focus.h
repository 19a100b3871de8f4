// SPDX-License-Identifier: Apache-2.0
// focus: a bill as rows of FOCUS, the open specification of cost data.
#ifndef FARE_REPORT_FOCUS_H
#define FARE_REPORT_FOCUS_H

#include "advise/quote_job.h"

// The names of the columns.
void focus_head(struct buf *out);

// The rows of the quote's first bill: several would be added up by whoever reads them.
int focus_bill(struct buf *out, const struct quote_job *job, struct err *err) MUST_USE;

#endif
