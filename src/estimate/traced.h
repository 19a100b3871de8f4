// SPDX-License-Identifier: Apache-2.0
// traced: scales a step class by class, from the GPU's own account of it (run.account).
#ifndef FARE_ESTIMATE_TRACED_H
#define FARE_ESTIMATE_TRACED_H

#include "estimate/estimate.h"
#include "estimate/rates.h"

bool traced_known(const struct run *run); // the run has an account that can be scaled

// The rate of copies on a GPU there ÷ here, as measured; 0: not measured on both.
double traced_copies(const struct estimate_place *from, const struct estimate_place *to);

// Time of a step there ÷ here, 0 if unknown; fills the estimate's parts. `precision`: of kernels
// whose name does not tell theirs. `gpu_bound`: all of the step follows the GPU; otherwise the host
// takes its time in any case. `measured`: all rates were measured on both.
double traced_ratio(const struct estimate_tables *tables, const struct estimate_model *model,
                    const struct run *run, const struct estimate_place *from,
                    const struct estimate_place *to, enum rate_precision precision, bool gpu_bound,
                    struct estimate *out, bool *measured);

#endif
