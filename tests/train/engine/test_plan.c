// SPDX-License-Identifier: Apache-2.0
// The cuda engine's planner alone: a plan is made from the facts of a GPU and memory that is only
// counted, with no driver anywhere. Which launches a step has, and what each waits for, was worked
// out by hand from the nets.
#include <string.h>

#include "train/engine/cuda/plan/plan.h"
#include "test.h"

// Addresses are given out and nothing lies behind them: the planner must not touch the memory.
struct paper {
    uint64_t next;
    int left; // allocations until memory runs out
};

static int give(void *paper_, int64_t bytes, bool zeroed, device_ptr *out, struct err *err)
{
    struct paper *paper = paper_;
    (void)zeroed;
    if (paper->left-- == 0)
        return err_set(err, ERR_MEMORY, "no more");
    *out = paper->next;
    paper->next += (uint64_t)(bytes + 255) / 256 * 256;
    return 0;
}

static int copy(void *paper, device_ptr to, const void *from, int64_t bytes, struct err *err)
{
    (void)err;
    assert_non_null(paper);
    assert_non_null(from);
    assert_true(to >= 1 << 20 && bytes > 0);
    return 0;
}

struct made {
    struct net net;
    struct paper paper;
    struct gpu_params params;
    struct gpu_plan plan;
};

static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                   .rho = 0.9f,
                                   .beta2 = 0.999f,
                                   .epsilon = 1e-7f,
                                   .batch = 32,
                                   .stages = {{.rate = 0.001f}},
                                   .stage_count = 1};

// The net is the caller's; `left`: allocations that succeed, or -1 for all.
static int plan(struct made *m, enum engine_precision precision, int left)
{
    m->paper = (struct paper){.next = 1 << 20, .left = left};
    const struct gpu_device device = {.major = 9,
                                      .processors = 132,
                                      .shared = 227 << 10,
                                      .precision = precision,
                                      .driver = &m->paper,
                                      .alloc = give,
                                      .upload = copy};
    struct err err = {0};
    m->plan = (struct gpu_plan){.device = device,
                                .layers = m->net.layers,
                                .layer_count = m->net.layer_count,
                                .loss = m->net.loss,
                                .batch = adam.batch,
                                .params = &m->params};
    int rc = net_check(&m->net, &err);
    assert_ok(rc, &err);
    rc = gpu_params_new(&m->params, &m->net, &adam, &device, &err);
    return rc == 0 ? gpu_plan_new(&m->plan, 256, &err) : rc;
}

static void forget(struct made *m)
{
    gpu_plan_free(&m->plan);
    gpu_params_free(&m->params);
}

static void assert_kernels(const struct launches *list, const char *const *names)
{
    int count = 0;
    for (; names[count]; count++) {
        assert_true(count < list->count);
        assert_string_equal(list->items[count].name, names[count]);
        assert_null(list->items[count].function); // no driver has seen it
    }
    assert_int_equal(list->count, count);
}

// image -> dense 64, relu -> dense 64, relu -> dense 10: bias and relu are epilogues, the head does
// the last layer, the loss and the way back through it; the weights' gradients, each in one part,
// share one launch, which does the optimizer's work too and which nothing waits for.
TEST(a_small_net_is_five_launches)
{
    struct made m = {0};
    net_init(&m.net, "mlp");
    int x = net_dense(&m.net, net_image(&m.net, 1, 28, 28), 64, true, "a");
    net_dense(&m.net, net_dense(&m.net, x, 64, true, "b"), 10, false, "c");
    assert_int_equal(plan(&m, ENGINE_TF32, -1), 0);
    static const char *const forward[] = {"gemm_forward_deep", "gemm_forward_deep", "head", NULL};
    static const char *const backward[] = {"gemm_back_deep", "gemm_weights_small", NULL};
    assert_int_equal(m.plan.buffer_count, 2);
    for (int i = 0; i < 2; i++) {
        const struct plan_buffer *b = &m.plan.buffers[i];
        assert_kernels(&b->forward, forward);
        assert_kernels(&b->backward[0], backward);
        assert_false(b->backward[0].items[0].forked);
        assert_true(b->backward[0].items[1].forked);
    }
    assert_int_not_equal(m.plan.buffers[0].image, m.plan.buffers[1].image);
    assert_kernels(&m.plan.evaluate, forward);
    assert_kernels(&m.plan.predict, forward);
    assert_int_equal(m.plan.catch_up.count, 0);
    assert_int_equal(gpu_plan_launches(&m.plan, 0), 6); // with the gather
    forget(&m);
    net_release(&m.net);
}

// tokens -> embedding -> LSTM -> dense 1: sorting the tokens is forked, as is the table's own step;
// rows that a batch does not use are caught up with by a list of their own.
TEST(lazy_rows_have_a_list)
{
    struct made m = {0};
    net_init(&m.net, "text");
    int x = net_embedding(&m.net, net_tokens(&m.net, 20, 1000), 32, "embedding");
    net_dense(&m.net, net_lstm(&m.net, x, 64, false, "lstm"), 1, false, "dense");
    net_set_loss(&m.net, NET_SIGMOID);
    assert_int_equal(plan(&m, ENGINE_TF32, -1), 0);
    static const char *const catch_up[] = {"embed_catch_up", NULL};
    assert_kernels(&m.plan.catch_up, catch_up);
    assert_int_equal(m.plan.catch_up.items[0].x, 1000);
    const struct launches *back = &m.plan.buffers[0].backward[0];
    int forked = 0, optimize = -1;
    for (int i = 0; i < back->count; i++) {
        const char *name = back->items[i].name;
        bool own = strcmp(name, "embed_order") == 0 || strcmp(name, "embed_back") == 0;
        forked += own && back->items[i].forked;
        if (strcmp(name, "optimize") == 0)
            optimize = i;
    }
    assert_int_equal(forked, 2);
    // The gradient of the LSTM's input reads weights that the optimizer changes: it comes first.
    assert_true(optimize >= 0 && back->items[optimize].depends_count == 1);
    const struct launch *reader = &back->items[back->items[optimize].depends_on[0]];
    assert_true(reader->forked);
    assert_non_null(strstr(reader->name, "gemm_back"));
    struct launch ages;
    gpu_set_ages(&m.plan, 7, &ages);
    assert_string_equal(ages.name, "fill");
    assert_int_equal(ages.x, 4); // 1000 rows, 256 a block
    forget(&m);
    net_release(&m.net);
}

static int conv_norm(struct net *net, int from, const char *conv, const char *norm)
{
    const struct net_conv shape = {
        .filters = 16, .kernel_h = 3, .kernel_w = 3, .no_bias = true, .padding = NET_SAME};
    return net_batch_norm(net, net_conv(net, from, shape, conv), 0.99f, 1e-3f, true, norm);
}

// Two branches in bf16 wait for the layer before them and not for each other; each convolution's
// sums (launch n) make the channels' figures (n + 1), which normalise it (n + 2).
TEST(branches_wait_for_what_they_read)
{
    struct made m = {0};
    net_init(&m.net, "branches");
    int x = conv_norm(&m.net, net_image(&m.net, 3, 8, 8), "a", "a_norm");
    int both[2] = {conv_norm(&m.net, x, "b", "b_norm"), conv_norm(&m.net, x, "c", "c_norm")};
    net_dense(&m.net, net_global_average(&m.net, net_concat(&m.net, both, 2)), 4, false, "dense");
    assert_int_equal(plan(&m, ENGINE_BF16, -1), 0);
    assert_int_equal(m.plan.buffer_count, 1); // images in bf16 have no second one
    const struct launches *forward = &m.plan.buffers[0].forward;
    static const int waits[9] = {-1, 0, 1, 2, 3, 4, 2, 6, 7};
    assert_int_equal(forward->count, 11);
    for (int i = 0; i < 9; i++) {
        const struct launch *launch = &forward->items[i];
        assert_true(launch->explicit_only);
        assert_int_equal(launch->depends_count, waits[i] >= 0);
        if (waits[i] >= 0)
            assert_int_equal(launch->depends_on[0], waits[i]);
    }
    assert_string_equal(forward->items[9].name, "image_mean"); // of both branches
    assert_false(forward->items[9].explicit_only);
    assert_string_equal(forward->items[10].name, "head");
    forget(&m);
    net_release(&m.net);
}

TEST(memory_that_runs_out_is_an_error)
{
    struct made m = {0};
    net_init(&m.net, "text");
    int x = net_embedding(&m.net, net_tokens(&m.net, 20, 1000), 32, "embedding");
    net_dense(&m.net, net_lstm(&m.net, x, 64, false, "lstm"), 1, false, "dense");
    net_set_loss(&m.net, NET_SIGMOID);
    int left = 0;
    for (; plan(&m, ENGINE_TF32, left) == ERR_MEMORY; left++)
        forget(&m);
    forget(&m);
    assert_true(left > 20);
    net_release(&m.net);
}
