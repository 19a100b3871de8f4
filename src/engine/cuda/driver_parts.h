// SPDX-License-Identifier: Apache-2.0
// driver_parts: an open GPU, for the files that call libcuda.
#ifndef FARE_ENGINE_CUDA_DRIVER_PARTS_H
#define FARE_ENGINE_CUDA_DRIVER_PARTS_H

#include "engine/cuda/driver.h"
#include "machine/libcuda.h"

struct memory_piece { // on the GPU
    device_ptr at, next;
    size_t rest; // bytes from next on
};

struct cuda {
    struct libcuda api;
    void *stream, *copy_stream;
    void *marks[2]; // events that measure time
    void *events[CUDA_EVENTS];
    void *copied[CUDA_STAGING_SLOTS], *released[CUDA_STAGING_SLOTS]; // events
    struct cuda_about about;
    enum engine_precision precision;
    struct memory_piece *pieces;
    int piece_count;
    size_t allocated; // bytes of all pieces
    void *host[16];   // pinned memory
    int host_count;
    // Other ranks (ranks.h); null without.
    struct nccl *nccl;
    void *sum_stream, *sum_events[2];
    bool sums_open; // kernels do not wait yet for sums in their stream
};

// Makes the GPU that was opened the calling thread's.
int cuda_attach(struct err *err) MUST_USE;

// 0, or an error that names the call and gives libcuda's words for the code.
int cuda_check(const struct libcuda *api, int code, const char *call, struct err *err) MUST_USE;

// "GPU has compute capability ... and its driver is for CUDA ...": what kernels need instead.
// `also` goes behind the driver.
int cuda_too_old(const struct cuda_about *about, const char *also, struct err *err);

#define CALL(cuda, name, err, ...)                                                                 \
    cuda_check(&(cuda)->api, (cuda)->api.name(__VA_ARGS__), #name, (err))

#endif
