// SPDX-License-Identifier: Apache-2.0
// registry: finds an engine; also code that engines share.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engine/cpu/team.h"
#include "engine/engine.h"

#define ROW(name) &engine_##name,
static const struct engine *const engines[] = {ENGINES(ROW)};
#undef ROW
#define ROW(name) #name,
const char *const engine_names[] = {ENGINES(ROW) NULL};
#undef ROW
const char *const engine_precisions[] = {
    [ENGINE_F32] = "f32", [ENGINE_BF16] = "bf16", [ENGINE_TF32] = "tf32", NULL};

int engine_threads(int wanted)
{
    return team_set(wanted);
}

static const struct engine *find(const char *name)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    return NULL;
}

static const struct engine *find_default(const struct engine_options *options)
{
    size_t i = 0;
    while (engines[i]->gpu && engines[i]->available(options, NULL) == ERR_MISSING)
        i++;
    return engines[i];
}

static int find_precision(const char *name, enum engine_precision *precision)
{
    for (int i = 0; engine_precisions[i]; i++)
        if (strcmp(engine_precisions[i], name) == 0) {
            *precision = (enum engine_precision)i;
            return 0;
        }
    return ERR_USAGE;
}

// "the engine 'cpu' has f32 and bf16, not tf32"
static int no_precision(const struct engine *engine, const char *wanted, struct err *err)
{
    char list[64] = "";
    size_t used = 0;
    for (int i = 0; engine_precisions[i]; i++)
        if (engine->precisions & 1U << i)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", used ? " and " : "",
                                     engine_precisions[i]);
    return err_set(err, ERR_USAGE, "the engine '%s' has %s, not %s", engine->name, list, wanted);
}

int engine_choose(const char *name, const char *precision, struct engine_options *options,
                  const struct engine **engine, struct err *err)
{
    options->precision = ENGINE_F32;
    if (precision && find_precision(precision, &options->precision) != 0)
        return err_set(err, ERR_USAGE, "there is no precision '%s'", precision);
    const struct engine *e = name ? find(name) : find_default(options);
    if (!e)
        return err_set(err, ERR_USAGE, "there is no engine '%s'", name);
    if (!(e->precisions & 1U << options->precision))
        return no_precision(e, precision, err);
    struct engine_options tf32 = *options;
    tf32.precision = ENGINE_TF32;
    if (!precision && e->precisions & 1U << ENGINE_TF32 && e->available(&tf32, NULL) == 0)
        *options = tf32;
    *engine = e;
    return 0;
}

int engine_check_batch(const struct net_layer *layers, int layer_count, enum net_loss loss,
                       const struct engine_batch *batch, bool labelled, struct err *err)
{
    const struct net_layer *last = &layers[layer_count - 1];
    int classes = loss == NET_SIGMOID ? 2 : net_classes(last), each = net_labels(last);
    for (int64_t i = 0; labelled && i < batch->count * each; i++)
        if (batch->labels[i] < 0 || batch->labels[i] >= classes)
            return err_set(err, ERR_FORMAT, "label %d of sample %lld is not one of %d classes",
                           batch->labels[i], (long long)(i / each), classes);
    assert(batch->position >= 0 && batch->position < each);
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
