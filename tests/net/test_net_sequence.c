// SPDX-License-Identifier: Apache-2.0
// The layers of transformers: shapes, parameters, costs, initial values, mistakes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net.h"
#include "net/recipe.h"
#include "test.h"
#include "workload/gpt2.h"

static const struct gpt2_size *size_of(const char *name)
{
    const struct gpt2_size *size = gpt2_sizes;
    while (size->name && strcmp(size->name, name) != 0)
        size++;
    assert_non_null(size->name);
    return size;
}

// The parameters that the transformers library counts for gpt2, gpt2-medium, gpt2-large and
// gpt2-xl (model.num_parameters()); operations by the customary formula.
static void the_sizes_have_the_published_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *size;
        int64_t parameters;
        double layers, width;
    } rows[] = {{"124m", 124439808, 12, 768},
                {"350m", 354823168, 24, 1024},
                {"774m", 774030080, 36, 1280},
                {"1558m", 1557611200, 48, 1600}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int context = 1024; context > 200; context -= 768) {
            struct net net;
            struct net_cost cost;
            struct err err = {0};
            net_init(&net, "gpt2");
            gpt2_build(&net, size_of(rows[i].size), context, GPT2_VOCABULARY);
            assert_ok(net_check(&net, &err), &err);
            net_cost(&net, 3, &cost);
            assert_int_equal(cost.parameters, rows[i].parameters);
            double each =
                6 * (double)rows[i].parameters + 12 * rows[i].layers * rows[i].width * context;
            assert_true(fabs((cost.forward_flops + cost.backward_flops) / (3 * context * each) -
                             1) < 1e-12);
            assert_int_equal(net_labels(&net.layers[net.layer_count - 1]), context);
            assert_int_equal(net_classes(&net.layers[net.layer_count - 1]), GPT2_VOCABULARY);
            net_release(&net);
        }
}

// Names, shapes and order of GPT2LMHeadModel's state_dict() with one layer and width 6; the
// usual start of GPT-2, decay on matrices only.
static void parameters_are_those_of_transformers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int rank;
        int64_t dim[2];
        float deviation; // 0: zeros; -1: ones
    } rows[] = {
        {"transformer.wte.weight", 2, {11, 6}, 0.02F},
        {"transformer.wpe.weight", 2, {1024, 6}, 0.02F},
        {"transformer.h.0.ln_1.weight", 1, {6}, -1},
        {"transformer.h.0.ln_1.bias", 1, {6}, 0},
        {"transformer.h.0.attn.c_attn.weight", 2, {6, 18}, 0.02F},
        {"transformer.h.0.attn.c_attn.bias", 1, {18}, 0},
        {"transformer.h.0.attn.c_proj.weight", 2, {6, 6}, 0.0141421356F},
        {"transformer.h.0.attn.c_proj.bias", 1, {6}, 0},
        {"transformer.h.0.ln_2.weight", 1, {6}, -1},
        {"transformer.h.0.ln_2.bias", 1, {6}, 0},
        {"transformer.h.0.mlp.c_fc.weight", 2, {6, 24}, 0.02F},
        {"transformer.h.0.mlp.c_fc.bias", 1, {24}, 0},
        {"transformer.h.0.mlp.c_proj.weight", 2, {24, 6}, 0.0141421356F},
        {"transformer.h.0.mlp.c_proj.bias", 1, {6}, 0},
        {"transformer.ln_f.weight", 1, {6}, -1},
        {"transformer.ln_f.bias", 1, {6}, 0},
    };
    struct net net;
    struct err err = {0};
    net_init(&net, "gpt2");
    gpt2_build(&net, &(struct gpt2_size){"small", 1, 3, 6}, 5, 11);
    assert_ok(net_check(&net, &err), &err);
    assert_int_equal(net.param_count, sizeof rows / sizeof *rows);
    for (int i = 0; i < net.param_count; i++) {
        const struct net_param *p = &net.params[i];
        assert_string_equal(p->name, rows[i].name);
        assert_int_equal(p->rank, rows[i].rank);
        for (int d = 0; d < p->rank; d++)
            assert_int_equal(p->dim[d], rows[i].dim[d]);
        assert_true(p->trained);
        assert_int_equal(p->decayed, p->rank == 2);
        assert_int_equal(p->init, p->rank == 2             ? NET_NORMAL
                                  : rows[i].deviation == 0 ? NET_ZERO
                                                           : NET_ONE);
        assert_true(p->rank == 1 || fabsf(p->deviation - rows[i].deviation) < 1e-8F);
    }
    net_release(&net);
}

static void weights_start_normal(void **state)
{
    (void)state;
    struct net_param param = {
        .name = "w", .rank = 2, .dim = {500, 200}, .count = 100000, .init = NET_NORMAL};
    param.deviation = 0.02F;
    float *values = malloc((size_t)param.count * sizeof *values);
    assert_non_null(values);
    struct err err = {0};
    assert_ok(net_init_param(&param, 5, values, &err), &err);
    double sum = 0, squares = 0;
    int beyond[2] = {0}; // one and two deviations
    for (int64_t i = 0; i < param.count; i++) {
        double z = (double)values[i] / 0.02;
        sum += z;
        squares += z * z;
        beyond[0] += fabs(z) > 1;
        beyond[1] += fabs(z) > 2;
    }
    double n = (double)param.count;
    assert_true(fabs(sum / n) < 5 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(beyond[0] / n - 0.31731) < 5 * sqrt(0.2166 / n)); // tables of the normal
    assert_true(fabs(beyond[1] / n - 0.04550) < 5 * sqrt(0.0434 / n)); // distribution
    free(values);
}

// ---- mistakes ----

static int embedded(struct net *net)
{
    return net_embedding(net, net_tokens(net, 4, 10), 6, "words");
}

static void norm_of_an_image(struct net *net)
{
    net_layer_norm(net, net_image(net, 1, 2, 2), 1e-5F, "norm");
}
static void too_few_positions(struct net *net)
{
    net_position(net, embedded(net), 3, "wpe");
}
static void heads_that_do_not_divide(struct net *net)
{
    int x = net_linear(net, embedded(net), 18, 0.02F, "qkv");
    net_attention(net, x, 4, "attn");
}
static void sum_of_other_shapes(struct net *net)
{
    int x = embedded(net);
    net_add(net, x, net_linear(net, x, 5, 0.02F, "fc"), "sum");
}
static void sum_with_itself(struct net *net)
{
    int x = embedded(net);
    net_add(net, x, x, "sum");
}
static void head_of_no_embedding(struct net *net)
{
    int x = net_linear(net, embedded(net), 5, 0.02F, "fc");
    net_tied_head(net, x, x, "head");
}
static void head_of_another_width(struct net *net)
{
    int words = embedded(net);
    net_tied_head(net, net_linear(net, words, 5, 0.02F, "fc"), words, "head");
}
static void head_that_is_read(struct net *net)
{
    int words = embedded(net);
    net_dense(net, net_tied_head(net, words, words, "head"), 2, false, "out");
}
static void no_deviation(struct net *net)
{
    net_linear(net, embedded(net), 5, 0, "fc");
}
static void no_epsilon(struct net *net)
{
    net_layer_norm(net, embedded(net), 0, "norm");
}
static void a_sequence_at_the_end(struct net *net)
{
    net_gelu(net, embedded(net), "act");
}
static void a_sigmoid_over_words(struct net *net)
{
    int words = embedded(net);
    net_tied_head(net, words, words, "head");
    net_set_loss(net, NET_SIGMOID);
}
static void tokens_as_numbers(struct net *net)
{
    net_gelu(net, net_tokens(net, 4, 10), "act");
}

static void mistakes_name_the_layer(void **state)
{
    (void)state;
    static const struct {
        void (*build)(struct net *net);
        const char *text;
    } rows[] = {
        {norm_of_an_image,
         "layer 'norm': needs a sequence, but 'image0' gives an image of 1 × 2 × 2"},
        {too_few_positions, "layer 'wpe': has 3 positions, but 'words' has 4 time steps"},
        {heads_that_do_not_divide,
         "layer 'attn': reads q, k and v of 4 heads side by side, but 'qkv' has 18 features, which "
         "is no multiple of 12"},
        {sum_of_other_shapes, "layer 'sum': cannot add: 'words' gives a sequence of 4 × 6 and 'fc' "
                              "gives a sequence of 4 × 5"},
        {sum_with_itself, "layer 'sum': needs two layers, but reads 'words' twice"},
        {head_of_no_embedding, "layer 'head': needs an embedding to share, and layer 2 is none"},
        {head_of_another_width, "layer 'head': 'fc' gives 5 features, but 'words' has 6"},
        {head_that_is_read, "layer 'head': it must be the last layer"},
        {no_deviation, "layer 'fc': a deviation of 0 makes no sense"},
        {no_epsilon, "layer 'norm': an epsilon of 0 makes no sense"},
        {a_sequence_at_the_end,
         "layer 'act': the last layer must be a vector that is learned, or a tied head"},
        {a_sigmoid_over_words, "layer 'head': a tied head needs a softmax"},
        {tokens_as_numbers,
         "layer 'act': cannot read tokens; embed them or make them one-hot first"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct net net;
        struct err err = {0};
        net_init(&net, "n");
        rows[i].build(&net);
        assert_int_equal(net_check(&net, &err), ERR_FAIL);
        char whole[300];
        snprintf(whole, sizeof whole, "net 'n', %s", rows[i].text);
        assert_string_equal(err.text, whole);
        net_release(&net);
    }
}

// ---- the schedule ----

// Written out by hand: a tenth after half the circle, the mean of both ends in the middle.
static void the_rate_rises_and_falls(void **state)
{
    (void)state;
    const struct recipe recipe = {.warmup = 100,
                                  .floor = 0.1F,
                                  .batch = 1,
                                  .stages = {{.rate = 6e-4F, .steps = 1000}},
                                  .stage_count = 1};
    static const struct {
        int64_t t;
        double rate;
    } rows[] = {{0, 6e-6},
                {49, 3e-4},
                {99, 6e-4},
                {100, 6e-4},
                {325, 6e-5 + 5.4e-4 * 0.5 * (1 + 0.70710678118654752)},
                {550, 3.3e-4},
                {1000, 6e-5},
                {5000, 6e-5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(fabs(recipe_rate(&recipe, 0, rows[i].t) / rows[i].rate - 1) < 1e-6);
    const struct recipe plain = {.stages = {{.rate = 0.5F}, {.rate = 0.25F}}, .stage_count = 2};
    assert_true(recipe_rate(&plain, 1, 77) == 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_sizes_have_the_published_parameters),
        cmocka_unit_test(parameters_are_those_of_transformers),
        cmocka_unit_test(weights_start_normal),
        cmocka_unit_test(mistakes_name_the_layer),
        cmocka_unit_test(the_rate_rises_and_falls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
