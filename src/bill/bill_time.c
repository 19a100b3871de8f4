// SPDX-License-Identifier: Apache-2.0
// How long a run needs a machine, in parts.
#include "bill/bill.h"

#define LONGEST_S (50 * 365.25 * 86400) // nobody trains for longer

// Records come from anywhere: a time that cannot be is none.
static bool can_be(double seconds)
{
    return seconds > 0 && seconds <= LONGEST_S;
}

static void add_part(struct bill_time *t, const char *what, int64_t ns)
{
    if (ns <= 0)
        return;
    t->parts[t->count++] = (struct bill_part){what, ns};
    t->total_ns += ns;
}

static int64_t known(struct maybe_int value)
{
    return value.known && value.v > 0 ? value.v : 0;
}

static void add_measured(struct bill_time *t, const struct run_phases *p)
{
    int64_t before = t->total_ns;
    add_part(t, "set-up", known(p->setup_ns) + known(p->kernels_ns));
    add_part(t, "load", known(p->load_ns) + known(p->device_ns));
    add_part(t, "warm-up", known(p->warmup_ns));
    add_part(t, "train", known(p->train_ns));
    add_part(t, "evaluate", known(p->evaluate_ns));
    add_part(t, "checkpoint", known(p->checkpoint_ns));
    int64_t rest = known(p->wall_ns) - (t->total_ns - before);
    add_part(t, t->total_ns == before ? "run" : "other", rest);
}

static int64_t ns_of(struct maybe_real seconds)
{
    return seconds.known && seconds.v > 0 && seconds.v < 9e9 ? (int64_t)(seconds.v * 1e9 + 0.5) : 0;
}

static void add_projected(struct bill_time *t, const struct run_projection *p)
{
    int64_t before = t->total_ns, wall = ns_of(p->wall_s);
    const struct {
        const char *what;
        int64_t ns;
    } parts[] = {{"load", ns_of(p->load_s)},
                 {"train", ns_of(p->train_s)},
                 {"evaluate", ns_of(p->evaluate_s)},
                 {"checkpoint", ns_of(p->checkpoint_s)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { // never more than the whole
        int64_t room = wall - (t->total_ns - before);
        add_part(t, parts[i].what, parts[i].ns < room ? parts[i].ns : room);
    }
    add_part(t, t->total_ns == before ? "run" : "other", wall - (t->total_ns - before));
    if (p->low_s.known && p->high_s.known && p->low_s.v >= 0 && p->low_s.v <= p->wall_s.v &&
        p->wall_s.v <= p->high_s.v && can_be(p->high_s.v)) {
        t->low_ns = before + ns_of(p->low_s);
        t->high_ns = before + ns_of(p->high_s);
    }
}

bool bill_time_of(const struct run *run, int64_t boot_ns, struct bill_time *out)
{
    *out = (struct bill_time){.low_ns = -1, .high_ns = -1};
    bool full = run->full.known && run->full.v && run->phases.wall_ns.known &&
                can_be((double)run->phases.wall_ns.v / 1e9);
    if (!full && !(run->projection.wall_s.known && can_be(run->projection.wall_s.v)))
        return false;
    add_part(out, "boot", boot_ns >= 0 ? boot_ns : known(run->phases.boot_ns));
    if (full) {
        add_measured(out, &run->phases);
        out->basis = run->source ? "published" : "measured";
    } else {
        add_projected(out, &run->projection);
        out->basis = "projected";
    }
    return out->total_ns > 0;
}
