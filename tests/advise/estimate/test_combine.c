// SPDX-License-Identifier: Apache-2.0
// Reference runs, several sources and learning, by hand calculation.
#include <math.h>
#include <string.h>

#include "advise/estimate/estimate.h"
#include "test.h"

// Nobody releases or changes the texts of these records.
#ifdef __clang__
#pragma GCC diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#else
#pragma GCC diagnostic ignored "-Wdiscarded-qualifiers"
#endif

#define NEAR(a, b) assert_true(fabs((a) / (b)-1) < 1e-9)

static struct estimate_errors errors[] = {
    {"other", "gpu", "one", "no", "known", 1, 1, {1.1, 1.2, 1.5, 2}, 7, "x", NULL},
    {"other", "gpu", "one", "reference", "known", 1, 1, {1.05, 1.1, 1.2, 1.4}, 7, "x", NULL},
    {"other", "host", "one", "no", "known", 1, 1, {1.1, 1.2, 1.5, 2}, 7, "x", NULL},
    {"other", "gpu", "one", "sheet", "known", 1, 1, {1.1, 1.2, 1.5, 2}, 7, "x", NULL},
    {"vendor", "gpu", "one", "no", "known", 1, 1, {1.1, 1.2, 1.5, 2}, 7, "x", NULL},
};
enum { PLAIN, REFERENCE, HOST, SHEET, VENDOR };
static struct estimate_constant constants[] = {{"source_correlation", 0.5}, {"reference_prior", 1}};
static const struct estimate_tables tables = {.errors = {errors, 5, true},
                                              .constants = {constants, 2, true}};
static const struct estimate_tables bare = {.errors = {errors, 5, true}};

static struct estimate made(double time_s, double down, double up, int class)
{
    struct estimate e = {.time_s = time_s,
                         .low_s = time_s * exp(-down),
                         .high_s = time_s * exp(up),
                         .device = 0.5,
                         .class = &errors[class]};
    estimate_set_kind(&e);
    return e;
}

static struct estimate combine(const struct estimate *sources, size_t count,
                               double weights[ESTIMATE_SOURCES])
{
    struct estimate out;
    estimate_combine(&tables, sources, count, weights, &out);
    return out;
}

TEST(sources_are_combined)
{
    double weights[ESTIMATE_SOURCES];
    struct estimate two[] = {made(4, 0.3, 0.3, PLAIN), made(9, 0.3, 0.3, PLAIN)};
    struct estimate e = combine(two, 2, weights);
    NEAR(e.time_s, 6); // the geometric mean
    NEAR(e.high_s, 6 * exp(0.3 * sqrt(0.5 + 0.5 / 2)));
    NEAR(e.low_s, 6 * exp(-0.3 * sqrt(0.75)));
    NEAR(weights[0], 0.5);
    NEAR(weights[1], 0.5);

    // Twice the half-width: a quarter of the weight. 1 / (1 / 0.09 + 1 / 0.36) = 0.072.
    two[1] = made(9, 0.6, 0.6, PLAIN);
    e = combine(two, 2, weights);
    NEAR(weights[0], 0.8);
    NEAR(e.time_s, pow(4, 0.8) * pow(9, 0.2));
    NEAR(log(e.high_s / e.time_s), sqrt(0.5 * 0.09 + 0.5 * 0.072));

    // The nearest has a range of numbers of GPUs, which is not even.
    two[0] = made(4, 0.2, 0.4, PLAIN);
    two[1] = made(4, 0.3, 0.3, PLAIN);
    e = combine(two, 2, weights);
    NEAR(log(e.high_s / 4), 0.4 * sqrt(0.75));
    NEAR(log(4 / e.low_s), 0.2 * sqrt(0.75));

    struct estimate four[] = {made(4, 0.3, 0.3, PLAIN), made(4, 0.3, 0.3, PLAIN),
                              made(4, 0.3, 0.3, PLAIN), made(4, 0.3, 0.3, PLAIN)};
    e = combine(four, 4, weights);
    NEAR(log(e.high_s / 4), 0.3 * sqrt(0.5 + 0.5 / 4));
    e = combine(four, 1, weights);
    NEAR(e.high_s, 4 * exp(0.3));
    NEAR(weights[0], 1);
}

TEST(a_combined_estimate_has_its_own_kind)
{
    double weights[ESTIMATE_SOURCES];
    struct estimate two[] = {made(4, 0.7, 0.7, PLAIN), made(4, 0.7, 0.7, PLAIN)};
    assert_int_equal(two[0].kind, ESTIMATE_ROUGH); // exp(0.7) = 2.01
    assert_int_equal(combine(two, 2, weights).kind, ESTIMATE_ESTIMATED);
    two[0].class = two[1].class = &errors[VENDOR];
    assert_int_equal(combine(two, 2, weights).kind, ESTIMATE_ROUGH);
}

TEST(without_the_constant_the_first_counts)
{
    double weights[ESTIMATE_SOURCES];
    struct estimate two[] = {made(4, 0.3, 0.3, PLAIN), made(9, 0.3, 0.3, PLAIN)}, out;
    estimate_combine(&bare, two, 2, weights, &out);
    NEAR(out.time_s, 4);
    NEAR(weights[0], 1);
    assert_true(weights[1] == 0);
    struct estimate none = {.kind = ESTIMATE_IMPOSSIBLE, .why = "too small"};
    out = combine(&none, 1, weights);
    assert_int_equal(out.kind, ESTIMATE_IMPOSSIBLE);
    assert_true(out.time_s == 0 && out.high_s == 0);
}

TEST(reference_runs_correct)
{
    struct estimate_calibration one = {1, log(1.21)}, three = {3, log(1.21)};
    struct estimate e = made(2, log(1.5), log(1.5), PLAIN);
    assert_true(estimate_calibrate(&tables, &one, &e));
    NEAR(e.time_s, 2 * 1.1); // one training and a formula that counts as one: half the way
    NEAR(e.device, 0.5 * 1.1);
    NEAR(e.high_s, 2.2 * 1.2);
    NEAR(e.low_s, 2.2 / 1.2);
    assert_ptr_equal(e.class, &errors[REFERENCE]);

    e = made(2, log(1.5), log(1.5), PLAIN);
    assert_true(estimate_calibrate(&tables, &three, &e));
    NEAR(e.time_s, 2 * pow(1.21, 0.75));

    // The run's own interval stays beside the class's.
    e = made(2, hypot(log(1.5), 0.1), hypot(log(1.5), 0.2), PLAIN);
    assert_true(estimate_calibrate(&tables, &one, &e));
    NEAR(log(2.2 / e.low_s), hypot(log(1.2), 0.1));
    NEAR(log(e.high_s / 2.2), hypot(log(1.2), 0.2));
}

TEST(reference_runs_do_not_apply)
{
    const struct estimate_calibration one = {1, 0.2}, none = {0, 0}, nan = {1, (double)NAN};
    struct estimate plain = made(2, 0.4, 0.4, PLAIN), e = plain;
    assert_false(estimate_calibrate(&tables, &none, &e));
    assert_false(estimate_calibrate(&tables, &nan, &e));
    assert_false(estimate_calibrate(&bare, &one, &e));
    assert_true(e.time_s == plain.time_s && e.high_s == plain.high_s && e.class == plain.class);
    e = made(2, 0.4, 0.4, HOST); // no such class
    assert_false(estimate_calibrate(&tables, &one, &e));
    e = made(2, 0.4, 0.4, SHEET);
    assert_false(estimate_calibrate(&tables, &one, &e));
    e = plain;
    e.part_count = 1; // traced
    assert_false(estimate_calibrate(&tables, &one, &e));
    e = plain;
    e.guessed_precision = true;
    assert_false(estimate_calibrate(&tables, &one, &e));
    e = (struct estimate){.kind = ESTIMATE_UNKNOWN};
    assert_false(estimate_calibrate(&tables, &one, &e));
}

// Half of the table's errors are up to 0.5 half-widths, 80 % to 0.8, 90 % to 1, 95 % to 2.
static double learn(size_t count, ...)
{
    static struct estimate_errors class = {.factor = {0, 0, 0, 0}};
    static const double half[] = {0.25, 0.4, 0.5, 1};
    for (size_t i = 0; i < ESTIMATE_LEVELS; i++)
        class.factor[i] = exp(half[i]);
    double list[100];
    va_list args;
    va_start(args, count);
    for (size_t i = 0; i < count; i++)
        list[i] = i < 2 ? va_arg(args, double) : list[1];
    va_end(args);
    return estimate_learn(&class, list, count);
}

// The table counts as 20 errors: 20 · share(s) + own errors up to s must reach 0.9 · (20 + n).
TEST(intervals_learn)
{
    NEAR(learn(0), 1);
    NEAR(learn(1, 0.1), 0.99);       // share 0.895
    NEAR(learn(10, 0.1, 0.1), 0.9);  // 0.85
    NEAR(learn(20, 0.1, 0.1), 0.8);  // 0.80
    NEAR(learn(100, 0.1, 0.1), 0.7); // 0.40: no narrower than this
    NEAR(learn(1, 3.0), 1.9);        // 0.945
    NEAR(learn(2, 3.0, 5.0), 3);     // 19.8 of 22: the table has 19, one of the two must be in
    NEAR(learn(10, 0.95, 1.5), 1.5); // 27 of 30: at 1.5 the table has 18.5; nine own are needed
    NEAR(learn(2, 50.0, 60.0), 10);  // no wider than this
    assert_true(learn(2, (double)NAN, 0.1) == 1);
    assert_true(learn(2, 0.1, (double)INFINITY) == 1);
    assert_true(learn(2, -1.0, 0.1) == 1);
}

TEST(intervals_stretch)
{
    struct estimate e = made(2, 0.1, 0.3, PLAIN);
    estimate_stretch(&e, 2);
    NEAR(e.time_s, 2);
    NEAR(e.low_s, 2 * exp(-0.2));
    NEAR(e.high_s, 2 * exp(0.6));
    estimate_stretch(&e, 3);
    assert_int_equal(e.kind, ESTIMATE_ROUGH);
    e = made(2, 0.1, 0.3, PLAIN);
    estimate_stretch(&e, (double)NAN);
    NEAR(e.high_s, 2 * exp(0.3));
}
