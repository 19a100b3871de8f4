// SPDX-License-Identifier: Apache-2.0
// nvml_processes: which processes are on a GPU, past three versions of the question and the drivers
// that got one of them wrong.
#ifndef FARE_MACHINE_NVML_PROCESSES_H
#define FARE_MACHINE_NVML_PROCESSES_H

#include "machine/nvml.h"

enum nvml_list { NVML_COMPUTE, NVML_GRAPHICS };

#define NVML_PROCESS_BYTES 32 // the most that an entry of any version takes

// Room for a list, used again and again. A zeroed one grows as needed; one that is `fixed` has
// `room` entries (an odd number) at `bytes`, its owner's.
struct nvml_processes {
    unsigned char *bytes;
    unsigned int room;
    bool fixed;
    size_t entry; // bytes of one
    unsigned int count;
};

// Asks for the whole list; `code` is the library's answer, and NVML_INSUFFICIENT_SIZE one that a
// fixed room cannot hold. Fails only when memory runs out.
int nvml_processes_ask(const struct nvml_api *api, struct nvml_device *device, enum nvml_list list,
                       struct nvml_processes *out, enum nvml_return *code,
                       struct err *err) MUST_USE;
void nvml_processes_release(struct nvml_processes *processes); // not of a fixed one

// The i-th one's pid; its memory in bytes, all ones where that is not available.
uint32_t nvml_process(const struct nvml_processes *processes, unsigned int i, uint64_t *memory);

#endif
