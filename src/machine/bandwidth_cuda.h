// SPDX-License-Identifier: Apache-2.0
// bandwidth_cuda: how fast data moves between the machine's memory and its NVIDIA GPUs.
//
// Through the CUDA driver, which is opened at run time. Per GPU and direction one copy of 256 MiB
// (less where memory is short or the link so slow that it would take over 0.1 s) is made six
// times; the first brings the link out of its sleep and does not count, and of the other five the
// fastest does: interference only ever slows a copy down (STREAM reports its best pass for the
// same reason). Both directions, from page-locked and from ordinary memory.
#ifndef FARE_MACHINE_BANDWIDTH_CUDA_H
#define FARE_MACHINE_BANDWIDTH_CUDA_H

#include "machine/probe.h"

// Appends one row per GPU that CUDA shows to machine->bandwidth.gpus. While page-locked data
// moves, the management library is asked how the PCIe link runs: idle GPUs slow theirs down, so
// only this reading tells what the slot can do. Needs machine->memory and machine->gpus.
//
// Without a CUDA driver or without a GPU nothing is listed, which is no error. A call that fails
// gives the row a `problem`, "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY". On a recorded machine
// only the library that the variable FARE_CUDA names is used.
int cuda_bandwidth(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

#endif
