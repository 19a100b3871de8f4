// SPDX-License-Identifier: Apache-2.0
// Every allocation of building a net, and of starting its parameters, failing once.
#include "train/net/net.h"

#include <stdio.h>

#include "oom.h"

// More than sixteen layers and parameters, so that both lists grow.
static void build(struct net *net)
{
    net_init(net, "deep");
    int at = net_embedding(net, net_tokens(net, 3, 7), 5, "embedding");
    at = net_lstm(net, at, 6, true, "lstm");
    for (int i = 0; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof name, "fc%d", i);
        at = net_dense(net, at, 3, i < 15, name);
    }
}

TEST(test_build)
{
    OOM_EACH
    {
        struct net net;
        struct err err = {0};
        build(&net);
        int rc = net_check(&net, &err);
        net_release(&net);
        OOM_EXPECT(rc, &err);
    }
}

TEST(test_start)
{
    struct net net;
    struct err built = {0};
    build(&net);
    assert_ok(net_check(&net, &built), &built);
    static float values[200];
    for (int i = 0; i < net.param_count; i++) {
        assert_true(net.params[i].count <= 200);
        OOM_EACH
        {
            struct err err = {0};
            OOM_EXPECT(net_init_param(&net.params[i], 1, values, &err), &err);
        }
    }
    net_release(&net);
}
