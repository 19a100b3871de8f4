// SPDX-License-Identifier: Apache-2.0
// program: a compiled net on the GPU (engine/engine.h): its plan, the driver that runs it, and the
// queue of steps. docs/cuda-step.md follows one step through them.
#ifndef FARE_ENGINE_CUDA_PROGRAM_H
#define FARE_ENGINE_CUDA_PROGRAM_H

#include "engine/cuda/driver.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/plan/params.h"
#include "engine/cuda/plan/plan.h"
#include "engine/engine.h"

#define PROGRAM_ROWS    256 // of the step table, and of the scores: a ring
#define PROGRAM_LENGTHS 3   // of graphs (queue.c)

struct engine_program {
    struct net_layer *layers;
    int layer_count;
    enum net_loss loss;
    struct recipe recipe; // its batch is this rank's part
    struct engine_options options;
    struct cuda *cuda;
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
    int events[CUDA_EVENTS];    // steps launched when each event was recorded
    int event_count;            // recorded so far; the last ones count
    bool evaluates[PROGRAM_ROWS];
    int counts[PROGRAM_ROWS];     // samples of the batch
    int all_counts[PROGRAM_ROWS]; // of all ranks
    struct graph *train[RECIPE_STAGES_MAX][PROGRAM_LENGTHS], *evaluate;
    struct launch gather[PLAN_BUFFERS], gather_held_out;
    struct cuda_score *scores;       // on the host, pinned
    struct cuda_total *totals;       // likewise, instead of them with several ranks
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

#endif
