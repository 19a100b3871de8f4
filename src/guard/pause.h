// SPDX-License-Identifier: Apache-2.0
// pause: the waits between tries: they double, and vary at random, so that machines that failed
// together do not come back together.
#ifndef FARE_GUARD_PAUSE_H
#define FARE_GUARD_PAUSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAUSE_FIRST_MS 200
#define PAUSE_MOST_MS  10000

struct pause {
    int64_t next_ms;
    int64_t deadline_ns; // 0: none
    const atomic_bool *stop;
};

// `first_ms` 0: PAUSE_FIRST_MS. `stop` may be null.
struct pause pause_begin(int64_t first_ms, int64_t deadline_ns, const atomic_bool *stop);

// Waits half to all of the next pause. False: the deadline would pass, or `stop` was set.
bool pause_wait(struct pause *pause);

#endif
