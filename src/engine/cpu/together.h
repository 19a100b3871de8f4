// SPDX-License-Identifier: Apache-2.0
// together: the gradients of a step, summed over the ranks of a group beside the backward pass.
//
// Gradients lie in the order of the layers and are finished from the last to the first. Whenever
// TOGETHER_BUCKET of them are, the group begins to sum them.
#ifndef FARE_ENGINE_CPU_TOGETHER_H
#define FARE_ENGINE_CPU_TOGETHER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/cpu/params.h"
#include "engine/group.h"

#define TOGETHER_BUCKET (256 << 10) // numbers

struct together {
    struct group *group; // null: alone, and everything here does nothing
    struct params *params;
    const bool *trains; // (layer)
    int next;           // the slots up to this one are not finished
    int64_t from, to;   // finished numbers that are not being summed yet
    double score[3];    // being summed
};

// All ranks must lay out their parameters alike and split their work alike, or they would come to
// different numbers. An error names one that does not.
int together_check(struct group *group, const struct params *params, struct err *err) MUST_USE;

void together_begin(struct together *together);
// The gradients of this layer and of all after it are finished.
int together_layer(struct together *together, int layer, struct err *err) MUST_USE;
// This rank's part of the score; one that no other rank has replaces it with that of all.
int together_score(struct together *together, const struct engine_score *mine,
                   struct err *err) MUST_USE;
// Waits for the sums, and adds the score of all ranks.
int together_finish(struct together *together, struct engine_score *score,
                    struct err *err) MUST_USE;

#endif
