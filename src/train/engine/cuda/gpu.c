// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/gpu.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int chosen; // the number of the GPU to open

void gpu_choose(int number)
{
    chosen = number;
}

int gpu_look(const struct gpu_driver *driver, enum engine_precision precision,
             struct gpu_about *about, struct err *err)
{
    return driver->look(chosen, precision, about, err);
}

int gpu_open(const struct gpu_driver *driver, enum engine_precision precision,
             struct gpu_context **out, struct err *err)
{
    return driver->open(chosen, precision, out, err);
}

void gpu_close(struct gpu_context *gpu)
{
    if (gpu)
        gpu->driver->close(gpu);
}

void gpu_free(struct gpu_context *gpu)
{
    gpu->driver->free(gpu);
}

// ---- as planners see it ----

static int device_alloc(void *gpu_, int64_t bytes, bool zeroed, device_ptr *out, struct err *err)
{
    struct gpu_context *gpu = gpu_;
    return gpu->driver->alloc(gpu, bytes, zeroed, out, err);
}

static int device_upload(void *gpu, device_ptr to, const void *from, int64_t bytes, struct err *err)
{
    TRY(gpu_upload(gpu, to, from, bytes, err));
    return gpu_sync(gpu, err);
}

static int device_map(void *gpu_, device_ptr to, const struct mapped_tensor *tensor,
                      struct err *err)
{
    struct gpu_context *gpu = gpu_;
    _Alignas(64) uint64_t map[16] = {0};
    TRY(gpu->driver->map(gpu, tensor, map, err));
    return device_upload(gpu, to, map, sizeof map, err);
}

static int64_t device_memory_left(void *gpu)
{
    return gpu_memory_left(gpu);
}

struct gpu_device gpu_device(struct gpu_context *gpu)
{
    return (struct gpu_device){.major = gpu->about.major,
                               .processors = gpu->about.processors,
                               .shared = gpu->about.shared,
                               .precision = gpu->precision,
                               .driver = gpu,
                               .alloc = device_alloc,
                               .upload = device_upload,
                               .maps = gpu->about.maps && gpu->driver->map,
                               .map = device_map,
                               .memory_left = device_memory_left};
}

int64_t gpu_rank_batch(const struct group *group, int64_t batch)
{
    int size = group_place(group).size;
    return (batch + size - 1) / size;
}

void gpu_rank_device(const struct group *group, struct gpu_device *device)
{
    struct group_place place = group_place(group);
    device->several = place.size > 1 || getenv("FARE_NCCL_ALONE");
    device->rank = place.rank;
    device->ranks = place.size;
}

// ---- memory ----

int gpu_alloc(struct gpu_context *gpu, int64_t bytes, device_ptr *out, struct err *err)
{
    return gpu->driver->alloc(gpu, bytes, false, out, err);
}

int gpu_alloc_host(struct gpu_context *gpu, int64_t bytes, void **out, struct err *err)
{
    assert((size_t)gpu->host_count < sizeof gpu->host / sizeof *gpu->host);
    TRY(gpu->driver->alloc_host(gpu, bytes, out, err));
    gpu->host[gpu->host_count++] = *out;
    memset(*out, 0, (size_t)bytes);
    return 0;
}

bool gpu_owns_host(const struct gpu_context *gpu, const void *memory)
{
    for (int i = 0; i < gpu->host_count; i++)
        if (gpu->host[i] == memory)
            return true;
    return false;
}

bool gpu_pin(struct gpu_context *gpu, const void *from, int64_t bytes)
{
    return gpu->driver->pin && gpu->driver->pin(gpu, from, bytes);
}

void gpu_unpin(struct gpu_context *gpu, const void *from)
{
    gpu->driver->unpin(gpu, from);
}

int64_t gpu_memory_left(struct gpu_context *gpu)
{
    return gpu->driver->memory_left(gpu);
}

// ---- the kernels' stream ----

int gpu_upload(struct gpu_context *gpu, device_ptr to, const void *from, int64_t bytes,
               struct err *err)
{
    return gpu->driver->upload(gpu, GPU_KERNELS, to, from, bytes, err);
}

int gpu_download(struct gpu_context *gpu, void *to, device_ptr from, int64_t bytes, struct err *err)
{
    TRY(gpu->driver->download(gpu, GPU_KERNELS, to, from, bytes, err));
    return gpu_sync(gpu, err);
}

int gpu_sync(struct gpu_context *gpu, struct err *err)
{
    return gpu->driver->wait(gpu, GPU_KERNELS, err);
}

void gpu_settle(struct gpu_context *gpu)
{
    (void)!gpu->driver->wait(gpu, GPU_KERNELS, NULL);
    (void)!gpu->driver->wait(gpu, GPU_COPIES, NULL);
}

int gpu_bind(struct gpu_context *gpu, struct launches *list, struct err *err)
{
    for (int i = 0; i < list->count; i++)
        if (list->items[i].sum_count == 0)
            TRY(gpu->driver->bind(gpu, &list->items[i], err));
    return 0;
}

int gpu_launch(struct gpu_context *gpu, const struct launch *launch, struct err *err)
{
    return gpu->driver->launch(gpu, launch, err);
}

int gpu_launch_now(struct gpu_context *gpu, struct launch *launch, struct err *err)
{
    TRY(gpu->driver->bind(gpu, launch, err));
    return gpu->driver->launch(gpu, launch, err);
}

int gpu_launch_list(struct gpu_context *gpu, const struct launches *list, struct err *err)
{
    for (int i = 0; i < list->count; i++)
        TRY(gpu->driver->launch(gpu, &list->items[i], err));
    return gpu->driver->ranks ? gpu->driver->ranks->settle(gpu, err) : 0;
}

int gpu_graph_new(struct gpu_context *gpu, const struct graph_stage *stages, int count,
                  struct graph **out, struct err *err)
{
    return gpu->driver->graph_new(gpu, stages, count, out, err);
}

void gpu_graph_free(struct gpu_context *gpu, struct graph *graph)
{
    if (graph)
        gpu->driver->graph_free(gpu, graph);
}

int gpu_graph_launch(struct gpu_context *gpu, struct graph *graph, struct err *err)
{
    return gpu->driver->graph_launch(gpu, graph, err);
}

int gpu_mark(struct gpu_context *gpu, int which, struct err *err)
{
    return gpu->driver->record(gpu, GPU_KERNELS, GPU_MARKS + which, err);
}

int gpu_between(struct gpu_context *gpu, double *seconds, struct err *err)
{
    return gpu->driver->between_marks(gpu, seconds, err);
}

// ---- events and copies beside kernels ----

int gpu_event_record(struct gpu_context *gpu, int event, struct err *err)
{
    return gpu->driver->record(gpu, GPU_KERNELS, event, err);
}

int gpu_event_wait(struct gpu_context *gpu, int event, struct err *err)
{
    return gpu->driver->wait_event(gpu, event, err);
}

int gpu_fetch(struct gpu_context *gpu, void *to, device_ptr from, int64_t bytes, struct err *err)
{
    TRY(gpu->driver->download(gpu, GPU_COPIES, to, from, bytes, err));
    return gpu->driver->wait(gpu, GPU_COPIES, err);
}

int gpu_fetch_begin(struct gpu_context *gpu, int slot, int event, void *to, device_ptr from,
                    int64_t bytes, struct err *err)
{
    TRY(gpu->driver->follow(gpu, GPU_COPIES, event, err));
    TRY(gpu->driver->download(gpu, GPU_COPIES, to, from, bytes, err));
    return gpu->driver->record(gpu, GPU_COPIES, GPU_COPIED + slot, err);
}

int gpu_fetch_end(struct gpu_context *gpu, int slot, struct err *err)
{
    return gpu->driver->wait_event(gpu, GPU_COPIED + slot, err);
}

int gpu_staging_wait(struct gpu_context *gpu, int slot, struct err *err)
{
    return gpu->driver->wait_event(gpu, GPU_RELEASED + slot, err);
}

int gpu_staging_upload(struct gpu_context *gpu, int slot, device_ptr to, const void *from,
                       int64_t bytes, struct err *err)
{
    TRY(gpu->driver->upload(gpu, GPU_COPIES, to, from, bytes, err));
    TRY(gpu->driver->record(gpu, GPU_COPIES, GPU_COPIED + slot, err));
    return gpu->driver->follow(gpu, GPU_KERNELS, GPU_COPIED + slot, err);
}

int gpu_staging_release(struct gpu_context *gpu, int slot, struct err *err)
{
    return gpu->driver->record(gpu, GPU_KERNELS, GPU_RELEASED + slot, err);
}
