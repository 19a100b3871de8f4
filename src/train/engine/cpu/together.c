// SPDX-License-Identifier: Apache-2.0
// Gradients summed over the ranks of a group; see plan.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/plan.h"
#include "train/engine/cpu/team.h"

// What must be the same at all ranks.
struct rank_layout {
    char hash[SHA256_HEX_BYTES];
    char kernels[32];
    int threads;
};

static struct rank_layout layout_of(const struct params *params)
{
    struct rank_layout layout;
    memset(&layout, 0, sizeof layout);
    snprintf(layout.kernels, sizeof layout.kernels, "%s", kernels()->name);
    layout.threads = team_size();
    struct sha256 sha;
    uint8_t hash[SHA256_BYTES];
    sha256_init(&sha);
    for (int i = 0; i < params->count; i++) {
        const struct slot *slot = &params->slots[i];
        int64_t dims = 0;
        for (int d = 0; slot->chosen && d < slot->param.rank; d++)
            dims += slot->param.dim[d];
        const int64_t where[] = {slot->numbers, slot->at, slot->chosen};
        sha256_add(&sha, where, sizeof where);
        sha256_add(&sha, slot->places, (size_t)dims * sizeof *slot->places);
    }
    sha256_done(&sha, hash);
    sha256_hex(hash, layout.hash);
    return layout;
}

int together_check(struct group *group, const struct params *params, struct err *err)
{
    int size = group_place(group).size;
    if (size == 1)
        return 0;
    struct rank_layout mine = layout_of(params);
    SCOPED(free_pointer) struct rank_layout *all = calloc((size_t)size, sizeof *all);
    int rc = all ? group_gather(group, &mine, sizeof mine, all, err) : err_memory(err);
    for (int i = 1; rc == 0 && i < size; i++)
        if (memcmp(&all[i], &all[0], sizeof *all) != 0) {
            rc = err_set(err, ERR_USAGE,
                         "rank %d calculates differently (%s, %d threads) from rank 0 (%s, %d "
                         "threads)",
                         i, all[i].kernels, all[i].threads, all[0].kernels, all[0].threads);
            err_hint(err, "use machines with the same kind of processor, and --threads N");
        }
    return rc;
}

void together_begin(struct together *t)
{
    t->next = t->params ? t->params->count - 1 : -1;
    t->from = t->to = 0;
    memset(t->score, 0, sizeof t->score);
}

static int flush(struct together *t, struct err *err)
{
    int64_t count = t->to - t->from;
    float *grads = t->params->grads + t->from;
    t->to = t->from;
    return count > 0 ? group_sum_start(t->group, grads, count, err) : 0;
}

int together_layer(struct together *t, int layer, struct err *err)
{
    if (!t->group)
        return 0;
    for (; t->next >= 0 && t->params->slots[t->next].param.layer >= layer; t->next--) {
        const struct slot *slot = &t->params->slots[t->next];
        if (slot->embedding || !slot->param.trained || !t->trains[slot->param.layer])
            continue;
        int64_t end = slot->at + (slot->numbers + PASSES_PAD - 1) / PASSES_PAD * PASSES_PAD;
        if (end != t->from || t->to == t->from) {
            TRY(flush(t, err));
            t->to = end;
        }
        t->from = slot->at;
        if (t->to - t->from >= TOGETHER_BUCKET)
            TRY(flush(t, err));
    }
    return 0;
}

int together_score(struct together *t, const struct engine_score *mine, struct err *err)
{
    t->score[0] = mine->loss;
    t->score[1] = (double)mine->correct;
    t->score[2] = (double)mine->count;
    return group_sum_reals_start(t->group, t->score, 3, err);
}

int together_finish(struct together *t, struct engine_score *score, struct err *err)
{
    if (t->group) {
        TRY(together_layer(t, 0, err));
        TRY(flush(t, err));
        TRY(group_wait(t->group, err));
    }
    score->loss += t->score[0];
    score->correct += (int64_t)t->score[1];
    score->count += (int64_t)t->score[2];
    return 0;
}
