// SPDX-License-Identifier: Apache-2.0
// driver_parts: what those who talk to the driver share: its functions, and an open GPU.
#ifndef FARE_ENGINE_CUDA_DRIVER_PARTS_H
#define FARE_ENGINE_CUDA_DRIVER_PARTS_H

#include "engine/cuda/driver.h"

// The driver's functions, called as it calls them: a device is an int, a pointer on it 64 bits.
struct node_params { // CUDA_KERNEL_NODE_PARAMS_v1
    void *function;
    unsigned grid[3], block[3], shared;
    void **args, **extra;
};

struct api {
    int (*cuInit)(unsigned);
    int (*cuGetErrorName)(int, const char **);
    int (*cuGetErrorString)(int, const char **);
    int (*cuDriverGetVersion)(int *);
    int (*cuDeviceGetCount)(int *);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceGetAttribute)(int *, int, int);
    int (*cuDeviceTotalMem_v2)(size_t *, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuStreamCreate)(void **, unsigned);
    int (*cuStreamDestroy_v2)(void *);
    int (*cuStreamSynchronize)(void *);
    int (*cuMemGetInfo_v2)(size_t *, size_t *);
    int (*cuMemAlloc_v2)(device_ptr *, size_t);
    int (*cuMemFree_v2)(device_ptr);
    int (*cuMemHostAlloc)(void **, size_t, unsigned);
    int (*cuMemFreeHost)(void *);
    int (*cuMemHostRegister_v2)(void *, size_t, unsigned);
    int (*cuMemHostUnregister)(void *);
    int (*cuMemsetD8Async)(device_ptr, unsigned char, size_t, void *);
    int (*cuMemcpyHtoDAsync_v2)(device_ptr, const void *, size_t, void *);
    int (*cuMemcpyDtoHAsync_v2)(void *, device_ptr, size_t, void *);
    int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuFuncSetAttribute)(void *, int, int);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void *, void **, void **);
    int (*cuGraphCreate)(void **, unsigned);
    int (*cuGraphAddKernelNode)(void **, void *, void *const *, size_t, const struct node_params *);
    int (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long);
    int (*cuGraphInstantiate_v2)(void **, void *, void **, char *, size_t);
    int (*cuGraphInstantiate)(void **, void *, void **, char *, size_t); // of CUDA 10
    int (*cuGraphLaunch)(void *, void *);
    int (*cuGraphDestroy)(void *);
    int (*cuGraphExecDestroy)(void *);
    int (*cuEventCreate)(void **, unsigned);
    int (*cuEventDestroy_v2)(void *);
    int (*cuEventRecord)(void *, void *);
    int (*cuEventSynchronize)(void *);
    int (*cuStreamWaitEvent)(void *, void *, unsigned);
    int (*cuEventElapsedTime)(float *, void *, void *);
};

struct memory_piece { // of the GPU's
    device_ptr at, next;
    size_t rest; // from next on
};

struct cuda {
    struct api api;
    void *stream, *aside, *module, *images, *marks[2], *points[CUDA_POINTS], *filled[CUDA_TURNS],
        *used[CUDA_TURNS]; // aside: another stream, for copies meanwhile
    struct cuda_about about;
    enum engine_precision precision;
    struct memory_piece *pieces;
    int piece_count;
    size_t given; // the sum of them
    void *host[16];
    int host_count;
};

// 0, or an error that names the call and what the driver says of its code.
int cuda_done(const struct api *api, int code, const char *call, struct err *err) MUST_USE;

#define CALL(cuda, name, err, ...)                                                                 \
    cuda_done(&(cuda)->api, (cuda)->api.name(__VA_ARGS__), #name, (err))

#endif
