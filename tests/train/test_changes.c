// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"
#include "train/steady.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "test.h"

static struct changes find(const double *x, size_t n)
{
    struct changes found;
    struct err err = {0};
    assert_ok(changes_find(x, n, NULL, &found, &err), &err);
    return found;
}

static void expect_none(const double *x, size_t n)
{
    struct changes found = find(x, n);
    assert_int_equal(found.count, 0);
    changes_release(&found);
}

// Exactly these changes, each at most `slack` places off.
static void expect(const double *x, size_t n, const size_t *at, size_t count, size_t slack)
{
    struct changes found = find(x, n);
    assert_int_equal(found.count, count);
    for (size_t i = 0; i < count; i++)
        assert_in_range(found.at[i], at[i] - slack, at[i] + slack);
    changes_release(&found);
}

TEST(test_the_nile)
{
    // Annual flow at Aswan, 1871 to 1970, in 10^8 m³: R's `Nile`, after Cobb (Biometrika 1978),
    // who and many since place one change after 1898, the 28th year.
    static const double nile[100] = {
        1120, 1160, 963, 1210, 1160, 1160, 813,  1230, 1370, 1140, 995,  935,  1110, 994,  1020,
        960,  1180, 799, 958,  1140, 1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774,  840,
        874,  694,  940, 833,  701,  916,  692,  1020, 1050, 969,  831,  726,  456,  824,  702,
        1120, 1100, 832, 764,  821,  768,  845,  864,  862,  698,  845,  744,  796,  1040, 759,
        781,  865,  845, 944,  984,  897,  822,  1010, 771,  676,  649,  846,  812,  742,  801,
        1040, 860,  874, 848,  890,  744,  749,  838,  1050, 918,  986,  797,  923,  975,  815,
        1020, 906,  901, 1170, 912,  746,  919,  718,  714,  740};
    const size_t dam[] = {28};
    expect(nile, 100, dam, 1, 0);
}

TEST(test_published_epochs_with_a_slow_first)
{
    // Seconds per epoch of the MNIST CNN on a P100, published in 2017: the first is an outlier.
    static const double epochs[] = {8.561296939849854, 5.159795045852661, 5.157105922698975,
                                    5.156136989593506, 5.149126291275024, 5.148672342300415,
                                    5.213907480239868, 5.207034349441528, 5.161535024642944,
                                    5.148395299911499, 5.197574138641357, 5.147228002548218};
    expect_none(epochs, 12);
}

// ---- against brute force ----

static double capped(double d)
{
    return fmin(d * d, 9);
}

// The least cost of x[from..to) at one level. At the optimum the values that count in full lie
// next to each other in order of size, and the level is their mean: so every such run is tried.
static double level_cost(const double *x, size_t from, size_t to)
{
    double sorted[16], least = HUGE_VAL;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        size_t j = n++;
        for (; j > 0 && sorted[j - 1] > x[i]; j--)
            sorted[j] = sorted[j - 1];
        sorted[j] = x[i];
    }
    for (size_t a = 0; a < n; a++) {
        double sum = 0;
        for (size_t b = a; b < n; b++) {
            sum += sorted[b];
            double level = sum / (double)(b - a + 1), cost = 0;
            for (size_t i = 0; i < n; i++)
                cost += capped(sorted[i] - level);
            least = fmin(least, cost);
        }
    }
    return least;
}

TEST(test_the_optimum_is_exact)
{
    enum { N = 12 };
    struct rng rng;
    rng_init(&rng, 8);
    int with_changes = 0;
    for (int round = 0; round < 2000; round++) {
        double x[N], best[N + 1] = {0};
        size_t level = 0;
        for (int i = 0; i < N; i++) {
            if (rng_below(&rng, 5) == 0)
                level = rng_below(&rng, 8);
            // Every other series is without any order: there the best account wins narrowly.
            x[i] = round % 2
                       ? 9 * rng_double(&rng)
                       : (double)level + rng_normal(&rng) + (rng_below(&rng, 8) == 0 ? 50 : 0);
        }
        double penalty = 0.5 + 10 * rng_double(&rng);
        // best[t]: the least cost of the first t values, over all ways to cut them.
        for (size_t t = 1; t <= N; t++) {
            best[t] = HUGE_VAL;
            for (size_t s = 0; s < t; s++)
                best[t] = fmin(best[t], best[s] + (s > 0 ? penalty : 0) + level_cost(x, s, t));
        }
        struct changes_options options = {.noise = 1, .penalty = penalty};
        struct changes found;
        assert_int_equal(changes_find(x, N, &options, &found, NULL), 0);
        double cost = penalty * (double)found.count;
        for (size_t i = 0; i <= found.count; i++)
            cost += level_cost(x, i > 0 ? found.at[i - 1] : 0, i < found.count ? found.at[i] : N);
        assert_true(fabs(cost - best[N]) < 1e-9);
        assert_true(fabs(found.cost - best[N]) < 1e-9);
        assert_true(found.noise == 1);
        with_changes += found.count > 0;
        changes_release(&found);
    }
    assert_in_range(with_changes, 500, 1999);
}

// ---- noise without changes ----

enum noise { NORMAL, EXPONENTIAL, HEAVY, SPIKES, TWO_MODES, COARSE, ALIKE };

static double draw(struct rng *rng, enum noise kind, double before)
{
    double g = rng_normal(rng);
    switch (kind) {
    case NORMAL:
        return g;
    case EXPONENTIAL: // the lower side is sharp, as with times
        return -log(1 - rng_double(rng));
    case HEAVY: // Student's t with 2 degrees of freedom
        return g / sqrt(-log(1 - rng_double(rng)));
    case SPIKES: // one in twenty is far off
        return rng_below(rng, 20) == 0 ? 20 + g : g;
    case TWO_MODES: // half fast, half slow
        return (rng_below(rng, 2) == 0 ? 10 : 0) + 0.3 * g;
    case COARSE: // four in five steps of a coarse clock are the same
        return floor(0.4 * g + 0.5);
    case ALIKE: // each takes over 0.3 of the one before
        return 0.3 * before + g;
    }
    return 0;
}

TEST(test_no_changes_in_noise)
{
    static const char *const names[] = {"normal",    "exponential", "heavy", "spikes",
                                        "two modes", "coarse",      "alike"};
    static const size_t lengths[] = {12, 60, 300, 2000};
    double x[2000];
    for (int kind = NORMAL; kind <= ALIKE; kind++) {
        for (size_t l = 0; l < 4; l++) {
            int wrong = 0;
            for (uint64_t seed = 0; seed < 100; seed++) {
                struct rng rng;
                rng_init(&rng, seed);
                double before = 0;
                for (size_t i = 0; i < lengths[l]; i++)
                    before = x[i] = draw(&rng, (enum noise)kind, before);
                struct changes found = find(x, lengths[l]);
                wrong += found.count > 0;
                changes_release(&found);
            }
            if (wrong > 5)
                fail_msg("%s noise, %zu values: %d of 100 with changes", names[kind], lengths[l],
                         wrong);
        }
    }
}

// ---- the shapes of Barrett et al. (OOPSLA 2017) ----

// Step times in seconds: a level per shape, 1 % noise, and one step in fifty three times as slow.
static void make_shape(double *x, size_t n, uint64_t seed, double (*level)(size_t i))
{
    struct rng rng;
    rng_init(&rng, seed);
    for (size_t i = 0; i < n; i++) {
        x[i] = 0.050 * level(i) * (1 + 0.01 * rng_normal(&rng));
        if (rng_below(&rng, 50) == 0)
            x[i] *= 3;
    }
}

static double flat(size_t i)
{
    (void)i;
    return 1;
}

static double warm_up(size_t i)
{
    return i < 40 ? 2.0 : i < 100 ? 1.2 : 1;
}

static double slow_down(size_t i)
{
    return i < 350 ? 1 : 1.08;
}

static double unsteady(size_t i)
{
    return i / 50 % 2 == 0 ? 1 : 1.1;
}

static double cooling(size_t i) // an exponential warm-up: no steps at all
{
    return 1 + exp(-(double)i / 30);
}

TEST(test_shapes_of_barrett)
{
    enum { N = 500 };
    const size_t warm[] = {40, 100}, slow[] = {350};
    const size_t cycles[] = {50, 100, 150, 200, 250, 300, 350, 400, 450};
    double x[N];
    for (uint64_t seed = 0; seed < 20; seed++) {
        make_shape(x, N, seed, flat);
        expect_none(x, N);
        make_shape(x, N, seed, warm_up);
        expect(x, N, warm, 2, 2);
        make_shape(x, N, seed, slow_down);
        expect(x, N, slow, 1, 2);
        make_shape(x, N, seed, unsteady);
        expect(x, N, cycles, 9, 2);

        // A curve becomes a staircase that ends while the curve is still within the noise.
        make_shape(x, N, seed, cooling);
        struct changes found = find(x, N);
        assert_in_range(found.count, 3, 20);
        assert_in_range(found.at[found.count - 1], 60, 200);
        changes_release(&found);
    }
}

// ---- outliers ----

TEST(test_outliers_are_no_changes)
{
    double x[40];
    for (size_t spike = 0; spike < 40; spike++) {
        for (int run = 1; run <= 2; run++) { // one slow step, or two on end
            struct rng rng;
            rng_init(&rng, spike);
            for (size_t i = 0; i < 40; i++)
                x[i] = 100 + rng_normal(&rng);
            for (size_t i = spike; i < spike + (size_t)run && i < 40; i++)
                x[i] = 1e6;
            expect_none(x, 40);
        }
    }
    // Every eighth step is slow (eight workers feed the data), and the level changes once.
    const size_t half[] = {100};
    double y[200];
    struct rng rng;
    rng_init(&rng, 4);
    for (size_t i = 0; i < 200; i++)
        y[i] = (i < 100 ? 100 : 104) + rng_normal(&rng) + (i % 8 == 7 ? 30 : 0);
    expect(y, 200, half, 1, 2);
}

// ---- odd inputs ----

TEST(test_units_and_direction_do_not_matter)
{
    enum { N = 300 };
    double x[N], y[N];
    make_shape(x, N, 1, warm_up);
    const size_t there[] = {40, 100}, back[] = {200, 260};
    static const double units[] = {1e9, 1e-9, -1, 1e300, 1e-300};
    for (size_t u = 0; u < 5; u++) {
        for (int i = 0; i < N; i++)
            y[i] = units[u] * x[i];
        expect(y, N, there, 2, 2);
    }
    for (int i = 0; i < N; i++)
        y[i] = x[i] + 1e6; // a large level common to all
    expect(y, N, there, 2, 2);
    for (int i = 0; i < N; i++)
        y[i] = x[N - 1 - i];
    expect(y, N, back, 2, 2);
}

TEST(test_without_noise)
{
    double x[60] = {0};
    struct changes found = find(x, 60);
    assert_int_equal(found.count, 0);
    assert_true(found.noise == 0);
    for (int i = 0; i < 60; i++)
        x[i] = 5.25;
    expect_none(x, 60);
    x[30] = 1000; // a lone outlier among equals
    expect_none(x, 60);
    x[30] = 5.25;
    for (int i = 45; i < 60; i++)
        x[i] = 5.5;
    const size_t at[] = {45};
    expect(x, 60, at, 1, 0);
    for (int i = 0; i < 60; i++) // the ends of what a number can be
        x[i] = i < 30 ? -1.7e308 : 1.7e308;
    const size_t half[] = {30};
    expect(x, 60, half, 1, 0);
    for (int i = 0; i < 60; i++)
        x[i] = i < 30 ? 0 : 5e-324;
    expect(x, 60, half, 1, 0);
    expect_none(x + 27, 5); // too short to tell
    struct changes_options tiny = {.noise = 1e-300};
    x[0] = 1e300;
    assert_int_equal(changes_find(x, 60, &tiny, &found, NULL), 0);
    changes_release(&found);
}

TEST(test_refuses)
{
    const double bad[] = {1, 2, 3, 4, 5, 6, (double)NAN};
    struct changes found;
    struct err err = {0};
    assert_int_equal(changes_find(bad, 7, NULL, &found, &err), ERR_FORMAT);
    assert_string_equal(err.text, "value 7 of 7 is not a finite number");
    assert_null(found.at);
    changes_release(&found);
    assert_int_equal(changes_find(bad, 0, NULL, &found, NULL), ERR_FORMAT);
    const double endless[] = {HUGE_VAL};
    assert_int_equal(changes_find(endless, 1, NULL, &found, NULL), ERR_FORMAT);
    expect_none(bad, 6);
}

// Shapes that are hard on pruning; in quadratic time this would take minutes.
TEST(test_a_hundred_thousand_steps)
{
    enum { N = 100000 };
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int shape = 0; shape < 4; shape++) {
        struct rng rng;
        rng_init(&rng, 6);
        double walk = 0;
        for (int i = 0; i < N; i++) {
            walk += 0.1 * rng_normal(&rng);
            double g = rng_normal(&rng);
            x[i] = shape == 0   ? g
                   : shape == 1 ? g + (i < 70000 ? 0 : 0.5)
                   : shape == 2 ? g + walk
                                : g + i * 1e-3;
        }
        struct changes found = find(x, N);
        if (shape == 0)
            assert_int_equal(found.count, 0);
        if (shape == 1) {
            assert_int_equal(found.count, 1);
            assert_in_range(found.at[0], 69950, 70050);
        }
        for (size_t i = 0; i < found.count; i++)
            assert_true(found.at[i] < N && found.at[i] > (i > 0 ? found.at[i - 1] : 0));
        changes_release(&found);
    }
    free(x);
}

// A ramp has no level to find; what counts is that it ends.
TEST(test_ramps_end)
{
    enum { N = 100000 };
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int shape = 0; shape < 2; shape++) {
        for (size_t i = 0; i < N; i++)
            x[i] = shape == 0 ? (double)i : exp((double)i / 3000);
        struct changes found;
        struct err err = {0};
        int64_t start = clock_now_ns();
        assert_ok(changes_find(x, N, NULL, &found, &err), &err);
        assert_true(clock_now_ns() - start < 60 * NS_PER_S); // minutes before; seconds now
        for (size_t i = 0; i < found.count; i++)
            assert_true(found.at[i] > 0 && found.at[i] < N);
        changes_release(&found);
    }
    free(x);
}
