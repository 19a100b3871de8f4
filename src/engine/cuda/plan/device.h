// SPDX-License-Identifier: Apache-2.0
// device: the facts of a GPU that a plan depends on, and how the planner gets memory on it. A
// driver fills it in; the planner knows nothing else of the driver.
#ifndef FARE_ENGINE_CUDA_PLAN_DEVICE_H
#define FARE_ENGINE_CUDA_PLAN_DEVICE_H

#include "base/err.h"
#include "engine/engine.h"

typedef uint64_t device_ptr;

struct device {
    int major;      // of the compute capability
    int processors; // streaming multiprocessors
    int shared;     // bytes of shared memory that a block may have
    enum engine_precision precision;
    bool several;    // ranks train one net together, each with its part of the batch (ranks.h):
    int rank, ranks; // this one's number, and how many they are
    void *driver; // first argument of the functions
    // Memory that lives as long as the driver's; uninitialised unless `zeroed`.
    int (*alloc)(void *driver, int64_t bytes, bool zeroed, device_ptr *out, struct err *err);
    // Returns when the copy is done.
    int (*upload)(void *driver, device_ptr to, const void *from, int64_t bytes, struct err *err);
    // (optional) Writes a tensor map to `to`, for bulk copies of boxes of `box_rows` × 64 numbers
    // of a matrix of bf16.
    int (*map)(void *driver, device_ptr to, device_ptr matrix, int64_t rows, int64_t columns,
               int box_rows, struct err *err);
    int64_t (*memory_left)(void *driver); // (optional) bytes
};

#endif
