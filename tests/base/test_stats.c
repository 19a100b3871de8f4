// SPDX-License-Identifier: Apache-2.0
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static void assert_near(double got, double expected, double relative)
{
    if (!(fabs(got - expected) <= relative * fabs(expected)))
        fail_msg("%.17g, expected %.17g", got, expected);
}

// From NumPy 2.4 (mean, std with ddof=1, median, quantile) and SciPy 1.17 (median_abs_deviation).
// `times`: the first epochs of a published log, and some made up.
static const double odd[] = {3, 1, 4, 1, 5, 9, 2, 6, 5};
static const double even[] = {2.5, -1, 7.25, 0, 1e3, 3.5};
static const double times[] = {8.561296939849854,
                               5.159795045852661,
                               5.157105922698975,
                               5.156136989593506,
                               5.16,
                               4.99,
                               5.3,
                               5.1571,
                               7.25,
                               5.0,
                               5.155,
                               12.5};
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    const double *x;
    size_t n;
    double mean, stddev, median, mad;
    double quantiles[8]; // at the places below
} described[] = {
    {odd,
     COUNT(odd),
     4.0,
     2.598076211353316,
     4.0,
     2.0,
     {1.0, 1.0, 2.0, 2.6666666666666665, 4.0, 6.6000000000000005, 7.799999999999999, 9.0}},
    {even,
     COUNT(even),
     168.70833333333334,
     407.2584074229366,
     3.0,
     3.5,
     {-1.0, -0.5, 0.625, 1.6666666666666663, 3.0, 503.625, 751.8125, 1000.0}},
    {times,
     COUNT(times),
     6.21220290816625,
     2.268381603781725,
     5.158450484275818,
     0.07249999999999979,
     {4.99, 5.0155, 5.15585274219513, 5.156778996531169, 5.158450484275818, 8.430167245864869,
      10.333713316917416, 12.5}},
};
static const double places[8] = {0, 0.1, 0.25, 1.0 / 3, 0.5, 0.9, 0.95, 1};

TEST(test_figures_of_numpy)
{
    for (size_t i = 0; i < COUNT(described); i++) {
        const double *x = described[i].x;
        size_t n = described[i].n;
        struct err err = {0};
        double median, mad;
        assert_near(stats_mean(x, n), described[i].mean, 1e-15);
        assert_near(stats_stddev(x, n), described[i].stddev, 1e-15);
        assert_ok(stats_mad(x, n, &median, &mad, &err), &err);
        assert_near(median, described[i].median, 1e-15);
        assert_near(mad, described[i].mad, 1e-15);
        assert_ok(stats_median(x, n, &median, &err), &err);
        assert_near(median, described[i].median, 1e-15);
        for (size_t p = 0; p < COUNT(places); p++) {
            double copy[64];
            assert_true(n <= COUNT(copy));
            memcpy(copy, x, n * sizeof *x);
            assert_near(stats_quantile_of(copy, n, places[p]), described[i].quantiles[p], 1e-14);
        }
    }
    const double one[] = {42};
    double median, mad;
    assert_int_equal(stats_mad(one, 1, &median, &mad, NULL), 0);
    assert_true(median == 42 && mad == 0);
    assert_int_equal(stats_mad(one, 1, NULL, NULL, NULL), 0);
    assert_true(stats_mean(one, 1) == 42);
    const double same[] = {0.1, 0.1, 0.1};
    assert_true(stats_stddev(same, 3) == 0);
}

TEST(test_scale_of_the_mad)
{
    // 1 / qnorm(0.75) = 1.4826022185056018 (R).
    assert_near(STATS_MAD_SCALE, 1 / rng_normal_quantile(0.75), 1e-15);
    assert_near(STATS_MAD_SCALE, 1.4826022185056018, 1e-15);
}

// NIST's Statistical Reference Datasets, univariate: NumAcc1 to NumAcc4 are made to lose digits.
// Their certified means and standard deviations are exact; what a double can hold of the data
// leaves about 15, 9 and 8 digits of the deviation in NumAcc2, 3 and 4.
TEST(test_nist_reference_data)
{
    const double numacc1[] = {10000001, 10000003, 10000002};
    assert_true(stats_mean(numacc1, 3) == 10000002);
    assert_true(stats_stddev(numacc1, 3) == 1);
    static const struct {
        double first, odd, even, mean, relative;
    } sets[] = {
        {1.2, 1.1, 1.3, 1.2, 1e-14},
        {1000000.2, 1000000.1, 1000000.3, 1000000.2, 1e-9},
        {10000000.2, 10000000.1, 10000000.3, 10000000.2, 1e-8},
    };
    for (size_t s = 0; s < COUNT(sets); s++) {
        double x[1001];
        x[0] = sets[s].first;
        for (int i = 1; i < 1001; i++)
            x[i] = i % 2 ? sets[s].odd : sets[s].even;
        assert_near(stats_mean(x, 1001), sets[s].mean, 1e-15);
        assert_near(stats_stddev(x, 1001), 0.1, sets[s].relative);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Every order statistic of awkward series, against the C library's sort; stats_median() leaves x
// alone.
TEST(test_quantiles_against_a_sort)
{
    enum { N = 257 };
    struct rng rng;
    rng_init(&rng, 1);
    for (int shape = 0; shape < 8; shape++) {
        double x[N], copy[N], sorted[N];
        for (int i = 0; i < N; i++) {
            x[i] = shape == 0   ? i
                   : shape == 1 ? -i
                   : shape == 2 ? 7
                   : shape == 3 ? i % 2
                   : shape == 4 ? (i < N / 2 ? i : N - i) // an organ pipe
                   : shape == 5 ? rng_double(&rng)
                   : shape == 6 ? (double)rng_below(&rng, 5)
                                : (i == 100 ? 1e300 : -1e-300);
        }
        memcpy(sorted, x, sizeof x);
        qsort(sorted, N, sizeof *sorted, by_value);
        for (int k = 0; k < N; k++) {
            memcpy(copy, x, sizeof x);
            assert_true(stats_quantile_of(copy, N, k / (double)(N - 1)) ==
                        sorted[k]); // k / 256 is exact
        }
        double median;
        memcpy(copy, x, sizeof x);
        assert_int_equal(stats_median(x, N, &median, NULL), 0);
        assert_true(median == sorted[N / 2]);
        assert_memory_equal(x, copy, sizeof x);
    }
}

// A million values in patterns that are quadratic for a badly chosen pivot: this would not end.
TEST(test_median_of_a_million)
{
    enum { N = 1000001 };
    double *x = malloc(N * sizeof *x), median;
    assert_non_null(x);
    for (int shape = 0; shape < 4; shape++) {
        for (int i = 0; i < N; i++)
            x[i] = shape == 0 ? i : shape == 1 ? N - i : shape == 2 ? (i < N / 2 ? i : N - i) : 1;
        assert_int_equal(stats_median(x, N, &median, NULL), 0);
        static const double expected[] = {500000, 500001, 250000, 1};
        assert_true(median == expected[shape]);
    }
    free(x);
}

// The cases of hyperfine's own tests for its rule (src/outlier_detection.rs).
TEST(test_outliers_of_hyperfine)
{
    static const double drawn[] = {2.33269488,  1.42195907, -0.57527698, -0.31293437,
                                   2.2948158,   0.75813273, -1.0712388,  -0.96394741,
                                   -1.15897446, 1.10976285, 20.0,        -500.0};
    static const struct {
        double x[12];
        size_t n, outliers;
    } cases[] = {
        {{50}, 1, 0},
        {{1000, 0}, 2, 0},
        {{-0.2, 0.0, 0.2}, 3, 0},
        {{-0.2, 0.0, 0.2, 4.0}, 4, 1},
        {{0.5, 0.30, 0.29, 0.31, 0.30}, 5, 1},
        {{10, 10, 10, 10, 10, 10, 10, 100}, 8, 1}, // the MAD is 0
        {{10, 10, 10, 10, 10, 10, 10, 100, 100}, 9, 2},
    };
    size_t count;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(stats_outliers(cases[i].x, cases[i].n, &count, NULL), 0);
        assert_int_equal(count, cases[i].outliers);
    }
    assert_int_equal(stats_outliers(drawn, 10, &count, NULL), 0);
    assert_int_equal(count, 0);
    assert_int_equal(stats_outliers(drawn, 12, &count, NULL), 0);
    assert_int_equal(count, 2);
}

static const double fifteen[] = {10.0, 10.4, 10.5, 10.9, 11.3, 11.8, 12.0, 12.1,
                                 12.9, 13.3, 14.0, 14.2, 15.5, 17.0, 30.0};

// The median of a resample of 15 is at most the k-th smallest value with the probability that a
// binomial variable (15, k/15) is at least 8: 0.0255, 0.0882, 0.2131, ... 0.7869, 0.9118, 0.9745
// at the 4th, 5th, 6th, ... 9th, 10th, 11th. So the exact interval of 90 % goes from the 5th to
// the 11th value, that of 80 % from the 6th to the 10th.
TEST(test_bootstrap_of_the_median_is_exact)
{
    double shuffled[15];
    memcpy(shuffled, fifteen, sizeof fifteen);
    struct rng rng;
    rng_init(&rng, 17);
    rng_shuffle(&rng, shuffled, 15, sizeof *shuffled);
    struct stats_interval interval;
    struct err err = {0};
    assert_ok(stats_bootstrap_median(shuffled, 15, 20000, 0.9, &rng, &interval, &err), &err);
    assert_true(interval.low == 11.3 && interval.high == 14.0);
    assert_ok(stats_bootstrap_median(shuffled, 15, 20000, 0.8, &rng, &interval, &err), &err);
    assert_true(interval.low == 11.8 && interval.high == 13.3);
    struct rng first, second; // the seed decides
    struct stats_interval again;
    rng_init(&first, 3), rng_init(&second, 3);
    assert_ok(stats_bootstrap_median(fifteen, 15, 50, 0.9, &first, &interval, &err), &err);
    assert_ok(stats_bootstrap_median(fifteen, 15, 50, 0.9, &second, &again, &err), &err);
    assert_true(interval.low == again.low && interval.high == again.high);
}

// What the interval is for: it holds the true median about as often as it says. The median of
// exp(normal) is 1. Of 400 samples 380 are due; 360 to 396 is four standard deviations and some.
TEST(test_coverage)
{
    int held = 0;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct rng rng;
        rng_init(&rng, seed);
        double x[25];
        for (int i = 0; i < 25; i++)
            x[i] = exp(rng_normal(&rng));
        struct stats_interval interval;
        assert_int_equal(stats_bootstrap_median(x, 25, 400, 0.95, &rng, &interval, NULL), 0);
        held += interval.low <= 1 && interval.high >= 1;
    }
    assert_in_range(held, 360, 396);
}

TEST(test_refuses)
{
    const double bad[] = {1, 2, (double)NAN, 4}, endless[] = {-HUGE_VAL, 1};
    double figure = 42;
    size_t count = 42;
    struct rng rng;
    struct stats_interval interval = {42, 42};
    rng_init(&rng, 0);
    struct err err = {0};
    assert_int_equal(stats_median(bad, 4, &figure, &err), ERR_FORMAT);
    assert_string_equal(err.text, "value 3 of 4 is not a finite number");
    struct err empty = {0};
    assert_int_equal(stats_median(bad, 0, &figure, &empty), ERR_FORMAT);
    assert_string_equal(empty.text, "no values to describe");
    assert_int_equal(stats_mad(endless, 2, &figure, &figure, NULL), ERR_FORMAT);
    assert_int_equal(stats_outliers(bad, 4, &count, NULL), ERR_FORMAT);
    assert_int_equal(stats_outliers(bad, 0, &count, NULL), ERR_FORMAT);
    assert_int_equal(stats_bootstrap_median(bad, 4, 10, 0.9, &rng, &interval, NULL), ERR_FORMAT);
    assert_int_equal(stats_bootstrap_median(bad, 0, 10, 0.9, &rng, &interval, NULL), ERR_FORMAT);
    assert_true(figure == 42 && count == 42 && interval.low == 42 && interval.high == 42);
}

// By mpmath (30 digits): the density integrated, and its integral inverted.
TEST(student)
{
    const struct {
        double t, df, share;
    } shares[] = {{1, 1, 0.75},
                  {2, 5, 0.949030260585071},
                  {-3, 2.7, 0.0329479788283833},
                  {12, 3.3, 0.999610703939153},
                  {1.5, 40, 0.929266611560426},
                  {0.3, 0.8, 0.588272828023487},
                  {0, 7, 0.5},
                  {(double)INFINITY, 3, 1},
                  {-(double)INFINITY, 3, 0},
                  {1.959963984540054, (double)INFINITY, 0.975}};
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        assert_true(fabs(stats_t_cdf(shares[i].t, shares[i].df) - shares[i].share) < 1e-12);
    const struct {
        double p, df, t;
    } quantiles[] = {{0.975, 1, 12.7062047361747},
                     {0.975, 2, 4.30265272974946},
                     {0.975, 4.7, 2.62072607535317},
                     {0.975, 30, 2.04227245630124},
                     {0.975, 1000, 1.96233908082641},
                     {0.9, 3, 1.63774435369621},
                     {0.999, 6, 5.20762623872536},
                     {0.025, 2, -4.30265272974946},
                     {0.5, 3, 0},
                     {0.975, (double)INFINITY, 1.959963984540054}};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double t = stats_t_quantile(quantiles[i].p, quantiles[i].df);
        assert_true(fabs(t - quantiles[i].t) <= 1e-11 * (1 + fabs(t)));
    }
    // Between the two: there and back, from the heaviest tails to none.
    for (double df = 0.5; df < 1e8; df *= 3.7)
        for (double p = 0.001; p < 1; p += 0.0637)
            assert_true(fabs(stats_t_cdf(stats_t_quantile(p, df), df) - p) < 1e-8);
}
