// SPDX-License-Identifier: Apache-2.0
// product: see engine.product in engine/engine.h.
#ifndef FARE_ENGINE_CPU_PRODUCT_H
#define FARE_ENGINE_CPU_PRODUCT_H

#include "engine/engine.h"

int cpu_product(const struct engine_options *options, struct engine_product *out,
                struct err *err) MUST_USE;

#endif
