// SPDX-License-Identifier: Apache-2.0
// resumed: the time of a whole training from a run that made only its rest. Pure: no clock.
//
// A start that resumes from a checkpoint measures the steps after it. Its own time is not that of
// the training, and must not be quoted as such: it becomes a projection.
#ifndef FARE_MEASURE_RESUMED_H
#define FARE_MEASURE_RESUMED_H

#include "record/run.h"

// For a run that resumed, with `saving` filled and its own start the last of the attempts. Adds the
// earlier steps to the projection, at the pace of this run; where its steps are unknown, the time
// that earlier starts took for what they saved. A run that finished gets a projection and is no
// full one any more. Nothing is changed if nothing is known of the time before.
void resumed_project(struct run *run);

#endif
