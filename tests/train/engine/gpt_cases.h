// SPDX-License-Identifier: Apache-2.0
// A small GPT, for tests of engines: the layers of gpt2 with a table of positions of any length.
#ifndef FARE_TESTS_ENGINE_GPT_CASES_H
#define FARE_TESTS_ENGINE_GPT_CASES_H

#include <math.h>
#include <stdio.h>

#include "train/net/net.h"

struct gpt {
    int layers, heads, width, time, vocabulary, positions;
};

// The two halves of a block.
#define GPT_NAME(part) (snprintf(name, sizeof name, "h.%d.%s", block, part), name)
static inline int build_gpt_attention(struct net *net, const struct gpt *g, int x, int block)
{
    char name[NET_NAME_BYTES];
    float end = 0.02f / sqrtf(2 * (float)g->layers);
    int y = net_layer_norm(net, x, 1e-5f, GPT_NAME("ln_1"));
    y = net_linear(net, y, 3 * g->width, 0.02f, GPT_NAME("attn.c_attn"));
    y = net_attention(net, y, g->heads, GPT_NAME("attn"));
    y = net_linear(net, y, g->width, end, GPT_NAME("attn.c_proj"));
    return net_add(net, x, y, GPT_NAME("sum_1"));
}

static inline int build_gpt_mlp(struct net *net, const struct gpt *g, int x, int block)
{
    char name[NET_NAME_BYTES];
    float end = 0.02f / sqrtf(2 * (float)g->layers);
    int y = net_layer_norm(net, x, 1e-5f, GPT_NAME("ln_2"));
    y = net_linear(net, y, 4 * g->width, 0.02f, GPT_NAME("mlp.c_fc"));
    y = net_gelu(net, y, GPT_NAME("act"));
    y = net_linear(net, y, g->width, end, GPT_NAME("mlp.c_proj"));
    return net_add(net, x, y, GPT_NAME("sum_2"));
}
#undef GPT_NAME

static inline int build_gpt_block(struct net *net, const struct gpt *g, int x, int block)
{
    return build_gpt_mlp(net, g, build_gpt_attention(net, g, x, block), block);
}

static inline void build_gpt(struct net *net, const struct gpt *g)
{
    net_init(net, "gpt");
    int words = net_embedding(net, net_tokens(net, g->time, g->vocabulary), g->width, "wte");
    int x = net_position(net, words, g->positions, "wpe");
    for (int i = 0; i < g->layers; i++)
        x = build_gpt_block(net, g, x, i);
    x = net_layer_norm(net, x, 1e-5f, "ln_f");
    net_tied_head(net, x, words, "head");
}

// ---- one operation each, between an embedding and its head ----

struct gpt_case {
    const char *name;
    int (*add)(struct net *net, const struct gpt *g, int x); // returns the layer for the head
    double bound;                                            // the cpu engine's
};

static inline int case_nothing(struct net *net, const struct gpt *g, int x)
{
    (void)net, (void)g;
    return x;
}

static inline int case_position(struct net *net, const struct gpt *g, int x)
{
    return net_position(net, x, g->positions, "wpe");
}

static inline int case_norm(struct net *net, const struct gpt *g, int x)
{
    (void)g;
    return net_layer_norm(net, x, 1e-5f, "norm");
}

static inline int case_linear(struct net *net, const struct gpt *g, int x)
{
    x = net_linear(net, x, 2 * g->width + 1, 0.3f, "wide");
    return net_linear(net, x, g->width, 0.3f, "narrow");
}

static inline int case_gelu(struct net *net, const struct gpt *g, int x)
{
    x = net_linear(net, x, g->width, 0.7f, "first");
    return net_linear(net, net_gelu(net, x, "act"), g->width, 0.3f, "second");
}

// One layer is read by three: gradients are summed.
static inline int case_add(struct net *net, const struct gpt *g, int x)
{
    int y = net_linear(net, x, g->width, 0.3f, "a");
    int z = net_gelu(net, x, "act");
    return net_add(net, net_add(net, x, y, "one"), z, "two");
}

static inline int case_attention(struct net *net, const struct gpt *g, int x)
{
    x = net_position(net, x, g->positions, "wpe");
    x = net_linear(net, x, 3 * g->width, 0.3f, "qkv");
    return net_attention(net, x, g->heads, "attention");
}

// q, k and v are read twice.
static inline int case_attention_shared(struct net *net, const struct gpt *g, int x)
{
    int both = net_linear(net, x, 3 * g->width, 0.3f, "qkv");
    x = net_attention(net, both, g->heads, "attention");
    return net_add(net, x, net_linear(net, both, g->width, 0.3f, "other"), "sum");
}

static inline int case_block(struct net *net, const struct gpt *g, int x)
{
    return build_gpt_block(net, g, net_position(net, x, g->positions, "wpe"), 0);
}

static const struct gpt_case gpt_cases[] = {
    {"nothing", case_nothing, 1e-6},     {"position", case_position, 3e-6},
    {"norm", case_norm, 1e-5},           {"linear", case_linear, 2e-5},
    {"gelu", case_gelu, 1e-5},           {"add", case_add, 5e-6},
    {"attention", case_attention, 2e-5}, {"attention_shared", case_attention_shared, 2e-5},
    {"block", case_block, 2e-5},
};

// layers, heads, width, time, vocabulary, positions. The last two have more than one block of
// rows, and more rows than a chunk of the head.
static const struct gpt gpt_sizes[] = {
    {1, 1, 3, 1, 2, 1},    {1, 1, 1, 5, 7, 6},      {1, 3, 6, 5, 11, 5},
    {1, 2, 34, 7, 29, 12}, {1, 4, 64, 33, 101, 40}, {1, 2, 16, 130, 57, 130},
};

static inline void build_gpt_case(struct net *net, const struct gpt_case *c, const struct gpt *g)
{
    net_init(net, "case");
    int words = net_embedding(net, net_tokens(net, g->time, g->vocabulary), g->width, "wte");
    net_tied_head(net, c->add(net, g, words), words, "head");
    if (net->param_count > 0)
        net->params[0].deviation = 1; // with small ones the terms of many sums nearly cancel
}

#endif
