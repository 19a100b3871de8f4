// SPDX-License-Identifier: Apache-2.0
// times: whether a run's times can be; for records that others wrote, before they are imported.
#ifndef FARE_LEDGER_TIMES_H
#define FARE_LEDGER_TIMES_H

#include <stddef.h>

#include "base/err.h"

// The text is a run's record that was checked (row.h). ERR_FORMAT names the member: a time below
// zero or over 100 years, an interval that ends before it begins, a date that is none.
int times_check(const char *text, size_t len, struct err *err) MUST_USE;

#endif
