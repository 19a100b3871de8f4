// SPDX-License-Identifier: Apache-2.0
#include "engine/tensors.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct net_param *param_at(const struct tensors *t, int i)
{
    return (const void *)((const char *)t->first + (size_t)i * t->distance);
}

int tensors_count(const struct tensors *t)
{
    int count = t->count;
    for (int i = 0; i < t->count; i++)
        count += param_at(t, i)->trained ? t->states : 0;
    return count;
}

int tensors_find(const struct tensors *t, int index, int *state)
{
    *state = -1;
    if (index < t->count)
        return index;
    int left = index - t->count;
    for (int i = 0; i < t->count; i++) {
        if (!param_at(t, i)->trained)
            continue;
        if (left < t->states) {
            *state = left;
            return i;
        }
        left -= t->states;
    }
    assert(false);
    return -1;
}

void tensors_describe(const struct tensors *t, int index, struct engine_tensor *out)
{
    int state;
    const struct net_param *param = param_at(t, tensors_find(t, index, &state));
    *out = (struct engine_tensor){.role = state < 0 ? ENGINE_PARAMETER : ENGINE_STATE,
                                  .rank = param->rank,
                                  .count = param->count};
    memcpy(out->dim, param->dim, sizeof out->dim);
    if (state < 0)
        snprintf(out->name, sizeof out->name, "%s", param->name);
    else
        snprintf(out->name, sizeof out->name, "%s.state%d", param->name, state);
}
