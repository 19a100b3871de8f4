// SPDX-License-Identifier: Apache-2.0
#include "measure/resumed.h"

static double seconds(struct maybe_int ns)
{
    return ns.known && ns.v > 0 ? (double)ns.v / 1e9 : 0;
}

// The time of this run as if it had projected it. A start-up comes once in a training, too.
static struct run_projection measured(const struct run_phases *p)
{
    double wall_s = seconds(p->wall_ns);
    return (struct run_projection){
        .after_s = some_real(wall_s),
        .wall_s = some_real(wall_s),
        .low_s = some_real(wall_s),
        .high_s = some_real(wall_s),
        .train_s = some_real(seconds(p->warmup_ns) + seconds(p->train_ns)),
        .evaluate_s = some_real(seconds(p->evaluate_ns)),
        .checkpoint_s = some_real(seconds(p->checkpoint_ns)),
        .load_s = some_real(seconds(p->setup_ns) + seconds(p->kernels_ns) + seconds(p->load_ns) +
                            seconds(p->device_ns))};
}

// The steps before this run, as a multiple of those that `projection` is about; 0: unknown.
static double share_before(const struct run *run, bool finished)
{
    const struct run_saving *s = &run->saving;
    struct maybe_int from = s->attempts.items[s->attempts.count - 1].from_step;
    int64_t total = run->total_steps.known ? run->total_steps.v : 0;
    int64_t steps = run->steps.known ? run->steps.v : 0;
    if (finished) // what it did not make was made before
        return steps > 0 && total > steps ? (double)(total - steps) / (double)steps : 0;
    bool fits = from.known && from.v > 0 && from.v < total && steps <= total - from.v;
    return fits ? (double)from.v / (double)(total - from.v) : 0;
}

static double saved_before_s(const struct run_saving *s)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < s->attempts.count; i++)
        if (s->attempts.items[i].saved_s.known && s->attempts.items[i].saved_s.v > 0)
            sum += s->attempts.items[i].saved_s.v;
    return sum;
}

static void stretch(struct maybe_real *part, double factor)
{
    if (part->known)
        part->v *= factor;
}

// Earlier steps were as fast as the steady ones here, within their interval. Where there is none,
// they may have taken no time or twice as much.
static void add_before(struct run_projection *p, const struct run_steady *steady, double before_s)
{
    bool even = steady->step_ms.known && steady->step_ms.v > 0 && steady->low_ms.known &&
                steady->high_ms.known;
    double once_s = p->load_s.known ? p->load_s.v : 0;
    double own_s = p->wall_s.v - once_s, factor = own_s > 0 ? (own_s + before_s) / own_s : 1;
    if (p->low_s.known && p->high_s.known) {
        p->low_s.v += even ? before_s * steady->low_ms.v / steady->step_ms.v : 0;
        p->high_s.v += even ? before_s * steady->high_ms.v / steady->step_ms.v : 2 * before_s;
    }
    p->wall_s.v += before_s;
    stretch(&p->train_s, factor);
    stretch(&p->evaluate_s, factor);
    stretch(&p->checkpoint_s, factor);
    stretch(&p->epoch_end_s, factor);
}

void resumed_project(struct run *run)
{
    bool finished = run->full.known && run->full.v && run->phases.wall_ns.known;
    struct run_projection p = finished ? measured(&run->phases) : run->projection;
    if (run->saving.attempts.count == 0 || !p.wall_s.known)
        return;
    double once_s = p.load_s.known ? p.load_s.v : 0;
    double before_s = share_before(run, finished) * (p.wall_s.v - once_s);
    if (!(before_s > 0))
        before_s = saved_before_s(&run->saving);
    if (!(before_s > 0))
        return;
    add_before(&p, &run->steady, before_s);
    run->projection = p;
    run->full = some_bool(false);
}
