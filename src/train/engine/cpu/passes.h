// SPDX-License-Identifier: Apache-2.0
// passes: loops over whole tensors that oneDNN lacks, or does more slowly.
//
// Compiled for three instruction sets like the kernels (kernels.h). Each runs on the calling thread
// over the part it is given; callers split the work. Numbers are float, or bfloat16 with `bf16`. A
// `count` is rounded up to whole vectors: every buffer of the engine has space for that, with any
// contents.
//
// Images are blocked: (sample, block of channels, pixel, channel in the block), with blocks of
// `block` channels, 8 or 16. A plane is one block of one sample: pixels × block numbers.
#ifndef FARE_TRAIN_ENGINE_CPU_PASSES_H
#define FARE_TRAIN_ENGINE_CPU_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "train/engine/shared.h"

#define PASSES_PAD 64 // numbers: parts of a `count` begin at multiples of this

struct pass_pool { // a pool, seen from one plane
    int in_h, in_w, out_h, out_w;
    int kernel_h, kernel_w, stride, pad_top, pad_left;
    int block;
    bool bf16;
};

#define PASS_POOL_DEAD 255 // in a maximum pool's index: no input gets this output's gradient

struct pass_norm { // batch norm of one block of channels in some samples
    const void *x;
    void *y;                               // forward: output. Backward: gradient of x
    const void *dy;                        // backward
    int64_t x_sample, y_sample, dy_sample; // numbers from one sample to the next
    int64_t samples, pixels;
    int block;
    bool bf16, relu;
    bool add;           // backward: add to y
    const float *mean;  // (block)
    const float *scale; // (block) weight / standard deviation
    const float *bias;  // (block)
    const float *level; // (block) backward: mean of dy
    const float *slope; // (block) backward: mean of dy × (x - mean), divided by the variance
};

struct pass_rule {                          // one step of an optimizer: train/net/net.h
    float rate;                             // including all factors that depend on the iteration
    float rho, rho_rest, beta2, beta2_rest; // rest: 1 - rho
    float epsilon, momentum;
    float plain_rate; // AdamW: without those factors, for the weight decay
    float correction; // AdamW: of √v
    float scale;      // AdamW: of the gradients, by clipping
};
typedef void pass_optimizer(const struct pass_rule *rule, float weight_decay, float *p,
                            const float *g, float *state0, float *state1, int64_t count);

struct pass_row_norm { // the way back through a layer norm, for one row
    const float *x, *w, *dy;
    const float *moments; // mean, 1 / standard deviation
    float *dx;            // or null
    float *dw, *db;       // are added to
    int64_t count;
    bool add; // to dx
};

struct passes {
    const char *name; // "avx512"
    void (*add)(void *to, const void *from, int64_t count, bool bf16);
    void (*relu_back)(const void *y, void *dy, int64_t count, bool bf16); // dy = 0 where y <= 0
    void (*to_bf16)(uint16_t *to, const float *from, int64_t count);
    void (*from_bf16)(float *to, const uint16_t *from, int64_t count);

    // Which numbers dropout keeps, as bits. Rows: numbers first, first + 1, ... of the layer;
    // `first` is a multiple of PASSES_PAD and falls on the first bit. A plane: the numbers of
    // channels that follow each other, `pixels` of each, the first of which is number `first`.
    void (*mask_rows)(const struct dropout *dropout, uint64_t first, int64_t count, uint8_t *bits);
    void (*mask_plane)(const struct dropout *dropout, uint64_t first, int64_t pixels, int block,
                       uint8_t *bits);
    // y = x × scale where kept, else 0. With relu, bits of numbers that are not positive are
    // cleared, so that the way back is that of the relu before it too.
    void (*drop)(const void *x, void *y, uint8_t *bits, int64_t count, float scale, bool relu,
                 bool bf16);
    void (*drop_back)(const void *dy, void *dx, const uint8_t *bits, int64_t count, float scale,
                      bool add, bool bf16);

    // A plane each. index: (out pixels, block) the cell of the window that was the largest; with
    // relu an output that is not positive is PASS_POOL_DEAD.
    void (*max_pool)(const struct pass_pool *pool, const void *x, void *y, uint8_t *index,
                     bool relu);
    void (*max_pool_back)(const struct pass_pool *pool, const void *dy, const uint8_t *index,
                          void *dx, bool add);
    void (*average_pool)(const struct pass_pool *pool, const void *x, void *y);
    void (*average_pool_back)(const struct pass_pool *pool, const void *dy, void *dx, bool add);
    void (*plane_sum)(const void *x, int64_t pixels, int block, float *sum, bool bf16);
    void (*plane_fill)(void *x, int64_t pixels, int block, const float *value, bool add, bool bf16);

    // Sums over samples and pixels, per channel of the block.
    void (*norm_sum)(const struct pass_norm *norm, double *sum);
    void (*norm_squares)(const struct pass_norm *norm, double *sum); // of x - mean
    void (*norm_apply)(const struct pass_norm *norm); // y = (x - mean) scale + bias, relu
    // dy counts where the relu let x through. Sums of dy, and of dy × (x - mean).
    void (*norm_back_sums)(const struct pass_norm *norm, double *sum, double *along);
    void (*norm_back)(const struct pass_norm *norm); // y = scale (dy - level - (x - mean) slope)

    // Rows of any length, of transformers. A softmax is that of scale × z, times `times`; it
    // returns the logarithm of its sum, with which row_odds() gives the odds again. row_odds_back:
    // d = scale × odds × (d - along).
    void (*row_norm)(const float *x, const float *w, const float *b, float *y, int64_t count,
                     float epsilon, float moments[2]);
    void (*row_norm_back)(const struct pass_row_norm *norm);
    void (*gelu)(const float *x, float *y, int64_t count);
    void (*gelu_back)(const float *x, const float *dy, float *dx, int64_t count, bool add);
    float (*row_max)(const float *z, int64_t count);
    float (*row_softmax)(float *z, int64_t count, float scale, float times);
    void (*row_odds)(float *z, int64_t count, float scale, float level);
    void (*row_odds_back)(const float *odds, float *d, int64_t count, float along, float scale);
    float (*row_dot)(const float *a, const float *b, int64_t count);
    void (*row_add)(float *to, const float *a, const float *b, int64_t count); // to = a + b
    double (*squares)(const float *x, int64_t count);                          // their sum

    pass_optimizer *rmsprop, *rmsprop_momentum, *adadelta, *adam, *adamw;
};

extern const struct passes passes_avx512, passes_avx2, passes_base;

// The table for blocks of 16 channels (avx512) or 8 on this processor.
const struct passes *passes_for(int block);

#endif
