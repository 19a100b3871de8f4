// SPDX-License-Identifier: Apache-2.0
// The kernels of transformers in bf16, as one text for the driver's compiler.
#include "text.cu"
#include "text_order.cu"
#include "text_train.cu"
