// SPDX-License-Identifier: Apache-2.0
// loss: what a batch's outputs are worth, and where they should have gone.
#ifndef FARE_ENGINE_CPU_LOSS_H
#define FARE_ENGINE_CPU_LOSS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"

struct loss {
    enum net_loss kind;
    int64_t batch, count; // rows, and how many of them count
    int64_t units;
    const void *z; // (batch, units): what comes before the softmax or sigmoid
    bool z_bf16;
    const int32_t *labels;
    float weight; // of the gradient
    void *grad;   // (batch, units) of the mean loss, or null; rows that do not count become zero
    bool grad_bf16;
    double *rows; // (batch) work space, so that the sum does not depend on the threads
};

void loss_run(const struct loss *loss, struct engine_score *score);

// Probabilities of the rows that count: out (count, units).
void loss_predict(const struct loss *loss, float *out);

#endif
