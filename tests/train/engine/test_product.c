// SPDX-License-Identifier: Apache-2.0
// The rate of a product: sizes and rounds on a made-up device, whose products take what they must.
#include "train/engine/shared.h"

#include <math.h>
#include <string.h>

#include "test.h"

struct device {
    double flops_per_s, first_s; // first_s: the first product of a size takes this much longer
    double slow;                 // all rounds but the last take this many times as long
    double fast_4096;            // products of that size run this many times as fast
    int64_t size, ran, rounds;
    int failing; // calls until one fails; 0: none does
};

static int prepare(void *context, int64_t size, struct err *err)
{
    struct device *d = context;
    (void)err;
    d->size = size;
    d->ran = 0;
    return 0;
}

static int run(void *context, int64_t times, double *seconds, struct err *err)
{
    struct device *d = context;
    if (d->failing > 0 && --d->failing == 0)
        return err_set(err, ERR_FAIL, "the device was lost");
    double each = 2 * pow((double)d->size, 3) / d->flops_per_s;
    *seconds = (double)times * each + (d->ran == 0 ? d->first_s : 0);
    d->rounds++;
    if (d->slow > 0 && d->rounds % 5 != 0)
        *seconds *= d->slow;
    d->ran += times;
    return 0;
}

TEST(sizes_grow_with_the_device)
{
    static const struct {
        double flops_per_s;
        int64_t size;
    } cases[] = {
        {1e9, 512},     // 0.27 s each: no larger one
        {20e9, 512},    // 13 ms, and 107 for the next
        {40e9, 1024},   // 6.7 and 54 ms
        {1e12, 2048},   // 17 ms
        {2e12, 4096},   // 8.6, then 69 ms
        {800e12, 4096}, // the largest
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device d = {.flops_per_s = cases[i].flops_per_s, .first_s = 3};
        const struct product_work work = {&d, prepare, run};
        struct engine_product out = {0};
        struct err err = {0};
        assert_ok(product_time(&work, &out, &err), &err);
        assert_int_equal(out.size, cases[i].size);
        double rate = 2 * pow((double)out.size, 3) / out.seconds;
        assert_true(fabs(rate / d.flops_per_s - 1) < 1e-9);
    }
}

TEST(the_best_round_counts)
{
    struct device d = {.flops_per_s = 1e13, .slow = 1.5};
    const struct product_work work = {&d, prepare, run};
    struct engine_product out = {0};
    struct err err = {0};
    assert_ok(product_time(&work, &out, &err), &err);
    assert_true(fabs(2 * pow(4096, 3) / out.seconds / 1e13 - 1) < 1e-9);
}

static int run_better_large(void *context, int64_t times, double *seconds, struct err *err)
{
    struct device *d = context;
    TRY(run(d, times, seconds, err));
    *seconds /= d->size == 4096 ? d->fast_4096 : 1;
    return 0;
}

TEST(the_best_size_counts)
{
    static const struct {
        double flops_per_s, at_4096; // at_4096: how many times as fast
        int64_t most, size;
    } cases[] = {
        {800e12, 0.8, 8192, 8192},
        {800e12, 1.25, 8192, 4096},
        {800e12, 0.8, 4096, 4096},
        {8e12, 0.8, 8192, 4096}, // 17 ms at 4096, so over 100 at 8192
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct device d = {.flops_per_s = cases[i].flops_per_s};
        struct engine_product out = {0};
        struct err err = {0};
        const struct product_work work = {&d, prepare, run_better_large};
        d.fast_4096 = cases[i].at_4096;
        assert_ok(product_time_best(&work, 4096, cases[i].most, &out, &err), &err);
        assert_int_equal(out.size, cases[i].size);
        double rate = 2 * pow((double)out.size, 3) / out.seconds;
        double want = d.flops_per_s * (out.size == 4096 ? d.fast_4096 : 1);
        assert_true(fabs(rate / want - 1) < 1e-9);
    }
}

TEST(failures_are_told)
{
    struct engine_product out = {0};
    for (int at = 1; at < 12; at++) {
        struct device d = {.flops_per_s = 1e12, .failing = at};
        const struct product_work work = {&d, prepare, run};
        struct err err = {0};
        if (product_time(&work, &out, &err) == 0) {
            assert_true(at > 2 * 3 + 5); // three sizes, two products each, and five rounds
            break;
        }
        assert_string_equal(err.text, "the device was lost");
    }
    struct device still = {.flops_per_s = (double)INFINITY};
    const struct product_work work = {&still, prepare, run};
    struct err err = {0};
    assert_int_equal(product_time(&work, &out, &err), ERR_FAIL);
}

// On this machine, with oneDNN: one thread of any processor reaches a billion, and none a hundred
// thousand billion.
TEST(the_cpu_has_a_rate)
{
    static const enum engine_precision precisions[] = {ENGINE_F32, ENGINE_BF16};
    for (int i = 0; i < 2; i++) {
        struct engine_options options = {.precision = precisions[i]};
        struct engine_product out = {0};
        struct err err = {0};
        int rc = engine_cpu.product(&options, &out, &err);
        if (rc == ERR_MISSING) { // no oneDNN, or no bf16
            print_message("# %s\n", err.text);
            continue;
        }
        assert_ok(rc, &err);
        double rate = 2 * pow((double)out.size, 3) / out.seconds;
        print_message("# %s %g flop/s, %d, %s\n", engine_precisions[precisions[i]], rate,
                      (int)out.size, out.kernel);
        assert_true(rate > 1e9 && rate < 1e14);
        assert_true(strncmp(out.kernel, "oneDNN 2.", 9) == 0);
    }
}
