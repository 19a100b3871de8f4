// SPDX-License-Identifier: Apache-2.0
#include "machine/speed.h"

#include "base/clock.h"

#define CHAINS 16
#define ROUNDS (SPEED_LOOP_OPS / CHAINS)
#define TRY_NS (5 * NS_PER_MS)

void speed_loop(void)
{
    static volatile double sink; // keeps the compiler from removing the loop
    double x[CHAINS];
    for (int k = 0; k < CHAINS; k++)
        x[k] = 1 + k * 0.01;
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * 0.999999 + 1e-6;
    double sum = 0;
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    sink = sum;
    (void)sink;
}

double speed_thread(void)
{
    int64_t start_ns = clock_now_ns(), best_ns = TRY_NS, now_ns = start_ns;
    while (now_ns - start_ns < TRY_NS) {
        int64_t began_ns = now_ns;
        speed_loop();
        now_ns = clock_now_ns();
        if (now_ns > began_ns && now_ns - began_ns < best_ns)
            best_ns = now_ns - began_ns;
    }
    return SPEED_LOOP_OPS / ((double)best_ns / (double)NS_PER_S);
}
