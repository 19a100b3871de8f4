// SPDX-License-Identifier: Apache-2.0
// driver: CUDA's driver (gpu.h), for the files that call libcuda: driver.c, modules.c, graph.c and
// ranks.c, which also has NVIDIA's library for sums over GPUs.
//
// libcuda is opened at run time (machine/libcuda.h): neither building nor running needs a CUDA
// toolkit. The kernels are PTX inside the program, of which those that launches name are loaded
// (modules.h). For tests, FARE_CUDA_CAPABILITY=61 lowers the capability of a newer GPU: older
// kernels, less shared memory.
#ifndef FARE_TRAIN_ENGINE_CUDA_DRIVER_H
#define FARE_TRAIN_ENGINE_CUDA_DRIVER_H

#include "train/engine/cuda/gpu.h"
#include "machine/libcuda.h"

struct memory_piece { // on the GPU
    device_ptr at, next;
    size_t rest; // bytes from next on
};

struct cuda {
    struct gpu_context gpu;
    struct libcuda api;
    void *streams[2]; // by enum gpu_stream
    void *events[GPU_EVENTS_ALL];
    struct memory_piece *pieces;
    int piece_count;
    size_t allocated; // bytes of all pieces
    // Other ranks; null without.
    struct nccl *nccl;
    void *sum_stream, *sum_events[2];
    bool sums_open; // kernels do not wait yet for sums in their stream
};

enum { CUDA_STREAM_NON_BLOCKING = 1, CUDA_EVENT_NO_TIME = 2 };

static inline struct cuda *cuda_of(struct gpu_context *gpu)
{
    return (struct cuda *)(void *)gpu;
}

// Makes the GPU that was opened the calling thread's.
int cuda_attach(struct err *err) MUST_USE;

// 0, or an error that names the call and gives libcuda's words for the code.
int cuda_check(const struct libcuda *api, int code, const char *call, struct err *err) MUST_USE;

// "GPU has compute capability ... and its driver is for CUDA ...": what kernels need instead.
// `also` goes behind the driver.
int cuda_too_old(const struct gpu_about *about, const char *also, struct err *err);

#define CALL(cuda, name, err, ...)                                                                 \
    cuda_check(&(cuda)->api, (cuda)->api.name(__VA_ARGS__), #name, (err))

// ---- graph.c ----

int cuda_graph_new(struct gpu_context *gpu, const struct graph_stage *stages, int count,
                   struct graph **out, struct err *err) MUST_USE;
void cuda_graph_free(struct gpu_context *gpu, struct graph *graph);
int cuda_graph_launch(struct gpu_context *gpu, struct graph *graph, struct err *err) MUST_USE;

// ---- ranks.c: sums over the GPUs of several ranks ----
//
// NCCL is opened at run time: from the loader's folders, CUDA's, or a Python environment, where
// PyTorch brings it. FARE_NCCL names another file. Every rank of a group makes the same calls in
// the same order. Sums have a stream of their own beside the kernels'. In a graph a sum is a child
// graph, captured once, since NCCL queues more than one kernel for it.

extern const struct gpu_ranks cuda_ranks;
void cuda_leave(struct cuda *cuda); // on closing

// A launch of a sum, in streams: a forked one beside the kernels. cuda_sums_end() has later kernels
// wait for those.
int cuda_sum(struct cuda *cuda, const struct launch *launch, struct err *err) MUST_USE;
int cuda_sums_end(struct cuda *cuda, struct err *err) MUST_USE;
// The same as a graph, which the caller destroys. Also makes the sum once, with what is there: NCCL
// connects GPUs at the first sum of a size, which cannot be captured.
int cuda_sum_capture(struct cuda *cuda, const struct launch *launch, void **graph,
                     struct err *err) MUST_USE;

// Waits for a stream, or an event if there is one. With other ranks it looks after them meanwhile.
int cuda_wait(struct cuda *cuda, void *stream, void *event, struct err *err) MUST_USE;

const char *nccl_version(void); // "2.27.5", of the library opened last; "" if none was

#endif
