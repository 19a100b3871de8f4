// SPDX-License-Identifier: Apache-2.0
#include "guard/pause.h"

#include "base/clock.h"
#include "base/rng.h"

struct pause pause_begin(int64_t first_ms, int64_t deadline_ns, const atomic_bool *stop)
{
    return (struct pause){first_ms ? first_ms : PAUSE_FIRST_MS, deadline_ns, stop};
}

bool pause_wait(struct pause *pause)
{
    uint32_t random;
    rng_entropy(&random, sizeof random);
    int64_t full_ns = pause->next_ms * NS_PER_MS;
    int64_t end_ns = clock_now_ns() + full_ns / 2 + (int64_t)(random % 1024) * (full_ns / 2048);
    if (pause->deadline_ns && end_ns >= pause->deadline_ns)
        return false;
    pause->next_ms = pause->next_ms * 2 < PAUSE_MOST_MS ? pause->next_ms * 2 : PAUSE_MOST_MS;
    for (int64_t left_ns; (left_ns = end_ns - clock_now_ns()) > 0;) {
        if (pause->stop && atomic_load(pause->stop))
            return false;
        clock_sleep_ns(left_ns < 50 * NS_PER_MS ? left_ns : 50 * NS_PER_MS);
    }
    return true;
}
