// SPDX-License-Identifier: Apache-2.0
// registry: finds an engine; also code that engines share.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/cpu/team.h"
#include "train/engine/shared.h"

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

static const struct engine *find_engine(const char *name)
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
    const struct engine *e = name ? find_engine(name) : find_default(options);
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

// ---- dropout ----

uint32_t engine_dropout_threshold(float rate)
{
    assert(rate >= 0 && rate < 1);
    return (uint32_t)((double)rate * 0x1p32 + 0.5); // a float below 1 stays below 2^32
}

void dropout_init(struct dropout *dropout, uint64_t seed, int layer, int64_t iteration, float rate)
{
    struct rng rng;
    rng_init(&rng, seed);
    rng_split(&rng, "dropout", (uint64_t)layer, &rng);
    rng_split(&rng, "iteration", (uint64_t)iteration, &rng);
    memcpy(dropout->key, rng.key, sizeof dropout->key);
    memcpy(dropout->stream, rng.stream, sizeof dropout->stream);
    dropout->threshold = engine_dropout_threshold(rate);
    dropout->scale = 1.0f / (1.0f - rate);
}

static void block_at(const struct dropout *dropout, uint64_t block, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), dropout->stream[0],
                                 dropout->stream[1]};
    rng_philox(counter, dropout->key, words);
}

void dropout_mask(const struct dropout *dropout, uint64_t first, int64_t count, uint8_t *kept)
{
    uint32_t words[4];
    for (int64_t i = 0; i < count; i++) {
        uint64_t index = first + (uint64_t)i;
        if (i == 0 || index % 4 == 0)
            block_at(dropout, index / 4, words);
        kept[i] = words[index % 4] >= dropout->threshold;
    }
}

// ---- tensors ----

static const struct net_param *param_at(const struct tensors *t, int i)
{
    return (const void *)((const char *)t->first + (size_t)i * t->distance);
}

int tensors_count(const struct tensors *t)
{
    int count = t->count;
    for (int i = 0; i < t->count; i++)
        count += param_at(t, i)->trained ? t->states : 0;
    return count;
}

int tensors_find(const struct tensors *t, int index, int *state)
{
    *state = -1;
    if (index < t->count)
        return index;
    int left = index - t->count;
    for (int i = 0; i < t->count; i++) {
        if (!param_at(t, i)->trained)
            continue;
        if (left < t->states) {
            *state = left;
            return i;
        }
        left -= t->states;
    }
    assert(false);
    return -1;
}

void tensors_describe(const struct tensors *t, int index, struct engine_tensor *out)
{
    int state;
    const struct net_param *param = param_at(t, tensors_find(t, index, &state));
    *out = (struct engine_tensor){.role = state < 0 ? ENGINE_PARAMETER : ENGINE_STATE,
                                  .rank = param->rank,
                                  .count = param->count};
    memcpy(out->dim, param->dim, sizeof out->dim);
    if (state < 0)
        snprintf(out->name, sizeof out->name, "%s", param->name);
    else
        snprintf(out->name, sizeof out->name, "%s.state%d", param->name, state);
}

// ---- products ----

#define ROUND_S       0.1
#define SHORT_ROUND_S 0.05
#define ROUNDS        5
#define TIMES         100000 // in a round, at most
#define LEAST_S       1e-7   // a launch alone takes longer

static int timed(const struct product_work *work, int64_t times, double *each_s, struct err *err)
{
    double seconds = 0;
    TRY(work->run(work->context, times, &seconds, err));
    *each_s = seconds / (double)times;
    if (!(*each_s > LEAST_S))
        return err_set(err, ERR_FAIL, "a matrix product took no time");
    return isfinite(seconds) ? 0 : err_set(err, ERR_FAIL, "a matrix product took forever");
}

static int first_product(const struct product_work *work, int64_t size, double *each_s,
                         struct err *err)
{
    TRY(work->prepare(work->context, size, err));
    TRY(timed(work, 1, each_s, err)); // the first one is slower
    return timed(work, 1, each_s, err);
}

// `best_s` holds the time of one product, and may get a better one.
static int time_rounds(const struct product_work *work, double round_s, double *best_s,
                       struct err *err)
{
    double each_s = *best_s;
    int64_t times = each_s * TIMES < round_s ? TIMES : (int64_t)(round_s / each_s);
    times = times > 0 ? times : 1;
    for (int i = 0; i < ROUNDS; i++) {
        TRY(timed(work, times, &each_s, err));
        *best_s = each_s < *best_s ? each_s : *best_s;
    }
    return 0;
}

int product_time(const struct product_work *work, struct engine_product *out, struct err *err)
{
    out->size = PRODUCT_SIZE_MIN;
    for (;; out->size *= 2) {
        TRY(first_product(work, out->size, &out->seconds, err));
        if (out->size * 2 > PRODUCT_SIZE_MAX || out->seconds * 8 > ROUND_S)
            break;
    }
    return time_rounds(work, ROUND_S, &out->seconds, err);
}

int product_time_best(const struct product_work *work, int64_t least, int64_t most,
                      struct engine_product *out, struct err *err)
{
    double each_s = 0;
    for (int64_t size = least; size <= most && each_s * 8 <= ROUND_S; size *= 2) {
        TRY(first_product(work, size, &each_s, err));
        TRY(time_rounds(work, SHORT_ROUND_S, &each_s, err));
        if (size == least || each_s * pow((double)out->size / (double)size, 3) < out->seconds) {
            out->size = size;
            out->seconds = each_s;
        }
    }
    return 0;
}

void product_fill(float *to, int64_t count)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int64_t i = 0; i < count; i++)
        to[i] = 2 * rng_float(&rng) - 1;
}
