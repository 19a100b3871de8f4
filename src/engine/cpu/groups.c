// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/groups.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int32_t *allocate(int64_t count)
{
    return count < 0 || (uint64_t)count > SIZE_MAX / sizeof(int32_t)
               ? NULL
               : calloc((size_t)count + 1, sizeof(int32_t));
}

int groups_init(struct groups *groups, int64_t vocabulary, int64_t positions_max, struct err *err)
{
    assert(vocabulary > 0 && vocabulary <= INT32_MAX && positions_max > 0 &&
           positions_max < INT32_MAX);
    *groups = (struct groups){.vocabulary = vocabulary, .positions_max = positions_max};
    groups->token = allocate(positions_max);
    groups->of = allocate(positions_max);
    groups->first = allocate(positions_max + 1);
    groups->where = allocate(positions_max);
    groups->slot = allocate(vocabulary);
    if (!groups->token || !groups->of || !groups->first || !groups->where || !groups->slot) {
        groups_release(groups);
        return err_memory(err);
    }
    memset(groups->slot, -1, (size_t)vocabulary * sizeof *groups->slot);
    return 0;
}

void groups_release(struct groups *groups)
{
    free(groups->token);
    free(groups->of);
    free(groups->first);
    free(groups->where);
    free(groups->slot);
    *groups = (struct groups){0};
}

// A counting sort by group. first[g] runs ahead of the positions while they are placed, from the
// start of group g to that of the next, so it is filled one place further on.
void groups_look(struct groups *groups, const int32_t *tokens, int64_t positions)
{
    assert(positions >= 0 && positions <= groups->positions_max);
    for (int32_t g = 0; g < groups->distinct; g++) // of the batch before
        groups->slot[groups->token[g]] = -1;
    int32_t distinct = 0, *first = groups->first;
    first[0] = 0;
    for (int64_t i = 0; i < positions; i++) {
        int32_t token = tokens[i];
        assert(token >= 0 && token < groups->vocabulary);
        int32_t g = groups->slot[token];
        if (g < 0) {
            g = groups->slot[token] = distinct++;
            groups->token[g] = token;
            first[g + 1] = 0;
        }
        groups->of[i] = g;
        first[g + 1]++;
    }
    int32_t start = 0;
    for (int32_t g = 0; g < distinct; g++) {
        int32_t count = first[g + 1];
        first[g + 1] = start;
        start += count;
    }
    for (int64_t i = 0; i < positions; i++)
        groups->where[first[groups->of[i] + 1]++] = (int32_t)i;
    groups->distinct = distinct;
    groups->positions = positions;
}
