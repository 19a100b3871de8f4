// SPDX-License-Identifier: Apache-2.0
// focus: a bill as rows of FOCUS, the open specification of cost data.
#ifndef FARE_REPORT_FOCUS_H
#define FARE_REPORT_FOCUS_H

#include "advise/quote_job.h"

// A header, and the rows of the quote's first bill.
int quote_focus(struct buf *out, const struct quote_job *job, struct err *err) MUST_USE;

#endif
