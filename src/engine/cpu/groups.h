// SPDX-License-Identifier: Apache-2.0
// groups: the distinct tokens of a batch, and the positions of each.
//
// A batch repeats its tokens: padding, frequent words, the letters of a text. Values that depend
// only on the token are computed once per distinct token and gathered, and gradients are summed per
// token, always in the order of the positions, so that sums do not depend on threads.
#ifndef FARE_ENGINE_CPU_GROUPS_H
#define FARE_ENGINE_CPU_GROUPS_H

#include <stdint.h>

#include "base/err.h"

struct groups {
    int64_t vocabulary, positions_max;
    int64_t positions; // of the batch that was looked at last
    int32_t distinct;  // how many different tokens it holds
    int32_t *token;    // (distinct) in the order of their first appearance
    int32_t *of;       // (positions) → number of its token in `token`
    int32_t *first;    // (distinct + 1) the positions of group g are where[first[g]..first[g+1]),
    int32_t *where;    // (positions)    ascending
    int32_t *slot;     // (vocabulary) work space: the token's number in the present batch, or -1
};

int groups_init(struct groups *groups, int64_t vocabulary, int64_t positions_max,
                struct err *err) MUST_USE;
void groups_release(struct groups *groups);

// Tokens must be at least 0 and below the vocabulary.
void groups_look(struct groups *groups, const int32_t *tokens, int64_t positions);

#endif
