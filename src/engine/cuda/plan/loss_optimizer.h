// SPDX-License-Identifier: Apache-2.0
// ends: launches of both ends of a step: the loss, where the way back begins, and the optimizer.
#ifndef FARE_ENGINE_CUDA_PLAN_LOSS_OPTIMIZER_H
#define FARE_ENGINE_CUDA_PLAN_LOSS_OPTIMIZER_H

#include "engine/cuda/plan/builder.h"

// Whether one kernel can do the last layer, the loss and the way back through it.
bool gpu_has_head(const struct gpu_plan *plan);
// That kernel, or the loss alone. Without labels: what the net says, and no score.
void gpu_loss(struct builder *b, bool labelled);
void gpu_aux_back(struct builder *b, int layer); // of an auxiliary head
// A step of every parameter whose layer trains, but for those that take it elsewhere: rows that
// wait, and weights whose products end with it.
void gpu_optimize(struct builder *b, const bool *trains); // trains: (layers)

#endif
