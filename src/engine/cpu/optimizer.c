// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/team.h"

int optimizer_init(struct optimizer_walk *walk, struct params *params, const struct passes *passes,
                   struct err *err)
{
    *walk = (struct optimizer_walk){.passes = passes, .params = params};
    walk->pieces = calloc((size_t)params->count + 1, sizeof *walk->pieces);
    walk->squares = calloc((size_t)team_size(), sizeof *walk->squares);
    return walk->pieces && walk->squares ? 0 : err_memory(err);
}

void optimizer_release(struct optimizer_walk *walk)
{
    free(walk->pieces);
    free(walk->squares);
    memset(walk, 0, sizeof *walk);
}

void optimizer_select(struct optimizer_walk *walk, float rate, const bool *trains)
{
    const struct params *params = walk->params;
    walk->rate = rate;
    walk->count = 0;
    for (int i = 0; i < params->count; i++) {
        const struct slot *slot = &params->slots[i];
        if (!slot->param.trained || !trains[slot->param.layer])
            continue;
        if (slot->embedding) {
            embedding_set_rate(slot->embedding, rate);
            continue;
        }
        int64_t numbers = (slot->numbers + PASSES_PAD - 1) / PASSES_PAD * PASSES_PAD;
        walk->pieces[walk->count++] = (struct optimizer_piece){
            slot->at, slot->at + numbers, slot->grain ? slot->grain : PASSES_PAD,
            slot->param.decayed ? params->recipe.weight_decay : 0};
    }
}

// `rate`: the stage's, of this iteration.
static struct pass_rule rule_at(const struct recipe *recipe, double rate, int64_t iteration)
{
    double k = rate, correction = 1, rho = (double)recipe->rho, beta2 = (double)recipe->beta2;
    if (recipe->optimizer == OPTIMIZER_RMSPROP)
        k /= 1 + (double)recipe->decay * (double)iteration;
    if (recipe->optimizer == OPTIMIZER_ADAM)
        k *= sqrt(1 - pow(beta2, (double)iteration + 1)) / (1 - pow(rho, (double)iteration + 1));
    if (recipe->optimizer == OPTIMIZER_ADAMW) {
        k /= 1 - pow(rho, (double)iteration + 1);
        correction = 1 / sqrt(1 - pow(beta2, (double)iteration + 1));
    }
    return (struct pass_rule){.rate = (float)k,
                              .plain_rate = (float)rate,
                              .correction = (float)correction,
                              .scale = 1,
                              .rho = recipe->rho,
                              .rho_rest = (float)(1 - rho),
                              .beta2 = recipe->beta2,
                              .beta2_rest = (float)(1 - beta2),
                              .epsilon = recipe->epsilon,
                              .momentum = recipe->momentum};
}

static pass_optimizer *pass_of(const struct passes *passes, enum optimizer optimizer)
{
    switch (optimizer) {
    case OPTIMIZER_RMSPROP:
        return passes->rmsprop;
    case OPTIMIZER_RMSPROP_MOMENTUM:
        return passes->rmsprop_momentum;
    case OPTIMIZER_ADADELTA:
        return passes->adadelta;
    case OPTIMIZER_ADAM:
        return passes->adam;
    case OPTIMIZER_ADAMW:
        return passes->adamw;
    }
    return NULL;
}

struct job {
    const struct optimizer_walk *walk;
    struct pass_rule rule;
    pass_optimizer *pass;
};

static void work(void *job_, int thread, int threads)
{
    const struct job *job = job_;
    const struct params *params = job->walk->params;
    for (int i = 0; i < job->walk->count; i++) {
        const struct optimizer_piece *piece = &job->walk->pieces[i];
        int64_t first, last;
        team_part(piece->to - piece->from, piece->grain, thread, threads, &first, &last);
        if (first >= last)
            continue;
        int64_t at = piece->from + first;
        job->pass(&job->rule, piece->weight_decay, params->values + at, params->grads + at,
                  params->state[0] + at, params->state[1] ? params->state[1] + at : NULL,
                  last - first);
    }
}

static void square(void *walk_, int thread, int threads)
{
    struct optimizer_walk *walk = walk_;
    double sum = 0;
    for (int i = 0; i < walk->count; i++) {
        const struct optimizer_piece *piece = &walk->pieces[i];
        int64_t first, last;
        team_part(piece->to - piece->from, piece->grain, thread, threads, &first, &last);
        if (first < last)
            sum += walk->passes->squares(walk->params->grads + piece->from + first, last - first);
    }
    walk->squares[thread] = sum;
}

// What the gradients are to be multiplied by, so that their norm is at most `clip`.
static float clip_scale(struct optimizer_walk *walk, double clip)
{
    double sum = 0;
    team_run(square, walk);
    for (int i = 0; i < team_size(); i++)
        sum += walk->squares[i];
    double scale = clip / (sqrt(sum) + 1e-6);
    return scale < 1 ? (float)scale : 1;
}

void optimizer_step(struct optimizer_walk *walk, int64_t iteration)
{
    const struct recipe *recipe = &walk->params->recipe;
    // A schedule has one stage (net/net.h).
    double rate = recipe->warmup > 0 ? recipe_rate(recipe, 0, iteration) : (double)walk->rate;
    struct job job = {.walk = walk,
                      .rule = rule_at(recipe, rate, iteration),
                      .pass = pass_of(walk->passes, recipe->optimizer)};
    if (recipe->clip > 0)
        job.rule.scale = clip_scale(walk, (double)recipe->clip);
    walk->params->version++;
    if (walk->count > 0)
        team_run(work, &job);
}
