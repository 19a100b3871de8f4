// SPDX-License-Identifier: Apache-2.0
// graph: lists of launches as one CUDA graph, in which each launch waits only for those it needs.
#ifndef FARE_ENGINE_CUDA_GRAPH_H
#define FARE_ENGINE_CUDA_GRAPH_H

#include "engine/cuda/driver.h"

struct graph;

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

// The stages one after the other, ready to be launched. Arguments are copied: the launches may
// change or be freed. They must have been bound with the same GPU.
int cuda_graph_new(struct cuda *cuda, const struct graph_stage *stages, int count,
                   struct graph **out, struct err *err) MUST_USE;
void cuda_graph_free(struct cuda *cuda, struct graph *graph); // null is fine
int cuda_graph_launch(struct cuda *cuda, struct graph *graph, struct err *err) MUST_USE;

#endif
