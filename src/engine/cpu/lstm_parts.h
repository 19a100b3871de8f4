// SPDX-License-Identifier: Apache-2.0
// Private to lstm.c (memory, weights) and lstm_pass.c (forward, backward).
//
// H is units, padded; E is in, padded; ways is 1 or 2; Z = ways × 4 H is a row of all gates: i f g
// o of the forward direction, then of the backward one. Padding is zero in the weights, and so
// stays zero in everything else. Steps are numbered in the order in which a direction goes: step s
// of the backward one is at time T - 1 - s.
#ifndef FARE_ENGINE_CPU_LSTM_PARTS_H
#define FARE_ENGINE_CPU_LSTM_PARTS_H

#include "engine/cpu/groups.h"
#include "engine/cpu/lstm.h"

struct lstm_way {   // what one direction has
    float *w_hh;    // (4 H / 64, H, 64) panels of W_hh transposed: h → gates
    float *w_back;  // (H / 64, 4 H, 64) panels of W_hh: gradient of the gates → that of h
    float *gates;   // (steps, count, 4 H) the gates' values; backward puts their gradients there
    float *c;       // (steps, count, H)
    float *tanh_c;  // (steps, count, H)
    float *h;       // (steps, count, H)
    float *dh, *dc; // (count, H)
};

struct lstm {
    struct lstm_spec spec;
    int ways;
    int64_t h, e, z; // H, E, Z
    int64_t rows;    // most different inputs: positions, or the vocabulary
    int64_t step;    // 1 if all steps are kept, 0 if each overwrites the one before
    int64_t count;   // samples of the last forward pass

    float *w_ih;      // (Z / 64, E, 64) panels of W_ih transposed: input → gates
    float *w_input;   // (E / 64, Z, 64) panels of W_ih: gradient of the gates → that of the input
    float *bias;      // (Z)
    float *input;     // (rows, E) the different inputs of the batch
    float *product;   // (rows, Z) W_ih x + b of each. One-hot: of each token, kept by lstm_pack()
    float *sums;      // (rows, Z) gradients of the gates, summed per input; may be `product`
    float *dinput;    // (rows, E) only if E is not `in`
    float *dw_ih;     // (Z, E)
    float *dw_hh;     // (Z, H)
    float *dbias;     // (Z)
    int parts;        // threads that share a direction, each with a part of the gradients; or 0
    float *dw_parts;  // (parts, Z, H)
    float *sum_parts; // (parts, sum_rows, Z) one-hot only
    int64_t sum_rows;
    int32_t *self;        // (positions) features: each position is a separate input
    struct groups groups; // one-hot: the batch's tokens
    struct lstm_way way[2];
    void *memory; // holds all the floats
};

#endif
