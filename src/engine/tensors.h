// SPDX-License-Identifier: Apache-2.0
// tensors: the order in which an engine's tensors are numbered, and their names: the parameters,
// then the optimizer's states of each that is trained.
#ifndef FARE_ENGINE_TENSORS_H
#define FARE_ENGINE_TENSORS_H

#include <stddef.h>

#include "engine/engine.h"

struct tensors {
    const struct net_param *first; // the others follow at equal distances
    size_t distance;               // bytes
    int count;
    int states; // of each that is trained
};

int tensors_count(const struct tensors *t);

// The parameter that tensor `index` belongs to; *state is -1 where it is the parameter itself.
int tensors_find(const struct tensors *t, int index, int *state);

void tensors_describe(const struct tensors *t, int index, struct engine_tensor *out);

#endif
