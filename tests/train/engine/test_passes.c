// SPDX-License-Identifier: Apache-2.0
// Every pass of every instruction set that this processor has, against the same thing written
// number by number in double precision, in float and in bfloat16. Sums differ by rounding only;
// what only moves or compares numbers must be exact.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/cpu/number.h"
#include "train/engine/cpu/passes.h"
#include "train/engine/dropout_keeps.h"
#include "test.h"

enum { ROOM = 1 << 15 };

static const struct passes *tables[4];

static void find_tables(void)
{
    int n = 0;
    __builtin_cpu_init();
    tables[n++] = &passes_base;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        tables[n++] = &passes_avx2;
    if (__builtin_cpu_supports("avx512f"))
        tables[n++] = &passes_avx512;
}

// The blocks that a table can do: vectors of 16 numbers need blocks of 16.
static bool can(const struct passes *t, int block)
{
    return block == 16 || t != &passes_avx512;
}

struct array { // numbers of either type
    float memory[ROOM];
    bool bf16;
};

static double at(const struct array *a, int64_t i)
{
    return (double)number_get(a->memory, i, a->bf16);
}

static void fill(struct array *a, bool bf16, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    a->bf16 = bf16;
    for (int64_t i = 0; i < ROOM; i++)
        number_put(a->memory, i, (float)rng_normal(&rng), bf16);
}

// As near as one rounding of the type to what a few roundings of a float give.
static void assert_near(double value, double expected, double scale, bool bf16)
{
    double bound = (bf16 ? 4.1e-3 : 2e-6) * (fabs(expected) + scale);
    if (!(fabs(value - expected) <= bound))
        fail_msg("%.9g instead of %.9g", value, expected);
}

#define EACH_TABLE(t)                                                                              \
    for (int t##_i = 0; tables[t##_i]; t##_i++)                                                    \
        for (const struct passes *t = tables[t##_i]; t; t = NULL)
#define EACH_TYPE(bf16) for (int bf16 = 0; bf16 < 2; bf16++)

static struct array x, y, dx, dy, was;

// ---- numbers one by one ----

TEST(sums_and_relu)
{
    EACH_TABLE(t) EACH_TYPE(bf16)
    {
        fill(&x, bf16, 1);
        fill(&y, bf16, 2);
        was = y;
        t->add(y.memory, x.memory, 1000, bf16);
        for (int i = 0; i < 1000; i++)
            assert_near(at(&y, i), at(&x, i) + at(&was, i), 0, bf16);
        fill(&dy, bf16, 3);
        was = dy;
        number_put(x.memory, 5, 0, bf16);
        t->relu_back(x.memory, dy.memory, 1000, bf16);
        for (int i = 0; i < 1000; i++)
            assert_true(at(&dy, i) == (at(&x, i) > 0 ? at(&was, i) : 0));
    }
}

// Halfway between two bfloat16 numbers goes to the even one (IEEE 754, roundTiesToEven).
TEST(bf16_rounds_to_nearest_even)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } cases[] = {{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f808001, 0x3f81},
                 {0x3f818000, 0x3f82}, {0x3f817fff, 0x3f81}, {0x80000000, 0x8000},
                 {0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f7fffff, 0x7f80},
                 {0x00000001, 0x0000}, {0x7fc00000, 0x7fc0}, {0x7f800001, 0x7fc0}};
    size_t count = sizeof cases / sizeof *cases;
    float from[64] = {0}, back[64];
    uint16_t to[64];
    for (size_t i = 0; i < count; i++)
        memcpy(&from[i], &cases[i].from, sizeof *from);
    EACH_TABLE(t)
    {
        t->to_bf16(to, from, 64);
        t->from_bf16(back, to, 64);
        for (size_t i = 0; i < count; i++) {
            uint32_t bits;
            uint16_t single;
            memcpy(&bits, &back[i], sizeof bits);
            number_put(&single, 0, from[i], true);
            assert_int_equal(to[i], cases[i].to);
            assert_int_equal(single, cases[i].to);
            assert_int_equal(bits, (uint32_t)cases[i].to << 16);
        }
    }
}

// ---- dropout ----

static bool bit(const uint8_t *bits, int64_t i)
{
    return bits[i / 8] >> i % 8 & 1;
}

TEST(masks_are_those_of_every_engine)
{
    static uint8_t bits[ROOM];
    struct dropout d;
    dropout_init(&d, 42, 3, 7, 0.3f);
    EACH_TABLE(t)
    {
        t->mask_rows(&d, 128, 1000, bits);
        for (int64_t i = 0; i < 1000; i++)
            assert_int_equal(bit(bits, i), dropout_keeps(&d, (uint64_t)(128 + i)));
        for (int block = 8; block <= 16; block += 8)
            for (int64_t pixels = 1; pixels < 30 && can(t, block); pixels += 1 + pixels / 5) {
                uint64_t first = 17 * (uint64_t)pixels * 5;
                t->mask_plane(&d, first, pixels, block, bits);
                for (int64_t p = 0; p < pixels; p++)
                    for (int c = 0; c < block; c++)
                        assert_int_equal(bit(bits, p * block + c),
                                         dropout_keeps(&d, first + (uint64_t)(c * pixels + p)));
            }
    }
}

TEST(dropout_keeps_and_scales)
{
    static uint8_t bits[ROOM], kept[ROOM];
    struct dropout d;
    dropout_init(&d, 1, 2, 3, 0.25f);
    EACH_TABLE(t) EACH_TYPE(bf16) for (int relu = 0; relu < 2; relu++)
    {
        fill(&x, bf16, 4);
        t->mask_rows(&d, 0, 640, bits);
        memcpy(kept, bits, sizeof kept);
        t->drop(x.memory, y.memory, bits, 640, 1.5f, relu, bf16);
        y.bf16 = bf16;
        for (int64_t i = 0; i < 640; i++) {
            bool alive = bit(kept, i) && (!relu || at(&x, i) > 0);
            assert_int_equal(bit(bits, i), alive);
            assert_near(at(&y, i), alive ? 1.5 * at(&x, i) : 0, 0, bf16);
        }
        for (int add = 0; add < 2; add++) {
            fill(&dy, bf16, 5);
            fill(&dx, bf16, 6);
            was = dx;
            t->drop_back(dy.memory, dx.memory, bits, 640, 1.5f, add, bf16);
            for (int64_t i = 0; i < 640; i++)
                assert_near(at(&dx, i),
                            (bit(bits, i) ? 1.5 * at(&dy, i) : 0) + (add ? at(&was, i) : 0),
                            fabs(at(&dy, i)), bf16);
        }
    }
}

// ---- pools ----

static const struct pass_pool pools[] = {
    {.in_h = 6, .in_w = 8, .out_h = 3, .out_w = 4, .kernel_h = 2, .kernel_w = 2, .stride = 2},
    {.in_h = 7, .in_w = 5, .out_h = 3, .out_w = 2, .kernel_h = 2, .kernel_w = 2, .stride = 2},
    {.in_h = 9, .in_w = 7, .out_h = 4, .out_w = 3, .kernel_h = 3, .kernel_w = 3, .stride = 2},
    {.in_h = 5,
     .in_w = 6,
     .out_h = 5,
     .out_w = 6,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 1,
     .pad_top = 1,
     .pad_left = 1},
    {.in_h = 6,
     .in_w = 5,
     .out_h = 3,
     .out_w = 3,
     .kernel_h = 3,
     .kernel_w = 2,
     .stride = 2,
     .pad_top = 0,
     .pad_left = 0},
    {.in_h = 1,
     .in_w = 1,
     .out_h = 1,
     .out_w = 1,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride = 2,
     .pad_top = 1,
     .pad_left = 1},
};

// Calls each(output, cell, input) for all cells of all windows that lie inside; returns how many
// the output has.
static int cells_of(const struct pass_pool *p, int oy, int ox, int cell[16], int input[16])
{
    int n = 0;
    for (int ky = 0; ky < p->kernel_h; ky++)
        for (int kx = 0; kx < p->kernel_w; kx++) {
            int iy = oy * p->stride - p->pad_top + ky, ix = ox * p->stride - p->pad_left + kx;
            if (iy < 0 || iy >= p->in_h || ix < 0 || ix >= p->in_w)
                continue;
            cell[n] = ky * p->kernel_w + kx;
            input[n++] = iy * p->in_w + ix;
        }
    return n;
}

static void check_max(const struct passes *t, const struct pass_pool *p, bool relu, bool add)
{
    static uint8_t index[ROOM];
    static double sum[ROOM];
    int cell[16], input[16], block = p->block;
    fill(&x, p->bf16, 7);
    fill(&dy, p->bf16, 8);
    fill(&dx, p->bf16, 9);
    y.bf16 = p->bf16;
    for (int i = 0; i < p->in_h * p->in_w * block; i++)
        sum[i] = add ? at(&dx, i) : 0;
    t->max_pool(p, x.memory, y.memory, index, relu);
    for (int o = 0; o < p->out_h * p->out_w; o++)
        for (int c = 0; c < block; c++) {
            int n = cells_of(p, o / p->out_w, o % p->out_w, cell, input), best = 0;
            for (int k = 1; k < n; k++)
                if (at(&x, input[k] * block + c) > at(&x, input[best] * block + c))
                    best = k;
            double top = at(&x, input[best] * block + c);
            bool dead = relu && top <= 0;
            assert_true(at(&y, o * block + c) == top);
            assert_int_equal(index[o * block + c], dead ? PASS_POOL_DEAD : cell[best]);
            sum[input[best] * block + c] += dead ? 0 : at(&dy, o * block + c);
        }
    t->max_pool_back(p, dy.memory, index, dx.memory, add);
    for (int i = 0; i < p->in_h * p->in_w * block; i++)
        assert_near(at(&dx, i), sum[i], 1, p->bf16);
}

static void check_average(const struct passes *t, const struct pass_pool *p, bool add)
{
    static double sum[ROOM];
    int cell[16], input[16], block = p->block;
    fill(&x, p->bf16, 7);
    fill(&dy, p->bf16, 8);
    fill(&dx, p->bf16, 9);
    y.bf16 = p->bf16;
    for (int i = 0; i < p->in_h * p->in_w * block; i++)
        sum[i] = add ? at(&dx, i) : 0;
    t->average_pool(p, x.memory, y.memory);
    for (int o = 0; o < p->out_h * p->out_w; o++)
        for (int c = 0; c < block; c++) {
            int n = cells_of(p, o / p->out_w, o % p->out_w, cell, input);
            double total = 0;
            for (int k = 0; k < n; k++) {
                total += at(&x, input[k] * block + c);
                sum[input[k] * block + c] += at(&dy, o * block + c) / n;
            }
            assert_near(at(&y, o * block + c), total / n, 1, p->bf16);
        }
    t->average_pool_back(p, dy.memory, dx.memory, add);
    for (int i = 0; i < p->in_h * p->in_w * block; i++)
        assert_near(at(&dx, i), sum[i], 1, p->bf16);
}

TEST(pools_choose_and_share)
{
    EACH_TABLE(t)
    EACH_TYPE(bf16)
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        for (int block = 8; block <= 16; block += 8) {
            struct pass_pool pool = pools[i];
            pool.block = block;
            pool.bf16 = bf16;
            for (int add = 0; add < 2 && can(t, block); add++) {
                check_max(t, &pool, false, add);
                check_max(t, &pool, true, add);
                check_average(t, &pool, add);
            }
        }
}

TEST(whole_planes)
{
    float sum[16], value[16];
    EACH_TABLE(t)
    EACH_TYPE(bf16)
    for (int block = 8; block <= 16 && can(t, block); block += 8)
        for (int add = 0; add < 2; add++) {
            fill(&x, bf16, 10);
            t->plane_sum(x.memory, 37, block, sum, bf16);
            for (int c = 0; c < block; c++) {
                double total = 0;
                for (int p = 0; p < 37; p++)
                    total += at(&x, p * block + c);
                assert_near((double)sum[c], total, 10, false);
                value[c] = (float)c / 16;
            }
            fill(&dx, bf16, 11);
            was = dx;
            t->plane_fill(dx.memory, 37, block, value, add, bf16);
            for (int i = 0; i < 37 * block; i++)
                assert_near(at(&dx, i), (double)value[i % block] + (add ? at(&was, i) : 0), 1,
                            bf16);
        }
}

// ---- batch norm ----

static void check_norm(const struct passes *t, int block, bool bf16, bool relu, bool add)
{
    enum { SAMPLES = 3, PIXELS = 281, GAP = 32 }; // PIXELS: more than one run of single sums
    float mean[16], scale[16], bias[16], level[16], slope[16];
    double sum[16], squares[16], along[16];
    int64_t stride = PIXELS * block + GAP;
    fill(&x, bf16, 12);
    fill(&dy, bf16, 13);
    fill(&y, bf16, 14);
    was = y;
    for (int c = 0; c < block; c++) {
        mean[c] = 0.1f * (float)c;
        scale[c] = 1 + 0.05f * (float)c;
        bias[c] = 0.5f - 0.1f * (float)c;
        level[c] = 0.01f * (float)c;
        slope[c] = 0.2f - 0.02f * (float)c;
    }
    struct pass_norm n = {x.memory, y.memory, dy.memory, stride, stride, stride,
                          SAMPLES,  PIXELS,   block,     bf16,   relu,   add,
                          mean,     scale,    bias,      level,  slope};
    t->norm_sum(&n, sum);
    t->norm_squares(&n, squares);
    for (int c = 0; c < block; c++)
        for (int64_t i = 0; i < SAMPLES * PIXELS; i++) {
            double value = at(&x, i / PIXELS * stride + i % PIXELS * block + c);
            sum[c] -= value;
            squares[c] -= (value - (double)mean[c]) * (value - (double)mean[c]);
        }
    for (int c = 0; c < block; c++) {
        assert_near(sum[c], 0, 100, false); // of 843 numbers of about 1
        assert_near(squares[c], 0, 1000, false);
    }
    t->norm_back_sums(&n, sum, along);
    t->norm_back(&n);
    for (int c = 0; c < block; c++)
        for (int64_t i = 0; i < SAMPLES * PIXELS; i++) {
            int64_t k = i / PIXELS * stride + i % PIXELS * block + c;
            double away = at(&x, k) - (double)mean[c];
            double out = away * (double)scale[c] + (double)bias[c];
            double g = relu && out <= 0 ? 0 : at(&dy, k);
            sum[c] -= g;
            along[c] -= g * away;
            double back = (double)scale[c] * (g - (double)level[c] - away * (double)slope[c]);
            if (fabs(out) > 1e-5) // at the corner of the relu either side may be right
                assert_near(at(&y, k), back + (add ? at(&was, k) : 0), 1, bf16);
        }
    for (int c = 0; c < block; c++) {
        assert_near(sum[c], 0, 100, false);
        assert_near(along[c], 0, 300, false);
    }
    n.y = y.memory;
    t->norm_apply(&n);
    for (int64_t i = 0; i < SAMPLES * PIXELS * block; i++) {
        int64_t c = i % block, k = i / block / PIXELS * stride + i / block % PIXELS * block + c;
        double out = (at(&x, k) - (double)mean[c]) * (double)scale[c] + (double)bias[c];
        assert_near(at(&y, k), relu && out < 0 ? 0 : out, 1, bf16);
    }
}

TEST(batch_norm_sums_and_applies)
{
    EACH_TABLE(t)
    EACH_TYPE(bf16)
    for (int block = 8; block <= 16; block += 8)
        for (int i = 0; i < 4 && can(t, block); i++)
            check_norm(t, block, bf16, i & 1, i & 2);
}

// ---- optimizers ----

// The rules of train/net/net.h, in double precision.
static double rule_step(int which, const struct pass_rule *r, double p, double g, double s[2])
{
    double rho = (double)r->rho, rest = (double)r->rho_rest, epsilon = (double)r->epsilon;
    double rate = (double)r->rate;
    if (which == 3) {
        s[0] = rho * s[0] + rest * g;
        s[1] = (double)r->beta2 * s[1] + (double)r->beta2_rest * g * g;
        return p - rate * s[0] / (sqrt(s[1]) + epsilon);
    }
    s[0] = rho * s[0] + rest * g * g;
    if (which == 0)
        return p - rate * g / (sqrt(s[0]) + epsilon);
    if (which == 1) {
        s[1] = (double)r->momentum * s[1] + rate * g / sqrt(s[0] + epsilon);
        return p - s[1];
    }
    double u = g * sqrt(s[1] + epsilon) / sqrt(s[0] + epsilon);
    s[1] = rho * s[1] + rest * u * u;
    return p - rate * u;
}

TEST(optimizers_follow_the_recipe)
{
    enum { COUNT = 500 };
    static struct array p, g, a, b;
    const struct pass_rule rule = {.rate = 0.1f,
                                   .rho = 0.9f,
                                   .rho_rest = 0.1f,
                                   .beta2 = 0.75f,
                                   .beta2_rest = 0.25f,
                                   .epsilon = 1e-3f,
                                   .momentum = 0.5f};
    EACH_TABLE(t)
    {
        pass_optimizer *const passes[] = {t->rmsprop, t->rmsprop_momentum, t->adadelta, t->adam};
        for (int which = 0; which < 4; which++) {
            fill(&p, false, 20);
            fill(&g, false, 21);
            fill(&a, false, 22);
            fill(&b, false, 23);
            for (int i = 0; i < ROOM; i++) { // states that are squares
                a.memory[i] = which == 3 ? a.memory[i] : fabsf(a.memory[i]);
                b.memory[i] = which == 1 ? b.memory[i] : fabsf(b.memory[i]);
            }
            struct array p0 = p, a0 = a, b0 = b;
            passes[which](&rule, 0.01f, p.memory, g.memory, a.memory, b.memory, COUNT);
            for (int i = 0; i < COUNT; i++) {
                double s[2] = {at(&a0, i), at(&b0, i)};
                double gradient = at(&g, i) + (double)0.01f * at(&p0, i);
                double to = rule_step(which, &rule, at(&p0, i), gradient, s);
                assert_near(at(&p, i), to, 1, false);
                assert_near(at(&a, i), s[0], 1, false);
                assert_near(at(&b, i), which == 0 ? at(&b0, i) : s[1], 1, false);
            }
        }
    }
}

int main(void)
{
    find_tables();
    return run_all_tests(NULL, NULL);
}
