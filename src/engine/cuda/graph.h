// SPDX-License-Identifier: Apache-2.0
// graph: many launches as one, each of which waits for what it needs and no more.
#ifndef FARE_ENGINE_CUDA_GRAPH_H
#define FARE_ENGINE_CUDA_GRAPH_H

#include "engine/cuda/driver.h"

struct graph;

// Launches in their order; how each waits for others of its part stands in struct launch.
struct graph_part {
    const struct launch *items;
    int count;
    // Begins a round: waits for all of the one before, also for what stood aside. Such a part has a
    // launch that is not aside.
    bool round;
    // Or null: one more, which waits for what was done before the part and nothing of it. The next
    // round waits for it.
    const struct launch *beside;
};

// The parts, one after the other, made ready to be launched. Arguments are copied: the launches may
// change or go. The GPU must be the one that they were made for.
int cuda_graph_new(struct cuda *cuda, const struct graph_part *parts, int count, struct graph **out,
                   struct err *err) MUST_USE;
void cuda_graph_free(struct cuda *cuda, struct graph *graph); // null is fine
int cuda_graph_launch(struct cuda *cuda, struct graph *graph, struct err *err) MUST_USE;

#endif
