// SPDX-License-Identifier: Apache-2.0
// All kernels as one text for the driver's compiler; PRECISION says for what.
#include "gemm.cu"
#include "each.cu"
#include "l1.cu"
#include "lstm.cu"
#include "train.cu"
