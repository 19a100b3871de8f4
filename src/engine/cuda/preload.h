// SPDX-License-Identifier: Apache-2.0
// preload: loads the kernels of a net before anything else, so that the time that takes is known.
//
// Which they are is only known from the net's plan, so one is made that gets no memory on the GPU.
#ifndef FARE_ENGINE_CUDA_PRELOAD_H
#define FARE_ENGINE_CUDA_PRELOAD_H

#include "engine/engine.h"

// They stay loaded until the process ends.
int cuda_load_kernels(const struct net *net, const struct recipe *recipe,
                      const struct engine_options *options, struct err *err) MUST_USE;

#endif
