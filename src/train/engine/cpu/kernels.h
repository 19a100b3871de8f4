// SPDX-License-Identifier: Apache-2.0
// kernels: the innermost loops of the CPU engine, compiled for three instruction sets.
//
// kernels() is the table of the best set that this processor has. Kernels run on the calling
// thread; callers split the work. Row lengths are multiples of KERNELS_PAD floats unless noted,
// with zeros as padding, so that no kernel needs a tail.
#ifndef FARE_TRAIN_ENGINE_CPU_KERNELS_H
#define FARE_TRAIN_ENGINE_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define KERNELS_PAD     16 // floats: the longest vector, and a cache line
#define KERNELS_PANEL   64 // columns of b that lie together in struct gemm
#define KERNELS_L1_TILE 512

static inline int64_t kernels_pad(int64_t count)
{
    return (count + KERNELS_PAD - 1) / KERNELS_PAD * KERNELS_PAD;
}

// c (rows × cols) = start + a (rows × k) b (k × cols). Element (i, l) of a is at[i row + l k], so
// that it may be stored either way; row l of panel p of b is at[p panel + l k ...]. Row i of start
// is at[i row ...], or with an index at[index[i index_row] row ...]; null is zero, c itself adds to
// c. Sums run through k in order whatever the rest.
struct gemm {
    struct {
        int64_t rows, cols, k; // cols padded
    } size;
    struct {
        const float *at;
        ptrdiff_t row, k;
    } a;
    struct {
        const float *at;
        ptrdiff_t k, panel;
    } b;
    struct {
        const float *at;
        ptrdiff_t row;
        const int32_t *index; // (optional)
        ptrdiff_t index_row;
    } start;
    struct {
        float *at;
        ptrdiff_t row;
    } c;
};

// One time step of an LSTM for some rows of the batch. All rows follow each other without gaps.
struct lstm_cell {
    int64_t rows, units;   // units padded
    bool hard;             // gates (train/net/net.h)
    float *gates;          // (rows, 4 × units), i f g o. Forward: in z, out the gates' values.
                           // Backward: in the gates' values, out the gradient of z
    const float *c_before; // (rows, units), or null: zero
    float *c, *tanh_c, *h; // (rows, units); backward reads tanh_c alone
    const float *dh;       // backward
    float *dc;             // backward: in that of this step, out that of the one before
};

struct adam {
    float rho, rho_rest;     // rest: 1 - rho
    float beta2, beta2_rest; //
    float epsilon;
};

struct kernels {
    const char *name; // "avx512"
    void (*gemm)(const struct gemm *gemm);
    void (*lstm_forward)(const struct lstm_cell *cell);
    void (*lstm_backward)(const struct lstm_cell *cell);
    void (*add)(float *to, const float *from, int64_t count); // to += from

    // One step of Adam with the rate k (train/net/net.h), `count` numbers, not padded; a null
    // gradient is zero.
    void (*adam)(const struct adam *adam, float k, float *p, float *m, float *v, const float *g,
                 int64_t count);
    // `steps` steps with a gradient of zero and the rates k[0], k[1], ..., with the same bits as
    // one after the other. From step `settled` on the rates may be taken to fall so that p stays
    // as it is once a step has left it as it was.
    void (*adam_replay)(const struct adam *adam, const float *k, int64_t steps, int64_t settled,
                        float *p, float *m, float *v, int64_t count);

    // L1 distances between l1_rows vectors of a and l1_cols of b over `dim` elements, both packed:
    // element 0 of all of them, element 1, ... out (l1_rows × l1_cols) is overwritten.
    int l1_rows, l1_cols; // at most KERNELS_L1_TILE pairs
    void (*l1)(const float *a, const float *b, int64_t dim, float *out);
    // The same operations on registers alone, `rounds` times one element of all pairs.
    void (*l1_peak)(int64_t rounds, float *out);
};

extern const struct kernels kernels_avx512, kernels_avx2, kernels_base;

const struct kernels *kernels(void);

// Uses that table from now on, or for null the best; tests compare them. False if this processor
// cannot run it.
int kernels_limit(const struct kernels *table);

// Flushes denormal numbers to zero on this thread until kernels_flush_end(): they cost a hundred
// times as much and carry no information. Gradients fade into them far back in a sequence.
unsigned int kernels_flush_begin(void);
void kernels_flush_end(unsigned int before);

// ---- l1.c ----
//
// L1 distances between all pairs of two sets of vectors.
//
// out[i × m + j] = Σ_k |a[i × dim + k] - b[j × dim + k]|, on the team's threads (team.h, which the
// caller has set). Sums are split so that every distance is within 1e-5 relative of the exact
// one whatever the dimension. Inputs are packed into panels, so there is some memory to allocate.
// It is no metric for other norms and knows nothing of symmetric input.

// n, m and dim are at least 1; fails only with ERR_MEMORY.
int l1_distances(const float *a, const float *b, int64_t n, int64_t m, int64_t dim, float *out,
                 struct err *err) MUST_USE;

// The most that this processor's core could do with the same three operations per vector, in
// pairs of elements per second on all of the team's threads: measured for `seconds` with a loop
// that touches registers only.
double l1_peak(double seconds);

#endif
