// SPDX-License-Identifier: Apache-2.0
// L1 distances against sums in double precision: every one within 1e-5 relative, odd sizes, close
// and far vectors, numbers of very different size.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/team.h"
#include "l1_cases.h"
#include "test.h"

static void try(int64_t n, int64_t m, int64_t dim, enum l1_kind kind)
{
    struct rng rng;
    rng_init(&rng, (uint64_t)(n * 31 + m * 7 + dim));
    float *a = malloc((size_t)(n * dim) * sizeof *a), *b = malloc((size_t)(m * dim) * sizeof *b);
    float *out = malloc((size_t)(n * m + 1) * sizeof *out), *first = NULL;
    assert_true(a && b && out);
    l1_fill(&rng, a, n * dim, kind);
    l1_fill(&rng, b, m * dim, kind);
    if (n > 2 && m > 3)
        memcpy(b + 3 * dim, a + 2 * dim, (size_t)dim * sizeof *b); // the same: exactly 0
    for (int threads = 1; threads <= 3; threads++) {
        team_set(threads);
        for (int64_t i = 0; i < n * m; i++)
            out[i] = NAN;
        out[n * m] = 42;
        struct err err = {0};
        assert_ok(l1_distances(a, b, n, m, dim, out, &err), &err);
        double worst = l1_worst(a, b, n, m, dim, out);
        if (!(worst <= 1e-5))
            fail_msg("%s, %d threads, %dx%dx%d, kind %d: error %g", kernels()->name, threads,
                     (int)n, (int)m, (int)dim, (int)kind, worst);
        assert_true(out[n * m] == 42); // not a number too far
        if (n > 2 && m > 3)
            assert_true(out[2 * m + 3] == 0);
        if (first)
            assert_memory_equal(first, out, (size_t)(n * m) * sizeof *out);
        else if ((first = malloc((size_t)(n * m) * sizeof *out)))
            memcpy(first, out, (size_t)(n * m) * sizeof *out);
    }
    free(a);
    free(b);
    free(out);
    free(first);
}

static void each_size(void)
{
    static const int64_t sizes[] = {1, 2, 7, 13, 64, 97}, dims[] = {1, 3, 17, 128, 512};
    for (size_t n = 0; n < 6; n++)
        for (size_t m = 0; m < 6; m++)
            for (size_t d = 0; d < 5; d++)
                try(sizes[n], sizes[m], dims[d], (enum l1_kind)((n + m + d) % L1_KINDS));
    for (int kind = L1_EVEN; kind < L1_KINDS; kind++) {
        try(5, 11, 513, (enum l1_kind)kind); // more than one block of elements
        try(3, 67, 1031, (enum l1_kind)kind);
        try(1, 1, 200003, (enum l1_kind)kind); // many
        try(1, 211, 31, (enum l1_kind)kind);
        try(211, 1, 31, (enum l1_kind)kind);
    }
    try(2100, 70, 499, L1_EVEN); // more rows than are packed at a time
}

TEST(test_best)
{
    each_size();
}

TEST(test_other_instruction_sets)
{
    static const struct kernels *const tables[] = {&kernels_avx2, &kernels_base};
    for (size_t i = 0; i < 2; i++)
        if (kernels_limit(tables[i]))
            each_size();
    kernels_limit(NULL);
}

TEST(test_not_a_number)
{
    const float a[] = {1, NAN}, b[] = {2, 3, INFINITY, 0};
    float out[2];
    struct err err = {0};
    assert_ok(l1_distances(a, b, 1, 2, 2, out, &err), &err);
    assert_true(isnan(out[0]) && isnan(out[1]));
    assert_ok(l1_distances(b, b + 2, 1, 1, 2, out, &err), &err);
    assert_true(isinf(out[0]));
}

TEST(test_peak)
{
    team_set(1);
    double peak = l1_peak(0.01);
    assert_true(peak > 1e8 && peak < 1e13); // any x86-64 does more than one pair per 10 ns
}
