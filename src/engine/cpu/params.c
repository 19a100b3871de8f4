// SPDX-License-Identifier: Apache-2.0
#include "engine/cpu/params.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/arena.h"
#include "engine/cpu/passes.h"
#include "engine/tensors.h"

int params_init(struct params *params, const struct net *net, const struct recipe *recipe,
                struct err *err)
{
    *params = (struct params){.recipe = *recipe, .states = recipe_states(recipe)};
    params->slots = calloc((size_t)net->param_count + 1, sizeof *params->slots);
    if (!params->slots)
        return err_memory(err);
    params->count = net->param_count;
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
static int64_t moved(const struct image *columns, int dim, int64_t i)
{
    if (!columns || dim != 1)
        return i;
    int64_t pixels = image_pixels(columns);
    return image_at(columns, 0, (int)(i / pixels), i % pixels);
}

// A blocked layout's place is a sum over the dimensions, so a table per dimension says it all.
static int make_places(struct slot *slot, const struct image *columns, struct err *err)
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
                  const struct image *columns, struct err *err)
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
static void convert(const struct slot *slot, float *own, float *net, bool to_net)
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
    float *values = malloc((size_t)most * sizeof *values);
    int rc = values ? 0 : err_memory(err);
    for (int i = 0; rc == 0 && i < params->count; i++) {
        struct slot *slot = &params->slots[i];
        float *to = slot->embedding ? embedding_table(slot->embedding)
                    : slot->chosen  ? values
                                    : slot->value;
        rc = net_init_param(&slot->param, seed, to, err);
        if (rc == 0 && slot->chosen)
            convert(slot, slot->value, values, false);
    }
    free(values);
    params->version++;
    if (rc == 0)
        params_reset_states(params);
    return rc;
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

static struct tensors tensors_of(const struct params *params)
{
    return (struct tensors){.first = &params->slots->param,
                            .distance = sizeof *params->slots,
                            .count = params->count,
                            .states = params->states};
}

int params_tensor_count(const struct params *params)
{
    struct tensors all = tensors_of(params);
    return tensors_count(&all);
}

void params_tensor(const struct params *params, int index, struct engine_tensor *tensor)
{
    struct tensors all = tensors_of(params);
    tensors_describe(&all, index, tensor);
}

static void move(struct params *params, int index, float *values, bool to_net)
{
    struct tensors all = tensors_of(params);
    int state;
    struct slot *slot = &params->slots[tensors_find(&all, index, &state)];
    float *own = state < 0 ? slot->value : slot->state[state];
    if (slot->embedding)
        own =
            state < 0 ? embedding_table(slot->embedding) : embedding_state(slot->embedding, state);
    params->version += !to_net;
    if (slot->chosen)
        convert(slot, own, values, to_net);
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
