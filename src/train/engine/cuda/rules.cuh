// SPDX-License-Identifier: Apache-2.0
// rules: one step of an optimizer for one number (train/net/net.h has the rules).
#ifndef FARE_ENGINE_CUDA_RULES_CUH
#define FARE_ENGINE_CUDA_RULES_CUH

#include "dev.cuh"

enum { RMSPROP, RMSPROP_MOMENTUM, ADADELTA, ADAM }; // as in train/net/net.h

struct moved {
    float p, a, b;
};

DEVICE moved step_of(int kind, float rho, float beta2, float epsilon, float momentum, float rate,
                     float g, float p, float a, float b)
{
    moved to = {p, a, b};
    if (kind == RMSPROP) {
        to.a = rho * a + (1 - rho) * g * g;
        to.p = p - rate * divide(g, sqrt_fast(to.a) + epsilon);
    } else if (kind == RMSPROP_MOMENTUM) {
        to.a = rho * a + (1 - rho) * g * g;
        to.b = momentum * b + rate * divide(g, sqrt_fast(to.a + epsilon));
        to.p = p - to.b;
    } else if (kind == ADADELTA) {
        to.a = rho * a + (1 - rho) * g * g;
        float u = g * divide(sqrt_fast(b + epsilon), sqrt_fast(to.a + epsilon));
        to.p = p - rate * u;
        to.b = rho * b + (1 - rho) * u * u;
    } else {
        to.a = rho * a + (1 - rho) * g;
        to.b = beta2 * b + (1 - beta2) * g * g;
        to.p = p - rate * divide(to.a, sqrt_fast(to.b) + epsilon);
    }
    return to;
}

DEVICE void step_one(const cuda_optimizer &o, i64 at, float decay, float g)
{
    bool two = o.kind != RMSPROP;
    float p = o.p[at];
    moved to = step_of(o.kind, o.rho, o.beta2, o.epsilon, o.momentum, o.now->rate, g + decay * p, p,
                       o.state0[at], two ? o.state1[at] : 0);
    o.p[at] = to.p;
    if (o.rounded)
        o.rounded[at] = bf16_of(to.p);
    o.state0[at] = to.a;
    if (two)
        o.state1[at] = to.b;
}

// Four numbers that lie together.
DEVICE void step_four(const cuda_optimizer &o, i64 at, float decay, f4 g4)
{
    bool two = o.kind != RMSPROP;
    f4 zero = {0, 0, 0, 0}, p4 = *(const f4 *)(o.p + at), a4 = *(const f4 *)(o.state0 + at);
    f4 b4 = two ? *(const f4 *)(o.state1 + at) : zero;
    float rate = o.now->rate;
    moved x = step_of(o.kind, o.rho, o.beta2, o.epsilon, o.momentum, rate, g4.x + decay * p4.x,
                      p4.x, a4.x, b4.x);
    moved y = step_of(o.kind, o.rho, o.beta2, o.epsilon, o.momentum, rate, g4.y + decay * p4.y,
                      p4.y, a4.y, b4.y);
    moved z = step_of(o.kind, o.rho, o.beta2, o.epsilon, o.momentum, rate, g4.z + decay * p4.z,
                      p4.z, a4.z, b4.z);
    moved w = step_of(o.kind, o.rho, o.beta2, o.epsilon, o.momentum, rate, g4.w + decay * p4.w,
                      p4.w, a4.w, b4.w);
    f4 p_new = {x.p, y.p, z.p, w.p}, a_new = {x.a, y.a, z.a, w.a}, b_new = {x.b, y.b, z.b, w.b};
    *(f4 *)(o.p + at) = p_new;
    if (o.rounded) {
        u2 pairs = {bf16_of(x.p) | (u32)bf16_of(y.p) << 16, bf16_of(z.p) | (u32)bf16_of(w.p) << 16};
        *(u2 *)(o.rounded + at) = pairs;
    }
    *(f4 *)(o.state0 + at) = a_new;
    if (two)
        *(f4 *)(o.state1 + at) = b_new;
}

#endif
