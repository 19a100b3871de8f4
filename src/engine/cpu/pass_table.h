// SPDX-License-Identifier: Apache-2.0
// The table of the passes, for the files that compile them for one instruction set; see vec.h.
#ifndef FARE_ENGINE_CPU_PASS_TABLE_H
#define FARE_ENGINE_CPU_PASS_TABLE_H

#include "engine/cpu/pass_element.h"
#include "engine/cpu/pass_norm.h"
#include "engine/cpu/pass_optimizer.h"
#include "engine/cpu/pass_pool.h"
#include "engine/cpu/pass_sequence.h"

#define PASS_TABLE(set)                                                                            \
    {                                                                                              \
        .name = set, .add = pass_add, .relu_back = pass_relu_back, .to_bf16 = pass_to_bf16,        \
        .from_bf16 = pass_from_bf16, .mask_rows = pass_mask_rows, .mask_plane = pass_mask_plane,   \
        .drop = pass_drop, .drop_back = pass_drop_back, .max_pool = pass_max_pool,                 \
        .max_pool_back = pass_max_pool_back, .average_pool = pass_average_pool,                    \
        .average_pool_back = pass_average_pool_back, .plane_sum = pass_plane_sum,                  \
        .plane_fill = pass_plane_fill, .norm_sum = pass_norm_sum,                                  \
        .norm_squares = pass_norm_squares, .norm_apply = pass_norm_apply,                          \
        .norm_back_sums = pass_norm_back_sums, .norm_back = pass_norm_back,                        \
        .rmsprop = pass_rmsprop, .rmsprop_momentum = pass_rmsprop_momentum,                        \
        .adadelta = pass_adadelta, .adam = pass_adam, .adamw = pass_adamw,                         \
        .row_norm = pass_row_norm, .row_norm_back = pass_row_norm_back, .gelu = pass_gelu,         \
        .gelu_back = pass_gelu_back, .row_max = pass_row_max, .row_softmax = pass_row_softmax,     \
        .row_odds = pass_row_odds, .row_odds_back = pass_row_odds_back, .row_dot = pass_row_dot,   \
        .row_add = pass_row_add, .squares = pass_squares,                                          \
    }

#endif
