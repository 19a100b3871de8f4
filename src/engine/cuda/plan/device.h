// SPDX-License-Identifier: Apache-2.0
// device: the facts of a GPU that a plan depends on, and how the planner gets memory on it. A
// driver fills it in; the planner knows nothing else of the driver.
#ifndef FARE_ENGINE_CUDA_PLAN_DEVICE_H
#define FARE_ENGINE_CUDA_PLAN_DEVICE_H

#include "base/err.h"
#include "engine/engine.h"

typedef uint64_t device_ptr;

// A tensor of bf16 or f32 and how bulk copies (of Hopper) go through it: in boxes, or cell by cell
// of windows of an image.
struct tensor {
    device_ptr at;
    bool f32;
    int rank;
    int64_t size[4], pitch[3]; // pitch: bytes between numbers of the second dimension and so on
    int box[4];
    // If `pixels` is not zero, the dimensions are channels, columns, rows, samples, and a copy has
    // one cell of the windows of so many pixels, and `box[0]` channels.
    int pixels;
    int first[2], last[2]; // column, row: where the first window of an image begins, and its last,
                           // the latter counted from the last column and row
    int stride;
};

struct device {
    int major;      // of the compute capability
    int processors; // streaming multiprocessors
    int shared;     // bytes of shared memory that a block may have
    enum engine_precision precision;
    bool several;    // ranks train one net together, each with its part of the batch (ranks.h):
    int rank, ranks; // this one's number, and how many they are
    void *driver;    // first argument of the functions
    // Memory that lives as long as the driver's; uninitialised unless `zeroed`.
    int (*alloc)(void *driver, int64_t bytes, bool zeroed, device_ptr *out, struct err *err);
    // Returns when the copy is done.
    int (*upload)(void *driver, device_ptr to, const void *from, int64_t bytes, struct err *err);
    // (optional) Writes a tensor map of 128 bytes to `to`.
    int (*map)(void *driver, device_ptr to, const struct tensor *tensor, struct err *err);
    int64_t (*memory_left)(void *driver); // (optional) bytes
};

#endif
