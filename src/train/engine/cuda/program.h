// SPDX-License-Identifier: Apache-2.0
// program: a compiled net on the GPU (train/engine/engine.h): its plan, the GPU that runs it, and
// the queue of steps. docs/cuda-step.md follows one step through them.
#ifndef FARE_TRAIN_ENGINE_CUDA_PROGRAM_H
#define FARE_TRAIN_ENGINE_CUDA_PROGRAM_H

#include "train/engine/cuda/gpu.h"
#include "train/engine/cuda/plan/plan.h"
#include "train/engine/engine.h"

#define PROGRAM_ROWS    256 // of the step table, and of the scores: a ring
#define PROGRAM_LENGTHS 3   // of graphs (queue.c)

struct engine_program {
    struct net_layer *layers;
    int layer_count;
    enum net_loss loss;
    struct recipe recipe; // its batch is this rank's part
    struct engine_options options;
    struct gpu_context *gpu;
    struct gpu_params params;
    struct gpu_plan plan;
    int stage;
    int64_t iteration;
    int64_t lazy_iteration; // up to which lazy rows of an embedding are counted
    // The queue. Step number n has row n % PROGRAM_ROWS; queued >= launched >= done.
    device_ptr table;
    char *rows; // the same on the host, pinned
    int64_t row_bytes;
    int queued, launched, done; // steps so far
    int events[GPU_EVENTS];     // steps launched when each event was recorded
    int event_count;            // recorded so far; the last ones count
    bool evaluates[PROGRAM_ROWS];
    int counts[PROGRAM_ROWS];     // samples of the batch
    int all_counts[PROGRAM_ROWS]; // of all ranks
    struct graph *train[RECIPE_STAGES_MAX][PROGRAM_LENGTHS], *evaluate;
    struct launch gather[PLAN_BUFFERS], gather_held_out;
    struct cuda_score *scores; // on the host, pinned
    struct cuda_total *totals; // likewise, instead of them with several ranks
    double communication_ns, waiting_ns;
    struct engine_score uncollected; // scores of steps that are done, for collect()
    int64_t uncollected_steps;
    // Staging slots for images that come with each batch: on the GPU, and pinned on the host.
    device_ptr staged, staged_labels;
    uint8_t *host_staged;
    int32_t *host_staged_labels;
    int64_t staged_bytes; // of a batch
    // Pinned buffers for batches in host memory.
    float *host_input;
    int32_t *host_words; // tokens and labels
};

// ---- queue.c: steps over samples of a data set on the GPU, done without waiting for the host ----
//
// Each step gets a row in a table: the sample numbers of its batch, and everything else that
// changes from step to step. A launched graph takes the next rows. Scores are fetched while later
// steps run.

// Slots of train/engine/engine.h.
int64_t cuda_free_bytes(struct engine_program *program);
int cuda_load(struct engine_program *program, const struct engine_set *from, bool held_out,
              struct err *err) MUST_USE;
int cuda_collect(struct engine_program *program, int64_t leave, struct engine_score *score,
                 int64_t *steps, struct err *err) MUST_USE;

// Queues a batch of sample numbers, to train on or to evaluate.
int cuda_queue(struct engine_program *program, const struct engine_batch *batch, bool training,
               struct err *err) MUST_USE;
// Waits until at most `leave` queued steps are left to do, and adds up the scores of the others.
int64_t cuda_labels(const struct engine_program *program); // of a sample
int cuda_drain(struct engine_program *program, int64_t leave, struct err *err) MUST_USE;

// The numbers that change from step to step; for batches that are not queued, too.
void cuda_fill_now(const struct engine_program *program, const struct engine_batch *batch,
                   bool training, struct cuda_now *now);

// Notes the samples of the step that is queued next.
void cuda_fill_counts(struct engine_program *program, const struct engine_batch *batch,
                      bool training);

// Lazy rows of an embedding count steps by iteration. Before the iteration jumps, bring all rows up
// to date with the first; then tell them the new count with the second.
int cuda_update_lazy_rows(struct engine_program *program, struct err *err) MUST_USE;
int cuda_set_ages(struct engine_program *program, int64_t age, struct err *err) MUST_USE;

// ---- slots of the engine's table that need no program ----

extern const struct engine_l1 cuda_engine_l1; // l1.c
extern const struct engine_blas cuda_blas;    // products.c
int cuda_product(const struct engine_options *options, struct engine_product *out,
                 struct err *err) MUST_USE;

#endif
