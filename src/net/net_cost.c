// SPDX-License-Identifier: Apache-2.0
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
#include "net/net.h"

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
