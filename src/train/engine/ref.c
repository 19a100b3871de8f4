// SPDX-License-Identifier: Apache-2.0
// ref: the reference engine, which the fast engines are tested against. It walks through the net
// layer by layer with the operations of ref_ops.h, on one thread, without optimisations.
//
// Tensors are in every engine's order: the net's parameters, then the states of each trained one.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "train/engine/ref_ops.h"
#include "train/engine/shared.h"

struct ref_layer { // one layer's memory for a whole batch; null if the layer does not need it
    double *out;
    double *grad;
    int32_t *chosen;        // maximum pool
    struct ref_norm norm;   // batch norm
    struct ref_lstm way[2]; // LSTM, one per direction
    struct ref_attention attention;
};

struct ref_param {
    float *value;
    double *grad;    // null if it is not trained
    float *state[2]; // likewise
};

struct engine_program {
    struct net_layer *layers; // copies: the caller may release its net
    struct net_param *params;
    int layer_count, param_count;
    enum net_loss loss;
    struct recipe recipe;
    uint64_t seed;
    int stage;
    int64_t iteration;
    struct ref_layer *buffers; // (layer_count)
    struct ref_param *values;  // (param_count)
    bool *trains;              // (param_count) in the current stage
    struct tensors tensors;
    const struct engine_batch *batch; // while a call runs
    void **memory;                    // all of it (memory_count), for free()
    int memory_count;
    size_t memory_cap;
    bool failed; // to get some
};

static const struct net_layer *ref_input(const struct engine_program *program,
                                         const struct net_layer *layer, int number)
{
    return &program->layers[layer->inputs[number]];
}

// ---- making ----

// Zeroed memory until the program is released. Null, and the program has failed, if there is none.
static void *ref_alloc(struct engine_program *program, int64_t count, size_t size)
{
    void *made = NULL;
    if (array_grow(&program->memory, (size_t)program->memory_count, &program->memory_cap,
                   sizeof *program->memory, NULL) == 0)
        made = calloc(count > 0 ? (size_t)count : 1, size);
    if (made)
        program->memory[program->memory_count++] = made;
    else
        program->failed = true;
    return made;
}

static void ref_release(struct engine_program *program)
{
    for (int i = 0; program && i < program->memory_count; i++)
        free(program->memory[i]);
    if (program)
        free(program->memory);
    free(program);
}

static void make_lstm(struct engine_program *program, const struct net_layer *layer,
                      struct ref_layer *made)
{
    const struct net_shape *in = &ref_input(program, layer, 0)->out;
    const struct ref_param *param = &program->values[layer->first_param];
    for (int i = 0; i <= layer->both_ways; i++, param += 3) {
        int64_t states = program->recipe.batch * in->dim[0] * layer->units;
        made->way[i] = (struct ref_lstm){
            .time = in->dim[0],
            .in = in->dim[1],
            .units = layer->units,
            .row = layer->out.dim[0],
            .reverse = i == 1,
            .hard_gates = layer->hard_gates,
            .w_in = param[0].value,
            .w_state = param[1].value,
            .bias = param[2].value,
            .gates = ref_alloc(program, 4 * states, sizeof(double)),
            .cell = ref_alloc(program, states, sizeof(double)),
            .state = ref_alloc(program, states, sizeof(double)),
            .scratch = ref_alloc(program, REF_LSTM_SCRATCH * layer->units, sizeof(double))};
    }
}

static void make_layer(struct engine_program *program, const struct net_layer *layer,
                       struct ref_layer *made)
{
    int64_t batch = program->recipe.batch, count = batch * net_shape_count(&layer->out);
    made->out = ref_alloc(program, count, sizeof *made->out);
    if (layer->learns)
        made->grad = ref_alloc(program, count, sizeof *made->grad);
    if (layer->op == NET_MAX_POOL)
        made->chosen = ref_alloc(program, count, sizeof *made->chosen);
    if (layer->op == NET_BATCH_NORM) {
        made->norm.mean = ref_alloc(program, layer->out.dim[0], sizeof *made->norm.mean);
        made->norm.inverse = ref_alloc(program, layer->out.dim[0], sizeof *made->norm.inverse);
    }
    if (layer->op == NET_LSTM)
        make_lstm(program, layer, made);
    if (layer->op == NET_ATTENTION) {
        int64_t time = layer->out.dim[0], heads = layer->heads;
        made->attention = (struct ref_attention){
            .time = time,
            .units = layer->units,
            .heads = heads,
            .odds = ref_alloc(program, batch * heads * time * time, sizeof(double)),
            .scratch = ref_alloc(program, time, sizeof(double))};
    }
}

static int make_param(struct engine_program *program, const struct net_param *param,
                      struct ref_param *made, struct err *err)
{
    made->value = ref_alloc(program, param->count, sizeof *made->value);
    if (param->trained)
        made->grad = ref_alloc(program, param->count, sizeof *made->grad);
    for (int i = 0; param->trained && i < recipe_states(&program->recipe); i++)
        made->state[i] = ref_alloc(program, param->count, sizeof *made->state[i]);
    return program->failed ? err_memory(err)
                           : net_init_param(param, program->seed, made->value, err);
}

// Parameters start from the seed, states at zero.
static int ref_build(struct engine_program *program, const struct net *net, struct err *err)
{
    TRY(recipe_check(&program->recipe, net, err));
    program->layer_count = net->layer_count;
    program->param_count = net->param_count;
    program->loss = net->loss;
    program->layers = ref_alloc(program, net->layer_count, sizeof *program->layers);
    program->params = ref_alloc(program, net->param_count, sizeof *program->params);
    program->buffers = ref_alloc(program, net->layer_count, sizeof *program->buffers);
    program->values = ref_alloc(program, net->param_count, sizeof *program->values);
    program->trains = ref_alloc(program, net->param_count, sizeof *program->trains);
    if (program->failed)
        return err_memory(err);
    memcpy(program->layers, net->layers, (size_t)net->layer_count * sizeof *net->layers);
    memcpy(program->params, net->params, (size_t)net->param_count * sizeof *net->params);
    program->tensors = (struct tensors){.first = program->params,
                                        .distance = sizeof *program->params,
                                        .count = program->param_count,
                                        .states = recipe_states(&program->recipe)};
    for (int i = 0; i < net->param_count; i++)
        TRY(make_param(program, &program->params[i], &program->values[i], err));
    for (int i = 0; i < net->layer_count; i++)
        make_layer(program, &program->layers[i], &program->buffers[i]);
    return program->failed ? err_memory(err) : 0;
}

// ---- forward ----

static int ref_check_batch(const struct engine_program *program, const struct engine_batch *batch,
                           bool labelled, struct err *err)
{
    assert(batch->count >= 1 && batch->count <= program->recipe.batch);
    return engine_check_batch(program->layers, program->layer_count, program->loss, batch, labelled,
                              err);
}

static struct dropout dropout_of(const struct engine_program *program, int number)
{
    struct dropout dropout;
    dropout_init(&dropout, program->seed, number, program->iteration, program->layers[number].rate);
    return dropout;
}

static void forward_concat(const struct engine_program *program, int number, int64_t n)
{
    const struct net_layer *layer = &program->layers[number];
    int64_t whole = net_shape_count(&layer->out), at = 0;
    for (int i = 0; i < layer->input_count; i++) {
        int64_t part = net_shape_count(&ref_input(program, layer, i)->out);
        ref_concat(n, part, at, whole, program->buffers[layer->inputs[i]].out,
                   program->buffers[number].out);
        at += part;
    }
}

static void forward_norm(struct engine_program *program, int number, int64_t n, const double *x,
                         bool training)
{
    const struct net_layer *layer = &program->layers[number];
    struct ref_layer *made = &program->buffers[number];
    struct ref_param *p = &program->values[layer->first_param]; // weight, bias, mean, variance
    if (training)
        ref_norm_train(layer, n, x, p[2].value, p[3].value, &made->norm);
    else
        ref_norm_evaluate(layer, p[2].value, p[3].value, &made->norm);
    ref_batch_norm(layer, n, x, &made->norm, p[0].value, p[1].value, made->out);
}

static void forward_dropout(const struct engine_program *program, int number, int64_t count,
                            const double *x, bool training)
{
    double *y = program->buffers[number].out;
    if (training) {
        struct dropout dropout = dropout_of(program, number);
        ref_dropout(&dropout, count, x, y);
    } else {
        memcpy(y, x, (size_t)count * sizeof *y);
    }
}

static const struct ref_param *tied_param(const struct engine_program *program,
                                          const struct net_layer *layer)
{
    return &program->values[program->layers[layer->tied].first_param];
}

static void forward_sequence(struct engine_program *program, int number, int64_t n)
{
    const struct net_layer *layer = &program->layers[number];
    struct ref_layer *made = &program->buffers[number];
    const struct ref_param *p = &program->values[layer->first_param];
    const struct net_shape *in = &ref_input(program, layer, 0)->out;
    const double *x = program->buffers[layer->inputs[0]].out;
    int64_t rows = n * in->dim[0], features = in->dim[1], count = rows * layer->out.dim[1];
    switch (layer->op) {
    case NET_POSITION:
        ref_position(rows, in->dim[0], features, x, p[0].value, made->out);
        break;
    case NET_LAYER_NORM:
        ref_layer_norm(rows, features, layer->epsilon, x, p[0].value, p[1].value, made->out);
        break;
    case NET_LINEAR:
        ref_linear(rows, features, layer->units, x, p[0].value, p[1].value, made->out);
        break;
    case NET_ATTENTION:
        ref_attention(&made->attention, n, x, made->out);
        break;
    case NET_GELU:
        ref_gelu(count, x, made->out);
        break;
    case NET_ADD:
        memcpy(made->out, x, (size_t)count * sizeof *x);
        ref_add(count, program->buffers[layer->inputs[1]].out, made->out);
        break;
    default:
        assert(layer->op == NET_TIED_HEAD);
        ref_tied_head(rows, features, layer->units, x, tied_param(program, layer)->value,
                      made->out);
    }
}

static void forward_layer(struct engine_program *program, int number, bool training)
{
    const struct net_layer *layer = &program->layers[number];
    const struct engine_batch *batch = program->batch;
    struct ref_layer *made = &program->buffers[number];
    struct ref_param *p = &program->values[layer->first_param];
    const struct net_shape *in = layer->input_count ? &ref_input(program, layer, 0)->out : NULL;
    const double *x = layer->input_count ? program->buffers[layer->inputs[0]].out : NULL;
    int64_t n = batch->count, count = n * net_shape_count(&layer->out);
    switch (layer->op) {
    case NET_IMAGE:
        for (int64_t i = 0; i < count; i++)
            made->out[i] = (double)batch->image[i];
        break;
    case NET_TOKENS:
        break; // read in place
    case NET_ONE_HOT:
        ref_one_hot(n * in->dim[0], layer->vocabulary, batch->tokens, made->out);
        break;
    case NET_EMBEDDING:
        ref_embedding(n * in->dim[0], layer->units, batch->tokens, p[0].value, made->out);
        break;
    case NET_LSTM:
        for (int i = 0; i <= layer->both_ways; i++)
            ref_lstm(&made->way[i], n, x, made->out + i * layer->units);
        break;
    case NET_DENSE:
        ref_dense(n, net_shape_count(in), layer->units, x, p[0].value, p[1].value, made->out);
        break;
    case NET_CONV:
        ref_conv(layer, in, n, x, p[0].value, layer->bias ? p[1].value : NULL, made->out);
        break;
    case NET_BATCH_NORM:
        forward_norm(program, number, n, x, training);
        break;
    case NET_MAX_POOL:
        ref_max_pool(layer, in, n, x, made->out, made->chosen);
        break;
    case NET_AVERAGE_POOL:
        ref_average_pool(layer, in, n, x, made->out);
        break;
    case NET_GLOBAL_AVERAGE:
        ref_global_average(in, n, x, made->out);
        break;
    case NET_DROPOUT:
        forward_dropout(program, number, count, x, training);
        break;
    case NET_CONCAT:
        forward_concat(program, number, n);
        break;
    case NET_AUX:
        memcpy(made->out, x, (size_t)count * sizeof *x);
        break;
    case NET_POSITION:
    case NET_LAYER_NORM:
    case NET_LINEAR:
    case NET_ATTENTION:
    case NET_GELU:
    case NET_ADD:
    case NET_TIED_HEAD:
        forward_sequence(program, number, n);
        break;
    }
    if (layer->relu)
        ref_relu(count, made->out);
}

// Leaves the last layer's output in its buffer.
static void ref_forward(struct engine_program *program, bool training)
{
    for (int i = 0; i < program->layer_count; i++)
        forward_layer(program, i, training);
}

// ---- backward ----

static void backward_concat(const struct engine_program *program, int number, int64_t n)
{
    const struct net_layer *layer = &program->layers[number];
    int64_t whole = net_shape_count(&layer->out), at = 0;
    for (int i = 0; i < layer->input_count; i++) {
        const struct net_layer *input = ref_input(program, layer, i);
        int64_t part = net_shape_count(&input->out);
        if (input->learns)
            ref_concat_back(n, part, at, whole, program->buffers[number].grad,
                            program->buffers[layer->inputs[i]].grad);
        at += part;
    }
}

static void backward_aux(const struct engine_program *program, int number, int64_t n)
{
    const struct net_layer *layer = &program->layers[number];
    const struct ref_layer *own = &program->buffers[layer->inputs[0]];
    const struct ref_layer *head = &program->buffers[layer->inputs[1]];
    int64_t units = layer->out.dim[0];
    if (own->grad)
        ref_concat_back(n, units, 0, units, program->buffers[number].grad, own->grad);
    if (head->grad)
        ref_aux_back(layer->weight, n, units, head->out, program->batch->labels, head->grad);
}

static void backward_lstm(const struct engine_program *program, int number, int64_t n,
                          const double *x, double *dx)
{
    const struct net_layer *layer = &program->layers[number];
    const struct ref_layer *made = &program->buffers[number];
    const struct ref_param *p = &program->values[layer->first_param];
    for (int i = 0; i <= layer->both_ways; i++, p += 3)
        ref_lstm_back(&made->way[i], n, x, made->grad + i * layer->units, dx, p[0].grad, p[1].grad,
                      p[2].grad);
}

static void backward_sequence(const struct engine_program *program, int number, int64_t n)
{
    const struct net_layer *layer = &program->layers[number];
    const struct ref_layer *made = &program->buffers[number];
    const struct ref_param *p = &program->values[layer->first_param];
    const struct ref_layer *input = &program->buffers[layer->inputs[0]];
    const struct net_shape *in = &ref_input(program, layer, 0)->out;
    int64_t rows = n * in->dim[0], features = in->dim[1], count = rows * layer->out.dim[1];
    switch (layer->op) {
    case NET_POSITION:
        ref_position_back(rows, in->dim[0], features, made->grad, input->grad, p[0].grad);
        break;
    case NET_LAYER_NORM:
        ref_layer_norm_back(rows, features, layer->epsilon, input->out, p[0].value, made->grad,
                            input->grad, p[0].grad, p[1].grad);
        break;
    case NET_LINEAR:
        ref_linear_back(rows, features, layer->units, input->out, p[0].value, made->grad,
                        input->grad, p[0].grad, p[1].grad);
        break;
    case NET_ATTENTION:
        ref_attention_back(&made->attention, n, input->out, made->grad, input->grad);
        break;
    case NET_GELU:
        ref_gelu_back(count, input->out, made->grad, input->grad);
        break;
    case NET_ADD:
        for (int i = 0; i < 2; i++)
            if (program->buffers[layer->inputs[i]].grad)
                ref_add(count, made->grad, program->buffers[layer->inputs[i]].grad);
        break;
    default:
        assert(layer->op == NET_TIED_HEAD);
        ref_tied_head_back(rows, features, layer->units, input->out,
                           tied_param(program, layer)->value, made->grad, input->grad,
                           tied_param(program, layer)->grad);
    }
}

static void backward_layer(const struct engine_program *program, int number)
{
    const struct net_layer *layer = &program->layers[number];
    const struct engine_batch *batch = program->batch;
    const struct ref_layer *made = &program->buffers[number];
    const struct ref_param *p = &program->values[layer->first_param];
    const struct ref_layer *input = &program->buffers[layer->inputs[0]];
    const struct net_shape *in = &ref_input(program, layer, 0)->out;
    int64_t n = batch->count, count = n * net_shape_count(&layer->out);
    if (layer->relu)
        ref_relu_back(count, made->out, made->grad);
    switch (layer->op) {
    case NET_IMAGE:
    case NET_TOKENS:
    case NET_ONE_HOT:
        break; // they never learn
    case NET_EMBEDDING:
        ref_embedding_back(n * in->dim[0], layer->units, batch->tokens, made->grad, p[0].grad);
        break;
    case NET_LSTM:
        backward_lstm(program, number, n, input->out, input->grad);
        break;
    case NET_DENSE:
        ref_dense_back(n, net_shape_count(in), layer->units, input->out, p[0].value, made->grad,
                       input->grad, p[0].grad, p[1].grad);
        break;
    case NET_CONV:
        ref_conv_back(layer, in, n, input->out, p[0].value, made->grad, input->grad, p[0].grad,
                      layer->bias ? p[1].grad : NULL);
        break;
    case NET_BATCH_NORM:
        ref_batch_norm_back(layer, n, input->out, &made->norm, p[0].value, made->grad, input->grad,
                            p[0].grad, p[1].grad);
        break;
    case NET_MAX_POOL:
        ref_max_pool_back(layer, in, n, made->chosen, made->grad, input->grad);
        break;
    case NET_AVERAGE_POOL:
        ref_average_pool_back(layer, in, n, made->grad, input->grad);
        break;
    case NET_GLOBAL_AVERAGE:
        ref_global_average_back(in, n, made->grad, input->grad);
        break;
    case NET_DROPOUT: {
        struct dropout dropout = dropout_of(program, number);
        ref_dropout_back(&dropout, count, made->grad, input->grad);
        break;
    }
    case NET_CONCAT:
        backward_concat(program, number, n);
        break;
    case NET_AUX:
        backward_aux(program, number, n);
        break;
    case NET_POSITION:
    case NET_LAYER_NORM:
    case NET_LINEAR:
    case NET_ATTENTION:
    case NET_GELU:
    case NET_ADD:
    case NET_TIED_HEAD:
        backward_sequence(program, number, n);
        break;
    }
}

static void ref_backward(struct engine_program *program)
{
    for (int i = program->layer_count - 1; i >= 0; i--)
        if (program->layers[i].learns)
            backward_layer(program, i);
}

static void ref_clear_gradients(struct engine_program *program)
{
    for (int i = 0; i < program->layer_count; i++) {
        int64_t count = program->batch->count * net_shape_count(&program->layers[i].out);
        if (program->buffers[i].grad)
            memset(program->buffers[i].grad, 0, (size_t)count * sizeof(double));
    }
    for (int i = 0; i < program->param_count; i++)
        if (program->values[i].grad)
            memset(program->values[i].grad, 0, (size_t)program->params[i].count * sizeof(double));
}

// ---- the verbs ----

static int ref_set_stage(struct engine_program *program, int stage, struct err *err)
{
    if (stage < 0 || stage >= program->recipe.stage_count)
        return err_set(err, ERR_FAIL, "there is no stage %d of %d", stage,
                       program->recipe.stage_count);
    program->stage = stage;
    float first = program->recipe.optimizer == OPTIMIZER_RMSPROP_MOMENTUM ? 1 : 0;
    for (int i = 0; i < program->param_count; i++)
        for (int s = 0; s < 2; s++)
            for (int64_t k = 0; program->values[i].state[s] && k < program->params[i].count; k++)
                program->values[i].state[s][k] = s == 0 ? first : 0;
    return 0;
}

static int ref_available(const struct engine_options *options, struct err *err)
{
    if (options->precision != ENGINE_F32)
        return err_set(err, ERR_USAGE, "the reference engine knows single precision only");
    return 0;
}

static int ref_compile(const struct net *net, const struct recipe *recipe,
                       const struct engine_options *options, struct engine_program **out,
                       struct err *err)
{
    *out = NULL;
    TRY(ref_available(options, err));
    TRY(net_check(net, err));
    struct engine_program *program = calloc(1, sizeof *program);
    if (!program)
        return err_memory(err);
    program->recipe = *recipe;
    program->seed = options->seed;
    int rc = ref_build(program, net, err);
    if (rc == 0)
        rc = ref_set_stage(program, 0, err);
    if (rc != 0)
        ref_release(program);
    else
        *out = program;
    return rc;
}

// Scales the gradients of what the stage trains, if their norm is over the recipe's clip.
static void clip_gradients(struct engine_program *program, const bool *trains)
{
    double squares = 0, clip = (double)program->recipe.clip;
    for (int i = 0; i < program->param_count; i++)
        for (int64_t k = 0; trains[i] && k < program->params[i].count; k++)
            squares += program->values[i].grad[k] * program->values[i].grad[k];
    double scale = clip / (sqrt(squares) + 1e-6);
    for (int i = 0; scale < 1 && i < program->param_count; i++)
        for (int64_t k = 0; trains[i] && k < program->params[i].count; k++)
            program->values[i].grad[k] *= scale;
}

static void ref_optimize_all(struct engine_program *program)
{
    const struct recipe *recipe = &program->recipe;
    const struct recipe_stage *stage = &recipe->stages[program->stage];
    for (int i = 0; i < program->param_count; i++)
        program->trains[i] = program->params[i].trained &&
                             recipe_trains(stage, &program->layers[program->params[i].layer]);
    if (recipe->clip > 0)
        clip_gradients(program, program->trains);
    double rate = recipe_rate(recipe, program->stage, program->iteration);
    for (int i = 0; i < program->param_count; i++) {
        const struct net_param *param = &program->params[i];
        struct ref_param *p = &program->values[i];
        if (program->trains[i])
            ref_optimize(recipe, rate, program->iteration, param->decayed, param->count, p->grad,
                         p->value, p->state[0], p->state[1]);
    }
}

// The loss of the last layer's outputs; with its gradient for training.
static void ref_lose(struct engine_program *program, bool training, struct engine_score *score)
{
    int last = program->layer_count - 1;
    const struct net_layer *layer = &program->layers[last];
    ref_loss(program->loss, program->batch->count * net_labels(layer), net_classes(layer),
             program->buffers[last].out, program->batch->labels,
             training ? program->buffers[last].grad : NULL, score);
}

static int ref_step(struct engine_program *program, const struct engine_batch *batch,
                    struct engine_score *score, struct err *err)
{
    TRY(ref_check_batch(program, batch, true, err));
    program->batch = batch;
    ref_clear_gradients(program);
    ref_forward(program, true);
    ref_lose(program, true, score);
    ref_backward(program);
    ref_optimize_all(program);
    program->iteration++;
    program->batch = NULL;
    return 0;
}

static int ref_evaluate(struct engine_program *program, const struct engine_batch *batch,
                        struct engine_score *score, struct err *err)
{
    TRY(ref_check_batch(program, batch, true, err));
    program->batch = batch;
    ref_forward(program, false);
    ref_lose(program, false, score);
    program->batch = NULL;
    return 0;
}

static int ref_predict_batch(struct engine_program *program, const struct engine_batch *batch,
                             float *out, struct err *err)
{
    TRY(ref_check_batch(program, batch, false, err));
    program->batch = batch;
    ref_forward(program, false);
    int last = program->layer_count - 1;
    int64_t labels = net_labels(&program->layers[last]),
            units = net_classes(&program->layers[last]);
    for (int64_t i = 0; i < batch->count; i++)
        ref_predict(program->loss, 1, units,
                    program->buffers[last].out + (i * labels + batch->position) * units,
                    out + i * units);
    program->batch = NULL;
    return 0;
}

static void ref_set_iteration(struct engine_program *program, int64_t iteration)
{
    program->iteration = iteration;
}

static int ref_tensor_count(const struct engine_program *program)
{
    return tensors_count(&program->tensors);
}

static float *tensor_values(const struct engine_program *program, int index, int64_t *count)
{
    int state, param = tensors_find(&program->tensors, index, &state);
    *count = program->params[param].count;
    return state < 0 ? program->values[param].value : program->values[param].state[state];
}

static void ref_tensor(const struct engine_program *program, int index,
                       struct engine_tensor *tensor)
{
    tensors_describe(&program->tensors, index, tensor);
}

static int ref_read(struct engine_program *program, int index, float *values, struct err *err)
{
    (void)err;
    int64_t count;
    const float *from = tensor_values(program, index, &count);
    memcpy(values, from, (size_t)count * sizeof *values);
    return 0;
}

static int ref_write(struct engine_program *program, int index, const float *values,
                     struct err *err)
{
    (void)err;
    int64_t count;
    float *to = tensor_values(program, index, &count);
    memcpy(to, values, (size_t)count * sizeof *values);
    return 0;
}

static int ref_distances(const struct engine_options *options, const float *a, const float *b,
                         int64_t n, int64_t m, int64_t dim, float *out, struct err *err)
{
    (void)options;
    (void)err;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) {
            double sum = 0;
            for (int64_t k = 0; k < dim; k++) {
                double apart = (double)a[i * dim + k] - (double)b[j * dim + k];
                sum += apart < 0 ? -apart : apart;
            }
            out[i * m + j] = (float)sum;
        }
    return 0;
}

static const struct engine_l1 ref_l1 = {.distances = ref_distances};

const struct engine engine_ref = {
    .name = "ref",
    .precisions = 1U << ENGINE_F32,
    .about = "plain C on one thread: slow, readable, the reference for tests of the others",
    .available = ref_available,
    .compile = ref_compile,
    .release = ref_release,
    .step = ref_step,
    .evaluate = ref_evaluate,
    .predict = ref_predict_batch,
    .set_stage = ref_set_stage,
    .set_iteration = ref_set_iteration,
    .tensor_count = ref_tensor_count,
    .tensor = ref_tensor,
    .read = ref_read,
    .write = ref_write,
    .l1 = &ref_l1,
};
