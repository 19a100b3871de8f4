// SPDX-License-Identifier: Apache-2.0
// What the options of the definitions change in the nets, and who takes them.
#include "train/workload/workload.h"

#include <stdio.h>
#include <string.h>

#include "test.h"

static const struct workload_options hard = {.hard_gates = true}, auxiliary = {.auxiliary = true};

static int64_t parameters(const struct net *net)
{
    struct net_cost cost;
    net_cost(net, 1, &cost);
    return cost.parameters;
}

static int layer_at(const struct net *net, const char *name)
{
    for (int i = 0; i < net->layer_count; i++)
        if (strcmp(net->layers[i].name, name) == 0)
            return i;
    fail_msg("there is no '%s'", name);
    return -1;
}

static void assert_out(const struct net *net, int layer, int channels, int size)
{
    const struct net_shape *out = &net->layers[layer].out;
    assert_int_equal(out->rank, 3);
    assert_int_equal(out->dim[0], channels);
    assert_int_equal(out->dim[1], size);
    assert_int_equal(out->dim[2], size);
}

// The published count, and the second head's by its definition: convolutions without bias, a scale
// and a shift per channel of their norms, a dense layer with bias.
TEST(the_auxiliary_head_adds_what_its_definition_says)
{
    const int64_t published = 42679816 + 1537; // 1001 classes; tests/train/net/test_net.c
    const int64_t head =
        (1024 * 1 * 1 * 128 + 2 * 128) + (128 * 5 * 5 * 768 + 2 * 768) + (768 * 1001 + 1001);
    struct net net;
    struct err err = {0};
    net_init(&net, "plain");
    inception_build(&net, 1001, false);
    assert_ok(net_check(&net, &err), &err);
    assert_int_equal(parameters(&net), published);
    int layers = net.layer_count;
    assert_string_equal(net.layers[layers - 1].name, "d");
    net_release(&net);

    net_init(&net, "auxiliary");
    inception_build(&net, 1001, true);
    assert_ok(net_check(&net, &err), &err);
    assert_int_equal(parameters(&net), published + head);
    assert_int_equal(net.layer_count, layers + 7); // pool, 2 × (convolution, norm), dense, loss
    const struct net_layer *last = &net.layers[net.layer_count - 1];
    int first = layer_at(&net, "aux.0.c"), dense = layer_at(&net, "aux.d");
    assert_int_equal(last->op, NET_AUX);
    assert_true(last->weight == 0.4F);
    assert_int_equal(last->inputs[0], layer_at(&net, "d"));
    assert_int_equal(last->inputs[1], dense);
    // 17² × 1024, the last block B's → 5 × 5 → 5 × 5 × 128 → 1 × 1 × 768.
    int pool = net.layers[first].inputs[0], from = net.layers[pool].inputs[0];
    assert_out(&net, from, 1024, 17);
    assert_int_equal(net.layers[from].op, NET_CONCAT);
    assert_int_equal(net.layers[layer_at(&net, "f.18.b.0.0.c")].inputs[0], from); // reduction B
    assert_out(&net, pool, 1024, 5);
    assert_out(&net, first, 128, 5);
    assert_out(&net, layer_at(&net, "aux.1.b"), 768, 1);
    net_release(&net);
}

TEST(the_first_stage_trains_both_heads)
{
    const struct recipe_stage *stage = &workload_inception.recipe.stages[0];
    for (int with = 0; with < 2; with++) {
        struct net net;
        struct err err = {0};
        assert_ok(
            workload_net_as_defined(&workload_inception, with ? &auxiliary : NULL, &net, &err),
            &err);
        assert_ok(recipe_check(&workload_inception.recipe, &net, &err), &err);
        int trained = 0;
        for (int i = 0; i < net.layer_count; i++)
            trained += recipe_trains(stage, &net.layers[i]);
        assert_int_equal(trained, 1 + with);
        assert_true(recipe_trains(stage, &net.layers[layer_at(&net, with ? "aux.d" : "d")]));
        net_release(&net);
    }
}

TEST(hard_gates_change_nothing_else)
{
    static const struct workload *const those[] = {&workload_imdb, &workload_textgen,
                                                   &workload_tweets};
    for (size_t i = 0; i < sizeof those / sizeof *those; i++) {
        struct net soft, net;
        struct err err = {0};
        assert_ok(workload_net_as_defined(those[i], NULL, &soft, &err), &err);
        assert_ok(workload_net_as_defined(those[i], &hard, &net, &err), &err);
        int lstm = layer_at(&net, "l");
        assert_true(net.layers[lstm].hard_gates);
        assert_false(soft.layers[lstm].hard_gates);
        assert_int_equal(parameters(&net), parameters(&soft));
        assert_int_equal(net.layer_count, soft.layer_count);
        net_release(&net);
        net_release(&soft);
    }
}

TEST(an_option_that_means_nothing_is_refused)
{
    static const struct workload *const no_lstm[] = {&workload_l1, &workload_mlp, &workload_cnn,
                                                     &workload_cifar, &workload_inception};
    static const struct workload *const one_head[] = {
        &workload_l1,   &workload_mlp,     &workload_cnn,   &workload_cifar,
        &workload_imdb, &workload_textgen, &workload_tweets};
    char text[80];
    for (size_t i = 0; i < sizeof no_lstm / sizeof *no_lstm; i++) {
        struct net net;
        struct err err = {0};
        assert_int_equal(workload_net_as_defined(no_lstm[i], &hard, &net, &err), ERR_USAGE);
        snprintf(text, sizeof text, "'%s' has no LSTM for --hard-gates", no_lstm[i]->name);
        assert_string_equal(err.text, text);
        net_release(&net);
    }
    for (size_t i = 0; i < sizeof one_head / sizeof *one_head; i++) {
        struct err err = {0};
        assert_int_equal(workload_check_options(one_head[i], &auxiliary, &err), ERR_USAGE);
        snprintf(text, sizeof text, "'%s' has no auxiliary head", one_head[i]->name);
        assert_string_equal(err.text, text);
    }
    for (size_t i = 0; workloads[i]; i++) {
        static const struct workload_options none;
        struct err err = {0};
        assert_ok(workload_check_options(workloads[i], NULL, &err), &err);
        assert_ok(workload_check_options(workloads[i], &none, &err), &err);
        assert_ok(workload_check_options(workloads[i], &workloads[i]->takes, &err), &err);
    }
}

// MNIST's own files (the sum of their SHA-256 sums is public); other sets of its size and form are
// not it.
TEST(targets)
{
    // A set's name follows from its contents: train/data/folder.h.
    struct data_pair data = {.name = (char[]){"mnist"}};
    assert_true(workload_is_target(&workload_mlp, &data));
    assert_false(workload_is_target(&workload_cifar, &data));
    data.made = true;
    assert_false(workload_is_target(&workload_mlp, &data));
    data = (struct data_pair){.name = (char[]){"mnist, 30000 of 70000"}};
    assert_false(workload_is_target(&workload_mlp, &data));
    data = (struct data_pair){.name = (char[]){"own 28x28 images, 70000 samples"}};
    assert_false(workload_is_target(&workload_mlp, &data));
    data = (struct data_pair){0};
    assert_false(workload_is_target(&workload_mlp, &data));
}
