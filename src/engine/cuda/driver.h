// SPDX-License-Identifier: Apache-2.0
// driver: an NVIDIA GPU through the driver's own interface, opened at run time.
//
// Nothing of a CUDA toolkit is needed to build this or to run it. The kernels are PTX inside the
// program (kernels_ptx.c), which the driver finishes for the GPU at hand and keeps in a cache of
// its own. One GPU, one stream; every call is checked, and an error names the call and what the
// driver says.
#ifndef FARE_ENGINE_CUDA_DRIVER_H
#define FARE_ENGINE_CUDA_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/engine.h"

typedef uint64_t device_ptr;

struct cuda; // an open GPU

struct cuda_about {
    char name[96];
    int driver;       // 13000 is 13.0
    int major, minor; // compute capability
    int processors;
    int shared; // bytes of shared memory that a block may have
    int64_t memory;
};

// What GPU there is, and that there are kernels for it; loads none. FARE_CUDA_CAPABILITY=61, for
// tests, makes it one of that capability, if it is a newer one: older kernels, less shared memory.
int cuda_look(enum engine_precision precision, struct cuda_about *about, struct err *err) MUST_USE;

// Opens the first GPU that CUDA shows and loads the kernels of a precision. A machine without a
// driver or without a GPU is ERR_MISSING; one that cannot be used, or is too old for the kernels,
// ERR_FAIL; a precision that the GPU does not have ERR_USAGE.
int cuda_open(enum engine_precision precision, struct cuda **out, struct err *err) MUST_USE;
// The kernels of images in bf16 as well (images.h), whose names begin with "image_".
int cuda_open_images(struct cuda *cuda, struct err *err) MUST_USE;
void cuda_close(struct cuda *cuda); // null is fine; frees all its memory
void cuda_free(struct cuda *cuda);  // all its memory on the GPU, and nothing else
enum engine_precision cuda_precision(const struct cuda *cuda);
const struct cuda_about *cuda_about(const struct cuda *cuda);

// Memory on the GPU until cuda_close() or cuda_free(). The error says how much was asked for. Who
// reads what nobody wrote, such as the zeros behind a row, asks for zeros; nobody may rely on what
// the rest begins with. With FARE_CUDA_POISON set, for tests, that is bytes of 0xff: not a number
// in any format.
int cuda_alloc(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err) MUST_USE;
int cuda_alloc_zeros(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err) MUST_USE;
// Memory of the host that copies reach directly.
int cuda_alloc_host(struct cuda *cuda, int64_t bytes, void **out, struct err *err) MUST_USE;
// Memory of the caller's own becomes such memory, until it is let go. Where it does not, since it
// is such memory already or cannot be, copies may wait and be slower, and that is all.
bool cuda_pin(struct cuda *cuda, const void *from, int64_t bytes);
void cuda_unpin(struct cuda *cuda, const void *from);

// In the order of the stream. Copies from host memory of cuda_alloc_host() do not wait.
int cuda_upload(struct cuda *cuda, device_ptr to, const void *from, int64_t bytes,
                struct err *err) MUST_USE;
int cuda_download(struct cuda *cuda, void *to, device_ptr from, int64_t bytes,
                  struct err *err) MUST_USE; // waits
int cuda_sync(struct cuda *cuda, struct err *err) MUST_USE;

#define LAUNCH_AFTER 16

// A kernel with its one structure.
struct launch {
    const char *name; // of the kernel
    void *function;
    unsigned x, y, threads, shared; // blocks, threads of each, bytes of shared memory
    // In a graph (graph.h) a launch waits for all that stand before it, and those that follow wait
    // for it, except where it is aside: then only what is aside as well, joins or begins the next
    // round does. It also waits for `after` of its part; or, exactly, for them alone or for none.
    bool aside, joins, exact;
    int after_count, after[LAUNCH_AFTER];
    size_t size;
    _Alignas(16) unsigned char args[1900];
};

// `size` bytes of `args`; an unknown kernel is ERR_FAIL.
int cuda_launch_make(struct cuda *cuda, const char *kernel, unsigned x, unsigned y,
                     unsigned threads, unsigned shared, const void *args, size_t size,
                     struct launch *out, struct err *err) MUST_USE;
int cuda_launch(struct cuda *cuda, const struct launch *launch, struct err *err) MUST_USE;

// Points of the stream: set one, wait until it is reached. Copies from the GPU that do not wait for
// what was queued after it.
#define CUDA_POINTS 32
int cuda_point(struct cuda *cuda, int which, struct err *err) MUST_USE;
int cuda_wait(struct cuda *cuda, int which, struct err *err) MUST_USE;
int cuda_fetch(struct cuda *cuda, void *to, device_ptr from, int64_t bytes,
               struct err *err) MUST_USE;

// Memory that is filled from the host while the stream is busy, in turns: wait until a turn's is
// free, fill it, use it in the stream, say so.
#define CUDA_TURNS 4
int cuda_turn_wait(struct cuda *cuda, int turn, struct err *err) MUST_USE;
int cuda_turn_fill(struct cuda *cuda, int turn, device_ptr to, const void *from, int64_t bytes,
                   struct err *err) MUST_USE;
int cuda_turn_used(struct cuda *cuda, int turn, struct err *err) MUST_USE;

int64_t cuda_memory_left(struct cuda *cuda);

// Time between two points of the stream.
int cuda_mark(struct cuda *cuda, int which, struct err *err) MUST_USE;          // 0 or 1
int cuda_between(struct cuda *cuda, double *seconds, struct err *err) MUST_USE; // waits

#endif
