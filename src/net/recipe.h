// SPDX-License-Identifier: Apache-2.0
// recipe: how a net is trained. Plain data, and the optimizers' exact rules.
//
// For a parameter p with gradient g (mean over the batch; plus weight_decay × p where the
// parameter is decayed), at iteration t = 0, 1, ...:
//   RMSPROP   a = rho a + (1 - rho) g²; p -= lr / (1 + decay t) × g / (√a + epsilon)
//   RMSPROP_MOMENTUM  a starts at 1; a = rho a + (1 - rho) g²; m = momentum m + lr g / √(a +
//   epsilon);
//             p -= m
//   ADADELTA  a = rho a + (1 - rho) g²; u = g √(d + epsilon) / √(a + epsilon); p -= lr u;
//             d = rho d + (1 - rho) u²
//   ADAM      m = rho m + (1 - rho) g; v = beta2 v + (1 - beta2) g²; k = lr √(1 - beta2^(t+1)) /
//             (1 - rho^(t+1)); p -= k m / (√v + epsilon)
//   ADAMW     weight decay is not part of g; p -= lr × weight_decay × p where the parameter is
//             decayed; m and v as ADAM; p -= lr / (1 - rho^(t+1)) × m / (√v / √(1 - beta2^(t+1)) +
//             epsilon). That is PyTorch's AdamW.
// State 0 is a (ADAM: m), state 1 is m, d or v; both start at 0 unless stated otherwise.
//
// With `clip`, the gradients of all parameters that the stage trains are scaled together before
// the optimizer: times min(1, clip / (norm + 1e-6)), where norm is the square root of the sum of
// all their squares.
//
// With `warmup`, lr rises and falls: recipe_rate().
#ifndef FARE_NET_RECIPE_H
#define FARE_NET_RECIPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "net/net.h"

enum optimizer {
    OPTIMIZER_RMSPROP,
    OPTIMIZER_RMSPROP_MOMENTUM,
    OPTIMIZER_ADADELTA,
    OPTIMIZER_ADAM,
    OPTIMIZER_ADAMW,
};

struct recipe_stage { // a part of the training with its own rate; each resets the state
    int64_t steps;    // 0: to the end of the epochs
    float rate;
    // (optional) Train only layers of this name, in any part of the net: "d" is "d" and "aux.d".
    // The text must outlive the programs compiled from the recipe.
    const char *only;
};

#define RECIPE_STAGES_MAX 2

struct recipe {
    enum optimizer optimizer;
    float rho;   // Adam, AdamW: beta 1
    float beta2; // Adam, AdamW
    float epsilon;
    float decay; // of the rate, per iteration
    float momentum;
    float weight_decay;
    int64_t batch;
    int64_t epochs; // 0: the stages' steps count
    struct recipe_stage stages[RECIPE_STAGES_MAX];
    int stage_count;
    float clip;     // of the gradients' global norm; 0: none
    int64_t warmup; // steps in which the rate rises; 0: no schedule
    float floor;    // of the schedule: the share of the rate at its end
};

// Checks batch and stages, and that each stage trains something in this net.
int recipe_check(const struct recipe *recipe, const struct net *net, struct err *err) MUST_USE;

// Whether a stage trains the parameters of this layer.
bool recipe_trains(const struct recipe_stage *stage, const struct net_layer *layer);

// The rate of a stage at iteration t, in double precision. Without a warm-up it is the stage's.
// With one: rate × (t + 1) / warmup for t < warmup, then half a cosine down to floor × rate at t =
// steps (those of the stage), and floor × rate from there on.
double recipe_rate(const struct recipe *recipe, int stage, int64_t t);

// State values per parameter value: 1 or 2.
static inline int recipe_states(const struct recipe *recipe)
{
    return recipe->optimizer == OPTIMIZER_RMSPROP ? 1 : 2;
}

#endif
