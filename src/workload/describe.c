// SPDX-License-Identifier: Apache-2.0
#include "workload/describe.h"

#include <stdio.h>

static const char *op_name(enum net_op op)
{
    static const char *const names[] = {
        [NET_IMAGE] = "image",
        [NET_TOKENS] = "tokens",
        [NET_ONE_HOT] = "one-hot",
        [NET_EMBEDDING] = "embedding",
        [NET_LSTM] = "LSTM",
        [NET_DENSE] = "dense",
        [NET_CONV] = "convolution",
        [NET_BATCH_NORM] = "batch norm",
        [NET_MAX_POOL] = "max pool",
        [NET_AVERAGE_POOL] = "average pool",
        [NET_GLOBAL_AVERAGE] = "global average",
        [NET_DROPOUT] = "dropout",
        [NET_CONCAT] = "concatenation",
        [NET_AUX] = "auxiliary loss",
        [NET_POSITION] = "positions",
        [NET_LAYER_NORM] = "layer norm",
        [NET_LINEAR] = "linear",
        [NET_ATTENTION] = "causal attention",
        [NET_GELU] = "GELU",
        [NET_ADD] = "sum",
        [NET_TIED_HEAD] = "tied head",
    };
    return names[op];
}

static const char *optimizer_name(enum optimizer optimizer)
{
    static const char *const names[] = {[OPTIMIZER_RMSPROP] = "RMSprop",
                                        [OPTIMIZER_RMSPROP_MOMENTUM] = "RMSprop with momentum",
                                        [OPTIMIZER_ADADELTA] = "Adadelta",
                                        [OPTIMIZER_ADAM] = "Adam",
                                        [OPTIMIZER_ADAMW] = "AdamW"};
    return names[optimizer];
}

static int add_layers(const struct net *net, struct workload_info *info, struct err *err)
{
    for (int i = 0; i < net->layer_count; i++) {
        const struct net_layer *layer = &net->layers[i];
        struct workload_layer *row = LIST_ADD(&info->layers, err);
        if (!row)
            return ERR_MEMORY;
        char shape[64];
        int len = 0;
        for (int d = 0; d < layer->out.rank && len < 48; d++)
            len += snprintf(shape + len, sizeof shape - (size_t)len, "%s%d", d ? "×" : "",
                            layer->out.dim[d]);
        int64_t count = 0;
        for (int p = 0; p < layer->param_count; p++)
            if (net->params[layer->first_param + p].trained)
                count += net->params[layer->first_param + p].count;
        if (count > 0)
            row->parameters = some_int(count);
        int rc = text_set(&row->name, layer->name, err);
        if (rc == 0)
            rc = text_set(&row->op, op_name(layer->op), err);
        if (rc == 0)
            rc = text_set(&row->output, shape, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int describe_net(const struct workload *w, bool layers, struct workload_info *info,
                        struct err *err)
{
    struct net net;
    struct net_cost cost;
    int rc = workload_net_as_defined(w, NULL, &net, err);
    if (rc == 0) {
        net_cost(&net, w->recipe.batch, &cost);
        info->parameters = some_int(cost.parameters);
        info->forward_flops = some_real(cost.forward_flops);
        info->backward_flops = some_real(cost.backward_flops);
        info->bytes = some_real(cost.bytes);
        info->batch = some_int(w->recipe.batch);
        if (w->recipe.epochs > 0)
            info->epochs = some_int(w->recipe.epochs);
        else
            info->steps = some_int(w->recipe.stages[0].steps + w->recipe.stages[1].steps);
        rc = text_set(&info->optimizer, optimizer_name(w->recipe.optimizer), err);
    }
    if (rc == 0 && layers)
        rc = add_layers(&net, info, err);
    net_release(&net);
    return rc;
}

int workload_describe(const struct workload *w, bool layers, struct workload_info *info,
                      struct err *err)
{
    int rc = text_set(&info->name, w->name, err);
    if (rc == 0)
        rc = text_set(&info->summary, w->summary, err);
    if (rc == 0)
        rc = text_set(&info->origin, w->origin, err);
    if (rc == 0 && w->build)
        rc = describe_net(w, layers, info, err);
    if (w->metric == WORKLOAD_ACCURACY)
        info->reach_accuracy = some_real(w->reach);
    if (w->metric == WORKLOAD_LOSS)
        info->reach_loss = some_real(w->reach);
    return rc;
}
