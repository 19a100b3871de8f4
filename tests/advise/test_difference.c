// SPDX-License-Identifier: Apache-2.0
// Whether two figures differ. Expected values: the formulas of docs/comparing.md in mpmath with 30
// digits, where the share of Student's t is its density integrated.
#include "test.h"

#include <math.h>

#include "advise/difference.h"

static const struct measured A[] = {{10}, {10.4}, {9.8}, {10.1}};
static const struct measured B[] = {{11}, {11.9}, {11.2}};
static const struct measured C[] = {{10.2}, {9.9}, {10.3}};
static const struct measured P[] = {{100, 95, 106}}, Q[] = {{120, 114, 126}};
static const struct measured R[] = {{11, 10.5, 11.5}}, S[] = {{9, 8.1, 10}};

static void check(const struct measured *a, size_t na, const struct measured *b, size_t nb,
                  double ratio, double low, double high, double confidence)
{
    struct figure x, y;
    struct difference d;
    figure_of(a, na, &x);
    figure_of(b, nb, &y);
    difference_of(&x, &y, &d);
    assert_true(d.known && d.judged);
    assert_true(fabs(d.ratio - ratio) < 1e-10);
    assert_true(fabs(d.low - low) < 1e-10);
    assert_true(fabs(d.high - high) < 1e-10);
    assert_true(fabs(d.confidence - confidence) < 1e-8);
    // The other way round everything is turned over, and as sure.
    difference_of(&y, &x, &d);
    assert_true(fabs(d.ratio - 1 / ratio) < 1e-10);
    assert_true(fabs(d.low - 1 / high) < 1e-10);
    assert_true(fabs(d.confidence - confidence) < 1e-8);
}

#define RUNS(x) x, sizeof x / sizeof *x

TEST(welch)
{
    check(RUNS(A), RUNS(B), 0.886363636364, 0.814166852314, 0.964962517984, 2 * 0.990001460609 - 1);
    check(RUNS(A), RUNS(C), 0.994243421053, 0.951012002143, 1.03944006814, 2 * 0.624706536244 - 1);
}

TEST(projections)
{
    check(RUNS(P), RUNS(Q), 0.833333333333, 0.773740902644, 0.897515488805, 2 * 0.9999992683 - 1);
    check(RUNS(R), RUNS(B), 0.967741935484, 0.895196082521, 1.04616683649, 2 * 0.8216351537 - 1);
    check(RUNS(S), RUNS(A), 0.893300248139, 0.801656926968, 0.995419993866, 2 * 0.979470859433 - 1);
}

TEST(interval)
{
    struct figure e;
    figure_of(RUNS(A), &e);
    struct stats_interval i = figure_interval(&e);
    assert_true(fabs(i.low - 9.68494543001) < 1e-10 && fabs(i.high - 10.4807637517) < 1e-9);
    // Of several projections: their own uncertainty, where the runs agree better than that.
    const struct measured close[] = {{100, 90, 111}, {100.1, 90, 111}, {99.9, 90, 111}};
    figure_of(RUNS(close), &e);
    assert_true(isinf(e.df));
    assert_true(fabs(e.error - log(111.0 / 90) / (2 * 1.959963984540054)) < 1e-12);
}

TEST(not_judged)
{
    struct figure one, other;
    struct difference d;
    const struct measured single[] = {{5}}, zero[] = {{0}}, zeros[] = {{0}, {0}},
                          odd[] = {{5, -1, 7}}, huge[] = {{5, 1, (double)INFINITY}};
    figure_of(RUNS(single), &one);
    figure_of(RUNS(A), &other);
    difference_of(&one, &other, &d);
    assert_true(d.known && !d.judged && fabs(d.ratio - 5 / 10.075) < 1e-12);
    // Nothing can be divided by a time of zero.
    figure_of(RUNS(zero), &one);
    difference_of(&other, &one, &d);
    assert_false(d.known || d.judged);
    figure_of(RUNS(zeros), &one);
    difference_of(&one, &other, &d);
    assert_false(d.known || d.judged);
    // Intervals that are none.
    figure_of(RUNS(odd), &one);
    assert_false(one.judged);
    figure_of(RUNS(huge), &one);
    assert_false(one.judged);
}

TEST(to_the_last_digit)
{
    struct figure x, y;
    struct difference d;
    const struct measured sixty[] = {{60}, {60}}, seventy[] = {{70}, {70}, {70}};
    figure_of(RUNS(sixty), &x);
    figure_of(RUNS(seventy), &y);
    difference_of(&x, &y, &d);
    assert_true(d.judged && d.confidence >= 1 && d.low == d.high);
    difference_of(&x, &x, &d);
    assert_true(d.judged && d.confidence <= 0);
}
