// SPDX-License-Identifier: Apache-2.0
// registry: the engines there are, and what they share. A new one is one row here.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

static const struct engine *const engines[] = {&engine_ref, &engine_cpu, &engine_cuda};

#define ENGINE_COUNT (sizeof engines / sizeof *engines)

const struct engine *engine_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];

    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < ENGINE_COUNT && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 engines[i]->name);
    err_set(err, ERR_USAGE, "there is no engine '%s'", name);
    err_hint(err, "engines are: %s", list);
    return NULL;
}

int engine_check_batch(const struct net_layer *layers, int layer_count, enum net_loss loss,
                       const struct engine_batch *batch, bool labelled, struct err *err)
{
    int classes = loss == NET_SIGMOID ? 2 : layers[layer_count - 1].out.dim[0];
    for (int64_t i = 0; labelled && i < batch->count; i++)
        if (batch->labels[i] < 0 || batch->labels[i] >= classes)
            return err_set(err, ERR_FORMAT, "label %d of sample %lld is not one of %d classes",
                           batch->labels[i], (long long)i, classes);
    for (int l = 0; l < layer_count; l++) {
        const struct net_layer *layer = &layers[l];
        assert(layer->op != NET_IMAGE || batch->image);
        if (layer->op != NET_TOKENS)
            continue;
        assert(batch->tokens);
        for (int64_t i = 0; i < batch->count * layer->out.dim[0]; i++)
            if (batch->tokens[i] < 0 || batch->tokens[i] >= layer->vocabulary)
                return err_set(
                    err, ERR_FORMAT, "token %d of sample %lld is not in the vocabulary of %d",
                    batch->tokens[i], (long long)(i / layer->out.dim[0]), layer->vocabulary);
    }
    return 0;
}
