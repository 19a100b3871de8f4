// SPDX-License-Identifier: Apache-2.0
// ref_ops: every operation of a net, forward and backward, in plain C: slow, readable, the
// reference.
//
// Parameters are single precision, as in programs and checkpoints. Everything else (outputs,
// gradients) is double precision, so that a faster engine's difference from it is that engine's own
// error. `n` is the number of samples; arrays are in the net's layout, sample first. A backward
// function ADDS to the gradients it is given (a layer may have several readers); dx may be null.
// Nothing is allocated here.
//
// relu is separate: apply ref_relu() to the output of a layer that has it, and ref_relu_back() to
// the output's gradient before the layer's own backward function.
#ifndef FARE_TRAIN_ENGINE_REF_OPS_H
#define FARE_TRAIN_ENGINE_REF_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "train/engine/shared.h"
#include "train/net/net.h"

void ref_relu(int64_t count, double *y);
void ref_relu_back(int64_t count, const double *y, double *dy); // dy = 0 where y is not positive

// x (n, in), w (units, in), b (units), y (n, units)
void ref_dense(int64_t n, int64_t in, int64_t units, const double *x, const float *w,
               const float *b, double *y);
void ref_dense_back(int64_t n, int64_t in, int64_t units, const double *x, const float *w,
                    const double *dy, double *dx, double *dw, double *db);

// x (n, in channels, height, width), w (out, in, kernel_h, kernel_w), b (out) or null
void ref_conv(const struct net_layer *layer, const struct net_shape *in, int64_t n, const double *x,
              const float *w, const float *b, double *y);
void ref_conv_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                   const double *x, const float *w, const double *dy, double *dx, double *dw,
                   double *db);

// Mean and 1 / sqrt(variance + epsilon) per channel. Training takes them from the batch and updates
// the running averages (see net.h); evaluation uses the running averages.
struct ref_norm {
    double *mean, *inverse; // (channels)
};
void ref_norm_train(const struct net_layer *layer, int64_t n, const double *x, float *running_mean,
                    float *running_var, struct ref_norm *norm);
void ref_norm_evaluate(const struct net_layer *layer, const float *running_mean,
                       const float *running_var, struct ref_norm *norm);
void ref_batch_norm(const struct net_layer *layer, int64_t n, const double *x,
                    const struct ref_norm *norm, const float *w, const float *b, double *y);
void ref_batch_norm_back(const struct net_layer *layer, int64_t n, const double *x,
                         const struct ref_norm *norm, const float *w, const double *dy, double *dx,
                         double *dw, double *db);

// chosen: for each output, the index of the largest input cell within its channel.
void ref_max_pool(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                  const double *x, double *y, int32_t *chosen);
void ref_max_pool_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                       const int32_t *chosen, const double *dy, double *dx);
void ref_average_pool(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                      const double *x, double *y);
void ref_average_pool_back(const struct net_layer *layer, const struct net_shape *in, int64_t n,
                           const double *dy, double *dx);
void ref_global_average(const struct net_shape *in, int64_t n, const double *x, double *y);
void ref_global_average_back(const struct net_shape *in, int64_t n, const double *dy, double *dx);

// Forward and backward: y (or dx) is x (or dy) times the scale if kept. `count` is over all
// samples.
void ref_dropout(const struct dropout *dropout, int64_t count, const double *x, double *y);
void ref_dropout_back(const struct dropout *dropout, int64_t count, const double *dy, double *dx);

// One input's part of a concatenation: `part` numbers of a sample at `at` of the output's `whole`.
void ref_concat(int64_t n, int64_t part, int64_t at, int64_t whole, const double *x, double *y);
void ref_concat_back(int64_t n, int64_t part, int64_t at, int64_t whole, const double *dy,
                     double *dx);

// tokens (n × time), y (n × time, vocabulary) or (n × time, units)
void ref_one_hot(int64_t count, int64_t vocabulary, const int32_t *tokens, double *y);
void ref_embedding(int64_t count, int64_t units, const int32_t *tokens, const float *w, double *y);
void ref_embedding_back(int64_t count, int64_t units, const int32_t *tokens, const double *dy,
                        double *dw);

// One direction of an LSTM (ref_sequence.c). x (n, time, in); y and dy are n rows of `row` numbers,
// of which the first `units` are this direction's last state.
struct ref_lstm {
    int64_t time, in, units, row;
    bool reverse, hard_gates;
    const float *w_in, *w_state, *bias; // (4 units, in), (4 units, units), (4 units)
    double *gates;                      // (n, time, 4 units) i f g o after their functions
    double *cell, *state;               // (n, time, units)
    double *scratch;                    // REF_LSTM_SCRATCH × units
};
#define REF_LSTM_SCRATCH 6
void ref_lstm(const struct ref_lstm *lstm, int64_t n, const double *x, double *y);
void ref_lstm_back(const struct ref_lstm *lstm, int64_t n, const double *x, const double *dy,
                   double *dx, double *dw_in, double *dw_state, double *dbias);

// Of transformers (ref_sequence.c). `rows` are time steps of all samples; x (rows, features).
// w (positions, units): row r of x gets row r % time of w.
void ref_position(int64_t rows, int64_t time, int64_t units, const double *x, const float *w,
                  double *y);
void ref_position_back(int64_t rows, int64_t time, int64_t units, const double *dy, double *dx,
                       double *dw);
void ref_layer_norm(int64_t rows, int64_t units, float epsilon, const double *x, const float *w,
                    const float *b, double *y);
void ref_layer_norm_back(int64_t rows, int64_t units, float epsilon, const double *x,
                         const float *w, const double *dy, double *dx, double *dw, double *db);
// w (in, units)
void ref_linear(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                const float *b, double *y);
void ref_linear_back(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                     const double *dy, double *dx, double *dw, double *db);
// x (n, time, 3 units), y (n, time, units), odds (n, heads, time, time)
struct ref_attention {
    int64_t time, units, heads;
    double *odds;    // after the softmax; kept for the backward pass
    double *scratch; // (time)
};
void ref_attention(const struct ref_attention *a, int64_t n, const double *x, double *y);
void ref_attention_back(const struct ref_attention *a, int64_t n, const double *x, const double *dy,
                        double *dx);
void ref_gelu(int64_t count, const double *x, double *y);
void ref_gelu_back(int64_t count, const double *x, const double *dy, double *dx);
void ref_add(int64_t count, const double *x, double *y); // y += x; also its backward pass
// w (units, in), as an embedding has it
void ref_tied_head(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                   double *y);
void ref_tied_head_back(int64_t rows, int64_t in, int64_t units, const double *x, const float *w,
                        const double *dy, double *dx, double *dw);

// z (n, units): the logits. Adds to the score; dz, unless null, is set to the gradient of the mean
// loss.
void ref_loss(enum net_loss loss, int64_t n, int64_t units, const double *z, const int32_t *labels,
              double *dz, struct engine_score *score);
// The gradient of an auxiliary loss: of weight × the mean softmax cross-entropy of z. Added to dz.
void ref_aux_back(float weight, int64_t n, int64_t units, const double *z, const int32_t *labels,
                  double *dz);
void ref_predict(enum net_loss loss, int64_t n, int64_t units, const double *z, float *out);

// One step of the recipe's optimizer at iteration t (recipe.h has the rules), at the stage's rate
// of that iteration. `state1` is null if the optimizer has one state. `g` is the mean gradient
// without weight decay, clipped already.
void ref_optimize(const struct recipe *recipe, double rate, int64_t t, bool decayed, int64_t count,
                  const double *g, float *p, float *state0, float *state1);

#endif
