// SPDX-License-Identifier: Apache-2.0
#include "machine/sample/totals.h"

#include <math.h>
#include <stdlib.h>

#include "test.h"

static struct figure_history make(int width)
{
    struct figure_history h = {.width = width};
    h.figures = calloc((size_t)HISTORY_POINTS * (size_t)width, sizeof *h.figures);
    assert_non_null(h.figures);
    return h;
}

TEST(points_are_kept)
{
    struct figure_history h = make(2);
    for (int i = 0; i < 3; i++)
        history_add(&h, i * 500000000LL, (i + 1) * 500000000LL,
                    (struct maybe_real[]){some_real(i), {0}});
    assert_int_equal(h.count, 3);
    assert_float_equal(history_at(&h, 2, 0).v, 2, 1e-12);
    assert_false(history_at(&h, 2, 1).known);
    assert_false(history_mean(&h, 1).known);
    assert_float_equal(history_mean(&h, 0).v, 1, 1e-12);
    assert_float_equal(history_sum(&h, 0), 1.5, 1e-12); // (0 + 1 + 2) × 0.5 s
    // Half of the second stretch, all of the third.
    assert_float_equal(history_between(&h, 0, 750000000, 1500000000).v, 5.0 / 3, 1e-12);
    assert_false(history_between(&h, 0, 1500000000, 9000000000).known);
    history_add(&h, 5, 5, (struct maybe_real[]){some_real(9), {0}}); // no time: nothing
    assert_int_equal(h.count, 3);
    free(h.figures);
}

// Whatever the number of readings: memory stays bounded, points stay in order, means stay right.
// The value is the number of the reading, so that the mean is known by a formula.
TEST(long_runs_are_merged)
{
    static const int counts[] = {1, 399, 400, 401, 799, 801, 1600, 1601, 100003};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        struct figure_history h = make(1);
        int n = counts[c];
        for (int i = 0; i < n; i++)
            history_add(&h, i * 1000LL, (i + 1) * 1000LL, (struct maybe_real[]){some_real(i)});
        assert_true(h.count <= HISTORY_POINTS && h.count > 0);
        assert_true(n < HISTORY_POINTS || h.count >= HISTORY_POINTS / 2);
        for (int halves = 0; halves < 2; halves++) {
            assert_int_equal(h.when[0].from_ns, 0);
            assert_int_equal(h.when[h.count - 1].to_ns, n * 1000LL);
            for (int p = 0; p < h.count; p++) {
                int64_t from = h.when[p].from_ns / 1000, to = h.when[p].to_ns / 1000;
                assert_true(p == 0 || h.when[p].from_ns == h.when[p - 1].to_ns);
                assert_true(fabs(history_at(&h, p, 0).v - (double)(from + to - 1) / 2) < 1e-6);
            }
            assert_true(fabs(history_mean(&h, 0).v - (n - 1) / 2.0) < 1e-6);
            int before = h.count;
            history_halve(&h);
            assert_int_equal(h.count, (before + 1) / 2);
        }
        free(h.figures);
    }
}
