// SPDX-License-Identifier: Apache-2.0
// launch: one kernel launch as data: kernel, grid, arguments, dependencies. Planners write it,
// drivers run it.
#ifndef FARE_ENGINE_CUDA_PLAN_LAUNCH_H
#define FARE_ENGINE_CUDA_PLAN_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    int count, cap;
};

// Copies `size` bytes of `args`.
void launch_make(struct launch *out, const char *kernel, unsigned x, unsigned y, unsigned threads,
                 unsigned shared, const void *args, size_t size);

#endif
