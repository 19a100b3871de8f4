// SPDX-License-Identifier: Apache-2.0
#include "train/engine/cpu/embedding.h"

#include <stdbool.h>

#include "base/rng.h"
#include "test.h"

TEST(test_by_hand)
{
    struct groups g;
    struct err err = {0};
    assert_ok(groups_init(&g, 10, 8, &err), &err);
    groups_look(&g, (const int32_t[]){7, 3, 7, 7, 0, 3}, 6);
    assert_int_equal(g.positions, 6);
    assert_int_equal(g.distinct, 3);
    assert_memory_equal(g.token, ((const int32_t[]){7, 3, 0}), 3 * sizeof(int32_t));
    assert_memory_equal(g.of, ((const int32_t[]){0, 1, 0, 0, 2, 1}), 6 * sizeof(int32_t));
    assert_memory_equal(g.first, ((const int32_t[]){0, 3, 5, 6}), 4 * sizeof(int32_t));
    assert_memory_equal(g.where, ((const int32_t[]){0, 2, 3, 1, 5, 4}), 6 * sizeof(int32_t));
    assert_int_equal(g.slot[7], 0);
    assert_int_equal(g.slot[9], -1);
    groups_look(&g, (const int32_t[]){9}, 1); // nothing of the batch before is left
    assert_int_equal(g.distinct, 1);
    assert_int_equal(g.slot[7], -1);
    assert_int_equal(g.slot[9], 0);
    groups_look(&g, NULL, 0);
    assert_int_equal(g.distinct, 0);
    assert_int_equal(g.slot[9], -1);
    groups_release(&g);
}

// What must hold of any batch, full ones included.
TEST(test_any)
{
    enum { VOCABULARY = 37, MOST = 200 };
    struct rng rng;
    rng_init(&rng, 1);
    struct groups g;
    struct err err = {0};
    assert_ok(groups_init(&g, VOCABULARY, MOST, &err), &err);
    for (int round = 0; round < 100; round++) {
        int32_t tokens[MOST];
        int64_t count = round == 0 ? MOST : (int64_t)rng_below(&rng, MOST) + 1;
        uint64_t among = 1 + rng_below(&rng, VOCABULARY);
        for (int64_t i = 0; i < count; i++)
            tokens[i] = (int32_t)rng_below(&rng, among);
        groups_look(&g, tokens, count);
        assert_int_equal(g.first[0], 0);
        assert_int_equal(g.first[g.distinct], count);
        bool seen[MOST] = {0};
        for (int32_t group = 0; group < g.distinct; group++) {
            assert_int_equal(g.slot[g.token[group]], group);
            assert_true(g.first[group] < g.first[group + 1]);
            for (int32_t i = g.first[group]; i < g.first[group + 1]; i++) {
                assert_int_equal(tokens[g.where[i]], g.token[group]);
                assert_int_equal(g.of[g.where[i]], group);
                assert_true(i == g.first[group] || g.where[i - 1] < g.where[i]);
                assert_false(seen[g.where[i]]);
                seen[g.where[i]] = true;
            }
        }
    }
    groups_release(&g);
}
