// SPDX-License-Identifier: Apache-2.0
// driver: an NVIDIA GPU through libcuda, which is opened at run time (machine/libcuda.h).
//
// Neither building nor running needs a CUDA toolkit. The kernels are PTX inside the program, of
// which those that launches name are loaded (modules.h). One GPU, one stream for kernels, one for
// copies. Every call is checked; an error names the call and gives libcuda's words.
//
// Only driver.c, modules.c, graph.c and ranks.c call libcuda. A driver for another vendor's GPUs would
// implement this header and graph.h, and run the same plans (plan/plan.h).
#ifndef FARE_ENGINE_CUDA_DRIVER_H
#define FARE_ENGINE_CUDA_DRIVER_H

#include "engine/cuda/plan/device.h"
#include "engine/cuda/plan/launch.h"

struct cuda; // an open GPU

struct cuda_about {
    char name[96];
    int driver;       // 13000 is 13.0
    int major, minor; // compute capability
    int processors;
    int shared; // bytes of shared memory that a block may have
    int64_t memory;
};

// Describes the GPU and checks that there are kernels for it, without loading any. For tests,
// FARE_CUDA_CAPABILITY=61 lowers the capability of a newer GPU: older kernels, less shared memory.
int cuda_look(enum engine_precision precision, struct cuda_about *about, struct err *err) MUST_USE;

// Which of the GPUs that CUDA shows is opened, before the first one is: 0 unless several processes
// train together. Where there is one, that one.
void cuda_choose(int number);

// Opens the GPU, for the kernels of a precision. ERR_MISSING: no driver or no
// GPU. ERR_FAIL: the GPU cannot be used or is too old. ERR_USAGE: it lacks the precision.
int cuda_open(enum engine_precision precision, struct cuda **out, struct err *err) MUST_USE;
bool cuda_kernels_packed(void);     // whether kernels came from machine code rather than PTX
void cuda_close(struct cuda *cuda); // null is fine; frees all its memory
void cuda_free(struct cuda *cuda);  // frees its memory on the GPU, nothing else
const struct cuda_about *cuda_about(const struct cuda *cuda);
struct device cuda_device(struct cuda *cuda); // as planners see it

// Memory on the GPU until cuda_close() or cuda_free(). It is uninitialised: use the zeroing variant
// for padding that is read but never written. For tests, FARE_CUDA_POISON fills it with 0xff, which
// is NaN in every format.
int cuda_alloc(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err) MUST_USE;
int cuda_alloc_zeros(struct cuda *cuda, int64_t bytes, device_ptr *out, struct err *err) MUST_USE;
int cuda_alloc_host(struct cuda *cuda, int64_t bytes, void **out,
                    struct err *err) MUST_USE;                    // pinned, zeros
bool cuda_owns_host(const struct cuda *cuda, const void *memory); // what that gave
// Pins memory of the caller's until it is unpinned. If that fails, copies may wait and are slower.
bool cuda_pin(struct cuda *cuda, const void *from, int64_t bytes);
void cuda_unpin(struct cuda *cuda, const void *from);
int64_t cuda_memory_left(struct cuda *cuda);

// In the kernels' stream. Uploads from pinned memory do not wait.
int cuda_upload(struct cuda *cuda, device_ptr to, const void *from, int64_t bytes,
                struct err *err) MUST_USE;
int cuda_download(struct cuda *cuda, void *to, device_ptr from, int64_t bytes,
                  struct err *err) MUST_USE; // waits
int cuda_sync(struct cuda *cuda, struct err *err) MUST_USE;
void cuda_settle(struct cuda *cuda); // waits for both streams, after a failure: ignores others

// Finds the launches' kernels, loads those that no launch had yet, and gives them the shared memory
// they ask for. An unknown kernel is ERR_FAIL. Launches are bound once, before they run or go into
// a graph.
int cuda_bind(struct cuda *cuda, struct launches *list, struct err *err) MUST_USE;
int cuda_launch(struct cuda *cuda, const struct launch *launch, struct err *err) MUST_USE;
int cuda_launch_list(struct cuda *cuda, const struct launches *list, struct err *err) MUST_USE;
// launch_make() and cuda_bind(); cuda_bind() and cuda_launch().
int cuda_launch_make(struct cuda *cuda, const char *kernel, unsigned x, unsigned y,
                     unsigned threads, unsigned shared, const void *args, size_t size,
                     struct launch *out, struct err *err) MUST_USE;
int cuda_launch_now(struct cuda *cuda, struct launch *launch, struct err *err) MUST_USE;
int cuda_load_kernel(struct cuda *cuda, const char *kernel, struct err *err) MUST_USE; // ahead

// Events of the kernels' stream: record one, wait for it. cuda_fetch() copies from the GPU in the
// copy stream and waits for that alone, not for kernels queued meanwhile.
#define CUDA_EVENTS 32
int cuda_event_record(struct cuda *cuda, int event, struct err *err) MUST_USE;
int cuda_event_wait(struct cuda *cuda, int event, struct err *err) MUST_USE;
int cuda_fetch(struct cuda *cuda, void *to, device_ptr from, int64_t bytes,
               struct err *err) MUST_USE;
// The same in two parts, for copies beside kernels: begins when an event is over and the copies
// begun before are done; waits for the last one of a slot. To memory that is not pinned, both wait.
int cuda_fetch_begin(struct cuda *cuda, int slot, int event, void *to, device_ptr from,
                     int64_t bytes, struct err *err) MUST_USE;
int cuda_fetch_end(struct cuda *cuda, int slot, struct err *err) MUST_USE;

// A ring of staging slots that the host fills while kernels run: wait until a slot is free, upload
// to it in the copy stream (kernels queued later wait for that), queue the kernels that read it,
// then release it.
#define CUDA_STAGING_SLOTS 4
int cuda_staging_wait(struct cuda *cuda, int slot, struct err *err) MUST_USE;
int cuda_staging_upload(struct cuda *cuda, int slot, device_ptr to, const void *from, int64_t bytes,
                        struct err *err) MUST_USE;
int cuda_staging_release(struct cuda *cuda, int slot, struct err *err) MUST_USE;

// Time between two marks, 0 and 1, in the kernels' stream.
int cuda_mark(struct cuda *cuda, int which, struct err *err) MUST_USE;
int cuda_between(struct cuda *cuda, double *seconds, struct err *err) MUST_USE; // waits

#endif
