// SPDX-License-Identifier: Apache-2.0
// ptx: runs the kernels' PTX on this machine's CPU, so that what the GPU is given can be tried
// where there is no GPU. It knows the instructions that our kernels have and no others.
//
// It is slow, and stricter than a GPU. Addresses must lie in memory that was given out, be aligned,
// and shared memory is not a number until it is written. A copy to shared memory that need not have
// arrived yet has not. What only a whole warp may do must be done by all 32 of its threads. What
// one warp writes to shared memory and another one uses needs a barrier in between. Sums in tensor
// cores are in single precision, one product after the other. What compute capability 9.0 has
// beside that is hopper.h's: there a bulk copy arrives when nobody can go on without it, and a
// product's sums, operands and shared memory are its own until it has been waited for.
#ifndef FARE_TESTS_ENGINE_PTX_H
#define FARE_TESTS_ENGINE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptx_kernel;

// A kernel of a module's text; null where it has none of that name or `why` says what is not
// understood. It is kept for the next time; the text must stay where it is.
const struct ptx_kernel *ptx_kernel(const char *text, const char *name, char *why, size_t bytes);

// The bytes of shared memory that a kernel has of its own, beside those that a launch asks for.
int64_t ptx_kernel_shared(const struct ptx_kernel *kernel);

struct ptx_memory {
    uint64_t from, to;
    struct uses *uses; // (optional) what `use` below knows of it
};

struct ptx_launch {
    unsigned x, y, threads, shared; // blocks, threads of each, bytes of shared memory
    const void *args;
    // The piece that has this address; from 0 to 0 if there is none.
    struct ptx_memory (*memory)(uint64_t address);
    // (optional) Told of all words of a piece that a block uses, `bytes` from each of `count`
    // addresses on; false where it must not use one of them, because of another launch or block.
    bool (*use)(struct ptx_memory *piece, const uint64_t *at, uint32_t count, uint32_t bytes,
                uint32_t block, bool writes, int *other);
};

// False where the kernel did what it must not; `why` says what, and which thread.
bool ptx_run(const struct ptx_kernel *kernel, const struct ptx_launch *launch, char *why,
             size_t bytes);

#endif
