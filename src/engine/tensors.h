// SPDX-License-Identifier: Apache-2.0
// tensors: the order and names of an engine's tensors: the parameters, then the optimizer's states
// of each trained one.
#ifndef FARE_ENGINE_TENSORS_H
#define FARE_ENGINE_TENSORS_H

#include <stddef.h>

#include "engine/engine.h"

struct tensors {
    const struct net_param *first; // the others follow, `distance` apart
    size_t distance;               // bytes
    int count;
    int states; // of each trained one
};

int tensors_count(const struct tensors *t);

// The parameter that tensor `index` belongs to; *state is -1 if it is the parameter itself.
int tensors_find(const struct tensors *t, int index, int *state);

void tensors_describe(const struct tensors *t, int index, struct engine_tensor *out);

#endif
