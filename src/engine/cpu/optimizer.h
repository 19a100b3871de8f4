// SPDX-License-Identifier: Apache-2.0
// optimizer: one step over all parameters, on all threads.
//
// Value, gradient and states of all parameters lie in common arrays (params.h), so a step is a
// walk through them in pieces of whole cache lines, whatever the layers. Each parameter is split
// among the threads, as its layer splits it if it does. Embeddings have their own optimizer.
#ifndef FARE_ENGINE_CPU_OPTIMIZER_H
#define FARE_ENGINE_CPU_OPTIMIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/params.h"
#include "engine/cpu/passes.h"

struct optimizer_piece { // numbers [from, to) of the common arrays, treated alike
    int64_t from, to;
    int64_t grain; // split at multiples of this
    float weight_decay;
};

struct optimizer_walk {
    const struct passes *passes;
    struct params *params;
    float rate;
    struct optimizer_piece *pieces;
    int count;
    double *squares; // (threads) for clipping
};

int optimizer_init(struct optimizer_walk *walk, struct params *params, const struct passes *passes,
                   struct err *err) MUST_USE;
void optimizer_release(struct optimizer_walk *walk);

// The rate, and the layers to train (`trains`, by number), from now on.
void optimizer_select(struct optimizer_walk *walk, float rate, const bool *trains);

void optimizer_step(struct optimizer_walk *walk, int64_t iteration);

#endif
