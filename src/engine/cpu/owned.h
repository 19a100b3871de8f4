// SPDX-License-Identifier: Apache-2.0
// owned: a dense layer on our own matrix product; each thread owns some units.
#ifndef FARE_ENGINE_CPU_OWNED_H
#define FARE_ENGINE_CPU_OWNED_H

#include "engine/cpu/plan.h"

// Whether the layer can be one: rows of f32, enough units for all threads.
bool owned_suits(const struct plan *plan, int number);

op_new owned_new;

#endif
