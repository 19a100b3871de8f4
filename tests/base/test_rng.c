// SPDX-License-Identifier: Apache-2.0
#include "base/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

TEST(test_known_answers)
{
    // Random123's tests/kat_vectors, "philox4x32 10": counter, key, result.
    static const uint32_t vectors[][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d,
         0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09,
         0x94fdcceb, 0x5001e420, 0x24126ea1},
    };
    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];
        rng_philox(vectors[i], vectors[i] + 4, out);
        assert_memory_equal(out, vectors[i] + 6, sizeof out);
    }
}

#define SEED UINT64_C(0x0123456789abcdef)

// The figures of this test come from a second implementation in Python (Philox written from the
// paper, FNV-1a, statistics.NormalDist.inv_cdf), which gives the known answers above.
TEST(test_draws_of_the_second_implementation)
{
    static const uint32_t words[] = {0xb850222e, 0xc58cb04b, 0x14a7a020, 0x7a84fff9, 0xadca1466,
                                     0x523e0d85, 0x65401425, 0xb299da3f, 0xf7ce299f, 0x823ccb40};
    static const uint64_t pairs[] = {0xc58cb04bb850222e, 0x7a84fff914a7a020, 0x523e0d85adca1466};
    static const double normals[] = {0.7443842858477822, -0.05368788573069184, -0.4641801217778157,
                                     0.5176825239460942, 0.021910040454982967, -1.260423810418716};
    static const uint64_t below_ten[] = {7, 4, 3, 6, 5, 1};
    static const uint64_t below_prime[] = {771680, 478593, 321260, 697662, 508741, 103758};
    static const int shuffled[] = {6, 5, 9, 1, 0, 3, 8, 2, 4, 7};
    struct rng rng;

    rng_init(&rng, SEED);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(rng_word(&rng, i), words[i]); // random access, before and after drawing
        assert_int_equal(rng_u32(&rng), words[i]);
    }
    rng_init(&rng, SEED);
    for (size_t i = 0; i < 3; i++)
        assert_true(rng_u64(&rng) == pairs[i]);
    rng_init(&rng, SEED);
    assert_true(rng_double(&rng) == 0.7716779885161604);
    assert_true(rng_double(&rng) == 0.4785919173342834);
    rng_init(&rng, SEED);
    assert_true(rng_float(&rng) == 0.7199727296829224f);
    assert_true(rng_float(&rng) == 0.7716779708862305f);
    rng_init(&rng, SEED);
    for (size_t i = 0; i < 6; i++)
        assert_true(fabs(rng_normal(&rng) - normals[i]) <= 4e-16);
    rng_init(&rng, SEED);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rng_below(&rng, 10), below_ten[i]);
    rng_init(&rng, SEED);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(rng_below(&rng, 1000003), below_prime[i]);

    int order[10] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    rng_init(&rng, SEED);
    rng_shuffle(&rng, order, 10, sizeof *order);
    assert_memory_equal(order, shuffled, sizeof order);

    struct rng child;
    rng_init(&rng, SEED);
    rng_split(&rng, "shuffle", 3, &child);
    assert_int_equal(rng_u32(&child), 0xa6d1abab);
    assert_int_equal(rng_u32(&child), 0x421f4e50);
    rng_split(&child, "x", (UINT64_C(1) << 40) + 1, &child); // in place
    assert_int_equal(rng_u32(&child), 0x22a28118);
    assert_int_equal(rng_u32(&child), 0x969af00e);
}

TEST(test_splits_differ_and_do_not_depend_on_draws)
{
    struct rng a, b, c;
    rng_init(&a, 1);
    rng_split(&a, "dropout", 0, &b);
    rng_u64(&a);
    rng_u32(&a);
    rng_split(&a, "dropout", 0, &c);
    assert_true(rng_u64(&b) == rng_u64(&c));

    // Name, number, parent's stream and parent's seed all count; none of 4000 coincide.
    enum { KINDS = 4, EACH = 1000 };
    uint64_t *first = calloc(KINDS * EACH, sizeof *first);
    assert_non_null(first);
    for (int i = 0; i < EACH; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        rng_init(&a, 1);
        rng_split(&a, "dropout", (uint64_t)i, &b);
        first[i] = rng_u64(&b);
        rng_split(&a, name, 0, &b);
        first[EACH + i] = rng_u64(&b);
        rng_split(&b, "dropout", 0, &b);
        first[2 * EACH + i] = rng_u64(&b);
        rng_init(&a, (uint64_t)i + 2);
        rng_split(&a, "dropout", 0, &b);
        first[3 * EACH + i] = rng_u64(&b);
    }
    for (int i = 0; i < KINDS * EACH; i++)
        for (int j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    free(first);
}

// At the end of its range the position starts again instead of failing.
TEST(test_position_wraps)
{
    struct rng end;
    rng_init(&end, 1);
    end.position = UINT64_MAX - 3;
    for (uint64_t i = UINT64_MAX - 3; i != 2; i++)
        assert_int_equal(rng_u32(&end), rng_word(&end, i));
}

// Pearson's statistic of `count` counts that should all be the same.
static double chi_square(const uint64_t *counts, size_t count, double expected)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += ((double)counts[i] - expected) * ((double)counts[i] - expected) / expected;
    return sum;
}

// The bounds leave out one in a million on each side: scipy.stats.chi2.ppf(1e-6 and 1 - 1e-6, df).
TEST(test_uniform_by_chi_square)
{
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct rng rng;
        uint64_t bytes[8][256] = {0}, floats[256] = {0}, tens[10] = {0};
        rng_init(&rng, seed);
        const int n = 100000;
        for (int i = 0; i < n; i++) {
            uint64_t x = rng_u64(&rng);
            for (int b = 0; b < 8; b++)
                bytes[b][x >> (8 * b) & 255]++;
            float f = rng_float(&rng);
            assert_true(f >= 0 && f < 1);
            floats[(int)(f * 256)]++;
            tens[rng_below(&rng, 10)]++;
        }
        for (int b = 0; b < 8; b++) {
            double x2 = chi_square(bytes[b], 256, n / 256.0);
            assert_true(x2 > 161.65 && x2 < 377.08);
        }
        double x2 = chi_square(floats, 256, n / 256.0);
        assert_true(x2 > 161.65 && x2 < 377.08);
        x2 = chi_square(tens, 10, n / 10.0);
        assert_true(x2 > 0.2283 && x2 < 44.811);
    }
}

TEST(test_no_bias_with_a_large_bound)
{
    // Of 0 to 3 × 2^62 - 1 a third lies below 2^62, where the remainder of a 64-bit number by the
    // bound would do so half of the time; and a third can be divided by 3, where the high half of
    // a product with the bound, taken as it comes, could half of the time.
    struct rng rng;
    rng_init(&rng, 5);
    const int n = 100000;
    int low = 0, threes = 0;
    for (int i = 0; i < n; i++) {
        uint64_t x = rng_below(&rng, UINT64_C(3) << 62);
        assert_true(x < UINT64_C(3) << 62);
        low += x < UINT64_C(1) << 62;
        threes += x % 3 == 0;
    }
    // Five standard deviations of a binomial count: 5 √(n · 1/3 · 2/3) = 745.
    assert_true(abs(low - n / 3) < 746);
    assert_true(abs(threes - n / 3) < 746);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rng_below(&rng, 1), 0);
    assert_true(rng_below(&rng, UINT64_MAX) < UINT64_MAX);
}

TEST(test_every_order_as_likely)
{
    struct rng rng;
    uint64_t counts[256] = {0}; // by the digits of the order in base 4
    rng_init(&rng, 11);
    const int n = 48000;
    for (int i = 0; i < n; i++) {
        unsigned char order[4] = {0, 1, 2, 3};
        rng_shuffle(&rng, order, 4, 1);
        counts[order[0] + 4 * order[1] + 16 * order[2] + 64 * order[3]]++;
    }
    uint64_t orders[24];
    size_t seen = 0;
    for (int i = 0; i < 256; i++) {
        if (counts[i]) {
            assert_true(seen < 24);
            orders[seen++] = counts[i];
        }
    }
    assert_int_equal(seen, 24);
    double x2 = chi_square(orders, 24, n / 24.0);
    assert_true(x2 > 3.53 && x2 < 70.55); // df 23

    // Items larger than the swap's own buffer, and none at all.
    struct {
        int id;
        char filler[150];
    } items[50];
    for (int i = 0; i < 50; i++) {
        items[i].id = i;
        memset(items[i].filler, i, sizeof items[i].filler);
    }
    rng_shuffle(&rng, items, 50, sizeof items[0]);
    bool found[50] = {false};
    for (int i = 0; i < 50; i++) {
        assert_false(found[items[i].id]);
        found[items[i].id] = true;
        assert_int_equal(items[i].filler[0], items[i].id);
        assert_int_equal(items[i].filler[149], items[i].id);
    }
    rng_shuffle(&rng, NULL, 0, 8);
}

TEST(test_normal_quantile)
{
    // mpmath with 40 digits: sqrt(2) * erfinv(2p - 1), p being the double nearest to what is shown.
    static const struct {
        double p, x;
    } table[] = {
        {1e-15, -7.9413453261709967713},
        {1e-10, -6.3613409024040561991},
        {1e-6, -4.7534243088228989573},
        {0.001, -3.0902323061678135354},
        {0.025, -1.9599639845400542118},
        {0.075, -1.4395314709384559349},
        {0.0750001, -1.4395307645017296865},
        {0.2, -0.84162123357291416552},
        {0.5, 0.0},
        {0.6, 0.25334710313579974132},
        {0.925, 1.4395314709384562291},
        {0.975, 1.9599639845400538556},
        {0.9999, 3.7190164854557083867},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double x = rng_normal_quantile(table[i].p);
        assert_true(fabs(x - table[i].x) <= 1e-15 * fabs(table[i].x));
    }
    // Symmetric to the last bit, and finite at the smallest steps that rng_normal() takes.
    for (double p = 0x1p-53; p < 0.5; p *= 1.5) {
        double q = 1 - p;
        assert_true(rng_normal_quantile(q) == -rng_normal_quantile(1 - q));
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

TEST(test_normal)
{
    enum { N = 200000 };
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    struct rng rng;
    rng_init(&rng, 2024);
    double sum = 0, sum2 = 0, sum3 = 0, sum4 = 0, neighbours = 0;
    for (int i = 0; i < N; i++) {
        x[i] = rng_normal(&rng);
        sum += x[i];
        sum2 += x[i] * x[i];
        sum3 += x[i] * x[i] * x[i];
        sum4 += x[i] * x[i] * x[i] * x[i];
        neighbours += i ? x[i] * x[i - 1] : 0;
    }
    // Five standard errors each; the variances of x, x², x³, x⁴ and x·y are 1, 2, 15, 96 and 1.
    double five = 5 / sqrt(N);
    assert_true(fabs(sum / N) < five);
    assert_true(fabs(sum2 / N - 1) < five * sqrt(2));
    assert_true(fabs(sum3 / N) < five * sqrt(15));
    assert_true(fabs(sum4 / N - 3) < five * sqrt(96));
    assert_true(fabs(neighbours / N) < five);

    // Kolmogorov-Smirnov against the normal distribution function: 2.7/√N is passed by chance in
    // fewer than one of a million (2 exp(-2 · 2.7²)).
    qsort(x, N, sizeof *x, by_value);
    double worst = 0;
    for (int i = 0; i < N; i++) {
        double below = 0.5 * erfc(-x[i] / sqrt(2));
        worst = fmax(worst, fmax(fabs(below - (double)i / N), fabs(below - (i + 1.0) / N)));
    }
    assert_true(worst < 2.7 / sqrt(N));
    free(x);
}

// Streams of one family must not follow each other: correlations of bits between 64 children.
TEST(test_children_are_uncorrelated)
{
    enum { CHILDREN = 64, WORDS = 256 };
    static uint64_t drawn[CHILDREN + 1][WORDS];
    struct rng parent, child;
    rng_init(&parent, 3);
    for (int c = 0; c < CHILDREN; c++) {
        rng_split(&parent, "layer", (uint64_t)c, &child);
        for (int i = 0; i < WORDS; i++)
            drawn[c][i] = rng_u64(&child);
    }
    for (int i = 0; i < WORDS; i++)
        drawn[CHILDREN][i] = rng_u64(&parent);
    const double bits = 64.0 * WORDS;
    for (int a = 0; a <= CHILDREN; a++) {
        for (int b = 0; b < a; b++) {
            int same = 0;
            for (int i = 0; i < WORDS; i++)
                same += __builtin_popcountll(~(drawn[a][i] ^ drawn[b][i]));
            // Six standard deviations, for there are 2080 pairs.
            assert_true(fabs(same - bits / 2) < 6 * sqrt(bits) / 2);
        }
    }
}
