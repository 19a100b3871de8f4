// SPDX-License-Identifier: Apache-2.0
// The kernels compiled for one instruction set; see vec.h.
#define VEC_BITS 128
#include "engine/cpu/kern_adam.h"
#include "engine/cpu/kern_gemm.h"
#include "engine/cpu/kern_l1.h"
#include "engine/cpu/kern_lstm.h"
#include "engine/cpu/kernels.h"

const struct kernels kernels_base = {
    .name = "base",
    .gemm = gemm_run,
    .lstm_forward = lstm_cell_forward,
    .lstm_backward = lstm_cell_backward,
    .lstm_hard_forward = lstm_hard_cell_forward,
    .lstm_hard_backward = lstm_hard_cell_backward,
    .add = add_row,
    .adam = adam_row,
    .adam_replay = adam_replay_row,
    .l1_rows = L1_ROWS,
    .l1_cols = L1_COLS,
    .l1 = l1_tile,
    .l1_peak = l1_registers,
};
