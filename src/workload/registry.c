// SPDX-License-Identifier: Apache-2.0
#include "workload/workload.h"

#include <string.h>

#include "base/opt.h"
#include "data/sets.h"
#include "workload/gpt2.h"

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
