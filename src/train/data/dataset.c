// SPDX-License-Identifier: Apache-2.0
#include "train/data/dataset.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/buf.h"
#include "base/rng.h"
#include "train/data/folder.h"
#include "train/data/images.h"
#include "train/data/sets.h"
#include "machine/cgroup.h"

static void release_set(struct dataset *set)
{
    free(set->pixels);
    image_files_free(set->files);
    free(set->tokens);
    free(set->starts);
    free(set->labels);
}

void data_release(struct data_pair *pair)
{
    release_set(&pair->train);
    release_set(&pair->test);
    free(pair->name);
    free(pair->source);
    free(pair->identity);
    free(pair->words);
    for (int i = 0; i < 2; i++) {
        if (pair->memory[i].mapped)
            munmap(pair->memory[i].bytes, pair->memory[i].size);
        else
            free(pair->memory[i].bytes);
    }
    memset(pair, 0, sizeof *pair);
}

static void copy_stream(const struct dataset *set, int64_t i, int shift, int32_t *out)
{
    const uint16_t *from = set->stream + i * set->token_stride + shift;
    for (int t = 0; t < set->time; t++)
        out[t] = from[t];
}

void dataset_labels_of(const struct dataset *set, int64_t i, int32_t *out)
{
    if (set->stream)
        copy_stream(set, i, 1, out);
    else
        *out = set->labels[i];
}

void dataset_tokens(const struct dataset *set, int64_t i, int32_t *out)
{
    size_t time = (size_t)set->time, have = time;
    if (set->stream) {
        copy_stream(set, i, 0, out);
        return;
    }
    const int32_t *from;
    if (set->starts) {
        from = set->tokens + set->starts[i];
        have = (size_t)(set->starts[i + 1] - set->starts[i]);
        have = have < time ? have : time;
        memset(out + have, 0, (time - have) * sizeof *out);
    } else {
        from = set->tokens + i * set->token_stride;
    }
    memcpy(out, from, have * sizeof *out);
}

int32_t *dataset_shuffled(const char *use, uint64_t seed, int64_t count, struct err *err)
{
    struct rng rng;
    int32_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        err_memory(err);
    for (int64_t i = 0; order && i < count; i++)
        order[i] = (int32_t)i;
    rng_init(&rng, seed);
    rng_split(&rng, use, 0, &rng);
    if (order)
        rng_shuffle(&rng, order, (size_t)count, sizeof *order);
    return order;
}

// The words of dataset.h for what was read.
static int name_pair(const struct public_set *set, struct data_pair *pair, struct err *err)
{
    long long count = pair->train.count + pair->test.count, all = set->train + set->test;
    bool whole = set->identity ? strcmp(pair->identity, set->identity) == 0
                               : pair->train.count == set->train && pair->test.count == set->test;
    bool part = false;
    for (size_t i = 0; i < sizeof set->subsets / sizeof *set->subsets; i++)
        part |= set->subsets[i] && strcmp(pair->identity, set->subsets[i]) == 0;
    struct buf name = {0};
    if (whole)
        buf_adds(&name, set->name);
    else if (part)
        buf_printf(&name, "%s, %lld of %lld", set->name, count, all);
    else
        buf_printf(&name, "own %s, %lld samples", set->format, count);
    pair->name = buf_take(&name, err);
    return pair->name ? 0 : ERR_MEMORY;
}

static int open_dir(const struct public_set *set, const struct data_options *options,
                    struct data_pair *pair, struct err *err)
{
    SCOPED(buf_release) struct buf deeper = {0};
    const char *dir = options->dir;
    if (set->folder) {
        buf_printf(&deeper, "%s/%s", dir, set->folder);
        TRY(buf_check(&deeper, err));
        if (folder_is(buf_str(&deeper)))
            dir = buf_str(&deeper);
    }
    TRY(set->open(dir, options, pair, err));
    if (!pair->source) {
        pair->source = text_copy(dir, err);
        if (!pair->source)
            return ERR_MEMORY;
    }
    return name_pair(set, pair, err);
}

static int make_pair(const struct public_set *set, const struct data_options *options,
                     struct data_pair *pair, struct err *err)
{
    int64_t train = options->made_train ? options->made_train : set->train;
    int64_t test = options->made_test ? options->made_test : set->test;
    if (train < 1 || test < 0 || train > INT32_MAX || test > INT32_MAX)
        return err_set(err, ERR_USAGE, "cannot make %lld and %lld samples", (long long)train,
                       (long long)test);
    TRY(synth_make(&set->synth, &set->shape, options, train, test, pair, err));
    struct buf source = {0}, identity = {0};
    unsigned long long seed = options->seed;
    buf_printf(&source, "made from seed %llu", seed);
    buf_printf(&identity, "made:%s:%llu", strrchr(set->made, ' ') + 1, seed);
    pair->made = true;
    pair->name = text_copy(set->made, err);
    pair->source = buf_take(&source, err);
    pair->identity = buf_take(&identity, err);
    return pair->name && pair->source && pair->identity ? 0 : ERR_MEMORY;
}

int data_open(const char *name, const struct data_options *options, struct data_pair *pair,
              struct err *err)
{
    memset(pair, 0, sizeof *pair);
    const struct public_set *set = public_set_find(name, err);
    if (!set)
        return ERR_USAGE;
    struct data_options o = *options;
    o.threads = o.threads > 0 ? o.threads : cpus_usable();
    int rc = o.dir ? open_dir(set, &o, pair, err) : make_pair(set, &o, pair, err);
    if (rc != 0)
        data_release(pair);
    return rc;
}
