// SPDX-License-Identifier: Apache-2.0
// Kernels of GPT-2 alone, on the machine that runs PTX (ptx/ptx.h), with inputs that no small net
// has: thousands of positions of one token, attention's scores that grow from one piece of keys to
// the next, large numbers before GELU, and more chunks of gradients than blocks that sum their
// squares.
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/engine/cuda/kernels.h"
#include "train/engine/cuda/modules.h"
#include "train/engine/ptx/ptx.h"

enum { PIECES = 8 };

static struct ptx_memory pieces[PIECES];
static int piece_count;

static struct ptx_memory find_piece(uint64_t address)
{
    for (int i = 0; i < piece_count; i++)
        if (address >= pieces[i].from && address < pieces[i].to)
            return pieces[i];
    return (struct ptx_memory){0};
}

// Memory that kernels may use, all bits set, until forget().
static void *given(size_t bytes)
{
    void *at = aligned_alloc(256, (bytes + 255) / 256 * 256);
    assert_non_null(at);
    assert_true(piece_count < PIECES);
    memset(at, 0xff, bytes);
    uint64_t from = (uint64_t)(uintptr_t)at;
    pieces[piece_count++] = (struct ptx_memory){from, from + bytes, NULL};
    return at;
}

static void forget(void)
{
    while (piece_count > 0)
        free((void *)(uintptr_t)pieces[--piece_count].from);
}

static void launch_of(const char *name, unsigned x, unsigned y, unsigned threads, unsigned shared,
                      const void *args)
{
    static char why[300];
    const struct ptx_kernel *kernel = NULL;
    for (int i = 0; i < ptx_text_count && !kernel; i++)
        if (ptx_texts[i].capability == 80 && ptx_texts[i].precision == ENGINE_BF16)
            kernel = ptx_kernel(ptx_texts[i].text, name, why, sizeof why);
    struct ptx_launch how = {x, y, threads, shared, args, find_piece, NULL};
    if (!kernel || !ptx_run(kernel, &how, why, sizeof why))
        fail_msg("%s: %s", name, why);
}

static void launch(const char *name, unsigned x, unsigned y, unsigned shared, const void *args)
{
    launch_of(name, x, y, 256, shared, args);
}

// ---- token_order

static uint32_t draw(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// Each place is taken once; the positions of a token stand together and in order, and the first of
// them has their number.
static void check_order(const int *tokens, int positions, int blocks)
{
    struct cuda_embed g = {.tokens = tokens,
                           .positions = positions,
                           .order = given((size_t)positions * 4),
                           .first = given((size_t)positions * 4),
                           .count = given((size_t)positions * 4)};
    launch("token_order", (unsigned)blocks, 1, 0, &g);
    char *seen = calloc((size_t)positions, 1);
    assert_non_null(seen);
    for (int place = 0; place < positions;) {
        int begin = place, token = tokens[g.order[place]], last = -1;
        for (; place < positions && tokens[g.order[place]] == token; place++) {
            int position = g.order[place];
            assert_in_range(position, 0, positions - 1);
            assert_false(seen[position]);
            seen[position] = 1;
            assert_true(position > last);
            last = position;
            assert_int_equal(g.first[position], begin);
        }
        for (int i = begin; i < place; i++)
            assert_int_equal(g.count[g.order[i]], i == begin ? place - begin : 0);
    }
    // A token that stands in two places would have two first positions.
    int groups = 0, different = 0;
    for (int i = 0; i < positions; i++) {
        groups += g.count[i] > 0;
        int k = 0;
        while (tokens[k] != tokens[i])
            k++;
        different += k == i;
    }
    assert_int_equal(groups, different);
    free(seen);
    forget();
}

TEST(positions_by_token)
{
    // How many positions, and how the tokens lie: all the same, two in turn, a few that are
    // frequent among many, and each its own. A block's list has room for 2,048 and is emptied over
    // 1,024.
    static const struct {
        int positions, blocks;
        enum { SAME, TURNS, FREQUENT, OWN } kind;
    } cases[] = {{1, 2, SAME},        {1024, 2, SAME},  {1025, 2, SAME},  {2048, 3, SAME},
                 {3000, 2, SAME},     {3000, 1, TURNS}, {2049, 2, TURNS}, {3000, 3, FREQUENT},
                 {5000, 2, FREQUENT}, {200, 1, OWN},    {3000, 13, OWN}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        uint32_t at = (uint32_t)c;
        int positions = cases[c].positions, *tokens = given((size_t)positions * 4);
        for (int i = 0; i < positions; i++) {
            uint32_t x = draw(&at);
            switch (cases[c].kind) {
            case SAME:
                tokens[i] = 1;
                break;
            case TURNS:
                tokens[i] = i % 2 * 3;
                break;
            case FREQUENT:
                tokens[i] = (int)(x % 8 < 5 ? x % 3 : x % 500);
                break;
            case OWN:
                tokens[i] = i * 7 % positions;
                break;
            }
        }
        check_order(tokens, positions, cases[c].blocks);
    }
}

// ---- attention_forward

static unsigned short to_bf16(float x) // of numbers that it has
{
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return (unsigned short)(bits >> 16);
}

static float from_bf16(unsigned short x)
{
    uint32_t bits = (uint32_t)x << 16;
    float y;
    memcpy(&y, &bits, 4);
    return y;
}

// One head of 64: scores are q · k ÷ 8. `step` is how much the score of a key is above that of
// the key 64 positions before.
static void check_attention(int time, float step)
{
    enum { HEAD = 64 };
    struct cuda_attention g = {.samples = 1, .heads = 1, .time = time};
    unsigned short *qkv = given((size_t)time * 3 * HEAD * 2);
    uint32_t at = 7;
    for (int t = 0; t < time; t++)
        for (int i = 0; i < HEAD; i++) {
            float level = (float)(t / 64) * step;
            qkv[t * 3 * HEAD + i] = to_bf16(i == 0 ? 8 : (float)(draw(&at) % 5) / 4 - 0.5f);
            qkv[t * 3 * HEAD + HEAD + i] =
                to_bf16(i == 0 ? level : (float)(draw(&at) % 5) / 4 - 0.5f);
            qkv[t * 3 * HEAD + 2 * HEAD + i] = to_bf16((float)(draw(&at) % 17) / 8 - 1);
        }
    g.qkv = qkv;
    g.y = given((size_t)time * HEAD * 2);
    g.log_sum = given((size_t)time * 4);
    launch("attention_forward", (unsigned)(time + 127) / 128, 1, 6 * 8192, &g);
    double *weight = calloc((size_t)time, sizeof *weight);
    assert_non_null(weight);
    for (int t = 0; t < time; t++) {
        double most = -HUGE_VAL, sum = 0;
        for (int k = 0; k <= t; k++) {
            weight[k] = 0;
            for (int i = 0; i < HEAD; i++)
                weight[k] += (double)from_bf16(qkv[t * 3 * HEAD + i]) *
                             (double)from_bf16(qkv[k * 3 * HEAD + HEAD + i]) / 8;
            most = fmax(most, weight[k]);
        }
        for (int k = 0; k <= t; k++)
            sum += weight[k] = exp(weight[k] - most);
        // Weights and results have 8 bits each.
        for (int i = 0; i < HEAD; i++) {
            double y = 0, size = 0;
            for (int k = 0; k <= t; k++) {
                double v = (double)from_bf16(qkv[k * 3 * HEAD + 2 * HEAD + i]);
                y += weight[k] / sum * v;
                size += weight[k] / sum * fabs(v);
            }
            double got = (double)from_bf16(g.y[t * HEAD + i]);
            if (!(fabs(got - y) <= 0x1p-8 * (size + fabs(y)) + 1e-30))
                fail_msg("step %g, position %d of %d, %d: %g is not %g", (double)step, t, time, i,
                         got, y);
        }
        double log_sum = (most + log(sum)) / log(2);
        if (!(fabs((double)g.log_sum[t] - log_sum) <= 1e-4 * (1 + fabs(log_sum))))
            fail_msg("step %g, position %d: %g is not %g", (double)step, t, (double)g.log_sum[t],
                     log_sum);
    }
    free(weight);
    forget();
}

// By little, which is not scaled at once (text.cuh); by more than that in each piece; so that
// earlier keys have no weight at all; and falling.
TEST(scores_that_grow)
{
    static const float steps[] = {0, 3, 5, 8, 60, -4, -60};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        check_attention(i < 4 ? 320 : 192, steps[i]);
    check_attention(130, 6);
}

// ---- GELU's slope

// A product whose sums are all 1, times the slope at numbers small and large: y has the slopes.
TEST(slopes_of_gelu)
{
    enum { SIDE = 128, DEEP = 64 };
    unsigned short *a = given(SIDE * DEEP * 2), *b = given(SIDE * DEEP * 2),
                   *before = given(SIDE * SIDE * 2), *y = given(SIDE * SIDE * 2);
    float *zeros = given(SIDE * 4);
    memset(zeros, 0, SIDE * 4);
    for (int i = 0; i < SIDE * DEEP; i++)
        a[i] = b[i] = to_bf16(i % DEEP == 0 ? 1 : 0);
    for (int i = 0; i < SIDE * SIDE; i++) {
        float x = (float)(i - SIDE * SIDE / 2) / 1024; // -8 to 8, rounded below
        before[i] = to_bf16(i % 16 == 3 ? x * 128 : i % 16 == 5 ? x * 1024 : x);
    }
    struct cuda_product g = {.a = a,
                             .b = b,
                             .y = y,
                             .before = before,
                             .bias = zeros,
                             .m = SIDE,
                             .n = SIDE,
                             .k = DEEP,
                             .lda = DEEP,
                             .ldb = DEEP,
                             .ldy = SIDE,
                             .parts = 1,
                             .per_part = DEEP,
                             .kind = CUDA_PRODUCT_GELU_BACK,
                             .tiles_m = 1,
                             .tiles_n = 1};
    launch("product_nt_gelu", 1, 1, 3 * 32768, &g);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double x = (double)from_bf16(before[i]), a_ = sqrt(2 / acos(-1)), b_ = 0.044715 * a_,
               t = tanh(a_ * x + b_ * x * x * x),
               want = (1 + t) / 2 + x * (1 - t * t) * (a_ + 3 * b_ * x * x) / 2,
               got = (double)from_bf16(y[i]);
        if (!(fabs(got - want) < 0.01))
            fail_msg("at %g: %g is not %g", x, got, want);
    }
    forget();
}

// ---- adamw_squares

// Three parameters of 5, 1 and 8 parts, of which the last chunk is not whole; each block has
// several chunks. Gradients are whole numbers, so that sums are exact.
TEST(squares_of_many_chunks)
{
    enum { COUNT = 3, SUMS = 4, CHUNKS_MAX = 16 };
    static const int sizes[COUNT] = {5 * CUDA_CHUNK, CUDA_CHUNK + 8, 3 * CUDA_CHUNK - 512},
                     parts[COUNT] = {5, 1, 8};
    struct cuda_param *params = given(COUNT * sizeof *params);
    int *chunk_param = given(CHUNKS_MAX * sizeof *chunk_param), chunks = 0;
    long long *chunk_at = given(CHUNKS_MAX * sizeof *chunk_at), at = 0;
    float *grads[COUNT];
    double want[SUMS] = {0};
    uint32_t drawn = 3;
    for (int i = 0; i < COUNT; i++) {
        float *grad = grads[i] = given((size_t)(parts[i] * sizes[i]) * 4);
        for (int k = 0; k < parts[i] * sizes[i]; k++)
            grad[k] = (float)(draw(&drawn) % 7) - 3;
        params[i] = (struct cuda_param){
            .grad = grad, .part = sizes[i], .parts = parts[i], .at = at, .end = at + sizes[i]};
        for (int k = 0; k < sizes[i]; k++) {
            double sum = 0;
            for (int p = 0; p < parts[i]; p++)
                sum += (double)grad[p * sizes[i] + k];
            want[(chunks + k / CUDA_CHUNK) % SUMS] += sum * sum;
        }
        for (int k = 0; k < sizes[i]; k += CUDA_CHUNK, chunks++) {
            chunk_param[chunks] = i;
            chunk_at[chunks] = at + k;
        }
        at += sizes[i];
    }
    struct cuda_adamw g = {
        .all = {.params = params, .chunk_param = chunk_param, .chunk_at = chunk_at},
        .squares = given(SUMS * 4),
        .factor = given(4),
        .chunks = chunks,
        .sums = SUMS,
        .clip = 1};
    float first = 0, all = 0;
    for (int p = 0; p < parts[2]; p++)
        first += grads[2][p * sizes[2] + sizes[2] - 1];
    launch("adamw_squares", SUMS, 1, 0, &g);
    for (int i = 0; i < SUMS; i++) {
        assert_true((double)g.squares[i] == want[i]);
        all += g.squares[i];
    }
    assert_true(grads[2][sizes[2] - 1] == first); // summed for the step
    launch_of("adamw_factor", 1, 1, 1024, 0, &g);
    assert_true(fabs((double)*g.factor * (sqrt((double)all) + 1e-6) - 1) < 1e-6);
    forget();
}
