// SPDX-License-Identifier: Apache-2.0
// gpu: a GPU through its vendor's driver: memory, copies, kernels, graphs, events.
//
// A driver is a table of operations, struct gpu_driver; driver.c has the one for CUDA. Everything
// else calls the functions below. One GPU, one stream for kernels, one for copies. Every call is
// checked; an error names the driver's call and gives its words.
#ifndef FARE_TRAIN_ENGINE_CUDA_GPU_H
#define FARE_TRAIN_ENGINE_CUDA_GPU_H

#include "train/engine/cuda/plan/device.h"

struct gpu_about {
    char name[96];
    int driver;       // its version: 13000 is 13.0
    int major, minor; // compute capability
    int processors;
    int shared; // bytes of shared memory that a block may have
    int64_t memory;
    bool maps; // it takes tensor maps (struct mapped_tensor)
};

struct gpu_context { // an open GPU: each driver has its own, which begins with this
    const struct gpu_driver *driver;
    struct gpu_about about;
    enum engine_precision precision;
    void *host[16]; // pinned memory
    int host_count;
};

enum gpu_stream { GPU_KERNELS, GPU_COPIES };

// Events, by number: those of the caller come first; each staging slot has two; the last two
// measure time.
enum {
    GPU_EVENTS = 32,
    GPU_STAGING_SLOTS = 4,
    GPU_COPIED = GPU_EVENTS,
    GPU_RELEASED = GPU_COPIED + GPU_STAGING_SLOTS,
    GPU_MARKS = GPU_RELEASED + GPU_STAGING_SLOTS,
    GPU_EVENTS_ALL = GPU_MARKS + 2
};

// Bound launches in order; struct launch says how each waits for others of its stage.
struct graph_stage {
    const struct launch *items;
    int count;
    // Begins a step: waits for everything before it, also for forked launches. Such a stage has a
    // launch that is not forked.
    bool barrier;
    // (optional) One more launch, concurrent with the stage: it waits only for earlier stages, and
    // the next barrier waits for it.
    const struct launch *concurrent;
};

struct graph; // lists of launches as one, in which each waits only for those it needs

// Sums over the GPUs of several ranks (train/engine/group.h). Launches and graphs contain them.
struct gpu_ranks {
    int (*available)(struct err *err); // whether this process has the library for it
    // Connects the GPU with those of the other ranks, until it is closed.
    int (*join)(struct gpu_context *gpu, struct group *group, struct err *err);
    void (*abandon)(struct gpu_context *gpu); // after a failure: sums under way end
    // Kernels launched from now on wait for the sums before.
    int (*settle)(struct gpu_context *gpu, struct err *err);
};

struct gpu_driver {
    // Describes a GPU, by its number among those the driver shows, and checks that there are
    // kernels for it, without loading any. Where there is one GPU, that one. Once one was opened,
    // always that one.
    int (*look)(int number, enum engine_precision precision, struct gpu_about *about,
                struct err *err);
    // ERR_MISSING: no driver or no GPU. ERR_FAIL: the GPU cannot be used or is too old. ERR_USAGE:
    // it lacks the precision.
    int (*open)(int number, enum engine_precision precision, struct gpu_context **out,
                struct err *err);
    void (*close)(struct gpu_context *gpu);                     // frees all its memory
    bool (*library)(int index, struct engine_library *library); // as in struct engine
    int (*alloc)(struct gpu_context *gpu, int64_t bytes, bool zeroed, device_ptr *out,
                 struct err *err);
    void (*free)(struct gpu_context *gpu); // its memory on the GPU
    int64_t (*memory_left)(struct gpu_context *gpu);
    int (*alloc_host)(struct gpu_context *gpu, int64_t bytes, void **out, struct err *err);
    // (optional) Pins memory of the caller's.
    bool (*pin)(struct gpu_context *gpu, const void *from, int64_t bytes);
    void (*unpin)(struct gpu_context *gpu, const void *from);
    // Copies, queued in a stream.
    int (*upload)(struct gpu_context *gpu, enum gpu_stream stream, device_ptr to, const void *from,
                  int64_t bytes, struct err *err);
    int (*download)(struct gpu_context *gpu, enum gpu_stream stream, void *to, device_ptr from,
                    int64_t bytes, struct err *err);
    int (*wait)(struct gpu_context *gpu, enum gpu_stream stream, struct err *err);
    // Events: of what was queued in a stream so far; for a stream to wait for; for the host to wait
    // for, at once if it was never recorded.
    int (*record)(struct gpu_context *gpu, enum gpu_stream stream, int event, struct err *err);
    int (*follow)(struct gpu_context *gpu, enum gpu_stream stream, int event, struct err *err);
    int (*wait_event)(struct gpu_context *gpu, int event, struct err *err);
    int (*between_marks)(struct gpu_context *gpu, double *seconds, struct err *err);
    int (*bind)(struct gpu_context *gpu, struct launch *launch, struct err *err);
    int (*launch)(struct gpu_context *gpu, const struct launch *launch, struct err *err);
    int (*graph_new)(struct gpu_context *gpu, const struct graph_stage *stages, int count,
                     struct graph **out, struct err *err);
    void (*graph_free)(struct gpu_context *gpu, struct graph *graph);
    int (*graph_launch)(struct gpu_context *gpu, struct graph *graph, struct err *err);
    // (optional) Makes a tensor map, for GPUs that take them.
    int (*map)(struct gpu_context *gpu, const struct mapped_tensor *tensor, void *map,
               struct err *err);
    const struct gpu_ranks *ranks; // (optional)
};

extern const struct gpu_driver cuda_driver;

// Which of the GPUs that the driver shows is opened, before the first one is: 0 unless several
// processes train together.
void gpu_choose(int number);
int gpu_look(const struct gpu_driver *driver, enum engine_precision precision,
             struct gpu_about *about, struct err *err) MUST_USE;
int gpu_open(const struct gpu_driver *driver, enum engine_precision precision,
             struct gpu_context **out, struct err *err) MUST_USE;
void gpu_close(struct gpu_context *gpu);               // null is fine; frees all its memory
void gpu_free(struct gpu_context *gpu);                // frees its memory on the GPU
struct gpu_device gpu_device(struct gpu_context *gpu); // as planners see it

// The samples of a batch that a rank has, at most; and its place, for planners. For tests,
// FARE_NCCL_ALONE=1 has a process alone sum over itself; with 0 it makes the same launches, but for
// the sums, which change nothing.
int64_t gpu_rank_batch(const struct group *group, int64_t batch);
void gpu_rank_device(const struct group *group, struct gpu_device *device);

// Memory on the GPU until gpu_close() or gpu_free(), uninitialised. For tests, FARE_CUDA_POISON
// fills it with 0xff, which is NaN in every format.
int gpu_alloc(struct gpu_context *gpu, int64_t bytes, device_ptr *out, struct err *err) MUST_USE;
int gpu_alloc_host(struct gpu_context *gpu, int64_t bytes, void **out,
                   struct err *err) MUST_USE;                          // pinned, zeros
bool gpu_owns_host(const struct gpu_context *gpu, const void *memory); // what that gave
// Pins memory of the caller's until it is unpinned. If that fails, copies may wait and are slower.
bool gpu_pin(struct gpu_context *gpu, const void *from, int64_t bytes);
void gpu_unpin(struct gpu_context *gpu, const void *from);
int64_t gpu_memory_left(struct gpu_context *gpu);

// In the kernels' stream. Uploads from pinned memory do not wait.
int gpu_upload(struct gpu_context *gpu, device_ptr to, const void *from, int64_t bytes,
               struct err *err) MUST_USE;
int gpu_download(struct gpu_context *gpu, void *to, device_ptr from, int64_t bytes,
                 struct err *err) MUST_USE; // waits
int gpu_sync(struct gpu_context *gpu, struct err *err) MUST_USE;
void gpu_settle(struct gpu_context *gpu); // waits for both streams, after a failure: ignores others

// Finds the launches' kernels, loads those that no launch had yet, and gives them the shared memory
// they ask for. An unknown kernel is ERR_FAIL. Launches are bound once, before they run or go into
// a graph.
int gpu_bind(struct gpu_context *gpu, struct launches *list, struct err *err) MUST_USE;
int gpu_launch(struct gpu_context *gpu, const struct launch *launch, struct err *err) MUST_USE;
int gpu_launch_list(struct gpu_context *gpu, const struct launches *list, struct err *err) MUST_USE;
int gpu_launch_now(struct gpu_context *gpu, struct launch *launch,
                   struct err *err) MUST_USE; // binds it first

// The stages one after the other, ready to be launched. Arguments are copied: the launches may
// change or be freed. They must have been bound with the same GPU.
int gpu_graph_new(struct gpu_context *gpu, const struct graph_stage *stages, int count,
                  struct graph **out, struct err *err) MUST_USE;
void gpu_graph_free(struct gpu_context *gpu, struct graph *graph); // null is fine
int gpu_graph_launch(struct gpu_context *gpu, struct graph *graph, struct err *err) MUST_USE;

// Events of the kernels' stream: record one, wait for it. gpu_fetch() copies from the GPU in the
// copy stream and waits for that alone, not for kernels queued meanwhile.
int gpu_event_record(struct gpu_context *gpu, int event, struct err *err) MUST_USE;
int gpu_event_wait(struct gpu_context *gpu, int event, struct err *err) MUST_USE;
int gpu_fetch(struct gpu_context *gpu, void *to, device_ptr from, int64_t bytes,
              struct err *err) MUST_USE;
// The same in two parts, for copies beside kernels: begins when an event is over and the copies
// begun before are done; waits for the last one of a slot. To memory that is not pinned, both wait.
int gpu_fetch_begin(struct gpu_context *gpu, int slot, int event, void *to, device_ptr from,
                    int64_t bytes, struct err *err) MUST_USE;
int gpu_fetch_end(struct gpu_context *gpu, int slot, struct err *err) MUST_USE;

// A ring of staging slots that the host fills while kernels run: wait until a slot is free, upload
// to it in the copy stream (kernels queued later wait for that), queue the kernels that read it,
// then release it.
int gpu_staging_wait(struct gpu_context *gpu, int slot, struct err *err) MUST_USE;
int gpu_staging_upload(struct gpu_context *gpu, int slot, device_ptr to, const void *from,
                       int64_t bytes, struct err *err) MUST_USE;
int gpu_staging_release(struct gpu_context *gpu, int slot, struct err *err) MUST_USE;

// Time between two marks, 0 and 1, in the kernels' stream.
int gpu_mark(struct gpu_context *gpu, int which, struct err *err) MUST_USE;
int gpu_between(struct gpu_context *gpu, double *seconds, struct err *err) MUST_USE; // waits

#endif
