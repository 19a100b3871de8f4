// SPDX-License-Identifier: Apache-2.0
#include "engine/ref_program.h"

#include <stdlib.h>
#include <string.h>

static void *allocate(int64_t count, size_t size)
{
    return calloc(count > 0 ? (size_t)count : 1, size);
}

static int make_lstm(const struct net_layer *layer, const struct net_shape *in, int64_t batch,
                     struct ref_layer *made)
{
    for (int i = 0; i <= layer->both_ways; i++) {
        struct ref_lstm *way = &made->way[i];
        *way = (struct ref_lstm){.time = in->dim[0],
                                 .in = in->dim[1],
                                 .units = layer->units,
                                 .row = layer->out.dim[0],
                                 .reverse = i == 1,
                                 .hard_gates = layer->hard_gates};
        int64_t states = batch * way->time * way->units;
        way->gates = allocate(4 * states, sizeof *way->gates);
        way->cell = allocate(states, sizeof *way->cell);
        way->state = allocate(states, sizeof *way->state);
        way->scratch = allocate(REF_LSTM_SCRATCH * way->units, sizeof *way->scratch);
        if (!way->gates || !way->cell || !way->state || !way->scratch)
            return ERR_MEMORY;
    }
    return 0;
}

static int make_attention(const struct net_layer *layer, int64_t batch, struct ref_layer *made)
{
    int64_t time = layer->out.dim[0], heads = layer->heads;
    made->attention = (struct ref_attention){
        .time = time,
        .units = layer->units,
        .heads = heads,
        .odds = allocate(batch * heads * time * time, sizeof *made->attention.odds),
        .scratch = allocate(time, sizeof *made->attention.scratch)};
    return made->attention.odds && made->attention.scratch ? 0 : ERR_MEMORY;
}

static int make_layer(const struct engine_program *program, int number, struct ref_layer *made)
{
    const struct net_layer *layer = &program->layers[number];
    int64_t batch = program->recipe.batch, count = batch * net_shape_count(&layer->out);
    made->out = allocate(count, sizeof *made->out);
    if (!made->out)
        return ERR_MEMORY;
    if (layer->learns && !(made->grad = allocate(count, sizeof *made->grad)))
        return ERR_MEMORY;
    if (layer->op == NET_MAX_POOL && !(made->chosen = allocate(count, sizeof *made->chosen)))
        return ERR_MEMORY;
    if (layer->op == NET_BATCH_NORM) {
        made->norm.mean = allocate(layer->out.dim[0], sizeof *made->norm.mean);
        made->norm.inverse = allocate(layer->out.dim[0], sizeof *made->norm.inverse);
        if (!made->norm.mean || !made->norm.inverse)
            return ERR_MEMORY;
    }
    if (layer->op == NET_LSTM)
        return make_lstm(layer, &ref_input(program, layer, 0)->out, batch, made);
    if (layer->op == NET_ATTENTION)
        return make_attention(layer, batch, made);
    return 0;
}

static int make_param(const struct engine_program *program, const struct net_param *param,
                      struct ref_param *made, struct err *err)
{
    made->value = allocate(param->count, sizeof *made->value);
    if (!made->value)
        return err_memory(err);
    if (param->trained) {
        made->grad = allocate(param->count, sizeof *made->grad);
        if (!made->grad)
            return err_memory(err);
        for (int i = 0; i < recipe_states(&program->recipe); i++)
            if (!(made->state[i] = allocate(param->count, sizeof *made->state[i])))
                return err_memory(err);
    }
    return net_init_param(param, program->seed, made->value, err);
}

void ref_program_free(struct engine_program *program)
{
    if (!program)
        return;
    for (int i = 0; program->buffers && i < program->layer_count; i++) {
        struct ref_layer *made = &program->buffers[i];
        free(made->out);
        free(made->grad);
        free(made->chosen);
        free(made->norm.mean);
        free(made->norm.inverse);
        free(made->attention.odds);
        free(made->attention.scratch);
        for (int w = 0; w < 2; w++) {
            free(made->way[w].gates);
            free(made->way[w].cell);
            free(made->way[w].state);
            free(made->way[w].scratch);
        }
    }
    for (int i = 0; program->values && i < program->param_count; i++) {
        free(program->values[i].value);
        free(program->values[i].grad);
        free(program->values[i].state[0]);
        free(program->values[i].state[1]);
    }
    free(program->buffers);
    free(program->values);
    free(program->trains);
    free(program->layers);
    free(program->params);
    free(program);
}

static int copy_net(struct engine_program *program, const struct net *net, struct err *err)
{
    program->layer_count = net->layer_count;
    program->param_count = net->param_count;
    program->loss = net->loss;
    program->layers = allocate(net->layer_count, sizeof *program->layers);
    program->params = allocate(net->param_count, sizeof *program->params);
    program->buffers = allocate(net->layer_count, sizeof *program->buffers);
    program->values = allocate(net->param_count, sizeof *program->values);
    program->trains = allocate(net->param_count, sizeof *program->trains);
    if (!program->layers || !program->params || !program->buffers || !program->values ||
        !program->trains)
        return err_memory(err);
    memcpy(program->layers, net->layers, (size_t)net->layer_count * sizeof *net->layers);
    memcpy(program->params, net->params, (size_t)net->param_count * sizeof *net->params);
    return 0;
}

// The directions of an LSTM read their weights in place.
static void join_lstm(struct engine_program *program, int number)
{
    const struct net_layer *layer = &program->layers[number];
    const struct ref_param *param = &program->values[layer->first_param];
    for (int i = 0; i <= layer->both_ways; i++, param += 3) {
        struct ref_lstm *way = &program->buffers[number].way[i];
        way->w_in = param[0].value;
        way->w_state = param[1].value;
        way->bias = param[2].value;
    }
}

static int fill_program(struct engine_program *program, const struct net *net,
                        const struct recipe *recipe, uint64_t seed, struct err *err)
{
    program->recipe = *recipe;
    program->seed = seed;
    TRY(recipe_check(recipe, net, err));
    TRY(copy_net(program, net, err));
    for (int i = 0; i < net->layer_count; i++)
        if (make_layer(program, i, &program->buffers[i]) != 0)
            return err_memory(err);
    for (int i = 0; i < net->param_count; i++)
        TRY(make_param(program, &program->params[i], &program->values[i], err));
    for (int i = 0; i < net->layer_count; i++)
        if (program->layers[i].op == NET_LSTM)
            join_lstm(program, i);
    return 0;
}

int ref_program_new(const struct net *net, const struct recipe *recipe, uint64_t seed,
                    struct engine_program **out, struct err *err)
{
    *out = NULL;
    TRY(net_check(net, err));
    struct engine_program *program = calloc(1, sizeof *program);
    if (!program)
        return err_memory(err);
    int rc = fill_program(program, net, recipe, seed, err);
    if (rc != 0) {
        ref_program_free(program);
        return rc;
    }
    *out = program;
    return 0;
}
