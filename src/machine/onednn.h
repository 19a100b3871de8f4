// SPDX-License-Identifier: Apache-2.0
// onednn: does oneDNN work on this processor?
//
// The library picks its kernels from what the processor advertises, and some virtual machines
// advertise AMX in a way that makes those kernels fault although the instructions work. So its own
// matrix products and a convolution run here, each in a child process of its own, which opens the
// library; this process never does. What failed is tried again with the library held to kernels
// without AMX, so that the user learns the way out.
#ifndef FARE_MACHINE_ONEDNN_H
#define FARE_MACHINE_ONEDNN_H

#include <stdbool.h>

#include "base/proc.h"
#include "record/machine.h"

#define ONEDNN_CAP "AVX512_CORE_BF16" // the value of ONEDNN_MAX_CPU_ISA for the second try

enum { ONEDNN_TRIALS = 3 };

struct onednn {
    struct proc children[ONEDNN_TRIALS]; // those that were not started have no process
};

// Starts the trials; with `bf16` also those in bfloat16. The variable FARE_ONEDNN names another
// library file.
int onednn_start(struct onednn *onednn, bool bf16, struct err *err) MUST_USE;

// Waits for them and appends the library to cpu->libraries; where it is not on this machine,
// nothing.
int onednn_finish(struct onednn *onednn, struct machine_cpu *cpu, struct err *err) MUST_USE;

void onednn_kill(struct onednn *onednn); // ends what still runs; a zeroed struct is fine

#endif
