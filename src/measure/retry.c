// SPDX-License-Identifier: Apache-2.0
#include "measure/retry.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define FIRST_NS (1 * NS_PER_S)
#define MOST_NS  (300 * NS_PER_S)

static bool is_usage(const struct run *run)
{
    int64_t code = run->exit_code.known ? run->exit_code.v : 0;
    return code == 2 || code == 126 || code == 127;
}

// The position of the training when it ended; steps count from its start, or from the checkpoint.
static int64_t step_of(const struct run *run)
{
    const struct run_saving *s = &run->saving;
    const struct run_attempt *last =
        s->attempts.count > 0 ? &s->attempts.items[s->attempts.count - 1] : NULL;
    int64_t from = last && last->from_step.known ? last->from_step.v : 0;
    return from + (run->steps.known ? run->steps.v : 0);
}

bool retry_again(struct retry *r, int64_t most, const struct run *run, int64_t *pause_ns,
                 struct buf *says)
{
    const char *problem = run->problem ? run->problem : "";
    if (most <= 0 || !run->ended || strcmp(run->ended, "failed") != 0)
        return false;
    if (is_usage(run)) {
        buf_printf(says, "not started again: %s means that its arguments or its file are wrong\n",
                   problem);
        return false;
    }
    bool same = r->made > 0 && r->step == step_of(run) && strcmp(r->problem, problem) == 0;
    r->same = same ? r->same + 1 : 1;
    r->step = step_of(run);
    snprintf(r->problem, sizeof r->problem, "%s", problem);
    if (r->same >= RETRY_SAME) {
        buf_printf(says, "not started again: the same error (%s) came %d times at the same step\n",
                   problem, r->same);
        return false;
    }
    if (r->made >= most) {
        buf_printf(says, "not started again: it was, %lld times (--retry)\n", (long long)most);
        return false;
    }
    *pause_ns = FIRST_NS;
    for (int64_t i = 0; i < r->made && *pause_ns < MOST_NS; i++)
        *pause_ns *= 2;
    *pause_ns = *pause_ns < MOST_NS ? *pause_ns : MOST_NS;
    r->made++;
    char pause[24];
    clock_words(*pause_ns, pause, sizeof pause);
    buf_printf(says, "it failed (%s); start %lld of %lld more in %s\n", problem, (long long)r->made,
               (long long)most, pause);
    return true;
}
