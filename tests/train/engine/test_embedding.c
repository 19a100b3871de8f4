// SPDX-License-Identifier: Apache-2.0
// The embedding and its optimizers. The lazy Adam must have the bits of the dense one, whatever is
// read in between; the dense ones are compared with the rules of train/net/net.h in double
// precision.
#include "train/engine/cpu/embedding.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/team.h"
#include "test.h"

static const struct recipe adam = {.optimizer = OPTIMIZER_ADAM,
                                   .rho = 0.9F,
                                   .beta2 = 0.999F,
                                   .epsilon = 1e-8F,
                                   .stages = {{.rate = 0.001F}}};

static struct embedding *embedding_of(const struct recipe *recipe, int vocabulary, int units,
                                      int positions, enum embedding_way way)
{
    struct embedding_spec spec = {.vocabulary = vocabulary,
                                  .units = units,
                                  .positions = positions,
                                  .recipe = recipe,
                                  .way = way};
    struct embedding *e;
    struct err err = {0};
    assert_ok(embedding_new(&spec, &e, &err), &err);
    struct rng rng;
    rng_init(&rng, 5);
    float *table = embedding_table(e);
    for (int i = 0; i < vocabulary * units; i++)
        table[i] = 0.1F * rng_float(&rng) - 0.05F;
    return e;
}

// Few tokens often, most of them seldom; the upper tenth never.
static void draw_tokens(struct rng *rng, int vocabulary, int32_t *tokens, int count)
{
    for (int i = 0; i < count; i++) {
        double r = rng_double(rng);
        tokens[i] = (int32_t)(r * r * r * r * (vocabulary - vocabulary / 10));
    }
}

static void train_once(struct embedding *e, const int32_t *tokens, const float *dout, int count,
                       int64_t iteration)
{
    embedding_look(e, tokens, count);
    embedding_backward(e, dout);
    embedding_step(e, iteration);
}

static void assert_same(struct embedding *a, struct embedding *b, size_t count)
{
    assert_memory_equal(embedding_table(a), embedding_table(b), count * sizeof(float));
    assert_memory_equal(embedding_state(a, 0), embedding_state(b, 0), count * sizeof(float));
    assert_memory_equal(embedding_state(a, 1), embedding_state(b, 1), count * sizeof(float));
}

enum { POSITIONS = 24 };

static void compare_ways(int vocabulary, int units, int64_t iteration, int steps, bool jumps)
{
    struct embedding *dense = embedding_of(&adam, vocabulary, units, POSITIONS, EMBEDDING_DENSE);
    struct embedding *lazy = embedding_of(&adam, vocabulary, units, POSITIONS, EMBEDDING_LAZY);
    struct embedding *read = embedding_of(&adam, vocabulary, units, POSITIONS, EMBEDDING_AUTO);
    const size_t count = (size_t)vocabulary * (size_t)units;
    float *dout = malloc(POSITIONS * (size_t)units * sizeof *dout);
    assert_non_null(dout);
    struct rng rng;
    rng_init(&rng, (uint64_t)(vocabulary + units));
    for (int step = 0; step < steps; step++, iteration++) {
        int32_t tokens[POSITIONS];
        int positions = 1 + (int)rng_below(&rng, POSITIONS);
        // After some time half of the tokens stay away, until all that moved has come to rest.
        draw_tokens(&rng, step < 400 ? vocabulary : (vocabulary + 1) / 2, tokens, positions);
        // Of every size, down to gradients whose squares are no longer normal numbers.
        float scale = ldexpf(1, -(int)rng_below(&rng, 70));
        for (int i = 0; i < positions * units; i++)
            dout[i] = scale * (rng_float(&rng) - 0.5F);
        if (jumps && step % 97 == 96)
            iteration += (int64_t)rng_below(&rng, 50) - 25;
        train_once(dense, tokens, dout, positions, iteration);
        train_once(lazy, tokens, dout, positions, iteration);
        train_once(read, tokens, dout, positions, iteration);
        if (rng_below(&rng, 20) == 0)
            assert_same(read, dense, count);
        if (rng_below(&rng, 5) == 0) { // as an evaluation would
            draw_tokens(&rng, vocabulary, tokens, POSITIONS);
            embedding_look(read, tokens, POSITIONS);
        }
    }
    assert_same(lazy, dense, count);
    assert_same(read, dense, count);
    free(dout);
    embedding_free(dense);
    embedding_free(lazy);
    embedding_free(read);
}

TEST(test_lazy_is_dense)
{
    static const struct kernels *const tables[] = {&kernels_avx512, &kernels_avx2, &kernels_base};
    for (size_t i = 0; i < 3; i++) {
        if (!kernels_limit(tables[i]))
            continue;
        team_set(1);
        compare_ways(1, 1, 0, 60, false);
        compare_ways(101, 7, 0, 300, true);
        team_set(2);
        compare_ways(90, 64, 3, 100, false);
        team_set(3);
        compare_ways(67, 131, 1000, 50, true);
    }
    kernels_limit(NULL);
    team_set(1);
    compare_ways(200, 16, 0, 2500, false);    // rows that wait until they rest
    compare_ways(100, 5, 36900, 1500, false); // past the last rate that is listed
}

// The rules of train/net/net.h.
static void rule(const struct recipe *r, double rate, int64_t t, double g, double *p, double s[2])
{
    const double rho = (double)r->rho, beta2 = (double)r->beta2, epsilon = (double)r->epsilon;
    switch (r->optimizer) {
    case OPTIMIZER_RMSPROP:
        s[0] = rho * s[0] + (1 - rho) * g * g;
        *p -= rate / (1 + (double)r->decay * (double)t) * g / (sqrt(s[0]) + epsilon);
        break;
    case OPTIMIZER_RMSPROP_MOMENTUM:
        s[0] = rho * s[0] + (1 - rho) * g * g;
        s[1] = (double)r->momentum * s[1] + rate * g / sqrt(s[0] + epsilon);
        *p -= s[1];
        break;
    case OPTIMIZER_ADADELTA: {
        s[0] = rho * s[0] + (1 - rho) * g * g;
        double u = g * sqrt(s[1] + epsilon) / sqrt(s[0] + epsilon);
        *p -= rate * u;
        s[1] = rho * s[1] + (1 - rho) * u * u;
        break;
    }
    case OPTIMIZER_ADAM:
        s[0] = rho * s[0] + (1 - rho) * g;
        s[1] = beta2 * s[1] + (1 - beta2) * g * g;
        *p -= rate * sqrt(1 - pow(beta2, (double)t + 1)) / (1 - pow(rho, (double)t + 1)) * s[0] /
              (sqrt(s[1]) + epsilon);
        break;
    case OPTIMIZER_ADAMW: // its tables are plain parameters
        fail();
    }
}

static void compare_rule(const struct recipe *recipe, int vocabulary, int units, int steps)
{
    struct embedding *e = embedding_of(recipe, vocabulary, units, POSITIONS, EMBEDDING_AUTO);
    const int count = vocabulary * units;
    double *p = calloc((size_t)count, sizeof *p), *g = calloc((size_t)count, sizeof *g);
    double(*s)[2] = calloc((size_t)count, sizeof *s);
    float *dout = malloc(POSITIONS * (size_t)units * sizeof *dout);
    assert_true(p && g && s && dout);
    for (int i = 0; i < count; i++) {
        p[i] = (double)embedding_table(e)[i];
        s[i][0] = recipe->optimizer == OPTIMIZER_RMSPROP_MOMENTUM;
    }
    struct rng rng;
    rng_init(&rng, 3);
    double rate = (double)recipe->stages[0].rate, travelled = 0;
    for (int t = 0; t < steps; t++) {
        int32_t tokens[POSITIONS];
        draw_tokens(&rng, vocabulary, tokens, POSITIONS);
        memset(g, 0, (size_t)count * sizeof *g);
        for (int i = 0; i < POSITIONS * units; i++) {
            dout[i] = 0.01F * (rng_float(&rng) - 0.5F);
            g[tokens[i / units] * units + i % units] += (double)dout[i];
        }
        if (t == steps / 2) { // a new stage
            rate /= 2;
            embedding_set_rate(e, (float)rate);
            embedding_reset_state(e);
            for (int i = 0; i < count; i++) {
                s[i][0] = recipe->optimizer == OPTIMIZER_RMSPROP_MOMENTUM;
                s[i][1] = 0;
            }
        }
        for (int i = 0; i < count; i++) {
            double before = p[i];
            rule(recipe, rate, t, g[i], &p[i], s[i]);
            travelled = fmax(travelled, fabs(p[i] - before));
        }
        train_once(e, tokens, dout, POSITIONS, t);
    }
    const float *table = embedding_table(e);
    assert_true(travelled > 1e-5);
    for (int i = 0; i < count; i++) {
        // Rounding of p itself in each step, and a millionth of each step.
        double bound = steps * (6e-8 * 0.2 + 1e-6 * travelled);
        assert_true(fabs((double)table[i] - p[i]) < bound);
        assert_true(fabs((double)embedding_state(e, 0)[i] - s[i][0]) < 1e-5 * fabs(s[i][0]) + 1e-8);
        if (recipe_states(recipe) > 1)
            assert_true(fabs((double)embedding_state(e, 1)[i] - s[i][1]) <
                        1e-5 * fabs(s[i][1]) + 1e-7);
    }
    free(p);
    free(g);
    free(s);
    free(dout);
    embedding_free(e);
}

TEST(test_rules)
{
    static const struct recipe others[] = {
        {.optimizer = OPTIMIZER_RMSPROP,
         .rho = 0.9F,
         .epsilon = 1e-7F,
         .decay = 0.01F,
         .stages = {{.rate = 0.001F}}},
        {.optimizer = OPTIMIZER_RMSPROP_MOMENTUM,
         .rho = 0.9F,
         .momentum = 0.9F,
         .epsilon = 1,
         .stages = {{.rate = 0.01F}}},
        {.optimizer = OPTIMIZER_ADADELTA, .rho = 0.95F, .epsilon = 1e-7F, .stages = {{.rate = 1}}},
    };
    for (int threads = 1; threads <= 3; threads++) {
        team_set(threads);
        const int steps = threads == 1 ? 200 : 20;
        compare_rule(&adam, 83, 19, steps);
        compare_rule(&adam, 1, 1, 10);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
            compare_rule(&others[i], 83, 19, steps);
            compare_rule(&others[i], 130, 1, 10);
        }
    }
}

TEST(test_forward_and_backward)
{
    enum { V = 9, UNITS = 5 };
    static const int32_t tokens[] = {4, 8, 4, 0, 4, 8};
    for (int threads = 1; threads <= 3; threads++) {
        team_set(threads);
        struct embedding *e = embedding_of(&adam, V, UNITS, 6, EMBEDDING_AUTO);
        float out[6][UNITS], dout[6][UNITS], sum[3][UNITS] = {{0}};
        embedding_look(e, tokens, 6);
        embedding_forward(e, out[0]);
        const float *rows = embedding_rows(e), *table = embedding_table(e);
        assert_ptr_equal(rows, table);
        for (int i = 0; i < 6; i++)
            assert_memory_equal(out[i], table + tokens[i] * UNITS, sizeof out[i]);
        for (int i = 0; i < 6; i++)
            for (int u = 0; u < UNITS; u++) {
                dout[i][u] = 1 / (float)(3 + i * UNITS + u);
                sum[tokens[i] == 4 ? 0 : tokens[i] == 8 ? 1 : 2][u] += dout[i][u]; // in order
            }
        embedding_backward(e, dout[0]);
        assert_memory_equal(embedding_grad(e), sum, sizeof sum);
        embedding_free(e);
    }
}
