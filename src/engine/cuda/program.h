// SPDX-License-Identifier: Apache-2.0
// program: a compiled net on the GPU (engine/engine.h), as the parts of the engine see it.
#ifndef FARE_ENGINE_CUDA_PROGRAM_H
#define FARE_ENGINE_CUDA_PROGRAM_H

#include "engine/cuda/driver.h"
#include "engine/cuda/graph.h"
#include "engine/cuda/plan/params.h"
#include "engine/cuda/plan/plan.h"
#include "engine/engine.h"

#define PROGRAM_ROWS    256 // of the table of steps to come, and of their scores
#define PROGRAM_LENGTHS 3   // of graphs (queue.c)

struct engine_program {
    struct net_layer *layers;
    int layer_count;
    enum net_loss loss;
    struct recipe recipe;
    struct engine_options options;
    struct cuda *cuda;
    struct gpu_params params;
    struct gpu_plan plan;
    int phase;
    int64_t iteration;
    int64_t seen; // the iteration that waiting rows of an embedding were told
    // The queue.
    device_ptr table;
    char *rows; // of the host
    int64_t row_bytes;
    int tick;                // of the next row
    int launched, done;      // ticks
    int points[CUDA_POINTS]; // the tick that each point of the stream is behind
    int point_count;         // set so far; the last ones count
    bool evaluates[PROGRAM_ROWS];
    int counts[PROGRAM_ROWS]; // samples that count
    struct graph *train[RECIPE_PHASES_MAX][PROGRAM_LENGTHS], *evaluate;
    struct launch gather[PLAN_SIDES], gather_held_out;
    struct cuda_score *scores;   // of the host
    struct engine_score waiting; // what collect() has not been asked for yet
    int64_t waiting_steps;
    // Images that come with each batch, in turns: on the GPU and of the host.
    device_ptr fed, fed_labels;
    uint8_t *feed;
    int32_t *feed_labels;
    int64_t fed_bytes; // of a batch
    float *staging;    // of the host: an input,
    int32_t *words;    // its tokens and labels
};

#endif
