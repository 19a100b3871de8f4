// SPDX-License-Identifier: Apache-2.0
#include "train/engine/shared.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/dropout_keeps.h"
#include "train/engine/engine.h"
#include "test.h"

TEST(test_threshold)
{
    assert_int_equal(engine_dropout_threshold(0), 0);
    assert_int_equal(engine_dropout_threshold(0.5f), 0x80000000u);
    assert_int_equal(engine_dropout_threshold(0.25f), 0x40000000u);
    assert_int_equal(engine_dropout_threshold(0.2f), 858993472u); // 0.2f is 0.20000000298
    assert_int_equal(engine_dropout_threshold(nextafterf(1, 0)), 0xFFFFFF00u);
}

// The header's definition written again in Python: seed 7, layer 3, iteration 5, rate 1/4.
TEST(test_definition)
{
    struct dropout dropout;
    dropout_init(&dropout, 7, 3, 5, 0.25f);
    assert_int_equal(dropout.key[0], 0x14f574ff);
    assert_int_equal(dropout.key[1], 0x32d447b8);
    assert_int_equal(dropout.stream[0], 0x8a8e3cce);
    assert_int_equal(dropout.stream[1], 0xb01fb24d);
    assert_true(dropout.scale == 1 / 0.75f);

    static const char first[] = "1111110111101110101110111111011011110101";
    static const char far[] =
        "11111111111100011111"; // from element 2^34 + 1: the counter's high half
    uint8_t kept[40];
    dropout_mask(&dropout, 0, 40, kept);
    for (int i = 0; i < 40; i++)
        assert_int_equal(kept[i], first[i] - '0');
    dropout_mask(&dropout, (UINT64_C(1) << 34) + 1, 20, kept);
    for (int i = 0; i < 20; i++)
        assert_int_equal(kept[i], far[i] - '0');
}

TEST(test_any_part)
{
    struct dropout dropout;
    uint8_t whole[101], part[101];
    dropout_init(&dropout, UINT64_C(0x123456789abcdef0), 250, 1, 0.5f);
    dropout_mask(&dropout, 0, 101, whole);
    for (int from = 0; from < 101; from++) {
        memset(part, 9, sizeof part);
        dropout_mask(&dropout, (uint64_t)from, 101 - from, part);
        assert_memory_equal(part, whole + from, 101 - from);
        assert_int_equal(dropout_keeps(&dropout, (uint64_t)from), whole[from]);
    }
    dropout_mask(&dropout, 0, 0, part); // nothing is fine
}

// Shares as the rate says, to five standard deviations; masks of other layers, iterations and
// seeds agree with a given one as often as chance has it.
TEST(test_share_and_independence)
{
    enum { COUNT = 100000 };
    static uint8_t one[COUNT], two[COUNT];
    static const float rates[] = {0, 0.2f, 0.25f, 0.5f, 0.9f};
    struct dropout dropout;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        double rate = (double)rates[r], sum = 0;
        dropout_init(&dropout, 1, 2, 3, rates[r]);
        dropout_mask(&dropout, 0, COUNT, one);
        for (int i = 0; i < COUNT; i++)
            sum += one[i];
        assert_true(fabs(sum - COUNT * (1 - rate)) <= 5 * sqrt(COUNT * rate * (1 - rate)));
    }
    dropout_init(&dropout, 1, 2, 3, 0.5f);
    dropout_mask(&dropout, 0, COUNT, one);
    for (int other = 0; other < 3; other++) {
        int same = 0;
        dropout_init(&dropout, 1 + (other == 0), 2 + (other == 1), 3 + (other == 2), 0.5f);
        dropout_mask(&dropout, 0, COUNT, two);
        for (int i = 0; i < COUNT; i++)
            same += one[i] == two[i];
        assert_true(fabs(same - COUNT / 2.0) < 5 * sqrt(COUNT / 4.0));
    }
}
