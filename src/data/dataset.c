// SPDX-License-Identifier: Apache-2.0
#include "data/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "data/cifar.h"
#include "data/folder.h"
#include "data/idx.h"
#include "data/images.h"
#include "data/reviews.h"
#include "data/synth.h"
#include "data/text.h"
#include "data/tweets.h"

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
    memset(pair, 0, sizeof *pair);
}

void dataset_tokens(const struct dataset *set, int64_t i, int32_t *out)
{
    size_t time = (size_t)set->time, have = time;
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

// The folder that the public archive of a kind unpacks to.
static const char *archive_folder(enum data_kind kind)
{
    switch (kind) {
    case DATA_CIFAR:
        return "cifar-10-batches-bin";
    case DATA_REVIEWS:
        return "aclImdb";
    case DATA_FLOWERS:
        return "flower_photos";
    case DATA_MNIST:
    case DATA_TWEETS:
    case DATA_TEXT:
        break;
    }
    return NULL;
}

static int open_real(enum data_kind kind, const struct data_options *options, const char *dir,
                     struct data_pair *pair, struct err *err)
{
    switch (kind) {
    case DATA_MNIST:
        return idx_open(dir, pair, err);
    case DATA_CIFAR:
        return cifar_open(dir, pair, err);
    case DATA_REVIEWS:
        return reviews_open(dir, pair, err);
    case DATA_TWEETS:
        return tweets_open(dir, options->seed, pair, err);
    case DATA_TEXT:
        return text_open(dir, pair, err);
    case DATA_FLOWERS:
        return images_open(dir, options->seed, options->threads, pair, err);
    }
    return err_set(err, ERR_USAGE, "no such kind of data");
}

static int open_dir(enum data_kind kind, const struct data_options *options, struct data_pair *pair,
                    struct err *err)
{
    struct buf deeper = {0};
    const char *below = archive_folder(kind), *dir = options->dir;
    int rc = 0;
    if (below) {
        buf_printf(&deeper, "%s/%s", dir, below);
        rc = buf_check(&deeper, err);
        if (rc == 0 && folder_is(buf_str(&deeper)))
            dir = buf_str(&deeper);
    }
    if (rc == 0)
        rc = open_real(kind, options, dir, pair, err);
    if (rc == 0 && !pair->source) {
        pair->source = text_copy(dir, err);
        rc = pair->source ? 0 : ERR_MEMORY;
    }
    buf_release(&deeper);
    return rc;
}

int data_open(enum data_kind kind, const struct data_options *options, struct data_pair *pair,
              struct err *err)
{
    memset(pair, 0, sizeof *pair);
    int rc =
        options->dir ? open_dir(kind, options, pair, err) : synth_make(kind, options, pair, err);
    if (rc != 0)
        data_release(pair);
    return rc;
}
