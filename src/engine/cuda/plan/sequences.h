// SPDX-License-Identifier: Apache-2.0
// sequences: launches for tokens: embedding, one-hot, LSTM.
//
// Rows of an embedding that a batch does not use keep their age, and are caught up with when they
// are next used, exactly as if Adam had touched them in every step. An LSTM's steps are one kernel,
// its inputs' product comes before; where the input is one-hot, what a token brings is looked up.
#ifndef FARE_ENGINE_CUDA_PLAN_SEQUENCES_H
#define FARE_ENGINE_CUDA_PLAN_SEQUENCES_H

#include "engine/cuda/plan/builder.h"

// Memory and the list that catches up with all rows.
void gpu_embedding_memory(struct builder *b, int layer);
void gpu_embedding_forward(struct builder *b, int layer);
// Which positions have the same token: beside what comes before the step of the table.
void gpu_embedding_order(struct builder *b, int layer);
void gpu_embedding_back(struct builder *b, int layer);

void gpu_one_hot(struct builder *b, int layer);

void gpu_lstm_memory(struct builder *b, int layer);
void gpu_lstm_forward(struct builder *b, int layer);
void gpu_lstm_back(struct builder *b, int layer, bool trains);

#endif
