// SPDX-License-Identifier: Apache-2.0
// bandwidth_host: measures memory and disk bandwidth. Each takes about a second.
//
// One thread per usable CPU reads, writes and copies buffers larger than the caches, with streaming
// stores. The fastest of many passes counts, because interference only slows a pass down (STREAM,
// McCalpin 1995, does the same). The disk test uses an unnamed file of at most 256 MiB, so nothing
// is left behind.
#ifndef FARE_MACHINE_BANDWIDTH_H
#define FARE_MACHINE_BANDWIDTH_H

#include "machine/probe.h"
#include "record/machine.h"

// Needs machine->cpu and machine->memory. Uses at most an eighth of the available memory. Measures
// nothing if that is not well beyond the caches' size.
int memory_bandwidth(const struct machine *machine, struct machine_bandwidth *out,
                     struct err *err) MUST_USE;

// A folder that is full or not writable sets out->disk_problem; this is no error.
int disk_bandwidth(const char *folder, struct machine_bandwidth *out, struct err *err) MUST_USE;

// ==== bandwidth_cuda ====
// Measures the bandwidth between the machine's memory and its NVIDIA GPUs.
//
// The CUDA driver is opened at run time. Each GPU copies 256 MiB in each direction, from
// page-locked and from pageable memory; less if memory is short or a copy would take over 0.1 s. Of
// six copies the first wakes the link and does not count. The fastest of the others counts, because
// interference only slows a copy down (STREAM does the same).

// Appends one row per CUDA GPU to machine->bandwidth.gpus. Needs machine->memory and machine->gpus.
// NVML is asked for the PCIe link's speed during a copy, because idle GPUs slow their link down.
//
// Lists nothing without a CUDA driver or a GPU; this is no error. A failed call is the row's
// `problem`: "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY". On a recorded machine only the library
// named by the variable FARE_CUDA is used.
int cuda_bandwidth(struct probe *probe, struct machine *machine, struct err *err) MUST_USE;

#endif
