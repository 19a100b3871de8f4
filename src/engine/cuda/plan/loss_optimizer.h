// SPDX-License-Identifier: Apache-2.0
// loss_optimizer: launches of the loss, where the way back begins, and of the optimizer, its end.
#ifndef FARE_ENGINE_CUDA_PLAN_LOSS_OPTIMIZER_H
#define FARE_ENGINE_CUDA_PLAN_LOSS_OPTIMIZER_H

#include "engine/cuda/plan/builder.h"

// Whether one kernel, the head, can do the last layer, the loss and the way back through both.
bool gpu_has_head(const struct gpu_plan *plan);
// The head, or the loss alone. Without labels: probabilities, and no score.
void gpu_loss(struct builder *b, bool labelled);
void gpu_aux_back(struct builder *b, int layer); // of an auxiliary head
// One optimizer step for all parameters whose layer trains, except lazy rows, and weights whose
// products do it in their epilogue.
void gpu_optimize(struct builder *b, const bool *trains); // trains: (layers)

#endif
