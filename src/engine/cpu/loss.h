// SPDX-License-Identifier: Apache-2.0
// loss: the loss of a batch's outputs, its gradient, and the score.
#ifndef FARE_ENGINE_CPU_LOSS_H
#define FARE_ENGINE_CPU_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct loss {
    enum net_loss kind;
    int64_t batch, count; // rows, and how many are samples
    int64_t all;          // samples in the mean: of all ranks
    int64_t units;
    const void *z; // (batch, units): the logits
    bool z_bf16;
    const int32_t *labels;
    float weight; // of the gradient
    void *grad;   // (batch, units) of the mean loss, or null; other rows become zero
    bool grad_bf16;
    double *rows; // (batch) work space, so that the sum does not depend on the threads
};

void loss_run(const struct loss *loss, struct engine_score *score);

// Probabilities of the samples: out (count, units).
void loss_predict(const struct loss *loss, float *out);

#endif
