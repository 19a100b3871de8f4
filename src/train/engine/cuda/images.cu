// SPDX-License-Identifier: Apache-2.0
// The kernels of nets whose images are kept as bf16, as one text for the driver's compiler.
#include "image.cu"
#include "image_conv.cu"
