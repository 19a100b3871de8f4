// SPDX-License-Identifier: Apache-2.0
// libcuda: the NVIDIA driver, opened at run time: one table of its functions for all users.
//
// NVIDIA's header is not needed to build. Functions are declared by its documentation: a device is
// an int, an address on it has 64 bits, handles are opaque pointers, 0 is success.
#ifndef FARE_MACHINE_LIBCUDA_H
#define FARE_MACHINE_LIBCUDA_H

#include <stdint.h>

#include "base/dl.h"

// Users, for dl_spec.user: measuring copies (bandwidth.c), training (engine/cuda).
enum { LIBCUDA_COPY = 1, LIBCUDA_TRAIN = 2 };

enum { // CUresult, those that fare handles
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_STUB_LIBRARY = 34,
    CUDA_NO_DEVICE = 100,
    CUDA_UNSUPPORTED_PTX = 222,
    CUDA_NOT_READY = 600,
};

struct libcuda_node { // CUDA_KERNEL_NODE_PARAMS_v1
    void *function;
    unsigned grid[3], block[3], shared;
    void **args, **extra;
};

// Who needs it, name, arguments. Graphs came with CUDA 10, where cuGraphInstantiate had another
// form than its successors.
#define LIBCUDA_FUNCTIONS(F)                                                                       \
    F(DL_REQUIRED, cuInit, (unsigned))                                                             \
    F(DL_OPTIONAL, cuGetErrorName, (int, const char **))                                           \
    F(DL_OPTIONAL, cuGetErrorString, (int, const char **))                                         \
    F(LIBCUDA_TRAIN, cuDriverGetVersion, (int *))                                                  \
    F(DL_REQUIRED, cuDeviceGetCount, (int *))                                                      \
    F(DL_REQUIRED, cuDeviceGet, (int *, int))                                                      \
    F(DL_REQUIRED, cuDeviceGetName, (char *, int, int))                                            \
    F(LIBCUDA_TRAIN, cuDeviceGetAttribute, (int *, int, int))                                      \
    F(LIBCUDA_TRAIN, cuDeviceTotalMem_v2, (size_t *, int))                                         \
    F(DL_REQUIRED, cuDevicePrimaryCtxRetain, (void **, int))                                       \
    F(DL_REQUIRED, cuCtxSetCurrent, (void *))                                                      \
    F(LIBCUDA_TRAIN, cuStreamCreate, (void **, unsigned))                                          \
    F(LIBCUDA_TRAIN, cuStreamDestroy_v2, (void *))                                                 \
    F(LIBCUDA_TRAIN, cuStreamSynchronize, (void *))                                                \
    F(DL_OPTIONAL, cuStreamQuery, (void *))                                                        \
    F(DL_OPTIONAL, cuStreamBeginCapture_v2, (void *, int))                                         \
    F(DL_OPTIONAL, cuStreamEndCapture, (void *, void **))                                          \
    F(DL_REQUIRED, cuMemGetInfo_v2, (size_t *, size_t *))                                          \
    F(DL_REQUIRED, cuMemAlloc_v2, (uint64_t *, size_t))                                            \
    F(DL_REQUIRED, cuMemFree_v2, (uint64_t))                                                       \
    F(DL_REQUIRED, cuMemHostAlloc, (void **, size_t, unsigned))                                    \
    F(DL_REQUIRED, cuMemFreeHost, (void *))                                                        \
    F(DL_OPTIONAL, cuMemHostRegister_v2, (void *, size_t, unsigned))                               \
    F(DL_OPTIONAL, cuMemHostUnregister, (void *))                                                  \
    F(LIBCUDA_TRAIN, cuMemsetD8Async, (uint64_t, unsigned char, size_t, void *))                   \
    F(LIBCUDA_TRAIN, cuMemcpyHtoDAsync_v2, (uint64_t, const void *, size_t, void *))               \
    F(DL_OPTIONAL, cuMemcpyDtoDAsync_v2, (uint64_t, uint64_t, size_t, void *))                     \
    F(LIBCUDA_TRAIN, cuMemcpyDtoHAsync_v2, (void *, uint64_t, size_t, void *))                     \
    F(DL_OPTIONAL, cuTensorMapEncodeTiled,                                                         \
      (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,        \
       const uint32_t *, int, int, int, int))                                                      \
    F(DL_OPTIONAL, cuTensorMapEncodeIm2col,                                                        \
      (void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const int *,             \
       const int *, unsigned, unsigned, const uint32_t *, int, int, int, int))                     \
    F(LIBCUDA_TRAIN, cuModuleLoadDataEx, (void **, const void *, unsigned, int *, void **))        \
    F(LIBCUDA_TRAIN, cuModuleGetFunction, (void **, void *, const char *))                         \
    F(LIBCUDA_TRAIN, cuFuncGetAttribute, (int *, int, void *))                                     \
    F(LIBCUDA_TRAIN, cuFuncSetAttribute, (void *, int, int))                                       \
    F(LIBCUDA_TRAIN, cuLaunchKernel,                                                               \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))                                                                          \
    F(DL_OPTIONAL, cuGraphCreate, (void **, unsigned))                                             \
    F(DL_OPTIONAL, cuGraphAddKernelNode,                                                           \
      (void **, void *, void *const *, size_t, const struct libcuda_node *))                       \
    F(DL_OPTIONAL, cuGraphAddChildGraphNode, (void **, void *, void *const *, size_t, void *))     \
    F(DL_OPTIONAL, cuGraphAddEmptyNode, (void **, void *, void *const *, size_t))                  \
    F(DL_OPTIONAL, cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))             \
    F(DL_OPTIONAL, cuGraphInstantiate_v2, (void **, void *, void **, char *, size_t))              \
    F(DL_OPTIONAL, cuGraphInstantiate, (void **, void *, void **, char *, size_t))                 \
    F(DL_OPTIONAL, cuGraphLaunch, (void *, void *))                                                \
    F(DL_OPTIONAL, cuGraphDestroy, (void *))                                                       \
    F(DL_OPTIONAL, cuGraphExecDestroy, (void *))                                                   \
    F(LIBCUDA_TRAIN, cuEventCreate, (void **, unsigned))                                           \
    F(LIBCUDA_TRAIN, cuEventDestroy_v2, (void *))                                                  \
    F(LIBCUDA_TRAIN, cuEventRecord, (void *, void *))                                              \
    F(LIBCUDA_TRAIN, cuEventSynchronize, (void *))                                                 \
    F(DL_OPTIONAL, cuEventQuery, (void *))                                                         \
    F(LIBCUDA_TRAIN, cuStreamWaitEvent, (void *, void *, unsigned))                                \
    F(LIBCUDA_TRAIN, cuEventElapsedTime, (float *, void *, void *))                                \
    F(LIBCUDA_COPY, cuDeviceGetPCIBusId, (char *, int, int))                                       \
    F(DL_OPTIONAL, cuDevicePrimaryCtxRelease_v2, (int))                                            \
    F(DL_OPTIONAL, cuDevicePrimaryCtxRelease, (int))                                               \
    F(LIBCUDA_COPY, cuCtxSynchronize, (void))                                                      \
    F(LIBCUDA_COPY, cuMemcpyHtoD_v2, (uint64_t, const void *, size_t))                             \
    F(LIBCUDA_COPY, cuMemcpyDtoH_v2, (void *, uint64_t, size_t))

struct libcuda {
#define MEMBER(need, name, args) int(*name) args;
    LIBCUDA_FUNCTIONS(MEMBER)
#undef MEMBER
};

extern const struct dl_spec libcuda_spec;

#endif
