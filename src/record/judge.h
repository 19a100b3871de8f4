// SPDX-License-Identifier: Apache-2.0
// judge: checks that a run's record from elsewhere is plausible before it is imported.
#ifndef FARE_RECORD_JUDGE_H
#define FARE_RECORD_JUDGE_H

#include <stdint.h>

#include "base/err.h"
#include "record/run.h"

// Checks that the values fit each other, after record_judge_text() (read.h) checked each alone.
// ERR_FORMAT names the member: a phase longer than the whole, an interval that is reversed or
// excludes its value, an invalid date or one over a day after `now_s`. A full run's projection
// without a total is compared with the run's time. `started` may be null.
int run_judge(const char *started, struct maybe_bool full, const struct run_phases *phases,
              const struct run_projection *projection, const struct run_steady *steady,
              int64_t now_s, struct err *err) MUST_USE;

#endif
