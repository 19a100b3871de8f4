// SPDX-License-Identifier: Apache-2.0
// One step of each optimizer (net/net.h) over numbers, their gradients and states.
#ifndef FARE_ENGINE_CPU_PASS_OPTIMIZER_H
#define FARE_ENGINE_CPU_PASS_OPTIMIZER_H

#include "engine/cpu/lanes.h"
#include "engine/cpu/passes.h"

#define OPTIMIZER_GRADIENT(i) v_fma(v_set(weight_decay), v_load(p + (i)), v_load(g + (i)))

KERNEL void pass_rmsprop(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                         float *state0, float *state1, int64_t count)
{
    (void)state1;
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec step = v_div(v_mul(rate, d), v_add(v_sqrt(a), epsilon));
        v_store(p + i, v_sub(v_load(p + i), step));
    }
}

KERNEL void pass_rmsprop_momentum(const struct pass_rule *r, float weight_decay, float *p,
                                  const float *g, float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon), momentum = v_set(r->momentum);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec step = v_div(v_mul(rate, d), v_sqrt(v_add(a, epsilon)));
        vec m = v_fma(momentum, v_load(state1 + i), step);
        v_store(state1 + i, m);
        v_store(p + i, v_sub(v_load(p + i), m));
    }
}

KERNEL void pass_adadelta(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                          float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec a = v_fma(rho, v_load(state0 + i), v_mul(rest, v_mul(d, d)));
        v_store(state0 + i, a);
        vec before = v_load(state1 + i);
        vec u = v_div(v_mul(d, v_sqrt(v_add(before, epsilon))), v_sqrt(v_add(a, epsilon)));
        v_store(state1 + i, v_fma(rho, before, v_mul(rest, v_mul(u, u))));
        v_store(p + i, v_fnma(rate, u, v_load(p + i)));
    }
}

KERNEL void pass_adam(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                      float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec beta2 = v_set(r->beta2), beta2_rest = v_set(r->beta2_rest);
    const vec epsilon = v_set(r->epsilon);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = OPTIMIZER_GRADIENT(i);
        vec m = v_fma(rho, v_load(state0 + i), v_mul(rest, d));
        vec v = v_fma(beta2, v_load(state1 + i), v_mul(beta2_rest, v_mul(d, d)));
        v_store(state0 + i, m);
        v_store(state1 + i, v);
        vec step = v_div(v_mul(rate, m), v_add(v_sqrt(v), epsilon));
        v_store(p + i, v_sub(v_load(p + i), step));
    }
}

KERNEL void pass_adamw(const struct pass_rule *r, float weight_decay, float *p, const float *g,
                       float *state0, float *state1, int64_t count)
{
    const vec rho = v_set(r->rho), rest = v_set(r->rho_rest), rate = v_set(r->rate);
    const vec beta2 = v_set(r->beta2), beta2_rest = v_set(r->beta2_rest);
    const vec epsilon = v_set(r->epsilon), correction = v_set(r->correction);
    const vec keep = v_set(1 - r->plain_rate * weight_decay), scale = v_set(r->scale);
    for (int64_t i = 0; i < count; i += VL) {
        vec d = v_mul(scale, v_load(g + i));
        vec m = v_fma(rho, v_load(state0 + i), v_mul(rest, d));
        vec v = v_fma(beta2, v_load(state1 + i), v_mul(beta2_rest, v_mul(d, d)));
        v_store(state0 + i, m);
        v_store(state1 + i, v);
        vec step = v_div(v_mul(rate, m), v_fma(v_sqrt(v), correction, epsilon));
        v_store(p + i, v_sub(v_mul(keep, v_load(p + i)), step));
    }
}

#endif
