// SPDX-License-Identifier: Apache-2.0
// least: from a run on CPUs, the least time that it takes on GPUs. A CPU does not show what a GPU
// waits for, so there is no more to say: docs/estimating.md.
#ifndef FARE_ESTIMATE_LEAST_H
#define FARE_ESTIMATE_LEAST_H

#include "estimate/estimate.h"

struct least_ask {
    const struct estimate_tables *tables;
    const struct run *run;
    const struct estimate_place *to;
    double time_s;     // of the training, as measured
    double cpu_tflops; // of the CPUs that it used; 0: unknown
};

// Turns `out`, with its `net`, into a lower bound; ESTIMATE_UNKNOWN: there is none.
void least_make(const struct least_ask *ask, struct estimate *out);

#endif
