// SPDX-License-Identifier: Apache-2.0
// bandwidth_cuda: measures the bandwidth between the machine's memory and its NVIDIA GPUs.
//
// The CUDA driver is opened at run time. Each GPU copies 256 MiB in each direction, from
// page-locked and from pageable memory; less if memory is short or a copy would take over 0.1 s. Of
// six copies the first wakes the link and does not count. The fastest of the others counts, because
// interference only slows a copy down (STREAM does the same).
#ifndef FARE_MACHINE_BANDWIDTH_CUDA_H
#define FARE_MACHINE_BANDWIDTH_CUDA_H

#include "machine/probe.h"

// Appends one row per CUDA GPU to machine->bandwidth.gpus. Needs machine->memory and machine->gpus.
// NVML is asked for the PCIe link's speed during a copy, because idle GPUs slow their link down.
//
// Lists nothing without a CUDA driver or a GPU; this is no error. A failed call is the row's
// `problem`: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY". On a recorded machine only the library
// named by the variable FARE_CUDA is used.
int cuda_bandwidth(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

#endif
