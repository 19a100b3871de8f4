// SPDX-License-Identifier: Apache-2.0
// Any bytes as an availability trace. What is read keeps its promises, and can be replayed.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "advise/spot/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct availability *a)
{
    int64_t last = -1;
    assert(a->sample_count > 0 && a->length_ns > 0 && a->tick_ns > 0);
    for (size_t i = 0; i < a->count; i++) {
        assert(a->up[i].from_ns > last && a->up[i].until_ns > a->up[i].from_ns);
        last = a->up[i].until_ns;
    }
    assert(last <= a->length_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct rule rule = {
        .rate = 1, .per_ns = 1, .unit_ns = NS_PER_S, .monthly_cap = -1, .gb_bytes = 1};
    struct err err = {0};
    struct availability a;
    availability_knows((const char *)data, size);
    if (availability_read("trace", (const char *)data, size, &a, &err) != 0)
        return 0;
    check(&a);
    const struct replay r = {.work_ns = 7200 * NS_PER_S,
                             .interval_ns = 1800 * NS_PER_S,
                             .checkpoint_ns = 60 * NS_PER_S,
                             .restart_ns = 60 * NS_PER_S,
                             .trace = &a,
                             .rule = &rule,
                             .prorated = true,
                             .count = 3};
    struct replay_result x;
    for (size_t i = 0; i < r.count; i++)
        if (replay_one(&r, i, &x, &err) == 0)
            assert(x.charged_ns <= x.wall_ns && x.lost_ns <= x.charged_ns);
    availability_release(&a);
    return 0;
}
