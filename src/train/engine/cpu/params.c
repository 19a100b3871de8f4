// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/params.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cpu/arena.h"
#include "train/engine/cpu/passes.h"
#include "train/engine/cpu/team.h"

int params_init(struct params *params, const struct net *net, const struct recipe *recipe,
                struct err *err)
{
    *params = (struct params){.recipe = *recipe, .states = recipe_states(recipe)};
    params->slots = calloc((size_t)net->param_count + 1, sizeof *params->slots);
    if (!params->slots)
        return err_memory(err);
    params->count = net->param_count;
    params->tensors = (struct tensors){.first = &params->slots->param,
                                       .distance = sizeof *params->slots,
                                       .count = params->count,
                                       .states = params->states};
    for (int i = 0; i < net->param_count; i++) {
        params->slots[i].param = net->params[i];
        params->slots[i].numbers = net->params[i].count;
    }
    return 0;
}

void params_release(struct params *params)
{
    for (int i = 0; i < params->count; i++) {
        free(params->slots[i].places);
        embedding_free(params->slots[i].embedding);
    }
    for (size_t i = 0; i < sizeof params->blocks / sizeof *params->blocks; i++)
        free(params->blocks[i]);
    free(params->slots);
    memset(params, 0, sizeof *params);
}

// ---- layouts ----

// Where index `i` of a dimension is in the engine's: columns of dense weights follow the image.
static int64_t moved(const struct image_layout *columns, int dim, int64_t i)
{
    if (!columns || dim != 1)
        return i;
    int64_t pixels = image_pixels(columns);
    return image_at(columns, 0, (int)(i / pixels), i % pixels);
}

// A blocked layout's place is a sum over the dimensions, so a table per dimension says it all.
static int make_places(struct slot *slot, const struct image_layout *columns, struct err *err)
{
    int64_t total = 0, at[4] = {0};
    for (int d = 0; d < slot->param.rank; d++)
        total += slot->param.dim[d];
    slot->places = malloc((size_t)total * sizeof *slot->places);
    if (!slot->places)
        return err_memory(err);
    int64_t *place = slot->places, origin = dnn_offset(&slot->md, at);
    for (int d = 0; d < slot->param.rank; d++) {
        for (int64_t i = 0; i < slot->param.dim[d]; i++) {
            at[d] = moved(columns, d, i);
            *place++ = dnn_offset(&slot->md, at) - origin;
        }
        at[d] = 0;
    }
    return 0;
}

int params_choose(struct params *params, int index, const dnnl_memory_desc_t *md,
                  const struct image_layout *columns, struct err *err)
{
    struct slot *slot = &params->slots[index];
    assert(!slot->chosen && md->ndims == slot->param.rank && md->data_type == dnnl_f32);
    slot->md = *md;
    slot->chosen = true;
    slot->numbers = (int64_t)(dnn_bytes(md) / sizeof(float));
    return make_places(slot, columns, err);
}

void params_pad(struct params *params, int index, int64_t numbers)
{
    assert(numbers >= params->slots[index].param.count);
    params->slots[index].numbers = numbers;
}

// Calls move(engine's number, net's number) for all numbers of a slot in a chosen layout.
static void convert_layout(const struct slot *slot, float *own, float *net, bool to_net)
{
    int64_t dim[4] = {1, 1, 1, 1};
    const int64_t zero = 0, *place[4] = {&zero, &zero, &zero, &zero}, *next = slot->places;
    for (int d = 0; d < slot->param.rank; d++) {
        dim[d] = slot->param.dim[d];
        place[d] = next;
        next += dim[d];
    }
    for (int64_t a = 0; a < dim[0]; a++)
        for (int64_t b = 0; b < dim[1]; b++)
            for (int64_t c = 0; c < dim[2]; c++) {
                float *row = own + place[0][a] + place[1][b] + place[2][c];
                for (int64_t d = 0; d < dim[3]; d++, net++) {
                    if (to_net)
                        *net = row[place[3][d]];
                    else
                        row[place[3][d]] = *net;
                }
            }
}

// ---- memory ----

static int64_t rounded(int64_t numbers)
{
    return (numbers + PASSES_PAD - 1) / PASSES_PAD * PASSES_PAD;
}

static int allocate_array(struct params *params, int which, int64_t numbers, float **array,
                          struct err *err)
{
    *array =
        arena_memory((size_t)(numbers + PASSES_PAD) * sizeof **array, &params->blocks[which], err);
    return *array ? 0 : ERR_MEMORY;
}

int params_allocate(struct params *params, struct err *err)
{
    int64_t averages = 0;
    params->trained = 0;
    for (int i = 0; i < params->count; i++) {
        struct slot *slot = &params->slots[i];
        if (slot->embedding)
            continue;
        int64_t *total = slot->param.trained ? &params->trained : &averages;
        slot->at = *total;
        *total += rounded(slot->numbers);
    }
    TRY(allocate_array(params, 0, params->trained + averages, &params->values, err));
    TRY(allocate_array(params, 1, params->trained, &params->grads, err));
    for (int s = 0; s < params->states; s++)
        TRY(allocate_array(params, 2 + s, params->trained, &params->state[s], err));
    for (int i = 0; i < params->count; i++) {
        struct slot *slot = &params->slots[i];
        if (slot->embedding)
            continue;
        slot->value = params->values + slot->at + (slot->param.trained ? 0 : params->trained);
        slot->grad = slot->param.trained ? params->grads + slot->at : NULL;
        for (int s = 0; slot->param.trained && s < params->states; s++)
            slot->state[s] = params->state[s] + slot->at;
    }
    return 0;
}

int params_start(struct params *params, uint64_t seed, struct err *err)
{
    int64_t most = 1;
    for (int i = 0; i < params->count; i++)
        if (params->slots[i].chosen && params->slots[i].param.count > most)
            most = params->slots[i].param.count;
    SCOPED(free_pointer) float *values = malloc((size_t)most * sizeof *values);
    if (!values)
        return err_memory(err);
    for (int i = 0; i < params->count; i++) {
        struct slot *slot = &params->slots[i];
        float *to = slot->embedding ? embedding_table(slot->embedding)
                    : slot->chosen  ? values
                                    : slot->value;
        TRY(net_init_param(&slot->param, seed, to, err));
        if (slot->chosen)
            convert_layout(slot, slot->value, values, false);
    }
    params->version++;
    params_reset_states(params);
    return 0;
}

// Padding starts like the rest: without gradient its value stays zero.
void params_reset_states(struct params *params)
{
    float first = params->recipe.optimizer == OPTIMIZER_RMSPROP_MOMENTUM ? 1 : 0;
    for (int s = 0; s < params->states; s++)
        for (int64_t i = 0; i < params->trained; i++)
            params->state[s][i] = s == 0 ? first : 0;
    for (int i = 0; i < params->count; i++)
        if (params->slots[i].embedding)
            embedding_reset_state(params->slots[i].embedding);
}

// ---- tensors ----

static void move(struct params *params, int index, float *values, bool to_net)
{
    int state;
    struct slot *slot = &params->slots[tensors_find(&params->tensors, index, &state)];
    float *own = state < 0 ? slot->value : slot->state[state];
    if (slot->embedding)
        own =
            state < 0 ? embedding_table(slot->embedding) : embedding_state(slot->embedding, state);
    params->version += !to_net;
    if (slot->chosen)
        convert_layout(slot, own, values, to_net);
    else if (to_net)
        memcpy(values, own, (size_t)slot->param.count * sizeof *values);
    else
        memcpy(own, values, (size_t)slot->param.count * sizeof *values);
}

void params_read(struct params *params, int index, float *values)
{
    move(params, index, values, true);
}

void params_write(struct params *params, int index, const float *values)
{
    move(params, index, (float *)(uintptr_t)values, false); // only read
}

// ---- the optimizer ----

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

struct pass_rule optimizer_rule(const struct recipe *recipe, double rate, int64_t iteration)
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

pass_optimizer *optimizer_pass(const struct passes *passes, enum optimizer optimizer)
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

struct optimizer_job {
    const struct optimizer_walk *walk;
    struct pass_rule rule;
    pass_optimizer *pass;
};

static void optimizer_work(void *job_, int thread, int threads)
{
    const struct optimizer_job *job = job_;
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

static void optimizer_square(void *walk_, int thread, int threads)
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
    team_run(optimizer_square, walk);
    for (int i = 0; i < team_size(); i++)
        sum += walk->squares[i];
    double scale = clip / (sqrt(sum) + 1e-6);
    return scale < 1 ? (float)scale : 1;
}

void optimizer_step(struct optimizer_walk *walk, int64_t iteration)
{
    const struct recipe *recipe = &walk->params->recipe;
    // A schedule has one stage (train/net/net.h).
    double rate = recipe->warmup > 0 ? recipe_rate(recipe, 0, iteration) : (double)walk->rate;
    struct optimizer_job job = {.walk = walk,
                                .rule = optimizer_rule(recipe, rate, iteration),
                                .pass = optimizer_pass(walk->passes, recipe->optimizer)};
    if (recipe->clip > 0)
        job.rule.scale = clip_scale(walk, (double)recipe->clip);
    walk->params->version++;
    if (walk->count > 0)
        team_run(optimizer_work, &job);
}
