// SPDX-License-Identifier: Apache-2.0
// then: what happens after a run, so that nobody pays for a machine that does nothing.
#ifndef FARE_MEASURE_THEN_H
#define FARE_MEASURE_THEN_H

#include "base/err.h"
#include "record/run.h"

// `what` is "poweroff", or a shell command, which finds FARE_ENDED (finished, failed ...) and
// FARE_RUN (the run's id) in its environment. `run` (optional). Waits for its end. "poweroff" stops
// a RunPod pod with runpodctl, elsewhere it asks systemctl, shutdown or poweroff, whichever works
// first.
int then_run(const char *what, const struct run *run, struct err *err) MUST_USE;

#endif
