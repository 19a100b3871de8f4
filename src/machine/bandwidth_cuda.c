// SPDX-License-Identifier: Apache-2.0
#include "machine/bandwidth_cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "machine/libcuda.h"
#include "machine/nvml.h"
#include "machine/pci.h"

#define COPY_BYTES  ((size_t)256 << 20)
#define FIRST_BYTES ((size_t)16 << 20) // the first copy shows whether the link is slow
#define LEAST_BYTES ((size_t)1 << 20)
#define PASS_NS_MAX (100 * NS_PER_MS)
#define PASSES      5
#define COPIES      16 // in a row: one of 256 MiB takes little longer than its launch

struct bench {
    const struct libcuda *api;
    struct nvml *nvml; // null where it does not answer
    size_t most;       // bytes that the machine's memory allows for
    int device;
    uint64_t on_device;
    size_t bytes; // held on the device
    int failed;   // the first failure
    const char *failed_call;
};

static bool called(struct bench *b, const char *call, int code)
{
    if (code != 0 && !b->failed_call) {
        b->failed = code;
        b->failed_call = call;
    }
    return code == 0;
}
#define CALL(b, call, ...) called((b), #call, (b)->api->call(__VA_ARGS__))

static int problem_set(const struct bench *b, char **problem, struct err *err)
{
    if (!b->failed_call)
        return 0;
    const char *name = NULL;
    char words[160];
    if (!b->api->cuGetErrorName || b->api->cuGetErrorName(b->failed, &name) != 0 || !name)
        snprintf(words, sizeof words, "%s: error %d", b->failed_call, b->failed);
    else
        snprintf(words, sizeof words, "%s: %s", b->failed_call, name);
    return text_set(problem, words, err);
}

// A copy from pageable memory may return before its last piece has arrived, so the clock stops
// after a synchronisation.
static bool pass(struct bench *b, void *host, bool to_device, size_t bytes, int64_t *ns)
{
    int64_t start = clock_now_ns();
    bool ok = to_device ? CALL(b, cuMemcpyHtoD_v2, b->on_device, host, bytes)
                        : CALL(b, cuMemcpyDtoH_v2, host, b->on_device, bytes);
    ok = ok && CALL(b, cuCtxSynchronize);
    *ns = clock_now_ns() - start;
    if (*ns < 1)
        *ns = 1;
    return ok;
}

static bool measure(struct bench *b, void *host, size_t bytes, bool to_device,
                    struct maybe_real *rate)
{
    size_t first = bytes < FIRST_BYTES ? bytes : FIRST_BYTES;
    int64_t ns, best = INT64_MAX;
    if (!pass(b, host, to_device, first, &ns))
        return false;
    double allowed = (double)first / (double)ns * (double)PASS_NS_MAX;
    if (allowed < (double)bytes)
        bytes = allowed > (double)first ? (size_t)allowed : first;
    for (int i = 0; i <= PASSES; i++) {
        if (!pass(b, host, to_device, bytes, &ns))
            return false;
        if (i > 0 && ns < best)
            best = ns;
    }
    *rate = some_real((double)bytes / ((double)best / (double)NS_PER_S));
    return true;
}

// Queues several copies so that the link is still busy when NVML is asked.
static void link_read(struct bench *b, const char *address, const void *host, size_t bytes,
                      struct machine_gpu_bandwidth *row)
{
    if (!b->nvml || !b->api->cuMemcpyHtoDAsync_v2)
        return;
    bool ok = true;
    for (int i = 0; ok && i < 4; i++)
        ok = CALL(b, cuMemcpyHtoDAsync_v2, b->on_device, host, bytes, NULL);
    if (ok)
        nvml_read_link(b->nvml, address, &row->pcie_generation_loaded, &row->pcie_width_loaded);
    CALL(b, cuCtxSynchronize);
}

static void measure_pinned(struct bench *b, const char *address, struct machine_gpu_bandwidth *row)
{
    void *host = NULL;
    size_t bytes = b->bytes;
    int code;
    while ((code = b->api->cuMemHostAlloc(&host, bytes, 0)) == CUDA_OUT_OF_MEMORY &&
           bytes / 2 >= LEAST_BYTES)
        bytes /= 2;
    if (!called(b, "cuMemHostAlloc", code))
        return;
    memset(host, 0x5a, bytes);
    if (measure(b, host, bytes, true, &row->to_device_pinned_bytes_per_s) &&
        measure(b, host, bytes, false, &row->from_device_pinned_bytes_per_s))
        link_read(b, address, host, bytes, row);
    CALL(b, cuMemFreeHost, host);
}

static int measure_pageable(struct bench *b, struct machine_gpu_bandwidth *row, struct err *err)
{
    void *host = mmap(NULL, b->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED)
        return err_memory(err);
    memset(host, 0x5a, b->bytes); // touch every page before the clock starts
    if (measure(b, host, b->bytes, true, &row->to_device_pageable_bytes_per_s))
        (void)measure(b, host, b->bytes, false, &row->from_device_pageable_bytes_per_s);
    munmap(host, b->bytes);
    return 0;
}

static bool device_alloc(struct bench *b)
{
    size_t left = 0, total = 0;
    if (!CALL(b, cuMemGetInfo_v2, &left, &total))
        return false;
    b->bytes = b->most;
    while (b->bytes > left / 2 && b->bytes / 2 >= LEAST_BYTES)
        b->bytes /= 2;
    int code;
    while ((code = b->api->cuMemAlloc_v2(&b->on_device, b->bytes)) == CUDA_OUT_OF_MEMORY &&
           b->bytes / 2 >= LEAST_BYTES)
        b->bytes /= 2;
    return called(b, "cuMemAlloc_v2", code);
}

// Both buffers on the device, and larger than its cache. Their size does not depend on the host's
// memory.
static void measure_copy(struct bench *b, struct machine_gpu_bandwidth *row)
{
    size_t left = 0, total = 0, bytes = COPY_BYTES;
    uint64_t from = 0, to = 0;
    if (!b->api->cuMemcpyDtoDAsync_v2 || !CALL(b, cuMemGetInfo_v2, &left, &total))
        return;
    while (bytes > left / 4 && bytes / 2 >= LEAST_BYTES)
        bytes /= 2;
    bool have_from = CALL(b, cuMemAlloc_v2, &from, bytes);
    bool have_to = have_from && CALL(b, cuMemAlloc_v2, &to, bytes), ok = have_to;
    int64_t best = INT64_MAX;
    for (int i = 0; ok && i <= PASSES; i++) {
        int64_t start = clock_now_ns();
        for (int k = 0; ok && k < COPIES; k++)
            ok = CALL(b, cuMemcpyDtoDAsync_v2, to, from, bytes, NULL);
        ok = ok && CALL(b, cuCtxSynchronize);
        int64_t ns = clock_now_ns() - start;
        if (i > 0 && ns > 0 && ns < best) // the first raises the clocks
            best = ns;
    }
    if (ok && best < INT64_MAX) {
        row->device_copy_bytes_per_s =
            some_real(2.0 * COPIES * (double)bytes / ((double)best / (double)NS_PER_S));
        row->device_copy_bytes = some_int((int64_t)bytes);
    }
    if (have_to)
        CALL(b, cuMemFree_v2, to);
    if (have_from)
        CALL(b, cuMemFree_v2, from);
}

static int gpu_measure(struct bench *b, int index, struct machine_gpu_bandwidth *row,
                       struct err *err)
{
    char text[257] = "", address[PCI_ADDRESS_BYTES] = "";
    void *context = NULL;
    int rc = 0;
    row->index = some_int(index);
    if (!CALL(b, cuDeviceGet, &b->device, index))
        goto out;
    if (CALL(b, cuDeviceGetName, text, 256, b->device))
        rc = text_set(&row->name, text, err);
    memset(text, 0, sizeof text);
    if (CALL(b, cuDeviceGetPCIBusId, text, 32, b->device))
        pci_address_normalise(text, address);
    if (rc == 0)
        rc = text_set(&row->pci_address, address, err);
    if (rc != 0 || !CALL(b, cuDevicePrimaryCtxRetain, &context, b->device))
        goto out;
    if (CALL(b, cuCtxSetCurrent, context) && device_alloc(b)) {
        measure_pinned(b, address, row);
        rc = measure_pageable(b, row, err);
        CALL(b, cuMemFree_v2, b->on_device);
        measure_copy(b, row);
    }
    CALL(b, cuCtxSetCurrent, NULL);
    if (b->api->cuDevicePrimaryCtxRelease_v2)
        CALL(b, cuDevicePrimaryCtxRelease_v2, b->device);
    else if (b->api->cuDevicePrimaryCtxRelease)
        CALL(b, cuDevicePrimaryCtxRelease, b->device);
out:
    return rc != 0 ? rc : problem_set(b, &row->problem, err);
}

// At most an eighth of the free memory and of the cgroup's limit, so that nothing is pushed out.
static size_t bytes_allowed(const struct machine_memory *memory)
{
    const struct maybe_int limits[] = {memory->available_bytes, memory->usable_bytes};
    size_t bytes = COPY_BYTES;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        while (limits[i].known && (int64_t)bytes > limits[i].v / 8 && bytes / 2 >= LEAST_BYTES)
            bytes /= 2;
    return bytes;
}

static bool has_nvidia(const struct machine *machine)
{
    for (size_t i = 0; i < machine->gpus.count; i++)
        if (machine->gpus.items[i].vendor && strcmp(machine->gpus.items[i].vendor, "nvidia") == 0)
            return true;
    return false;
}

static int gpus_measure(const struct libcuda *api, struct nvml *nvml, struct machine *machine,
                        struct err *err)
{
    struct bench start = {.api = api, .nvml = nvml, .most = bytes_allowed(&machine->memory)};
    int count = 0;
    int code = api->cuInit(0);
    if (code == CUDA_NO_DEVICE || code == CUDA_STUB_LIBRARY)
        return 0;
    if (!called(&start, "cuInit", code) || !CALL(&start, cuDeviceGetCount, &count)) {
        // Report a driver that does not start only if there is a GPU for it.
        struct machine_gpu_bandwidth *row =
            has_nvidia(machine) ? LIST_ADD(&machine->bandwidth.gpus, err) : NULL;
        if (row)
            return problem_set(&start, &row->problem, err);
        return has_nvidia(machine) ? ERR_MEMORY : 0;
    }
    for (int i = 0; i < count; i++) {
        struct bench b = start;
        struct machine_gpu_bandwidth *row = LIST_ADD(&machine->bandwidth.gpus, err);
        if (!row)
            return ERR_MEMORY;
        TRY(gpu_measure(&b, i, row, err));
    }
    return 0;
}

int cuda_bandwidth(struct probe *probe, struct machine *machine, struct err *err)
{
    struct dl_spec spec = libcuda_spec;
    spec.user = LIBCUDA_COPY;
    if (probe->tree.root[0] != '\0' && !getenv(spec.variable))
        return 0;
    struct libcuda api = {0};
    struct dl dl = {0}; // never closed: the driver has threads of its own that outlive a call
    struct err why = {0};
    if (dl_open(&dl, &spec, &api, &why) != 0)
        return why.code == ERR_MEMORY ? err_memory(err) : 0;
    struct nvml nvml;
    bool watched = nvml_open(&nvml, &probe->tree, NULL) == 0;
    int rc = gpus_measure(&api, watched ? &nvml : NULL, machine, err);
    nvml_close(&nvml);
    return rc;
}
