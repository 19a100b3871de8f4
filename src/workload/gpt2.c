// SPDX-License-Identifier: Apache-2.0
// gpt2: the next token of a text, with the transformer of GPT-2 (Radford et al. 2019) in its four
// sizes. Layers and tensors have the names and layouts of the transformers library's
// GPT2LMHeadModel.
#include "workload/gpt2.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "workload/workload.h"

#define EPSILON 1e-5F

const struct gpt2_size gpt2_sizes[] = {
    {"3m", 2, 1, 64},       {"124m", 12, 12, 768},   {"350m", 24, 16, 1024},
    {"774m", 36, 20, 1280}, {"1558m", 48, 25, 1600}, {NULL, 0, 0, 0},
};

const char *gpt2_size_name(size_t i)
{
    return gpt2_sizes[i].name;
}

// "transformer.h.3.attn.c_attn"
static const char *name_in(char *name, size_t size, int block, const char *part)
{
    snprintf(name, size, "transformer.h.%d.%s", block, part);
    return name;
}

static int add_block(struct net *net, int x, int block, const struct gpt2_size *size)
{
    char name[NET_NAME_BYTES];
    float end = NET_DEVIATION / sqrtf(2 * (float)size->layers); // of what the residual path adds
#define NAME(part) name_in(name, sizeof name, block, part)
    int y = net_layer_norm(net, x, EPSILON, NAME("ln_1"));
    y = net_linear(net, y, 3 * size->width, NET_DEVIATION, NAME("attn.c_attn"));
    y = net_attention(net, y, size->heads, NAME("attn"));
    y = net_linear(net, y, size->width, end, NAME("attn.c_proj"));
    x = net_add(net, x, y, NAME("sum_1"));
    y = net_layer_norm(net, x, EPSILON, NAME("ln_2"));
    y = net_linear(net, y, 4 * size->width, NET_DEVIATION, NAME("mlp.c_fc"));
    y = net_gelu(net, y, NAME("mlp.act"));
    y = net_linear(net, y, size->width, end, NAME("mlp.c_proj"));
    return net_add(net, x, y, NAME("sum_2"));
#undef NAME
}

void gpt2_build(struct net *net, const struct gpt2_size *size, int context, int vocabulary)
{
    int rows = context > GPT2_CONTEXT ? context : GPT2_CONTEXT;
    int tokens = net_tokens(net, context, vocabulary);
    int words = net_embedding(net, tokens, size->width, "transformer.wte");
    int x = net_position(net, words, rows, "transformer.wpe");
    for (int i = 0; i < size->layers; i++)
        x = add_block(net, x, i, size);
    x = net_layer_norm(net, x, EPSILON, "transformer.ln_f");
    net_tied_head(net, x, words, "lm_head");
    net_set_loss(net, NET_SOFTMAX);
}

static void build(struct net *net, const struct data_pair *data,
                  const struct workload_options *options)
{
    const char *name = options->size ? options->size : GPT2_SIZE;
    const struct gpt2_size *size = gpt2_sizes;
    while (size->name && strcmp(size->name, name) != 0)
        size++;
    if (size->name)
        gpt2_build(net, size, data->train.time, data->train.vocabulary);
    else
        err_set(&net->problem, ERR_USAGE, "gpt2 has no size '%s'", name);
}

const struct workload workload_gpt2 = {
    .name = "gpt2",
    .summary = "the next token of a text: GPT-2, a transformer of 124 million parameters",
    .origin = "Radford et al. 2019, as nanoGPT and llm.c train it",
    .data = "tokens",
    .recipe = {.optimizer = OPTIMIZER_ADAMW,
               .rho = 0.9F,
               .beta2 = 0.95F,
               .epsilon = 1e-8F,
               .weight_decay = 0.1F,
               .clip = 1,
               .warmup = 100,
               .floor = 0.1F,
               .batch = 32,
               .stages = {{.steps = 1000, .rate = 6e-4F}},
               .stage_count = 1},
    .metric = WORKLOAD_FALLS,
    .made_train = 32000,
    .made_test = 64,
    .bf16_on_gpu = true,
    .heavy = true,
    .takes = {.size = GPT2_SIZE, .context = GPT2_CONTEXT},
    .temperature = 0.8,
    .build = build,
};
