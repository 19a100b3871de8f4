// SPDX-License-Identifier: Apache-2.0
// The CPU engine's LSTM against plain loops in double precision, written here from the equations;
// the loops' gradients are themselves checked against finite differences.
#include "train/engine/cpu/lstm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "train/engine/cpu/kernels.h"
#include "train/engine/cpu/team.h"
#include "test.h"

// Everything of one case, in the net's layout.
struct problem {
    int batch, count, time, in, units, ways;
    bool hard; // gates
    enum lstm_input input;
    int vocabulary; // of the tokens
    float *w_ih[2], *w_hh[2], *bias[2];
    float *x;        // (batch, time, in)
    int32_t *tokens; // (batch, time)
    float *table;    // (vocabulary, in)
    float *dout;     // (count, ways × units)
    double *out;     // expected
    double *dw_ih[2], *dw_hh[2], *dbias[2];
    double *dx;     // (count, time, in)
    double *dtable; // (vocabulary, in)
};

static float *random_floats(struct rng *rng, size_t count, float scale)
{
    float *values = calloc(count, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = scale * (2 * rng_float(rng) - 1);
    return values;
}

static double *zeros(size_t count)
{
    double *values = calloc(count, sizeof *values);
    assert_non_null(values);
    return values;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double gate_of(const struct problem *p, double z)
{
    return p->hard ? fmin(fmax(0.2 * z + 0.5, 0), 1) : sigmoid(z);
}

static double slope_of(const struct problem *p, double gate)
{
    return !p->hard ? gate * (1 - gate) : gate > 0 && gate < 1 ? 0.2 : 0;
}

// One sample, one direction: y (units). With dy also the gradients, added up.
static void one_sample(struct problem *p, int way, int sample, double *y, const double *dy)
{
    const int H = p->units, E = p->in, T = p->time;
    double *gate = zeros((size_t)T * 4 * H), *c = zeros((size_t)(T + 1) * H);
    double *h = zeros((size_t)(T + 1) * H); // h[s + 1] is the state after step s
    const float *x = p->x + (size_t)sample * T * E;
    for (int s = 0; s < T; s++) {
        const float *xt = x + (size_t)(way ? T - 1 - s : s) * E;
        for (int r = 0; r < 4 * H; r++) {
            double z = (double)p->bias[way][r];
            for (int k = 0; k < E; k++)
                z += (double)p->w_ih[way][r * E + k] * (double)xt[k];
            for (int k = 0; k < H; k++)
                z += (double)p->w_hh[way][r * H + k] * h[s * H + k];
            gate[s * 4 * H + r] = r / H == 2 ? tanh(z) : gate_of(p, z);
        }
        for (int u = 0; u < H; u++) {
            const double *g = gate + s * 4 * H;
            c[(s + 1) * H + u] = g[H + u] * c[s * H + u] + g[u] * g[2 * H + u];
            h[(s + 1) * H + u] = g[3 * H + u] * tanh(c[(s + 1) * H + u]);
        }
    }
    memcpy(y, h + (size_t)T * H, (size_t)H * sizeof *y);
    double *dh = zeros(H), *dc = zeros(H), *dz = zeros(4 * H);
    if (dy)
        memcpy(dh, dy, (size_t)H * sizeof *dh);
    for (int s = T - 1; dy && s >= 0; s--) {
        int t = way ? T - 1 - s : s;
        const double *g = gate + s * 4 * H;
        for (int u = 0; u < H; u++) {
            double i = g[u], f = g[H + u], gg = g[2 * H + u], o = g[3 * H + u];
            double th = tanh(c[(s + 1) * H + u]);
            dc[u] += dh[u] * o * (1 - th * th);
            dz[u] = dc[u] * gg * slope_of(p, i);
            dz[H + u] = dc[u] * c[s * H + u] * slope_of(p, f);
            dz[2 * H + u] = dc[u] * i * (1 - gg * gg);
            dz[3 * H + u] = dh[u] * th * slope_of(p, o);
            dc[u] *= f;
        }
        memset(dh, 0, (size_t)H * sizeof *dh);
        for (int r = 0; r < 4 * H; r++) {
            p->dbias[way][r] += dz[r];
            for (int k = 0; k < E; k++) {
                p->dw_ih[way][r * E + k] += dz[r] * (double)x[t * E + k];
                p->dx[((size_t)sample * T + t) * E + k] += dz[r] * (double)p->w_ih[way][r * E + k];
            }
            for (int k = 0; k < H; k++) {
                p->dw_hh[way][r * H + k] += dz[r] * h[s * H + k];
                dh[k] += dz[r] * (double)p->w_hh[way][r * H + k];
            }
        }
    }
    free(gate);
    free(c);
    free(h);
    free(dh);
    free(dc);
    free(dz);
}

static void expect(struct problem *p)
{
    const int width = p->ways * p->units;
    for (int sample = 0; sample < p->count; sample++)
        for (int way = 0; way < p->ways; way++) {
            double dy[256];
            size_t at = (size_t)sample * width + way * p->units;
            for (int u = 0; u < p->units; u++)
                dy[u] = (double)p->dout[at + u];
            one_sample(p, way, sample, p->out + at, dy);
        }
    for (int i = 0; i < p->count * p->time; i++)
        for (int k = 0; k < p->in; k++)
            p->dtable[(size_t)p->tokens[i] * p->in + k] += p->dx[(size_t)i * p->in + k];
}

static void problem_init(struct problem *p, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    const size_t H = p->units, E = p->in, positions = (size_t)p->batch * p->time;
    if (p->input == LSTM_ONE_HOT)
        p->vocabulary = p->in;
    for (int w = 0; w < 2; w++) {
        p->w_ih[w] = random_floats(&rng, 4 * H * E, 1 / sqrtf((float)E));
        p->w_hh[w] = random_floats(&rng, 4 * H * H, 1.5F / sqrtf((float)H));
        p->bias[w] = random_floats(&rng, 4 * H, 1);
        // Hard gates around 0 and ± 5: open, closed, between, and seldom near a corner at ± 2.5.
        for (size_t i = 0; p->hard && i < 4 * H; i++)
            p->bias[w][i] = p->bias[w][i] / 2 + 5 * (float)((int)rng_below(&rng, 3) - 1);
        p->dw_ih[w] = zeros(4 * H * E);
        p->dw_hh[w] = zeros(4 * H * H);
        p->dbias[w] = zeros(4 * H);
    }
    p->x = random_floats(&rng, positions * E, 1);
    p->table = random_floats(&rng, (size_t)p->vocabulary * E, 1);
    p->tokens = calloc(positions, sizeof *p->tokens);
    assert_non_null(p->tokens);
    for (size_t i = 0; i < positions; i++) { // half of them the same, as padding is
        p->tokens[i] = rng_below(&rng, 2) ? (int32_t)rng_below(&rng, p->vocabulary) : 0;
        if (p->input == LSTM_EMBEDDING)
            memcpy(p->x + i * E, p->table + p->tokens[i] * E, E * sizeof *p->x);
        for (size_t k = 0; p->input == LSTM_ONE_HOT && k < E; k++)
            p->x[i * E + k] = k == (size_t)p->tokens[i];
    }
    p->dout = random_floats(&rng, p->count * p->ways * H, 1);
    p->out = zeros(p->count * p->ways * H);
    p->dx = zeros(positions * E);
    p->dtable = zeros((size_t)p->vocabulary * E);
}

static void problem_release(struct problem *p)
{
    for (int w = 0; w < 2; w++) {
        free(p->w_ih[w]);
        free(p->w_hh[w]);
        free(p->bias[w]);
        free(p->dw_ih[w]);
        free(p->dw_hh[w]);
        free(p->dbias[w]);
    }
    free(p->x);
    free(p->tokens);
    free(p->table);
    free(p->dout);
    free(p->out);
    free(p->dx);
    free(p->dtable);
}

// What the layer says: outputs and gradients one after the other.
struct answer {
    float *out, *dw_ih[2], *dw_hh[2], *dbias[2], *dx, *dtable;
    int32_t distinct, token[4096];
};

static void answer_release(struct answer *a)
{
    free(a->out);
    for (int w = 0; w < 2; w++) {
        free(a->dw_ih[w]);
        free(a->dw_hh[w]);
        free(a->dbias[w]);
    }
    free(a->dx);
    free(a->dtable);
}

static float *junk(size_t count) // what is not overwritten shows
{
    float *values = malloc(count * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
    return values;
}

static void answer(const struct problem *p, struct answer *a)
{
    static const struct recipe recipe = {.optimizer = OPTIMIZER_ADAM,
                                         .rho = 0.9F,
                                         .beta2 = 0.999F,
                                         .epsilon = 1e-8F,
                                         .stages = {{.rate = 0.001F}}};
    const size_t H = p->units, E = p->in, positions = (size_t)p->count * p->time;
    struct err err = {0};
    struct embedding *embedding = NULL;
    if (p->input == LSTM_EMBEDDING) {
        struct embedding_spec spec = {.vocabulary = p->vocabulary,
                                      .units = p->in,
                                      .positions = (int64_t)p->batch * p->time,
                                      .recipe = &recipe};
        assert_ok(embedding_new(&spec, &embedding, &err), &err);
        memcpy(embedding_table(embedding), p->table, (size_t)p->vocabulary * E * sizeof *p->table);
    }
    struct lstm_spec spec = {.batch = p->batch,
                             .time = p->time,
                             .in = p->in,
                             .units = p->units,
                             .both_ways = p->ways == 2,
                             .hard_gates = p->hard,
                             .training = true,
                             .input = p->input,
                             .embedding = embedding};
    struct lstm *lstm, *plain;
    assert_ok(lstm_new(&spec, &lstm, &err), &err);
    spec.training = false;
    assert_ok(lstm_new(&spec, &plain, &err), &err);
    struct lstm_weights weights[2];
    struct lstm_grads grads[2];
    *a = (struct answer){.out = junk(p->count * p->ways * H), .dx = junk(positions * E)};
    for (int w = 0; w < 2; w++) {
        weights[w] = (struct lstm_weights){p->w_ih[w], p->w_hh[w], p->bias[w]};
        a->dw_ih[w] = junk(4 * H * E);
        a->dw_hh[w] = junk(4 * H * H);
        a->dbias[w] = junk(4 * H);
        grads[w] = (struct lstm_grads){a->dw_ih[w], a->dw_hh[w], a->dbias[w]};
    }
    lstm_pack(lstm, weights);
    lstm_pack(plain, weights);
    for (int round = 0; round < 2; round++) { // the second finds what the first left
        if (embedding)
            embedding_look(embedding, p->tokens, (int64_t)positions);
        lstm_forward(lstm, p->x, p->tokens, p->count, a->out);
        lstm_backward(lstm, p->dout, grads, a->dx);
    }
    float *again = junk(p->count * p->ways * H);
    lstm_forward(plain, p->x, p->tokens, p->count, again);
    assert_memory_equal(again, a->out, p->count * p->ways * H * sizeof *again);
    free(again);
    if (embedding) {
        const struct groups *groups = embedding_groups(embedding);
        a->distinct = groups->distinct;
        a->dtable = junk((size_t)groups->distinct * E);
        memcpy(a->dtable, embedding_grad(embedding), groups->distinct * E * sizeof(float));
        memcpy(a->token, groups->token, (size_t)groups->distinct * sizeof *a->token);
    }
    lstm_free(lstm);
    lstm_free(plain);
    embedding_free(embedding);
}

// The largest error, relative to the largest number of the tensor.
static void assert_close(const char *what, const struct problem *p, const float *got,
                         const double *want, size_t count, double bound)
{
    double scale = 0, worst = 0;
    for (size_t i = 0; i < count; i++) {
        scale = fmax(scale, fabs(want[i]));
        double error = fabs((double)got[i] - want[i]);
        if (!(error <= worst))
            worst = error;
    }
    // Behind open hard gates c grows until 1 - tanh² is but a few roundings of 1.
    double least = p->hard ? 1e-2 : 1e-3;
    if (!(worst <= bound * (scale + least)))
        fail_msg("%s: error %g of %g; batch %d/%d time %d in %d units %d ways %d input %d, %s%s",
                 what, worst, scale, p->count, p->batch, p->time, p->in, p->units, p->ways,
                 (int)p->input, kernels()->name, p->hard ? ", hard gates" : "");
}

static void compare(const struct problem *p, const struct answer *a)
{
    const size_t H = p->units, E = p->in;
    // Single precision has 6e-8; sums of up to some thousand terms and up to 40 steps of time
    // take some ten of them.
    assert_close("out", p, a->out, p->out, p->count * p->ways * H, 2e-6);
    for (int w = 0; w < p->ways; w++) {
        assert_close("W_ih", p, a->dw_ih[w], p->dw_ih[w], 4 * H * E, 5e-6);
        assert_close("W_hh", p, a->dw_hh[w], p->dw_hh[w], 4 * H * H, 5e-6);
        assert_close("bias", p, a->dbias[w], p->dbias[w], 4 * H, 5e-6);
    }
    if (p->input == LSTM_FEATURES)
        assert_close("x", p, a->dx, p->dx, (size_t)p->count * p->time * E, 5e-6);
    for (int32_t g = 0; g < a->distinct; g++)
        assert_close("table", p, a->dtable + g * E, p->dtable + a->token[g] * E, E, 2e-5);
}

static void try(struct problem p, uint64_t seed)
{
    problem_init(&p, seed);
    expect(&p);
    for (int threads = 1; threads <= 3; threads++) {
        struct answer first, again;
        team_set(threads);
        answer(&p, &first);
        compare(&p, &first);
        answer(&p, &again);
        // The same bits with the same number of threads.
        const size_t H = p.units, E = p.in;
        assert_memory_equal(first.out, again.out, p.count * p.ways * H * sizeof(float));
        for (int w = 0; w < p.ways; w++) {
            assert_memory_equal(first.dw_ih[w], again.dw_ih[w], 4 * H * E * sizeof(float));
            assert_memory_equal(first.dw_hh[w], again.dw_hh[w], 4 * H * H * sizeof(float));
            assert_memory_equal(first.dbias[w], again.dbias[w], 4 * H * sizeof(float));
        }
        answer_release(&first);
        answer_release(&again);
    }
    problem_release(&p);
}

static void each_size(bool hard)
{
    static const int units[] = {1, 5, 16, 31, 64}, in[] = {1, 3, 57, 128}, time[] = {1, 2, 7};
    static const int batch[] = {1, 3, 13, 32};
    uint64_t seed = 0;
    for (size_t u = 0; u < 5; u++)
        for (size_t i = 0; i < 4; i++)
            for (int input = LSTM_FEATURES; input <= LSTM_EMBEDDING; input++) {
                int b = batch[(u + i) % 4], t = time[(u + i + input) % 3];
                try((struct problem){.batch = b,
                                     .count = seed % 3 ? b : (b + 1) / 2,
                                     .time = t,
                                     .in = in[i],
                                     .units = units[u],
                                     .ways = 1 + (int)(seed % 2),
                                     .hard = hard,
                                     .input = (enum lstm_input)input,
                                     .vocabulary = 11},
                    seed);
                seed++;
            }
}

TEST(test_best)
{
    assert_int_equal(kernels_limit(NULL), 1);
    each_size(false);
    each_size(true);
    // The shapes of the workloads.
    try((struct problem){.batch = 32,
                         .count = 32,
                         .time = 30,
                         .in = 128,
                         .units = 64,
                         .ways = 2,
                         .input = LSTM_EMBEDDING,
                         .vocabulary = 2000},
        1000);
    try((struct problem){.batch = 32,
                         .count = 32,
                         .time = 40,
                         .in = 57,
                         .units = 128,
                         .ways = 1,
                         .input = LSTM_ONE_HOT},
        1001);
}

TEST(test_other_instruction_sets)
{
    static const struct kernels *const tables[] = {&kernels_avx2, &kernels_base};
    int tried = 0;
    for (size_t i = 0; i < 2; i++)
        if (kernels_limit(tables[i])) {
            each_size(false);
            each_size(true);
            tried++;
        }
    kernels_limit(NULL);
    assert_true(tried >= 1);
}

// The loops above: their gradients are the slopes of Σ out × dout.
static double value(struct problem *p)
{
    double sum = 0, y[256];
    for (int sample = 0; sample < p->count; sample++)
        for (int way = 0; way < p->ways; way++) {
            one_sample(p, way, sample, y, NULL);
            for (int u = 0; u < p->units; u++)
                sum += y[u] * (double)p->dout[(sample * p->ways + way) * p->units + u];
        }
    return sum;
}

static void assert_slopes(struct problem *p, float *values, const double *grads, int count)
{
    for (int i = 0; i < count; i++) {
        float keep = values[i];
        values[i] = keep + 0x1p-10F;
        double up = value(p), x1 = (double)values[i];
        values[i] = keep - 0x1p-10F;
        double slope = (up - value(p)) / (x1 - (double)values[i]);
        values[i] = keep;
        assert_true(fabs(slope - grads[i]) < 1e-5 * (1 + fabs(slope)));
    }
}

TEST(test_the_loops)
{
    for (int hard = 0; hard < 2; hard++) {
        struct problem p = {.batch = 2,
                            .count = 2,
                            .time = 4,
                            .in = 3,
                            .units = 2,
                            .ways = 2,
                            .hard = hard,
                            .vocabulary = 5};
        problem_init(&p, 7);
        expect(&p);
        for (int w = 0; w < 2; w++) {
            assert_slopes(&p, p.w_ih[w], p.dw_ih[w], 4 * 2 * 3);
            assert_slopes(&p, p.w_hh[w], p.dw_hh[w], 4 * 2 * 2);
            assert_slopes(&p, p.bias[w], p.dbias[w], 4 * 2);
        }
        assert_slopes(&p, p.x, p.dx, 2 * 4 * 3);
        problem_release(&p);
    }
}

// sigmoid and tanh alone, through a layer of one step whose gates all see the input x: with o open
// (bias 40) h = sigmoid(x) tanh(x) tells about both; small and large x, and what is not a number.
TEST(test_functions)
{
    static const struct kernels *const tables[] = {&kernels_avx512, &kernels_avx2, &kernels_base};
    enum { N = 16 * 64 };
    for (size_t t = 0; t < 3; t++) {
        if (!kernels_limit(tables[t]))
            continue;
        static float gates[4 * N], c[N], tanh_c[N], h[N];
        const float step = 0.0371F;
        for (int i = 0; i < N; i++) {
            float x = (float)(i - N / 2) * step, near = ldexpf(i % 2 ? 1 : -1, -i % 30);
            gates[i] = x;
            gates[N + i] = 0;
            gates[2 * N + i] = i < N / 2 ? near : x;
            gates[3 * N + i] = 200;
        }
        struct lstm_cell cell = {
            .rows = 1, .units = N, .gates = gates, .c = c, .tanh_c = tanh_c, .h = h};
        kernels()->lstm_forward(&cell);
        for (int i = 0; i < N; i++) {
            double x = (double)((float)(i - N / 2) * step);
            double near = (double)ldexpf(i % 2 ? 1 : -1, -i % 30);
            double s = sigmoid(x), g = tanh(i < N / 2 ? near : x);
            assert_true(fabs((double)gates[i] - s) <= 4 * 0x1p-24 * s); // 4 units of the last place
            assert_true(fabs((double)gates[2 * N + i] - g) <= 4 * 0x1p-24 * fabs(g) * 1.5);
            assert_true(gates[3 * N + i] == 1);
            assert_true(gates[N + i] == 0.5F);
        }
        gates[0] = NAN;
        gates[2 * N + 1] = NAN;
        gates[2] = INFINITY;
        gates[3] = -INFINITY;
        kernels()->lstm_forward(&cell);
        assert_true(isnan(h[0]) && isnan(h[1]) && gates[2] == 1 && gates[3] < 1e-36F);
    }
    kernels_limit(NULL);
}

// Hard gates alone, from one end to the other: the value, and on the way back the slope that it
// gives (with i = c before = 1, dh = 0 and dc = 1 the gradient of f is its slope).
TEST(test_hard_gates)
{
    static const struct kernels *const tables[] = {&kernels_avx512, &kernels_avx2, &kernels_base};
    static const float z[16] = {-INFINITY, -1e30F, -40,   -2.5F, -2.25F, -1, -1e-3F, 0,
                                1e-3F,     1,      2.25F, 2.5F,  2.75F,  40, 1e30F,  INFINITY};
    for (size_t t = 0; t < 3; t++) {
        if (!kernels_limit(tables[t]))
            continue;
        float gates[4 * 16] = {0}, before[16], c[16], tanh_c[16], h[16], dh[16] = {0}, dc[16];
        for (int i = 0; i < 16; i++) {
            gates[16 + i] = gates[48 + i] = z[i];
            gates[32 + i] = z[i];
            before[i] = dc[i] = 1;
        }
        gates[0] = NAN;
        struct lstm_cell cell = {.rows = 1,
                                 .units = 16,
                                 .hard = true,
                                 .gates = gates,
                                 .c_before = before,
                                 .c = c,
                                 .tanh_c = tanh_c,
                                 .h = h,
                                 .dh = dh,
                                 .dc = dc};
        kernels()->lstm_forward(&cell);
        assert_true(isnan(gates[0]) && isnan(c[0]) && isnan(h[0]));
        for (int i = 1; i < 16; i++) {
            double gate = fmin(fmax(0.2 * (double)z[i] + 0.5, 0), 1), g = tanh((double)z[i]);
            double cell_now = gate + 0.5 * g;
            assert_true(fabs((double)gates[16 + i] - gate) <= 0x1p-24);
            assert_true(gates[48 + i] == gates[16 + i] && gates[i] == 0.5F);
            assert_true(fabs((double)gates[32 + i] - g) <= 6 * 0x1p-24 * fabs(g));
            assert_true(fabs((double)c[i] - cell_now) <= 1e-6);
            assert_true(fabs((double)h[i] - gate * tanh(cell_now)) <= 1e-6);
        }
        kernels()->lstm_backward(&cell);
        for (int i = 1; i < 16; i++) {
            bool between = z[i] > -2.5F && z[i] < 2.5F;
            assert_true(gates[16 + i] == (between ? 0.2F : 0));
            assert_true(gates[48 + i] == 0); // dh is
        }
    }
    kernels_limit(NULL);
}
