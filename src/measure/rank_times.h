// SPDX-License-Identifier: Apache-2.0
// How long one process of a parallel command was in exchanges with the others, so far.
#ifndef FARE_MEASURE_RANK_TIMES_H
#define FARE_MEASURE_RANK_TIMES_H

#include <stdint.h>

enum { RANK_TIMES_MOST = 256 }; // of one fare process

enum rank_times_by { RANK_MPI = 1, RANK_GLOO = 2, RANK_NCCL = 4 }; // bits

struct rank_times {
    int32_t rank, size; // -1: unknown
    int32_t pid;
    uint32_t by;        // enum rank_times_by
    int64_t covered_ns; // the time so far, from any beginning; NCCL: that of the recorded steps
    int64_t open_ns;    // of it in exchanges that no calculation hides; -1: unknown
    int64_t all_ns;     // of it in exchanges; -1: unknown
};

#endif
