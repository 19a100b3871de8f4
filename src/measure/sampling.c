// SPDX-License-Identifier: Apache-2.0
#include "measure/sampling.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "measure/measure.h"
#include "follow/trace/trace.h"

#define SAMPLING_LEAST_S 10.0
#define SAMPLING_RATE_S  30.0 // the same without a total, if the rate is steady
#define SAMPLING_STEPS   5    // the least for a rate
// An evaluation or a checkpoint that is announced for soon after is waited for, and for its end.
#define SAMPLING_PART_S  30.0
#define SAMPLING_PARTS_S 180.0 // after the first step, at most

const char *sampling_word(enum sampling_end end)
{
#define ROW(name, word) [SAMPLING_##name] = word,
    static const char *const words[] = {[SAMPLING_GOES_ON] = NULL, SAMPLING_ENDS(ROW)};
#undef ROW
    return words[end];
}

double sampling_until_s(const struct sampling *now)
{
    if (now->limit_s > 0)
        return now->limit_s;
    if (now->steps == 0)
        return SAMPLING_LIMIT_S;
    bool known = now->total ? now->projected : now->steps >= SAMPLING_STEPS;
    double settled_s = now->total || now->unsettled ? SAMPLING_S : SAMPLING_RATE_S;
    double until_s = now->before_s + (known ? settled_s : SAMPLING_LIMIT_S);
    double comes_s = now->elapsed_s + now->part_s, most_s = now->before_s + SAMPLING_PARTS_S;
    bool soon = now->part_s > 0 && comes_s <= until_s + SAMPLING_PART_S;
    return known && now->total && (now->in_part || soon) ? fmax(until_s, most_s) : until_s;
}

bool sampling_look(struct follow *follow, const struct meter *meter, double within,
                   struct follow_state *state, struct sampling *now)
{
    struct meter_outlook o;
    bool enough = follow_enough(follow);
    meter_outlook(meter, &o);
    follow_state(follow, state);
    // Parts that were announced and not seen yet count too.
    *now = (struct sampling){.enough = enough && o.wall_s > 0 && o.own_half_s <= within * o.wall_s,
                             .elapsed_s = o.elapsed_s,
                             .before_s = o.before_s,
                             .steps = o.steps,
                             .total = state->total > 0,
                             .projected = o.wall_s > 0,
                             .unsettled = state->unsteady || state->left ||
                                          (state->unseen & FOLLOW_EPOCH_END),
                             .part_s = state->part_s,
                             .in_part = state->in_part};
    return enough;
}

enum sampling_end sampling_judge(const struct sampling *now)
{
    double since_s = now->elapsed_s - now->before_s;
    if (now->enough && (now->asked || since_s >= SAMPLING_LEAST_S))
        return SAMPLING_WITHIN;
    if (now->elapsed_s < sampling_until_s(now))
        return SAMPLING_GOES_ON;
    if (now->limit_s > 0 || (now->steps > 0 && now->total))
        return SAMPLING_TIME;
    return now->steps > 0 ? SAMPLING_NO_TOTAL : SAMPLING_NO_PROGRESS;
}

// ---- The GPU's records

enum {
    READ_MS = 100,
    BEFORE_S = 5,   // between the first step and recording for the account
    WINDOW_S = 120, // at most, if no steps are found in it
};
#define GPU_BOUND 0.9 // busy share

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
static enum trace_want what_is_wanted(struct tracing *t, const struct follow_state *state,
                                      int64_t now_ns)
{
    if (!state->source || strcmp(state->source, FOLLOW_KERNELS) == 0)
        return TRACE_STEPS;
    if (t->window_ns == 0)
        t->window_ns = now_ns + BEFORE_S * NS_PER_S;
    if (now_ns < t->window_ns)
        return TRACE_NOTHING;
    t->done |= trace_enough(t->trace) || now_ns > t->window_ns + WINDOW_S * NS_PER_S;
    return t->done ? TRACE_NOTHING : TRACE_ACCOUNT;
}

static int pass_steps(struct tracing *t, struct follow *follow, struct err *err)
{
    int64_t steps = 0, at_ns = 0;
    TRY(trace_read(t->trace, &steps, &at_ns, err));
    if (steps == 0)
        return 0;
    t->steps += t->first_ns > 0 ? steps : 0;
    t->first_ns = t->first_ns > 0 ? t->first_ns : at_ns;
    t->last_ns = at_ns;
    follow_trace(follow, steps, at_ns);
    return 0;
}

// Steps after the last burst go on at their rate, but not beyond the training's last one.
static int64_t derive_steps(const struct tracing *t, struct follow *follow, int64_t exit_ns)
{
    struct follow_state state;
    follow_state(follow, &state);
    if (t->steps == 0 || !state.source || strcmp(state.source, FOLLOW_KERNELS) != 0)
        return 0;
    double step_ns = (double)(t->last_ns - t->first_ns) / (double)t->steps;
    int64_t steps = (int64_t)((double)(exit_ns - t->last_ns) / step_ns);
    if (state.total > 0 && steps > state.total - state.step)
        steps = state.total - state.step;
    if (steps <= 0)
        return 0;
    follow_trace(follow, steps, t->last_ns + (int64_t)((double)steps * step_ns));
    return steps;
}

void tracing_activity(struct tracing *t, double busy)
{
    if (t->trace)
        trace_gpu_bound(t->trace, busy >= GPU_BOUND);
}

int tracing_work(struct tracing *t, struct follow *follow, struct err *err)
{
    int64_t now_ns = clock_now_ns();
    if (!t->trace || now_ns < t->read_ns)
        return 0;
    t->read_ns = now_ns + READ_MS * NS_PER_MS;
    TRY(pass_steps(t, follow, err));
    struct follow_state state;
    follow_state(follow, &state);
    trace_record(t->trace, what_is_wanted(t, &state, now_ns));
    return 0;
}

int tracing_finish(struct tracing *t, struct follow *follow, struct run *run, struct buf *says,
                   struct err *err)
{
    if (!t->trace)
        return 0;
    TRY(trace_end(t->trace, err));
    TRY(pass_steps(t, follow, err));
    int64_t derived = derive_steps(t, follow, trace_exit_ns(t->trace));
    if (trace_by_time(t->trace))
        TRY(run_taint(run, "most steps are derived from the time of those recorded", err));
    else if (derived > 0)
        TRY(run_taint(run, "the steps after the last recorded one are derived from the step time",
                      err));
    TRY(trace_account(t->trace, &run->account, err));
    if (run->account.off && !run->account.steps.known)
        buf_printf(says, "the GPU's work was not recorded: %s\n", run->account.off);
    return 0;
}
