// SPDX-License-Identifier: Apache-2.0
// owned: a dense layer on our own matrix product, each thread with units of its own.
#ifndef FARE_ENGINE_CPU_OWNED_H
#define FARE_ENGINE_CPU_OWNED_H

#include "engine/cpu/plan.h"

// Whether that layer can be one: rows of f32, units enough for all threads.
bool owned_suits(const struct plan *plan, int number);

op_new owned_new;

#endif
