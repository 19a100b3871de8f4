// SPDX-License-Identifier: Apache-2.0
// The table of the kernels, for the files that compile them for one instruction set; see vec.h.
#ifndef FARE_ENGINE_CPU_KERN_TABLE_H
#define FARE_ENGINE_CPU_KERN_TABLE_H

#include "engine/cpu/kern_adam.h"
#include "engine/cpu/kern_gemm.h"
#include "engine/cpu/kern_l1.h"
#include "engine/cpu/kern_lstm.h"
#include "engine/cpu/kernels.h"

#define KERN_TABLE(set)                                                                            \
    {                                                                                              \
        .name = set, .gemm = gemm_run, .lstm_forward = lstm_cell_forward,                          \
        .lstm_backward = lstm_cell_backward, .lstm_hard_forward = lstm_hard_cell_forward,          \
        .lstm_hard_backward = lstm_hard_cell_backward, .add = add_row, .adam = adam_row,           \
        .adam_replay = adam_replay_row, .l1_rows = L1_ROWS, .l1_cols = L1_COLS, .l1 = l1_tile,     \
        .l1_peak = l1_registers,                                                                   \
    }

#endif
