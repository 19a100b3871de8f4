// SPDX-License-Identifier: Apache-2.0
// nvml_processes: lists the processes on a GPU, whichever of three API versions the driver has.
#ifndef FARE_MACHINE_NVML_PROCESSES_H
#define FARE_MACHINE_NVML_PROCESSES_H

#include "machine/nvml.h"

enum nvml_list { NVML_COMPUTE, NVML_GRAPHICS };

#define NVML_PROCESS_BYTES 32 // the largest entry of all versions

// A reusable buffer. A zeroed one grows as needed. A `fixed` one has space for `capacity` entries
// (an odd number) at `bytes`, owned by the caller.
struct nvml_processes {
    unsigned char *bytes;
    unsigned int capacity;
    bool fixed;
    size_t entry; // bytes per entry
    unsigned int count;
};

// Gets the whole list. `code` is NVML's answer; NVML_INSUFFICIENT_SIZE if a fixed buffer is too
// small. Fails only when memory runs out.
int nvml_processes_ask(const struct nvml_api *api, struct nvml_device *device, enum nvml_list list,
                       struct nvml_processes *out, enum nvml_return *code,
                       struct err *err) MUST_USE;
void nvml_processes_release(struct nvml_processes *processes); // not for a fixed one

// The pid of entry i, and its memory in bytes (all ones: not available).
uint32_t nvml_process(const struct nvml_processes *processes, unsigned int i, uint64_t *memory);

#endif
