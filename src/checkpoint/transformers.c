// SPDX-License-Identifier: Apache-2.0
// The two files beside a GPT-2's checkpoints that the transformers library looks for: its
// config.json, and model.safetensors, here a link to the newest checkpoint.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "checkpoint/checkpoint.h"

#define LINK      "model.safetensors"
#define TEMPORARY ".fare-tmp-" LINK

struct shape { // of a GPT-2
    int layers, heads, width, positions, vocabulary;
    float epsilon;
};

static bool is_gpt2(const struct net *net, struct shape *shape)
{
    *shape = (struct shape){0};
    for (int i = 0; i < net->layer_count; i++) {
        const struct net_layer *layer = &net->layers[i];
        if (layer->op == NET_ATTENTION) {
            shape->layers++;
            shape->heads = layer->heads;
            shape->width = layer->units;
        }
        if (layer->op == NET_POSITION)
            shape->positions = (int)net->params[layer->first_param].dim[0];
        if (layer->op == NET_LAYER_NORM)
            shape->epsilon = layer->epsilon;
    }
    shape->vocabulary = net_classes(&net->layers[net->layer_count - 1]);
    return net->layers[net->layer_count - 1].op == NET_TIED_HEAD && shape->layers > 0 &&
           shape->positions > 0;
}

static int write_config(const char *dir, const struct shape *s, struct err *err)
{
    struct buf text = {0}, path = {0};
    buf_adds(&text, "{\"architectures\": [\"GPT2LMHeadModel\"], \"model_type\": \"gpt2\",\n");
    buf_printf(&text,
               " \"n_layer\": %d, \"n_head\": %d, \"n_embd\": %d, \"n_positions\": %d, "
               "\"n_ctx\": %d, \"vocab_size\": %d,\n",
               s->layers, s->heads, s->width, s->positions, s->positions, s->vocabulary);
    buf_printf(&text,
               " \"activation_function\": \"gelu_new\", \"layer_norm_epsilon\": %g,\n"
               " \"attn_pdrop\": 0.0, \"embd_pdrop\": 0.0, \"resid_pdrop\": 0.0,\n"
               " \"initializer_range\": 0.02, \"tie_word_embeddings\": true}\n",
               (double)s->epsilon);
    buf_printf(&path, "%s/config.json", dir);
    int rc = buf_check(&text, err);
    if (rc == 0)
        rc = buf_check(&path, err);
    if (rc == 0)
        rc = fs_write(buf_str(&path), text.data, text.len, err);
    buf_release(&text);
    buf_release(&path);
    return rc;
}

static int link_newest(const char *dir, const char *checkpoint, struct err *err)
{
    const char *slash = strrchr(checkpoint, '/');
    struct buf link = {0}, temporary = {0};
    buf_printf(&link, "%s/" LINK, dir);
    buf_printf(&temporary, "%s/" TEMPORARY, dir);
    int rc = buf_check(&link, err);
    if (rc == 0)
        rc = buf_check(&temporary, err);
    if (rc == 0) {
        unlink(buf_str(&temporary));
        if (symlink(slash ? slash + 1 : checkpoint, buf_str(&temporary)) != 0 ||
            rename(buf_str(&temporary), buf_str(&link)) != 0)
            rc = err_errno(err, errno, "cannot make the link '%s'", buf_str(&link));
    }
    buf_release(&link);
    buf_release(&temporary);
    return rc;
}

int checkpoint_for_transformers(const char *dir, const char *checkpoint, const struct net *net,
                                struct err *err)
{
    struct shape shape;
    if (!is_gpt2(net, &shape))
        return 0;
    TRY(write_config(dir, &shape, err));
    return link_newest(dir, checkpoint, err);
}
