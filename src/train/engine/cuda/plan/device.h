// SPDX-License-Identifier: Apache-2.0
// device: what planners and drivers share. The facts of a GPU that a plan depends on, and how the
// planner gets memory on it: gpu_device() fills that in. And one kernel launch as data: kernel,
// grid, arguments, dependencies; planners write it, drivers run it.
#ifndef FARE_TRAIN_ENGINE_CUDA_PLAN_DEVICE_H
#define FARE_TRAIN_ENGINE_CUDA_PLAN_DEVICE_H

#include "base/err.h"
#include "train/engine/engine.h"

typedef uint64_t device_ptr;

// A tensor of bf16 or f32 and how bulk copies (of Hopper) go through it: in boxes, or cell by cell
// of windows of an image.
struct mapped_tensor {
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

struct gpu_device {
    int major;      // of the compute capability
    int processors; // streaming multiprocessors
    int shared;     // bytes of shared memory that a block may have
    bool maps;      // takes tensor maps
    enum engine_precision precision;
    bool several;    // ranks train one net together, each with its part of the batch (ranks.c):
    int rank, ranks; // this one's number, and how many they are
    void *driver;    // first argument of the functions
    // Memory that lives as long as the driver's; uninitialised unless `zeroed`.
    int (*alloc)(void *driver, int64_t bytes, bool zeroed, device_ptr *out, struct err *err);
    // (optional) Returns when the copy is done.
    int (*upload)(void *driver, device_ptr to, const void *from, int64_t bytes, struct err *err);
    // (optional) Writes a tensor map of 128 bytes to `to`.
    int (*map)(void *driver, device_ptr to, const struct mapped_tensor *tensor, struct err *err);
    int64_t (*memory_left)(void *driver); // (optional) bytes
};

#define LAUNCH_DEPENDENCIES 16

struct launch {
    const char *name; // of the kernel
    // Not a kernel if there is a count: the sum over ranks of so many numbers, in place; f32, or
    // f64 (`reals`).
    uint64_t sum_at;
    int64_t sum_count;
    bool reals;
    void *function;                 // the driver's handle for it, null until the driver binds it
    unsigned x, y, threads, shared; // grid, block, bytes of shared memory
    // In a graph, a launch waits for all launches before it in its list. Exceptions:
    bool forked;        // later launches do not wait for it, until a join or the next step
    bool join;          // waits for forked launches too
    bool explicit_only; // waits for `depends_on` alone; with none, only for earlier lists
    int depends_count, depends_on[LAUNCH_DEPENDENCIES]; // indices in its list
    size_t size;                                        // of args
    _Alignas(16) unsigned char args[1900];              // the kernel's one structure (kernels.h)
};

struct launches {
    struct launch *items;
    int count;
    size_t cap;
};

// Copies `size` bytes of `args`.
void launch_make(struct launch *out, const char *kernel, unsigned x, unsigned y, unsigned threads,
                 unsigned shared, const void *args, size_t size);

#endif
