// SPDX-License-Identifier: Apache-2.0
// l1: the distances between all pairs of two sets of vectors, as on the first rented GPUs. Nothing
// is trained; the engine's l1() is timed.
#include "workload/workload.h"

const struct workload workload_l1 = {
    .name = "l1",
    .summary = "L1 distances between all pairs of two sets of vectors",
    .origin = "all-pairs L1 distances on rented GPUs, 2015",
    .metric = WORKLOAD_L1,
    .reach = 1e-5,
};
