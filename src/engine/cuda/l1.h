// SPDX-License-Identifier: Apache-2.0
// l1: see struct engine_l1 in engine/engine.h.
#ifndef FARE_ENGINE_CUDA_L1_H
#define FARE_ENGINE_CUDA_L1_H

#include "engine/engine.h"

extern const struct engine_l1 cuda_engine_l1;

#endif
