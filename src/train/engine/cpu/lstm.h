// SPDX-License-Identifier: Apache-2.0
// lstm: an LSTM layer, one or both ways, whose output is its last state.
//
// For each time step, from a state of zero: with z = W_ih x + W_hh h + b in four parts i f g o,
// c = gate(f) c + gate(i) tanh(g), h = gate(o) tanh(c), where a gate is a sigmoid or hard. The
// backward direction reads the sequence from its end, so that its last state is that at time 0.
// Weights and gradients have the net's layout (train/net/net.h); the layer keeps copies in a layout
// of its own, which lstm_pack() renews after every change of the weights.
//
// The input's part of z depends on the token alone, so it is computed once per distinct token of
// the batch (embedding.h), and gradients are summed per token before the product. The two
// directions, or parts of the batch, run on different threads without waiting for each other inside
// a sequence. lstm_new() allocates all memory, for the team's size at that time; the same number of
// threads gives the same bits.
#ifndef FARE_TRAIN_ENGINE_CPU_LSTM_H
#define FARE_TRAIN_ENGINE_CPU_LSTM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "train/engine/cpu/embedding.h"

struct lstm;

enum lstm_input {
    LSTM_FEATURES, // floats (batch, time, in)
    LSTM_ONE_HOT,  // tokens (batch, time) below `in`, each a vector with a single 1
    LSTM_EMBEDDING // the tokens that `embedding` looked at last, and its rows
};

struct lstm_spec {
    int64_t batch;
    int time, in, units;
    bool both_ways;
    bool hard_gates; // train/net/net.h
    bool training;   // keep what lstm_backward() needs
    enum lstm_input input;
    struct embedding *embedding; // LSTM_EMBEDDING: must outlive the layer
};

struct lstm_weights {  // of one direction
    const float *ih;   // (4 units, in)
    const float *hh;   // (4 units, units)
    const float *bias; // (4 units)
};

struct lstm_grads { // likewise; overwritten, never added to
    float *ih, *hh, *bias;
};

int lstm_new(const struct lstm_spec *spec, struct lstm **out, struct err *err) MUST_USE;
void lstm_free(struct lstm *lstm); // null is fine

// weights[0] forward, weights[1] backward (only if both ways). Copies what it needs.
void lstm_pack(struct lstm *lstm, const struct lstm_weights weights[2]);

// `count` samples, at most the batch. Of the two inputs the one of the layer's kind is read; with
// LSTM_EMBEDDING neither: embedding_look() has been called with count × time tokens. `out` is
// (count, units), or (count, 2 × units): the forward direction's state, then the backward one's.
void lstm_forward(struct lstm *lstm, const float *features, const int32_t *tokens, int64_t count,
                  float *out);

// After lstm_forward() with the same `count`; once only, as it uses up what was kept. `dout` has
// the shape of `out`. Fills grads[0], grads[1] and the gradient of the input: `dfeatures`
// (count, time, in; null if not needed) for LSTM_FEATURES, embedding_grad() for
// LSTM_EMBEDDING, nothing for LSTM_ONE_HOT.
void lstm_backward(struct lstm *lstm, const float *dout, const struct lstm_grads grads[2],
                   float *dfeatures);

#endif
