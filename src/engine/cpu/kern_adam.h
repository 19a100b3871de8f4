// SPDX-License-Identifier: Apache-2.0
// Adam for a row of a table, on vec.h's operations. The replay of steps without gradient does the
// same operations in the same order as the plain step, so that its result has the same bits.
#ifndef FARE_ENGINE_CPU_KERN_ADAM_H
#define FARE_ENGINE_CPU_KERN_ADAM_H

#include <string.h>

#include "engine/cpu/kernels.h"
#include "engine/cpu/vec.h"

#define ADAM_VECS 4 // at once, to hide the latency of root and division

KERNEL_INLINE vec adam_move(vec p, vec m, vec v, vec k, vec epsilon)
{
    return v_sub(p, v_div(v_mul(k, m), v_add(v_sqrt(v), epsilon)));
}

KERNEL void adam_vector(const struct adam *adam, float k, float *p, float *m, float *v,
                        const float *g)
{
    vec grad = g ? v_load(g) : v_zero();
    vec mean = v_fma(v_set(adam->rho), v_load(m), v_mul(v_set(adam->rho_rest), grad));
    vec square =
        v_fma(v_set(adam->beta2), v_load(v), v_mul(v_set(adam->beta2_rest), v_mul(grad, grad)));
    v_store(m, mean);
    v_store(v, square);
    v_store(p, adam_move(v_load(p), mean, square, v_set(k), v_set(adam->epsilon)));
}

KERNEL void adam_row(const struct adam *adam, float k, float *p, float *m, float *v, const float *g,
                     int64_t count)
{
    int64_t i = 0;
    for (; i + VL <= count; i += VL)
        adam_vector(adam, k, p + i, m + i, v + i, g ? g + i : NULL);
    if (i == count)
        return;
    float tail[4][VL] = {{0}}; // in a vector of their own, the rest zero
    const size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(tail[0], p + i, bytes);
    memcpy(tail[1], m + i, bytes);
    memcpy(tail[2], v + i, bytes);
    if (g)
        memcpy(tail[3], g + i, bytes);
    adam_vector(adam, k, tail[0], tail[1], tail[2], tail[3]);
    memcpy(p + i, tail[0], bytes);
    memcpy(m + i, tail[1], bytes);
    memcpy(v + i, tail[2], bytes);
}

// The variables of vector number n, and what is done with them.
#define ADAM_FOUR(what) what(0) what(1) what(2) what(3)
#define ADAM_LOAD(n)                                                                               \
    vec p##n = v_load(p + n * VL), m##n = v_load(m + n * VL), v##n = v_load(v + n * VL);
#define ADAM_STORE(n)                                                                              \
    v_store(p + n * VL, p##n);                                                                     \
    v_store(m + n * VL, m##n);                                                                     \
    v_store(v + n * VL, v##n);
#define ADAM_DECAY_M(n) m##n = v_fma(rho, m##n, zero);
#define ADAM_DECAY_V(n) v##n = v_mul(beta2, v##n);
#define ADAM_MOVE(n)                                                                               \
    vec old##n = p##n;                                                                             \
    p##n = adam_move(p##n, m##n, v##n, rate, epsilon);
#define ADAM_MOVED(n)    | v_differ(p##n, old##n)
#define ADAM_LEFT_M(n)   | v_differ(m##n, zero)
#define ADAM_LEFT_V(n)   | v_differ(v##n, zero)
#define ADAM_NO_MINUS(n) m##n = v_add(m##n, zero);

// Four vectors at a time. The sums with zero are those of the plain step: they decide about the
// sign of what has faded to zero. First everything moves; when p has come to rest only the means
// decay, and when those of the gradient are zero only those of its square.
KERNEL void adam_replay_block(const struct adam *adam, const float *k, int64_t steps,
                              int64_t settled, float *p, float *m, float *v)
{
    const vec rho = v_set(adam->rho), beta2 = v_set(adam->beta2), epsilon = v_set(adam->epsilon);
    const vec zero = v_zero();
    int64_t step = 0;
    ADAM_FOUR(ADAM_LOAD);
    for (int moved = 1; step < steps && (moved || step <= settled); step++) {
        const vec rate = v_set(k[step]);
        ADAM_FOUR(ADAM_DECAY_M);
        ADAM_FOUR(ADAM_DECAY_V);
        ADAM_FOUR(ADAM_MOVE);
        moved = 0 ADAM_FOUR(ADAM_MOVED);
    }
    for (int left = 1; step < steps && left; step++) {
        ADAM_FOUR(ADAM_DECAY_M);
        ADAM_FOUR(ADAM_DECAY_V);
        if (step % 16 == 0)
            left = 0 ADAM_FOUR(ADAM_LEFT_M);
    }
    if (step < steps) { // the next step makes +0 of -0
        ADAM_FOUR(ADAM_NO_MINUS);
    }
    if (!(0 ADAM_FOUR(ADAM_LEFT_V))) // a row that was never used
        step = steps;
    for (; step < steps; step++) {
        ADAM_FOUR(ADAM_DECAY_V);
    }
    ADAM_FOUR(ADAM_STORE);
}

KERNEL void adam_replay_row(const struct adam *adam, const float *k, int64_t steps, int64_t settled,
                            float *p, float *m, float *v, int64_t count)
{
    enum { BLOCK = ADAM_VECS * VL };
    int64_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        adam_replay_block(adam, k, steps, settled, p + i, m + i, v + i);
    if (i == count)
        return;
    float tail[3][BLOCK] = {{0}};
    const size_t bytes = (size_t)(count - i) * sizeof(float);
    memcpy(tail[0], p + i, bytes);
    memcpy(tail[1], m + i, bytes);
    memcpy(tail[2], v + i, bytes);
    adam_replay_block(adam, k, steps, settled, tail[0], tail[1], tail[2]);
    memcpy(p + i, tail[0], bytes);
    memcpy(m + i, tail[1], bytes);
    memcpy(v + i, tail[2], bytes);
}

#endif
