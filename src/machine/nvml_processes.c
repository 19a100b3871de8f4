// SPDX-License-Identifier: Apache-2.0
#include "machine/nvml_processes.h"

#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 65536

typedef enum nvml_return (*process_call)(struct nvml_device *, unsigned int *, void *);

// An entry starts with the pid (4 bytes, padded to 8) and the memory (8 bytes). Version 1 ends
// there; version 2 adds two instance ids of 4 bytes. Version 3 equals version 2, except that some
// drivers of the 530 and 535 series append 8 bytes. So its size is derived from the bytes written.
enum { ENTRY_V1 = 16, ENTRY_V2 = 24, ENTRY_MAX = NVML_PROCESS_BYTES, UNTOUCHED = 0xA5 };

static size_t entry_size(const unsigned char *bytes, unsigned int capacity, unsigned int count)
{
    size_t written = (size_t)capacity * ENTRY_MAX;
    while (written > 0 && bytes[written - 1] == UNTOUCHED)
        written--;
    // A driver may clear the whole buffer. `capacity` is odd, so 24 * capacity and 32 * count
    // cannot be equal.
    bool longer = written == (size_t)count * ENTRY_MAX || written == (size_t)capacity * ENTRY_MAX;
    return longer && count > 0 ? ENTRY_MAX : ENTRY_V2;
}

static bool reserve(struct nvml_processes *out, unsigned int capacity)
{
    unsigned char *larger = realloc(out->bytes, (size_t)capacity * ENTRY_MAX);
    if (!larger)
        return false;
    out->bytes = larger;
    out->capacity = capacity;
    return true;
}

static int query(struct nvml_device *device, process_call call, struct nvml_processes *out,
                 enum nvml_return *code, struct err *err)
{
    unsigned int count;
    for (;;) {
        if (out->capacity == 0 && !reserve(out, 33))
            return err_memory(err);
        memset(out->bytes, UNTOUCHED, (size_t)out->capacity * ENTRY_MAX);
        count = out->capacity;
        *code = call(device, &count, out->bytes);
        if (*code != NVML_INSUFFICIENT_SIZE || out->fixed || out->capacity >= PROCESSES_MAX)
            break;
        // Processes may start in between: allocate more than NVML says.
        unsigned int base = count > out->capacity && count < PROCESSES_MAX ? count : out->capacity;
        if (!reserve(out, (base * 2) | 1))
            return err_memory(err);
    }
    if (*code == NVML_SUCCESS && count > out->capacity)
        *code = NVML_UNKNOWN; // it wrote past the buffer, or the count is wrong
    out->count = *code == NVML_SUCCESS ? count : 0;
    return 0;
}

// Tries the newest version first, and an older one only if the function is missing.
int nvml_processes_ask(const struct nvml_api *api, struct nvml_device *device, enum nvml_list list,
                       struct nvml_processes *out, enum nvml_return *code, struct err *err)
{
    const process_call compute[] = {api->nvmlDeviceGetComputeRunningProcesses_v3,
                                    api->nvmlDeviceGetComputeRunningProcesses_v2,
                                    api->nvmlDeviceGetComputeRunningProcesses};
    const process_call graphics[] = {api->nvmlDeviceGetGraphicsRunningProcesses_v3,
                                     api->nvmlDeviceGetGraphicsRunningProcesses_v2,
                                     api->nvmlDeviceGetGraphicsRunningProcesses};
    const process_call *calls = list == NVML_COMPUTE ? compute : graphics;
    static const size_t sizes[] = {0, ENTRY_V2, ENTRY_V1}; // 0: detected by entry_size()
    *code = NVML_FUNCTION_NOT_FOUND;
    out->count = 0;
    for (size_t i = 0; i < 3 && *code == NVML_FUNCTION_NOT_FOUND; i++) {
        if (!calls[i])
            continue;
        int rc = query(device, calls[i], out, code, err);
        if (rc != 0)
            return rc;
        out->entry = sizes[i];
    }
    if (*code == NVML_SUCCESS && out->entry == 0)
        out->entry = entry_size(out->bytes, out->capacity, out->count);
    return 0;
}

void nvml_processes_release(struct nvml_processes *processes)
{
    free(processes->bytes);
    memset(processes, 0, sizeof *processes);
}

uint32_t nvml_process(const struct nvml_processes *processes, unsigned int i, uint64_t *memory)
{
    const unsigned char *at = processes->bytes + i * processes->entry;
    uint32_t pid;
    memcpy(&pid, at, sizeof pid);
    memcpy(memory, at + 8, sizeof *memory);
    return pid;
}
