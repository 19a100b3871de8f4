// SPDX-License-Identifier: Apache-2.0
// reconcile: makes the GPU's account of a step add up to the step time that was measured.
//
// Kernels are recorded in bursts of a few steps (follow/trace/trace.h). A burst may show how the
// GPU works off a queue of batches, and nothing of the waiting for the next queue: its steps are
// short and its GPU is busy. The run's own step time and the utilisation by the driver (NVML) and
// by the GPU's counters (GPM) are of the whole time. What the recorded steps lack of the measured
// one is waiting: for data where the record shows what the program waits for, otherwise for an
// unknown reason. Steps as the kernels show them may be others than the run's: layers, or updates
// after several batches. Then the shares are of the recorded time, if the utilisation agrees. An
// account with far less work than the utilisation shows is dropped, and `off` says why.
#ifndef FARE_RECORD_RECONCILE_H
#define FARE_RECORD_RECONCILE_H

#include "record/run.h"

// Sets account.full_step_ms and, where it contradicts the recorded steps, the shares. Does nothing
// without an account or a step time, and to an account that was reconciled before. True: shares
// have changed.
bool run_reconcile(struct run *run);

#endif
