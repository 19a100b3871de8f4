// SPDX-License-Identifier: Apache-2.0
// sequences: launches for tokens: embedding, one-hot, LSTM.
//
// Rows of an embedding are lazy: one that a batch does not use keeps its age, and catches up when
// it is next used, exactly as if Adam had updated it in every step. An LSTM's time steps are one
// kernel, after the product for its inputs; one-hot inputs are a table lookup instead.
#ifndef FARE_ENGINE_CUDA_PLAN_SEQUENCES_H
#define FARE_ENGINE_CUDA_PLAN_SEQUENCES_H

#include "engine/cuda/plan/builder.h"

// Memory, and the list that brings all rows up to date.
void gpu_embedding_memory(struct builder *b, int layer);
void gpu_embedding_forward(struct builder *b, int layer);
// Sorts positions by token; forked, since only the table's update needs it.
void gpu_embedding_order(struct builder *b, int layer);
void gpu_embedding_back(struct builder *b, int layer);

void gpu_one_hot(struct builder *b, int layer);

void gpu_lstm_memory(struct builder *b, int layer);
void gpu_lstm_forward(struct builder *b, int layer);
void gpu_lstm_back(struct builder *b, int layer, bool trains);

#endif
