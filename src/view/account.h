// SPDX-License-Identifier: Apache-2.0
// account: where a training step goes on the GPU, for people: the parts of a bar that add up to the
// step, and the sentence that follows from them.
#ifndef FARE_VIEW_ACCOUNT_H
#define FARE_VIEW_ACCOUNT_H

#include "record/run.h"

enum { ACCOUNT_PARTS = 11 };

struct account_part {
    char name[64]; // "matrix products, bf16"
    double share;  // of the step
    char waits;    // 0: the GPU works; otherwise 'd'ata, 's'ynchronisation, 'h'ost, '?' or '.'
};

// Work first, the largest first, then waiting. Parts of under 1 % are together in "other". Zero if
// the account is unknown.
size_t account_parts(const struct run_account *account, struct account_part out[ACCOUNT_PARTS]);

// "the GPU waits 36 % of each step for data; a faster GPU will not help". Empty if it is unknown.
void account_sentence(const struct run_account *account, struct buf *out);

#endif
