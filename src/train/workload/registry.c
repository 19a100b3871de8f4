// SPDX-License-Identifier: Apache-2.0
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/opt.h"
#include "train/data/fetch.h"
#include "train/data/sets.h"
#include "train/workload/workload.h"

#define ROW(name) &workload_##name,
const struct workload *const workloads[] = {WORKLOADS(ROW) NULL};
#undef ROW

const struct workload *workload_find(const char *name, struct err *err)
{
    const char *names[sizeof workloads / sizeof *workloads] = {NULL};
    for (size_t i = 0; workloads[i]; i++) {
        if (strcmp(workloads[i]->name, name) == 0)
            return workloads[i];
        names[i] = workloads[i]->name;
    }
    err_set(err, ERR_USAGE, "'%s' is not a workload", name);
    const char *nearest = opt_nearest(name, names);
    if (nearest)
        err_hint(err, "did you mean '%s'? 'fare workloads' lists them all", nearest);
    else
        err_hint(err, "'fare workloads' lists them");
    return NULL;
}

int workload_check_options(const struct workload *workload, const struct workload_options *options,
                           struct err *err)
{
    if (options && options->hard_gates && !workload->takes.hard_gates)
        return err_set(err, ERR_USAGE, "'%s' has no LSTM for --hard-gates", workload->name);
    if (options && options->auxiliary && !workload->takes.auxiliary)
        return err_set(err, ERR_USAGE, "'%s' has no auxiliary head", workload->name);
    if (options && options->size && !workload->takes.size)
        return err_set(err, ERR_USAGE, "'%s' has one size only", workload->name);
    if (options && options->context > 0 && !workload->takes.context)
        return err_set(err, ERR_USAGE, "'%s' has no context to choose", workload->name);
    if (options && options->context > GPT2_CONTEXT)
        return err_set(err, ERR_USAGE, "the context of '%s' is at most %d tokens, not %lld",
                       workload->name, GPT2_CONTEXT, (long long)options->context);
    return 0;
}

void workload_variant(const struct workload_options *options, struct buf *out)
{
    size_t before = out->len;
    if (options->hard_gates)
        buf_adds(out, "hard gates");
    if (options->auxiliary)
        buf_adds(out, "auxiliary head");
    if (options->size && strcmp(options->size, GPT2_SIZE) != 0)
        buf_adds(out, options->size);
    if (options->context > 0 && options->context != GPT2_CONTEXT)
        buf_printf(out, "%scontext %lld", out->len > before ? ", " : "",
                   (long long)options->context);
}

int workload_net(const struct workload *workload, const struct data_pair *data,
                 const struct workload_options *options, struct net *net, struct err *err)
{
    static const struct workload_options defaults;
    net_init(net, workload->name);
    TRY(workload_check_options(workload, options, err));
    if (!workload->build)
        return err_set(err, ERR_USAGE, "'%s' has no net", workload->name);
    workload->build(net, data, options ? options : &defaults);
    return net_check(net, err);
}

int workload_net_as_defined(const struct workload *workload, const struct workload_options *options,
                            struct net *net, struct err *err)
{
    struct data_pair data = {0};
    const struct public_set *set = workload->data ? public_set_find(workload->data, err) : NULL;
    if (workload->data && !set)
        return ERR_USAGE;
    if (set)
        data.train = set->shape;
    if (options && options->context > 0 && workload->takes.context)
        data.train.time = (int)options->context;
    return workload_net(workload, &data, options, net, err);
}

struct batcher_options workload_batches(const struct workload *workload, uint64_t seed,
                                        bool training, int threads)
{
    return (struct batcher_options){
        .batch = workload->recipe.batch,
        .seed = seed,
        .shuffle = training,
        .shift_flip = training && workload->shift_flip,
        .flip = training && workload->flip,
        .centre_unit = workload->centre_unit,
        .threads = threads,
    };
}

// ==== data ====
// Where a workload's samples come from.

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

// 1 and `dir`, 0 if there is none, or an error. DIR/mnist if that is a folder, else DIR: one --data
// works for `fare run all`, and a folder with just the files for one workload.
static int find_dir(const struct workload *workload, const char *data, struct buf *dir,
                    struct err *err)
{
    if (data) {
        buf_printf(dir, "%s/%s", data, workload->data);
        if (buf_check(dir, NULL) == 0 && is_folder(buf_str(dir)))
            return 1;
        buf_reset(dir);
        buf_adds(dir, data);
        return buf_check(dir, err) == 0 ? 1 : ERR_MEMORY;
    }
    // Where `fare workloads data get` puts it.
    TRY(data_cache_dir(workload->data, dir, err));
    return is_folder(buf_str(dir));
}

int workload_data_open(const struct workload *workload, const char *data,
                       const struct workload_options *options, int threads, struct data_pair *out,
                       struct err *err)
{
    SCOPED(buf_release) struct buf dir = {0};
    int found = find_dir(workload, data, &dir, err);
    const struct data_options data_options = {
        .dir = found > 0 ? buf_str(&dir) : NULL,
        .seed = 1, // of generated sets: the same data for every seed of the training
        .made_train = workload->made_train,
        .made_test = workload->made_test,
        .threads = threads,
        .context = options ? (int)options->context : 0,
    };
    return found < 0 ? found : data_open(workload->data, &data_options, out, err);
}

bool workload_is_target(const struct workload *workload, const struct data_pair *data)
{
    return !data->made && data->name && strcmp(data->name, workload->data) == 0;
}

// ==== l1 ====
// The distances between all pairs of two sets of vectors, as on the first rented GPUs. Nothing
// is trained; the engine's l1() is timed.

const struct workload workload_l1 = {
    .name = "l1",
    .summary = "L1 distances between all pairs of two sets of vectors",
    .origin = "all-pairs L1 distances on rented GPUs, 2015",
    .metric = WORKLOAD_L1,
    .reach = 1e-5,
};

// ==== describe ====

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
    TRY(text_set(&info->name, w->name, err));
    TRY(text_set(&info->summary, w->summary, err));
    TRY(text_set(&info->origin, w->origin, err));
    if (w->build)
        TRY(describe_net(w, layers, info, err));
    if (w->metric == WORKLOAD_ACCURACY)
        info->reach_accuracy = some_real(w->reach);
    if (w->metric == WORKLOAD_LOSS)
        info->reach_loss = some_real(w->reach);
    return 0;
}
