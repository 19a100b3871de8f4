// SPDX-License-Identifier: Apache-2.0
// graph: many launches as one, each of which waits for what it needs and no more.
#ifndef FARE_ENGINE_CUDA_GRAPH_H
#define FARE_ENGINE_CUDA_GRAPH_H

#include "engine/cuda/driver.h"

struct graph;

// Launches in their order, and how they wait (driver.h).
struct graph_part {
    const struct launch *items;
    int count;
    bool round; // begins one: waits for all of the round before. Has a launch that is not aside
    // Or null: waits for what the part found done alone, and the next round for it.
    const struct launch *beside;
};

int cuda_graph_new(struct cuda *cuda, const struct graph_part *parts, int count, struct graph **out,
                   struct err *err) MUST_USE;
void cuda_graph_free(struct cuda *cuda, struct graph *graph); // null is fine
int cuda_graph_launch(struct cuda *cuda, struct graph *graph, struct err *err) MUST_USE;

#endif
