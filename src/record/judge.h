// SPDX-License-Identifier: Apache-2.0
// judge: whether what a run's record says can be; for records that others wrote, before they are
// taken in.
#ifndef FARE_RECORD_JUDGE_H
#define FARE_RECORD_JUDGE_H

#include <stdint.h>

#include "base/err.h"
#include "record/run.h"

// After record_judge_text() (read.h) found each value possible by itself: whether they fit each
// other. ERR_FORMAT names the member: a phase longer than the whole, an interval that ends before
// it begins or does not hold its figure, a date that is none or lies over a day after `now_s`. The
// projection of a full run that tells no whole is held against the time the run took. `started` may
// be null.
int run_judge(const char *started, struct maybe_bool full, const struct run_phases *phases,
              const struct run_projection *projection, const struct run_steady *steady,
              int64_t now_s, struct err *err) MUST_USE;

#endif
