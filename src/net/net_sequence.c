// SPDX-License-Identifier: Apache-2.0
// The layers of a transformer: sequences of time × features in and out, the same weights for every
// time step.
#include <assert.h>
#include <math.h>

#include "net/net_parts.h"

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
