// SPDX-License-Identifier: Apache-2.0
// Initial values of parameters (net.h). Only the four operations, square roots and base/rng are
// used, which give the same bits on every CPU; the C library's functions do not.
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/rng.h"
#include "machine/cgroup.h"
#include "train/net/net.h"

#define PARALLEL_LEAST 100000 // numbers worth starting threads for

static void fill_same(float *values, int64_t count, float value)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
}

static void fill_uniform(struct rng *rng, float *values, int64_t count, double bound)
{
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)((2 * (double)rng_float(rng) - 1) * bound);
}

struct normal {
    const struct net_param *param;
    const struct rng *rng;
    float *values;
};

static void fill_rows(void *normal_, int64_t from, int64_t to)
{
    const struct normal *n = normal_;
    int64_t columns = n->param->count / n->param->dim[0];
    for (int64_t row = from; row < to; row++) {
        struct rng own;
        rng_split(n->rng, "row", (uint64_t)row, &own);
        for (int64_t i = 0; i < columns; i++)
            n->values[row * columns + i] = (float)(rng_normal(&own) * (double)n->param->deviation);
    }
}

// Each row has its own stream, so that several threads fill them: there may be a billion numbers.
static void fill_normal(const struct net_param *param, const struct rng *rng, float *values)
{
    struct normal normal = {param, rng, values};
    parallel_for(param->count < PARALLEL_LEAST ? 1 : cpus_usable(), param->dim[0], fill_rows,
                 &normal);
}

// Dense and LSTM weights are out × in, convolutions out × in × height × width, where each output
// reaches as many inputs as the window has cells, and the other way around.
static double glorot_bound(const struct net_param *param)
{
    assert(param->rank == 2 || param->rank == 4);
    double window = 1;
    for (int i = 2; i < param->rank; i++)
        window *= (double)param->dim[i];
    double fans = (double)(param->dim[0] + param->dim[1]) * window;
    return sqrt(6 / fans);
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

// A uniformly random orthogonal matrix: rows of normal numbers, made orthonormal by Gram-Schmidt,
// twice, because once leaves rounding errors.
static void fill_orthogonal(struct rng *rng, double *rows, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = rows + i * n, length = 0;
        while (length <
               1e-8) { // linearly dependent on those before, which practically never happens
            for (int64_t k = 0; k < n; k++)
                row[k] = rng_normal(rng);
            for (int pass = 0; pass < 2; pass++)
                for (int64_t j = 0; j < i; j++) {
                    double along = dot(row, rows + j * n, n);
                    for (int64_t k = 0; k < n; k++)
                        row[k] -= along * rows[j * n + k];
                }
            length = sqrt(dot(row, row, n));
        }
        for (int64_t k = 0; k < n; k++)
            row[k] /= length;
    }
}

static int fill_orthogonal_blocks(const struct net_param *param, struct rng *rng, float *values,
                                  struct err *err)
{
    int64_t n = param->dim[1];
    assert(param->rank == 2 && param->dim[0] % n == 0);
    SCOPED(free_pointer) double *block = calloc((size_t)n * (size_t)n, sizeof *block);
    if (!block)
        return err_memory(err);
    for (int64_t at = 0; at < param->count; at += n * n) {
        fill_orthogonal(rng, block, n);
        for (int64_t i = 0; i < n * n; i++)
            values[at + i] = (float)block[i];
    }
    return 0;
}

int net_init_param(const struct net_param *param, uint64_t seed, float *values, struct err *err)
{
    struct rng rng;
    rng_init(&rng, seed);
    rng_split(&rng, "start", 0, &rng);
    rng_split(&rng, param->name, 0, &rng);
    int64_t count = param->count;
    switch (param->init) {
    case NET_ZERO:
        fill_same(values, count, 0);
        break;
    case NET_ONE:
        fill_same(values, count, 1);
        break;
    case NET_GLOROT:
        fill_uniform(&rng, values, count, glorot_bound(param));
        break;
    case NET_UNIFORM_005:
        fill_uniform(&rng, values, count, 0.05);
        break;
    case NET_LSTM_BIAS: // gates i f g o
        fill_same(values, count, 0);
        fill_same(values + count / 4, count / 4, 1);
        break;
    case NET_NORMAL:
        fill_normal(param, &rng, values);
        break;
    case NET_ORTHOGONAL:
        return fill_orthogonal_blocks(param, &rng, values, err);
    }
    return 0;
}

// ==== net_cost ====
// The least work of one training step, from the shapes alone.
//
// Operations are those of matrix products and convolutions, by the usual count: padding cells are
// included, elementwise operations, which run at memory speed, are not. A one-hot input selects
// rows and costs none. A net with one label per token has, as is customary, one multiply-add per
// token and trained parameter, and attention in full (all pairs of time steps): 6 × parameters + 12
// × layers × width × time operations per token and step. Bytes are single-precision numbers moved
// by a machine that keeps nothing between layers: the forward pass reads a layer's inputs and
// parameters and writes its output; the backward pass reads the output's gradient, the inputs it
// needs and the parameters, and writes the gradients. The update reads gradient and parameter and
// writes the parameter; the optimizer's state comes on top (8 bytes × number of states ×
// parameters). Of an embedding, only the rows looked up count. A tied head's outputs go straight
// into the loss and do not count.

static const struct net_layer *input_of(const struct net *net, const struct net_layer *layer)
{
    return &net->layers[layer->inputs[0]];
}

// Numbers in memory for one sample of a layer's output: a one-hot vector is its token.
static double stored(const struct net_layer *layer)
{
    if (layer->op == NET_ONE_HOT)
        return layer->out.dim[0];
    if (layer->op == NET_TIED_HEAD)
        return 0;
    return (double)net_shape_count(&layer->out);
}

static double params_of(const struct net *net, const struct net_layer *layer)
{
    double count = 0;
    for (int i = 0; i < layer->param_count; i++)
        count += (double)net->params[layer->first_param + i].count;
    return count;
}

// Multiply-adds of one sample of a transformer's layer.
static double sequence_products(const struct net *net, const struct net_layer *layer)
{
    double time = layer->out.dim[0];
    if (layer->op == NET_ATTENTION)
        return 2 * time * time * layer->units;
    if (layer->op == NET_TIED_HEAD)
        return time * params_of(net, &net->layers[layer->tied]);
    return time * params_of(net, layer);
}

// Multiply-adds of one sample: with the input, and (LSTM) with the state of the step before.
static void products(const struct net *net, const struct net_layer *layer, double *with_input,
                     double *with_state)
{
    *with_input = *with_state = 0;
    if (layer->op == NET_DENSE) {
        *with_input = (double)net_shape_count(&input_of(net, layer)->out) * layer->units;
    } else if (layer->op == NET_CONV) {
        double taps = (double)input_of(net, layer)->out.dim[0] * layer->kernel_h * layer->kernel_w;
        *with_input = taps * (double)net_shape_count(&layer->out);
    } else if (layer->op == NET_LSTM) {
        const struct net_layer *input = input_of(net, layer);
        double gates = (layer->both_ways ? 8.0 : 4.0) * layer->units * input->out.dim[0];
        *with_input = input->op == NET_ONE_HOT ? 0 : gates * input->out.dim[1];
        *with_state = gates * layer->units;
    } else if (net_of_transformer(layer->op)) {
        *with_input = sequence_products(net, layer);
    }
}

static void add_flops(const struct net *net, const struct net_layer *layer, double batch,
                      struct net_cost *cost)
{
    double with_input, with_state;
    products(net, layer, &with_input, &with_state);
    cost->forward_flops += 2 * batch * (with_input + with_state);
    // Backward: one product for the weights' gradient, one for the input's.
    bool input_learns = layer->input_count > 0 && input_of(net, layer)->learns;
    cost->backward_flops += 2 * batch * (with_input * (input_learns ? 2 : 1) + with_state * 2);
}

static bool needs_inputs_again(enum net_op op)
{
    return op == NET_DENSE || op == NET_CONV || op == NET_LSTM || op == NET_BATCH_NORM ||
           (net_of_transformer(op) && op != NET_POSITION && op != NET_ADD);
}

static double numbers_moved(const struct net *net, const struct net_layer *layer, double batch)
{
    double out = batch * stored(layer), moved = out;
    for (int i = 0; i < layer->input_count; i++) {
        const struct net_layer *input = &net->layers[layer->inputs[i]];
        double in = batch * stored(input);
        moved += in + (needs_inputs_again(layer->op) ? in : 0) + (input->learns ? in : 0);
    }
    if (layer->learns)
        moved += out; // its gradient
    if (layer->op == NET_LSTM) {
        // Each time step writes and reads back the four gates, the cell and the state.
        double steps = (double)input_of(net, layer)->out.dim[0] * (layer->both_ways ? 2 : 1);
        moved += 2 * batch * steps * 6 * layer->units;
    }
    return moved;
}

static double param_numbers_moved(const struct net *net, const struct net_param *param,
                                  double batch)
{
    if (!param->trained)
        return 2 * (double)param->count;
    const struct net_layer *layer = &net->layers[param->layer];
    double count = (double)param->count;
    bool whole = net->layers[net->layer_count - 1].tied == param->layer;
    if (layer->op == NET_EMBEDDING && !whole) {
        double rows = batch * layer->out.dim[0];
        count = (rows < layer->vocabulary ? rows : layer->vocabulary) * layer->units;
    }
    return 6 * count; // read forward and back; gradient written and read; read and written
}

void net_cost(const struct net *net, int64_t batch, struct net_cost *cost)
{
    *cost = (struct net_cost){0};
    double numbers = 0;
    for (int i = 0; i < net->layer_count; i++) {
        add_flops(net, &net->layers[i], (double)batch, cost);
        numbers += numbers_moved(net, &net->layers[i], (double)batch);
    }
    for (int i = 0; i < net->param_count; i++) {
        const struct net_param *param = &net->params[i];
        cost->parameters += param->trained ? param->count : 0;
        numbers += param_numbers_moved(net, param, (double)batch);
    }
    cost->bytes = numbers * (double)sizeof(float);
}

// ==== recipe ====

bool recipe_trains(const struct recipe_stage *stage, const struct net_layer *layer)
{
    if (layer->param_count == 0)
        return false;
    if (!stage->only)
        return true;
    size_t whole = strlen(layer->name), end = strlen(stage->only);
    if (end > whole || strcmp(layer->name + whole - end, stage->only) != 0)
        return false;
    return end == whole || layer->name[whole - end - 1] == '.';
}

double recipe_rate(const struct recipe *recipe, int stage, int64_t t)
{
    const struct recipe_stage *now = &recipe->stages[stage];
    double top = (double)now->rate, low = top * (double)recipe->floor;
    if (recipe->warmup == 0)
        return top;
    if (t < recipe->warmup)
        return top * (double)(t + 1) / (double)recipe->warmup;
    if (t >= now->steps)
        return low;
    double done = (double)(t - recipe->warmup) / (double)(now->steps - recipe->warmup);
    return low + (top - low) * 0.5 * (1 + cos(M_PI * done));
}

int recipe_check(const struct recipe *recipe, const struct net *net, struct err *err)
{
    if (recipe->batch < 1 || recipe->batch > INT32_MAX || recipe->stage_count < 1 ||
        recipe->stage_count > RECIPE_STAGES_MAX)
        return err_set(err, ERR_FAIL, "net '%s': a recipe with a batch of %lld and %d stages",
                       net->name, (long long)recipe->batch, recipe->stage_count);
    if (recipe->warmup < 0 ||
        (recipe->warmup > 0 && (recipe->stage_count != 1 || recipe->stages[0].steps < 1)) ||
        !(recipe->floor >= 0 && recipe->floor <= 1) || !(recipe->clip >= 0))
        return err_set(err, ERR_FAIL,
                       "net '%s': a recipe with a warm-up of %lld steps, a floor of %g and a clip "
                       "of %g",
                       net->name, (long long)recipe->warmup, (double)recipe->floor,
                       (double)recipe->clip);
    for (int stage = 0; stage < recipe->stage_count; stage++) {
        bool some = false;
        for (int i = 0; i < net->layer_count; i++)
            some |= recipe_trains(&recipe->stages[stage], &net->layers[i]);
        if (!some && recipe->stages[stage].only)
            return err_set(err, ERR_FAIL, "net '%s': there is no layer '%s' to train", net->name,
                           recipe->stages[stage].only);
    }
    return 0;
}
