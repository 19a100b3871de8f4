// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cuda/plan/builder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

// ---- layout ----

static struct gpu_block *add_param_block(struct gpu_params *p, int layer, int64_t weights,
                                         int64_t bias)
{
    struct gpu_block *block = &p->blocks[p->block_count++];
    *block = (struct gpu_block){.layer = layer,
                                .at = p->size,
                                .size = (weights + bias + 3) / 4 * 4,
                                .bias_at = p->size + weights,
                                .parts = 1,
                                .trained = true,
                                .sum_at = -1};
    p->size += (block->size + 63) / 64 * 64;
    return block;
}

static void place_slot(struct gpu_slot *slot, int64_t at, int64_t s0, int64_t s1)
{
    slot->at = at;
    slot->stride[0] = s0;
    slot->stride[1] = s1;
}

// The pitch of a layer's input.
static int in_pitch(const struct gpu_params *p, const struct net *net,
                    const struct net_layer *layer)
{
    const struct net_shape *in = &net->layers[layer->inputs[0]].out;
    int pad = in->rank == 3 ? p->pad : 4;
    return ((in->rank == 2 ? in->dim[1] : in->dim[0]) + pad - 1) / pad * pad;
}

static void place_dense(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    const struct net_shape *in = &net->layers[l->inputs[0]].out;
    struct gpu_slot *slots = &p->slots[l->first_param];
    bool flat = image_is_flat(net->layers, net->layer_count, l->inputs[0]);
    int pitch = flat ? pad4((int)net_shape_count(in)) : in_pitch(p, net, l);
    int64_t pixels = flat            ? 1
                     : in->rank == 3 ? (int64_t)in->dim[1] * in->dim[2]
                     : in->rank == 2 ? in->dim[0]
                                     : 1;
    struct gpu_block *block = add_param_block(p, layer, l->units * pixels * pitch, pad4(l->units));
    place_slot(&slots[0], block->at, pixels * pitch, 1);
    if (in->rank == 3 && !flat) { // the net has channels before pixels
        slots[0].column[0] = in->dim[0];
        slots[0].column[1] = pixels;
        slots[0].column[2] = pitch;
    } else if (in->rank == 2) { // time, then features
        slots[0].column[0] = pixels;
        slots[0].column[1] = in->dim[1];
        slots[0].column[2] = -pitch;
    }
    block->decayed = slots[0].param.decayed;
    if (l->param_count > 1)
        place_slot(&slots[1], block->bias_at, 1, 0);
}

static void place_conv(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    struct gpu_slot *slots = &p->slots[l->first_param];
    int pitch = in_pitch(p, net, l), taps = l->kernel_h * l->kernel_w;
    struct gpu_block *block =
        add_param_block(p, layer, (int64_t)l->units * taps * pitch, pad4(l->units));
    place_slot(&slots[0], block->at, (int64_t)taps * pitch, 1);
    slots[0].stride[2] = (int64_t)l->kernel_w * pitch;
    slots[0].stride[3] = pitch;
    block->decayed = slots[0].param.decayed;
    if (l->param_count > 1)
        place_slot(&slots[1], block->bias_at, 1, 0);
}

static void place_lstm(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    int ways = l->both_ways ? 2 : 1, pitch = in_pitch(p, net, l), h = l->units, hp = pad4(h);
    struct gpu_block *in =
        add_param_block(p, layer, (int64_t)ways * 4 * h * pitch, (int64_t)ways * 4 * h);
    struct gpu_block *state = add_param_block(p, layer, (int64_t)ways * 4 * h * hp, 0);
    for (int way = 0; way < ways; way++) {
        struct gpu_slot *slots = &p->slots[l->first_param + 3 * way];
        place_slot(&slots[0], in->at + (int64_t)way * 4 * h * pitch, pitch, 1);
        place_slot(&slots[1], state->at + (int64_t)way * 4 * h * hp, hp, 1);
        place_slot(&slots[2], in->bias_at + (int64_t)way * 4 * h, 1, 0);
        slots[0].gates = slots[1].gates = slots[2].gates = h;
        assert(slots[2].param.rank == 1);
    }
}

static void place_norm(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    int channels = (l->out.dim[0] + p->pad - 1) / p->pad * p->pad;
    struct gpu_block *both = add_param_block(p, layer, channels, channels), *running;
    both->bias_at = both->at;
    running = add_param_block(p, layer, channels, channels);
    running->trained = false;
    for (int i = 0; i < 4; i++)
        place_slot(&p->slots[l->first_param + i], (i < 2 ? both : running)->at + (i & 1) * channels,
                   1, 0);
}

static void place_text(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    struct gpu_slot *slots = &p->slots[l->first_param];
    int64_t units = l->out.dim[1];
    int64_t rows = l->op == NET_EMBEDDING    ? text_table_rows(l->vocabulary)
                   : l->op == NET_LAYER_NORM ? 1
                                             : slots[0].param.dim[0];
    bool bias = l->op == NET_LINEAR || l->op == NET_LAYER_NORM;
    struct gpu_block *block = add_param_block(p, layer, rows * units, bias ? units : 0);
    place_slot(&slots[0], block->at, l->op == NET_LAYER_NORM ? 1 : units, 1);
    if (bias)
        place_slot(&slots[1], block->at + rows * units, 1, 0);
    block->decayed = slots[0].param.decayed;
}

static void place_layer(struct gpu_params *p, const struct net *net, int layer)
{
    const struct net_layer *l = &net->layers[layer];
    if (text_net(net->layers, net->layer_count)) {
        if (l->param_count > 0)
            place_text(p, net, layer);
        return;
    }
    switch (l->op) {
    case NET_DENSE:
        place_dense(p, net, layer);
        break;
    case NET_CONV:
        place_conv(p, net, layer);
        break;
    case NET_LSTM:
        place_lstm(p, net, layer);
        break;
    case NET_BATCH_NORM:
        place_norm(p, net, layer);
        break;
    case NET_EMBEDDING: {
        const struct net_param *param = &p->slots[l->first_param].param;
        struct gpu_block *block = add_param_block(p, layer, param->dim[0] * pad4(l->units), 0);
        place_slot(&p->slots[l->first_param], block->at, pad4(l->units), 1);
        block->lazy = p->recipe.optimizer == OPTIMIZER_ADAM && p->recipe.stage_count == 1;
        break;
    }
    default:
        break;
    }
}

// Every row of a table is updated in every step if there are several ranks: one does not know which
// rows the others used.
static void place_sums(struct gpu_params *p, const struct net *net)
{
    for (int i = 0; i < p->block_count; i++) {
        struct gpu_block *block = &p->blocks[i];
        block->lazy = false;
        if (!block->trained || net->layers[block->layer].op == NET_BATCH_NORM)
            continue;
        block->sum_at = p->sums;
        p->sums += (block->size + 63) / 64 * 64;
    }
}

int gpu_params_new(struct gpu_params *p, const struct net *net, const struct recipe *recipe,
                   const struct gpu_device *device, struct err *err)
{
    bool images = images_in_bf16(net->layers, net->layer_count, device->precision);
    *p = (struct gpu_params){
        .recipe = *recipe, .states = recipe_states(recipe), .pad = images ? 8 : 4};
    p->slots = calloc((size_t)net->param_count + 1, sizeof *p->slots);
    p->blocks = calloc((size_t)net->layer_count * 2 + 1, sizeof *p->blocks);
    if (!p->slots || !p->blocks)
        return err_memory(err);
    p->count = net->param_count;
    p->tensors = (struct tensors){.first = &p->slots->param,
                                  .distance = sizeof *p->slots,
                                  .count = p->count,
                                  .states = p->states};
    for (int i = 0; i < net->param_count; i++)
        p->slots[i].param = net->params[i];
    for (int i = 0; i < net->layer_count; i++)
        place_layer(p, net, i);
    if (device->several)
        place_sums(p, net);
    bool text = text_net(net->layers, net->layer_count);
    if (text)
        p->size += 1024; // products read past the last bias
    int64_t bytes = p->size * (int64_t)sizeof(float);
    void *driver = device->driver;
    TRY(device->alloc(driver, bytes, true, &p->values, err)); // nothing writes the padding
    for (int k = 0; k < p->states; k++)
        TRY(device->alloc(driver, bytes, false, &p->state[k], err));
    if (images || text)
        TRY(device->alloc(driver, p->size * 2, true, &p->rounded, err));
    return 0;
}

void gpu_params_free(struct gpu_params *p)
{
    free(p->slots);
    free(p->blocks);
    memset(p, 0, sizeof *p);
}

struct gpu_block *gpu_params_block(const struct gpu_params *p, int layer, int which)
{
    for (int i = 0; i < p->block_count; i++)
        if (p->blocks[i].layer == layer && which-- == 0)
            return &p->blocks[i];
    assert(false);
    return NULL;
}

device_ptr gpu_params_at(const struct gpu_params *p, int64_t at)
{
    return p->values + (device_ptr)at * sizeof(float);
}

// ---- between the net's layout and ours ----

static int64_t slot_row(const struct gpu_slot *slot, int64_t row)
{
    // The net has all units' i, then all f, ...; here a unit's gates are together.
    return slot->gates ? row % slot->gates * 4 + row / slot->gates : row;
}

static int64_t slot_column(const struct gpu_slot *slot, int64_t column)
{
    const int64_t *c = slot->column;
    if (c[0] == 0)
        return column * slot->stride[1];
    if (c[2] < 0)
        return column / c[1] * -c[2] + column % c[1];
    return column % c[1] * c[2] + column / c[1];
}

void gpu_params_convert(const struct gpu_slot *slot, float *arena, float *values, bool to_net)
{
    const struct net_param *p = &slot->param;
    int64_t d[4] = {1, 1, 1, 1};
    for (int i = 0; i < p->rank; i++)
        d[i] = p->dim[i];
    for (int64_t a = 0; a < d[0]; a++)
        for (int64_t b = 0; b < d[1]; b++) {
            int64_t at =
                slot_row(slot, a) * slot->stride[0] + (p->rank > 1 ? slot_column(slot, b) : 0);
            for (int64_t y = 0; y < d[2]; y++)
                for (int64_t x = 0; x < d[3]; x++, values++) {
                    float *here = arena + at + y * slot->stride[2] + x * slot->stride[3];
                    if (to_net)
                        *values = *here;
                    else
                        *here = *values;
                }
        }
}

static int64_t slot_span(const struct gpu_slot *slot)
{
    const struct net_param *p = &slot->param;
    int64_t last = (p->dim[0] - 1) * slot->stride[0];
    if (slot->column[0])
        last += slot->stride[0] - 1;
    else if (p->rank > 1)
        last += (p->dim[1] - 1) * slot->stride[1];
    for (int i = 2; i < p->rank; i++)
        last += (p->dim[i] - 1) * slot->stride[i];
    return last + 1;
}

struct gpu_tensor gpu_params_find(const struct gpu_params *p, int index)
{
    int state;
    const struct gpu_slot *slot = &p->slots[tensors_find(&p->tensors, index, &state)];
    return (struct gpu_tensor){.slot = slot,
                               .at = (state < 0 ? p->values : p->state[state]) +
                                     (device_ptr)slot->at * sizeof(float),
                               .count = slot_span(slot),
                               .rounded = state < 0 && p->rounded};
}

void gpu_params_round(const struct gpu_params *p, const struct gpu_tensor *tensor,
                      struct launch *out)
{
    device_ptr to = p->rounded + (device_ptr)tensor->slot->at * 2;
    struct cuda_image_round g = {.from = (const float *)(uintptr_t)tensor->at,
                                 .to = (unsigned short *)(uintptr_t)to,
                                 .count = tensor->count};
    launch_make(out, "image_round", 256, 1, 256, 0, &g, sizeof g);
}
