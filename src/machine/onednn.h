// SPDX-License-Identifier: Apache-2.0
// onednn: does oneDNN work on this processor?
//
// The library picks kernels by what the processor advertises. Some virtual machines advertise AMX
// in a way that makes these kernels fault although the instructions work. So matrix products and a
// convolution run in child processes; the main process never opens the library. A failed trial is
// repeated without AMX kernels, to find a workaround.
#ifndef FARE_MACHINE_ONEDNN_H
#define FARE_MACHINE_ONEDNN_H

#include <stdbool.h>

#include "base/proc.h"
#include "record/machine.h"

#define ONEDNN_CAP "AVX512_CORE_BF16" // ONEDNN_MAX_CPU_ISA for the second try

enum { ONEDNN_TRIALS = 3 };

struct onednn {
    struct proc children[ONEDNN_TRIALS]; // zeroed if not started
};

// Starts the trials; `bf16` adds those in bfloat16. The variable FARE_ONEDNN names another library
// file.
int onednn_start(struct onednn *onednn, bool bf16, struct err *err) MUST_USE;

// Waits, and appends the library to cpu->libraries if it is installed.
int onednn_finish(struct onednn *onednn, struct machine_cpu *cpu, struct err *err) MUST_USE;

void onednn_kill(struct onednn *onednn); // ends running children; a zeroed struct is fine

#endif
