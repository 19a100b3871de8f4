// SPDX-License-Identifier: Apache-2.0
#include "measure/tracing.h"

#include <string.h>

#include "base/clock.h"
#include "measure/measure.h"

enum {
    READ_MS = 100,
    BEFORE_S = 5,  // between the first step and recording for the account
    WINDOW_S = 30, // at most, if no steps are found in it
};

static bool has_nvidia(const struct run *run)
{
    return run->machine.gpus.known && run->machine.gpus.v > 0 &&
           !(run->machine.gpu && strcasestr(run->machine.gpu, "AMD"));
}

int tracing_open(struct tracing *t, const struct session *s, struct err *err)
{
    *t = (struct tracing){0};
    if (s->o->no_trace || !has_nvidia(s->run))
        return 0;
    return trace_new(&t->trace, NULL, err);
}

void tracing_release(struct tracing *t)
{
    trace_free(t->trace);
    t->trace = NULL;
}

size_t tracing_environment(const struct tracing *t, char **list, size_t count)
{
    char *const *entries = t->trace ? trace_environment(t->trace) : NULL;
    for (; entries && *entries; entries++)
        list[count++] = *entries;
    return count;
}

// What to record now. The steps that nothing else reports come from here.
static enum trace_want what_is_wanted(struct tracing *t, const struct follow *follow,
                                      int64_t now_ns)
{
    struct follow_state state;
    follow_state(follow, &state);
    if (!state.source || strcmp(state.source, FOLLOW_KERNELS) == 0)
        return TRACE_STEPS;
    if (t->window_ns == 0)
        t->window_ns = now_ns + BEFORE_S * NS_PER_S;
    if (now_ns < t->window_ns)
        return TRACE_NOTHING;
    t->done |= trace_enough(t->trace) || now_ns > t->window_ns + WINDOW_S * NS_PER_S;
    return t->done ? TRACE_NOTHING : TRACE_ACCOUNT;
}

static int pass_steps(struct trace *trace, struct follow *follow, struct err *err)
{
    int64_t steps = 0, at_ns = 0;
    do {
        TRY(trace_read(trace, &steps, &at_ns, err));
        follow_trace(follow, steps, at_ns);
    } while (steps > 0);
    return 0;
}

int tracing_work(struct tracing *t, struct follow *follow, struct err *err)
{
    int64_t now_ns = clock_now_ns();
    if (!t->trace || now_ns < t->read_ns)
        return 0;
    t->read_ns = now_ns + READ_MS * NS_PER_MS;
    TRY(pass_steps(t->trace, follow, err));
    trace_record(t->trace, what_is_wanted(t, follow, now_ns));
    return 0;
}

int tracing_finish(struct tracing *t, struct follow *follow, struct run *run, struct buf *says,
                   struct err *err)
{
    if (!t->trace)
        return 0;
    TRY(trace_end(t->trace, err));
    TRY(pass_steps(t->trace, follow, err));
    TRY(trace_account(t->trace, &run->account, err));
    if (run->account.off && !run->account.steps.known)
        buf_printf(says, "the GPU's work was not recorded: %s\n", run->account.off);
    return 0;
}
