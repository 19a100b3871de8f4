// SPDX-License-Identifier: Apache-2.0
#include "train/net/net.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

// The most numbers in a sample's layer or in a parameter. It also keeps every product of sizes far
// from overflow.
#define NET_SHAPE_MAX ((int64_t)INT32_MAX)
#define NET_PARAM_MAX ((int64_t)1 << 40)

static const char *const op_names[] = {
    [NET_IMAGE] = "image",
    [NET_TOKENS] = "tokens",
    [NET_ONE_HOT] = "one_hot",
    [NET_EMBEDDING] = "embedding",
    [NET_LSTM] = "lstm",
    [NET_DENSE] = "dense",
    [NET_CONV] = "conv",
    [NET_BATCH_NORM] = "batch_norm",
    [NET_MAX_POOL] = "max_pool",
    [NET_AVERAGE_POOL] = "average_pool",
    [NET_GLOBAL_AVERAGE] = "global_average",
    [NET_DROPOUT] = "dropout",
    [NET_CONCAT] = "concat",
    [NET_AUX] = "aux",
    [NET_POSITION] = "position",
    [NET_LAYER_NORM] = "layer_norm",
    [NET_LINEAR] = "linear",
    [NET_ATTENTION] = "attention",
    [NET_GELU] = "gelu",
    [NET_ADD] = "add",
    [NET_TIED_HEAD] = "tied_head",
};

void net_init(struct net *net, const char *name)
{
    memset(net, 0, sizeof *net);
    int length = snprintf(net->name, sizeof net->name, "%s", name);
    if (length >= (int)sizeof net->name)
        err_set(&net->problem, ERR_FAIL, "net '%s...': its name is too long", net->name);
}

void net_release(struct net *net)
{
    free(net->layers);
    free(net->params);
    memset(net, 0, sizeof *net);
}

int64_t net_shape_count(const struct net_shape *shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape->rank; i++)
        count *= shape->dim[i];
    return count;
}

// ---- mistakes ----

static bool broken(const struct net *net)
{
    return net->problem.code != 0;
}

static int net_mistake(struct net *net, const struct net_layer *layer, const char *format, ...)
    PRINTF_LIKE(3, 4);
static int net_mistake(struct net *net, const struct net_layer *layer, const char *format, ...)
{
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    err_set(&net->problem, ERR_FAIL, "net '%s', layer '%s': %s", net->name, layer->name, what);
    return -1;
}

// "an image of 3 × 32 × 32", for messages.
static const char *net_describe_shape(const struct net_shape *shape, char *text, size_t size)
{
    if (shape->rank == 3)
        snprintf(text, size, "an image of %d × %d × %d", shape->dim[0], shape->dim[1],
                 shape->dim[2]);
    else if (shape->rank == 2)
        snprintf(text, size, "a sequence of %d × %d", shape->dim[0], shape->dim[1]);
    else
        snprintf(text, size, "a vector of %d", shape->dim[0]);
    return text;
}

// ---- a layer, from net_begin() to net_finish() ----
// Each of these functions returns null, false or -1 after a mistake, which sticks in the net.

static bool read_inputs(struct net *net, struct net_layer *layer, const int *from, int count)
{
    for (int i = 0; i < count; i++) {
        if (from[i] < 0 || from[i] >= net->layer_count) {
            net_mistake(net, layer, "reads layer %d, which is not there", from[i]);
            return false;
        }
        const struct net_layer *input = &net->layers[from[i]];
        if (input->op == NET_TOKENS && layer->op != NET_ONE_HOT && layer->op != NET_EMBEDDING) {
            net_mistake(net, layer, "cannot read tokens; embed them or make them one-hot first");
            return false;
        }
        layer->inputs[i] = from[i];
        layer->learns |= input->learns;
    }
    layer->input_count = count;
    return true;
}

static struct net_layer *net_begin(struct net *net, enum net_op op, const char *name,
                                   const int *from, int count)
{
    if (broken(net))
        return NULL;
    if (array_grow(&net->layers, (size_t)net->layer_count, &net->layer_cap, sizeof *net->layers,
                   &net->problem) != 0)
        return NULL;
    struct net_layer *layer = &net->layers[net->layer_count];
    memset(layer, 0, sizeof *layer);
    layer->op = op;
    layer->stride = 1;
    layer->tied = -1;
    layer->first_param = net->param_count;
    int length =
        name ? snprintf(layer->name, sizeof layer->name, "%s", name)
             : snprintf(layer->name, sizeof layer->name, "%s%d", op_names[op], net->layer_count);
    if (length == 0 || length >= (int)sizeof layer->name) {
        net_mistake(net, layer, "its name is %s", length == 0 ? "empty" : "too long");
        return NULL;
    }
    for (int i = 0; i < net->layer_count; i++)
        if (strcmp(net->layers[i].name, layer->name) == 0) {
            net_mistake(net, layer, "there is another layer of this name");
            return NULL;
        }
    return read_inputs(net, layer, from, count) ? layer : NULL;
}

// A parameter of the layer that is being built; unused dimensions are 0.
static bool net_add_param(struct net *net, struct net_layer *layer, const char *name,
                          enum net_init init, const int dim[4])
{
    if (array_grow(&net->params, (size_t)net->param_count, &net->param_cap, sizeof *net->params,
                   &net->problem) != 0)
        return false;
    struct net_param *param = &net->params[net->param_count];
    memset(param, 0, sizeof *param);
    snprintf(param->name, sizeof param->name, "%s.%s", layer->name, name);
    param->layer = net->layer_count;
    param->init = init;
    param->trained = true;
    param->count = 1;
    for (; param->rank < 4 && dim[param->rank] > 0; param->rank++) {
        param->dim[param->rank] = dim[param->rank];
        if (param->count > NET_PARAM_MAX / dim[param->rank]) {
            net_mistake(net, layer, "its %s is too large", name);
            return false;
        }
        param->count *= dim[param->rank];
    }
    net->param_count++;
    layer->param_count++;
    layer->learns = true;
    return true;
}

// A new layer after the others, not counted yet. A null name becomes the operation's name and the
// layer's number.
static int net_finish(struct net *net, struct net_layer *layer, struct net_shape out)
{
    int64_t count = 1;
    for (int i = 0; i < out.rank; i++) {
        count *= out.dim[i];
        if (count > NET_SHAPE_MAX)
            return net_mistake(net, layer, "its output is too large");
    }
    layer->out = out;
    return net->layer_count++;
}

static const struct net_shape *net_input_shape(const struct net *net, const struct net_layer *layer)
{
    return &net->layers[layer->inputs[0]].out;
}

static bool net_positive(struct net *net, const struct net_layer *layer, const char *what,
                         int value)
{
    if (value > 0)
        return true;
    net_mistake(net, layer, "its %s must be at least 1, not %d", what, value);
    return false;
}

// Whether a size is at least 1, and the first input has this rank.
static bool net_wants_rank(struct net *net, const struct net_layer *layer, int rank)
{
    const struct net_shape *in = net_input_shape(net, layer);
    if (in->rank == rank)
        return true;
    char text[80];
    net_mistake(net, layer, "needs %s, but '%s' gives %s", rank == 3 ? "an image" : "a sequence",
                net->layers[layer->inputs[0]].name, net_describe_shape(in, text, sizeof text));
    return false;
}

// ---- inputs ----

static bool is_first_input(struct net *net, const struct net_layer *layer)
{
    for (int i = 0; i < net->layer_count; i++)
        if (net->layers[i].op == layer->op) {
            net_mistake(net, layer, "there is such an input already: '%s'", net->layers[i].name);
            return false;
        }
    return true;
}

int net_image(struct net *net, int channels, int height, int width)
{
    struct net_layer *layer = net_begin(net, NET_IMAGE, NULL, NULL, 0);
    if (!layer || !is_first_input(net, layer) || !net_positive(net, layer, "channels", channels) ||
        !net_positive(net, layer, "height", height) || !net_positive(net, layer, "width", width))
        return -1;
    return net_finish(net, layer, (struct net_shape){3, {channels, height, width}});
}

int net_tokens(struct net *net, int time, int vocabulary)
{
    struct net_layer *layer = net_begin(net, NET_TOKENS, NULL, NULL, 0);
    if (!layer || !is_first_input(net, layer) || !net_positive(net, layer, "time", time) ||
        !net_positive(net, layer, "vocabulary", vocabulary))
        return -1;
    layer->vocabulary = vocabulary;
    return net_finish(net, layer, (struct net_shape){2, {time, 1}});
}

static bool net_reads_tokens(struct net *net, struct net_layer *layer)
{
    const struct net_layer *input = &net->layers[layer->inputs[0]];
    layer->vocabulary = input->vocabulary;
    if (input->op != NET_TOKENS)
        net_mistake(net, layer, "needs tokens, but reads '%s'", input->name);
    return input->op == NET_TOKENS;
}

int net_one_hot(struct net *net, int from)
{
    struct net_layer *layer = net_begin(net, NET_ONE_HOT, NULL, &from, 1);
    if (!layer || !net_reads_tokens(net, layer))
        return -1;
    int time = net_input_shape(net, layer)->dim[0];
    return net_finish(net, layer, (struct net_shape){2, {time, layer->vocabulary}});
}

int net_embedding(struct net *net, int from, int units, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_EMBEDDING, name, &from, 1);
    if (!layer || !net_reads_tokens(net, layer) || !net_positive(net, layer, "width", units) ||
        !net_add_param(net, layer, "weight", NET_UNIFORM_005, (int[4]){layer->vocabulary, units}))
        return -1;
    layer->units = units;
    int time = net_input_shape(net, layer)->dim[0];
    return net_finish(net, layer, (struct net_shape){2, {time, units}});
}

// ---- layers with weights ----

// Keeps 4 × units, and twice the units, inside an int.
#define NET_LSTM_UNITS_MAX (1 << 20)

int net_lstm(struct net *net, int from, int units, bool both_ways, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_LSTM, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2) || !net_positive(net, layer, "width", units))
        return -1;
    int time = net_input_shape(net, layer)->dim[0], features = net_input_shape(net, layer)->dim[1];
    if (units > NET_LSTM_UNITS_MAX || (int64_t)time * 4 * units > NET_SHAPE_MAX)
        return net_mistake(net, layer, "%d units are too many", units);
    for (int way = 0; way <= both_ways; way++) {
        static const char *const names[2][3] = {
            {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0"},
            {"weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse"}};
        if (!net_add_param(net, layer, names[way][0], NET_GLOROT, (int[4]){4 * units, features}) ||
            !net_add_param(net, layer, names[way][1], NET_ORTHOGONAL, (int[4]){4 * units, units}) ||
            !net_add_param(net, layer, names[way][2], NET_LSTM_BIAS, (int[4]){4 * units}))
            return -1;
    }
    layer->units = units;
    layer->bias = true;
    layer->both_ways = both_ways;
    return net_finish(net, layer, (struct net_shape){1, {both_ways ? 2 * units : units}});
}

static bool add_weight_and_bias(struct net *net, struct net_layer *layer, const int dim[4])
{
    if (!net_add_param(net, layer, "weight", NET_GLOROT, dim))
        return false;
    net->params[net->param_count - 1].decayed = true;
    return !layer->bias || net_add_param(net, layer, "bias", NET_ZERO, (int[4]){dim[0]});
}

int net_dense(struct net *net, int from, int units, bool relu, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_DENSE, name, &from, 1);
    if (!layer || !net_positive(net, layer, "width", units))
        return -1;
    layer->units = units;
    layer->relu = relu;
    layer->bias = true;
    int in = (int)net_shape_count(net_input_shape(net, layer)); // net_finish() checked that it fits
    if (!add_weight_and_bias(net, layer, (int[4]){units, in}))
        return -1;
    return net_finish(net, layer, (struct net_shape){1, {units}});
}

// Output size of a window that slides over `in` cells, and the padding it needs; 0: none fits.
static int slide(int in, int kernel, int stride, enum net_padding padding, int *before, int *after)
{
    *before = *after = 0;
    if (padding == NET_VALID)
        return in < kernel ? 0 : (in - kernel) / stride + 1;
    int out = in / stride + (in % stride != 0);
    int64_t missing = (int64_t)(out - 1) * stride + kernel - in;
    if (missing > 0) {
        *before = (int)(missing / 2);
        *after = (int)(missing - missing / 2);
    }
    return out;
}

// Sets kernel, stride, padding and output size of a convolution or a pool.
static bool set_window(struct net *net, struct net_layer *layer, int kernel_h, int kernel_w,
                       int stride, enum net_padding padding, struct net_shape *out)
{
    if (!net_wants_rank(net, layer, 3) || !net_positive(net, layer, "kernel's height", kernel_h) ||
        !net_positive(net, layer, "kernel's width", kernel_w) ||
        !net_positive(net, layer, "stride", stride))
        return false;
    const struct net_shape *in = net_input_shape(net, layer);
    layer->kernel_h = kernel_h;
    layer->kernel_w = kernel_w;
    layer->stride = stride;
    int height = slide(in->dim[1], kernel_h, stride, padding, &layer->pad_top, &layer->pad_bottom);
    int width = slide(in->dim[2], kernel_w, stride, padding, &layer->pad_left, &layer->pad_right);
    if (height == 0 || width == 0) {
        net_mistake(net, layer, "a kernel of %d × %d does not fit into '%s', which is %d × %d",
                    kernel_h, kernel_w, net->layers[layer->inputs[0]].name, in->dim[1], in->dim[2]);
        return false;
    }
    *out = (struct net_shape){3, {in->dim[0], height, width}};
    return true;
}

int net_conv(struct net *net, int from, struct net_conv conv, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_CONV, name, &from, 1);
    struct net_shape out;
    if (!layer || !net_positive(net, layer, "number of filters", conv.filters) ||
        !set_window(net, layer, conv.kernel_h, conv.kernel_w, conv.stride == 0 ? 1 : conv.stride,
                    conv.padding, &out))
        return -1;
    layer->units = conv.filters;
    layer->relu = conv.relu;
    layer->bias = !conv.no_bias;
    int dim[4] = {conv.filters, out.dim[0], conv.kernel_h, conv.kernel_w};
    if (!add_weight_and_bias(net, layer, dim))
        return -1;
    out.dim[0] = conv.filters;
    return net_finish(net, layer, out);
}

int net_batch_norm(struct net *net, int from, float decay, float epsilon, bool relu,
                   const char *name)
{
    struct net_layer *layer = net_begin(net, NET_BATCH_NORM, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 3))
        return -1;
    if (!(decay >= 0 && decay <= 1) || !(epsilon > 0 && epsilon < INFINITY))
        return net_mistake(net, layer, "a decay of %g and an epsilon of %g make no sense",
                           (double)decay, (double)epsilon);
    layer->decay = decay;
    layer->epsilon = epsilon;
    layer->relu = relu;
    int dim[4] = {net_input_shape(net, layer)->dim[0]};
    if (!net_add_param(net, layer, "weight", NET_ONE, dim) ||
        !net_add_param(net, layer, "bias", NET_ZERO, dim) ||
        !net_add_param(net, layer, "running_mean", NET_ZERO, dim) ||
        !net_add_param(net, layer, "running_var", NET_ONE, dim))
        return -1;
    net->params[net->param_count - 2].trained = false;
    net->params[net->param_count - 1].trained = false;
    return net_finish(net, layer, *net_input_shape(net, layer));
}

// ---- layers without weights ----

static int pool(struct net *net, enum net_op op, int from, int size, int stride,
                enum net_padding padding)
{
    struct net_layer *layer = net_begin(net, op, NULL, &from, 1);
    struct net_shape out;
    if (!layer || !set_window(net, layer, size, size, stride, padding, &out))
        return -1;
    return net_finish(net, layer, out);
}

int net_max_pool(struct net *net, int from, int size, int stride, enum net_padding padding)
{
    return pool(net, NET_MAX_POOL, from, size, stride, padding);
}

int net_average_pool(struct net *net, int from, int size, int stride, enum net_padding padding)
{
    return pool(net, NET_AVERAGE_POOL, from, size, stride, padding);
}

int net_global_average(struct net *net, int from)
{
    struct net_layer *layer = net_begin(net, NET_GLOBAL_AVERAGE, NULL, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 3))
        return -1;
    return net_finish(net, layer, (struct net_shape){1, {net_input_shape(net, layer)->dim[0]}});
}

int net_dropout(struct net *net, int from, float rate)
{
    struct net_layer *layer = net_begin(net, NET_DROPOUT, NULL, &from, 1);
    if (!layer)
        return -1;
    if (!(rate >= 0 && rate < 1))
        return net_mistake(net, layer, "the rate must be at least 0 and below 1, not %g",
                           (double)rate);
    layer->rate = rate;
    return net_finish(net, layer, *net_input_shape(net, layer));
}

int net_concat(struct net *net, const int *from, int count)
{
    bool some = count >= 1 && count <= NET_INPUTS_MAX;
    struct net_layer *layer = net_begin(net, NET_CONCAT, NULL, from, some ? count : 0);
    if (!layer)
        return -1;
    if (!some)
        return net_mistake(net, layer, "joins 1 to %d layers, not %d", NET_INPUTS_MAX, count);
    if (!net_wants_rank(net, layer, 3))
        return -1;
    struct net_shape out = *net_input_shape(net, layer);
    int64_t channels = 0;
    for (int i = 0; i < count; i++) {
        const struct net_layer *input = &net->layers[layer->inputs[i]];
        char first[80], other[80];
        if (input->out.rank != 3 || input->out.dim[1] != out.dim[1] ||
            input->out.dim[2] != out.dim[2])
            return net_mistake(net, layer, "'%s' gives %s and '%s' gives %s",
                               net->layers[layer->inputs[0]].name,
                               net_describe_shape(&out, first, sizeof first), input->name,
                               net_describe_shape(&input->out, other, sizeof other));
        channels += input->out.dim[0];
    }
    if (channels > NET_SHAPE_MAX)
        return net_mistake(net, layer, "its output is too large");
    out.dim[0] = (int)channels;
    return net_finish(net, layer, out);
}

int net_aux(struct net *net, int from, int head, float weight)
{
    struct net_layer *layer = net_begin(net, NET_AUX, NULL, (int[2]){from, head}, 2);
    if (!layer)
        return -1;
    const struct net_layer *own = &net->layers[from], *other = &net->layers[head];
    if (own->out.rank != 1 || other->out.rank != 1 || own->out.dim[0] != other->out.dim[0]) {
        char first[80], second[80];
        return net_mistake(net, layer,
                           "needs two vectors of one length, but '%s' gives %s and '%s' %s",
                           own->name, net_describe_shape(&own->out, first, sizeof first),
                           other->name, net_describe_shape(&other->out, second, sizeof second));
    }
    if (from == head)
        return net_mistake(net, layer, "needs two layers, but reads '%s' twice", own->name);
    if (!(weight > 0 && weight < INFINITY))
        return net_mistake(net, layer, "a weight of %g makes no sense", (double)weight);
    layer->weight = weight;
    return net_finish(net, layer, own->out);
}

void net_set_hard_gates(struct net *net, int lstm)
{
    if (broken(net) || lstm < 0)
        return;
    assert(lstm < net->layer_count && net->layers[lstm].op == NET_LSTM);
    net->layers[lstm].hard_gates = true;
}

void net_set_loss(struct net *net, enum net_loss loss)
{
    net->loss = loss;
}

// ---- the whole ----

static bool is_read(const struct net *net, int number)
{
    for (int i = number + 1; i < net->layer_count; i++)
        for (int j = 0; j < net->layers[i].input_count; j++)
            if (net->layers[i].inputs[j] == number)
                return true;
    return false;
}

int net_check(const struct net *net, struct err *err)
{
    if (broken(net))
        return err_pass(err, net->problem.code, &net->problem);
    if (net->layer_count == 0)
        return err_set(err, ERR_FAIL, "net '%s' has no layers", net->name);
    for (int i = 0; i + 1 < net->layer_count; i++) {
        enum net_op op = net->layers[i].op;
        bool ends = op == NET_AUX || op == NET_TIED_HEAD;
        const char *problem = !is_read(net, i) ? "no other layer reads it"
                              : ends           ? "it must be the last layer"
                                               : NULL;
        if (problem)
            return err_set(err, ERR_FAIL, "net '%s', layer '%s': %s", net->name,
                           net->layers[i].name, problem);
    }

    const struct net_layer *last = &net->layers[net->layer_count - 1];
    if ((last->out.rank != 1 && last->op != NET_TIED_HEAD) || !last->learns)
        return err_set(err, ERR_FAIL,
                       "net '%s', layer '%s': the last layer must be a vector that is learned, or "
                       "a tied head",
                       net->name, last->name);
    if (last->op == NET_TIED_HEAD && net->loss != NET_SOFTMAX)
        return err_set(err, ERR_FAIL, "net '%s', layer '%s': a tied head needs a softmax",
                       net->name, last->name);
    if (net->loss == NET_SIGMOID && last->out.dim[0] != 1)
        return err_set(err, ERR_FAIL, "net '%s', layer '%s': a sigmoid needs one unit, not %d",
                       net->name, last->name, last->out.dim[0]);
    if (net->loss != NET_SOFTMAX && last->op == NET_AUX)
        return err_set(err, ERR_FAIL, "net '%s', layer '%s': an auxiliary loss needs a softmax",
                       net->name, last->name);
    return 0;
}

// ==== net_sequence ====
// The layers of a transformer: sequences of time × features in and out, the same weights for every
// time step.

// Keeps a product of two widths inside an int.
#define NET_WIDTH_MAX (1 << 24)

static struct net_param *last_param(struct net *net)
{
    return &net->params[net->param_count - 1];
}

int net_position(struct net *net, int from, int rows, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_POSITION, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2) || !net_positive(net, layer, "length", rows))
        return -1;
    struct net_shape in = *net_input_shape(net, layer);
    if (rows < in.dim[0])
        return net_mistake(net, layer, "has %d positions, but '%s' has %d time steps", rows,
                           net->layers[from].name, in.dim[0]);
    if (!net_add_param(net, layer, "weight", NET_NORMAL, (int[4]){rows, in.dim[1]}))
        return -1;
    last_param(net)->deviation = NET_DEVIATION;
    last_param(net)->decayed = true;
    layer->units = in.dim[1];
    return net_finish(net, layer, in);
}

int net_layer_norm(struct net *net, int from, float epsilon, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_LAYER_NORM, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2))
        return -1;
    if (!(epsilon > 0 && epsilon < INFINITY))
        return net_mistake(net, layer, "an epsilon of %g makes no sense", (double)epsilon);
    layer->epsilon = epsilon;
    struct net_shape in = *net_input_shape(net, layer);
    int dim[4] = {in.dim[1]};
    if (!net_add_param(net, layer, "weight", NET_ONE, dim) ||
        !net_add_param(net, layer, "bias", NET_ZERO, dim))
        return -1;
    return net_finish(net, layer, in);
}

int net_linear(struct net *net, int from, int units, float deviation, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_LINEAR, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2) || !net_positive(net, layer, "width", units))
        return -1;
    if (!(deviation > 0 && deviation < INFINITY))
        return net_mistake(net, layer, "a deviation of %g makes no sense", (double)deviation);
    struct net_shape in = *net_input_shape(net, layer);
    if (units > NET_WIDTH_MAX)
        return net_mistake(net, layer, "%d units are too many", units);
    layer->units = units;
    layer->bias = true;
    if (!net_add_param(net, layer, "weight", NET_NORMAL, (int[4]){in.dim[1], units}))
        return -1;
    last_param(net)->deviation = deviation;
    last_param(net)->decayed = true;
    if (!net_add_param(net, layer, "bias", NET_ZERO, (int[4]){units}))
        return -1;
    return net_finish(net, layer, (struct net_shape){2, {in.dim[0], units}});
}

int net_attention(struct net *net, int from, int heads, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_ATTENTION, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2) || !net_positive(net, layer, "heads", heads))
        return -1;
    struct net_shape in = *net_input_shape(net, layer);
    if (in.dim[1] % 3 != 0 || in.dim[1] / 3 % heads != 0)
        return net_mistake(net, layer,
                           "reads q, k and v of %d heads side by side, but '%s' has %d features, "
                           "which is no multiple of %d",
                           heads, net->layers[from].name, in.dim[1], 3 * heads);
    layer->heads = heads;
    layer->units = in.dim[1] / 3;
    return net_finish(net, layer, (struct net_shape){2, {in.dim[0], layer->units}});
}

int net_gelu(struct net *net, int from, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_GELU, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2))
        return -1;
    return net_finish(net, layer, *net_input_shape(net, layer));
}

int net_add(struct net *net, int from, int other, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_ADD, name, (int[2]){from, other}, 2);
    if (!layer || !net_wants_rank(net, layer, 2))
        return -1;
    const struct net_layer *a = &net->layers[from], *b = &net->layers[other];
    if (b->out.rank != 2 || a->out.dim[0] != b->out.dim[0] || a->out.dim[1] != b->out.dim[1]) {
        char first[80], second[80];
        return net_mistake(net, layer, "cannot add: '%s' gives %s and '%s' gives %s", a->name,
                           net_describe_shape(&a->out, first, sizeof first), b->name,
                           net_describe_shape(&b->out, second, sizeof second));
    }
    if (from == other)
        return net_mistake(net, layer, "needs two layers, but reads '%s' twice", a->name);
    return net_finish(net, layer, a->out);
}

int net_tied_head(struct net *net, int from, int embedding, const char *name)
{
    struct net_layer *layer = net_begin(net, NET_TIED_HEAD, name, &from, 1);
    if (!layer || !net_wants_rank(net, layer, 2))
        return -1;
    if (embedding < 0 || embedding >= net->layer_count ||
        net->layers[embedding].op != NET_EMBEDDING)
        return net_mistake(net, layer, "needs an embedding to share, and layer %d is none",
                           embedding);
    const struct net_layer *shared = &net->layers[embedding];
    const struct net_shape *in = net_input_shape(net, layer);
    if (in->dim[1] != shared->units)
        return net_mistake(net, layer, "'%s' gives %d features, but '%s' has %d",
                           net->layers[from].name, in->dim[1], shared->name, shared->units);
    layer->tied = embedding;
    layer->units = layer->vocabulary = shared->vocabulary;
    struct net_param *table = &net->params[shared->first_param];
    table->init = NET_NORMAL;
    table->deviation = NET_DEVIATION;
    table->decayed = true;
    return net_finish(net, layer, (struct net_shape){2, {in->dim[0], layer->units}});
}

bool net_of_transformer(enum net_op op)
{
    return op >= NET_POSITION && op <= NET_TIED_HEAD;
}

int net_labels(const struct net_layer *last)
{
    return last->op == NET_TIED_HEAD ? last->out.dim[0] : 1;
}

int net_classes(const struct net_layer *last)
{
    return last->out.dim[last->out.rank - 1];
}
