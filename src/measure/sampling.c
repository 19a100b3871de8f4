// SPDX-License-Identifier: Apache-2.0
#include "measure/sampling.h"

#include <math.h>
#include <stddef.h>

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
