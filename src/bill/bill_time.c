// SPDX-License-Identifier: Apache-2.0
// The time for which a run needs a machine, in parts.
#include "bill/bill.h"

#include <string.h>

#include "base/clock.h"

// Records come from anywhere: an impossible time counts as unknown.
static bool can_be(double seconds)
{
    return seconds > 0 && seconds <= BILL_LONGEST_NS / 1e9;
}

static void add_part(struct bill_time *t, const char *what, int64_t ns)
{
    if (ns <= 0)
        return;
    t->parts[t->count++] = (struct bill_part){what, ns, NULL};
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { // the parts never exceed the whole
        int64_t left = wall - (t->total_ns - before);
        add_part(t, parts[i].what, parts[i].ns < left ? parts[i].ns : left);
    }
    add_part(t, t->total_ns == before ? "run" : "other", wall - (t->total_ns - before));
    if (p->low_s.known && p->high_s.known && p->low_s.v >= 0 && p->low_s.v <= p->wall_s.v &&
        p->wall_s.v <= p->high_s.v && can_be(p->high_s.v)) {
        t->low_ns = before + ns_of(p->low_s);
        t->high_ns = before + ns_of(p->high_s);
    }
}

bool bill_time_of(const struct run *run, struct bill_time *out)
{
    *out = (struct bill_time){.low_ns = -1, .high_ns = -1};
    bool full = run->full.known && run->full.v && run->phases.wall_ns.known &&
                can_be((double)run->phases.wall_ns.v / 1e9);
    if (!full && !(run->projection.wall_s.known && can_be(run->projection.wall_s.v)))
        return false;
    if (full) {
        add_measured(out, &run->phases);
        out->basis = run_shipped(run) ? "published" : run->source ? "imported" : "measured";
    } else {
        add_projected(out, &run->projection);
        out->basis = run_given(run) ? RUN_GIVEN : "projected";
    }
    return out->total_ns > 0;
}

// ---- on an offer

struct start { // start-up so far, with its range
    struct bill_time time;
    int64_t low_ns, high_ns;
};

static void add_given(struct start *s, const char *what, int64_t ns)
{
    add_part(&s->time, what, ns);
    s->low_ns += ns;
    s->high_ns += ns;
}

static void add_default(struct start *s, const char *what, const struct startup_row *row,
                        int64_t less_ns)
{
    if (!row || row->ns <= less_ns)
        return;
    add_part(&s->time, what, row->ns - less_ns);
    s->time.parts[s->time.count - 1].source = row->source;
    s->low_ns += row->low_ns > less_ns ? row->low_ns - less_ns : 0;
    s->high_ns += row->high_ns - less_ns;
}

// Whether fare's own GPU kernels came from the driver's cache, compiled by an earlier run.
static bool cached_kernels(const struct run *run)
{
    return run->framework && strcmp(run->framework, "fare") == 0 && !run->source &&
           run->use.gpus.known && run->use.gpus.v > 0 && run->phases.kernels_ns.known &&
           run->phases.kernels_ns.v < NS_PER_S;
}

// Whether the boot that a run measured is evidence for that of an offer: it was counted from the
// order or the launch, with the provider's part, and lies in the range that is known of such
// machines.
static bool boot_counts(const struct run *run, const struct startup_row *row)
{
    bool whole = run->boot_from && strcmp(run->boot_from, "kernel") != 0;
    int64_t ns = known(run->phases.boot_ns);
    return whole && row && ns > 0 && ns >= row->low_ns && ns <= row->high_ns;
}

static void add_startup(struct start *s, const struct startups *defaults, const struct run *run,
                        bool itself, const struct offer *offer, const struct startup_given *given)
{
    bool none = given->boot_ns.known && given->boot_ns.v == 0;
    bool ours = run->framework && strcmp(run->framework, "fare") == 0;
    const struct startup_row *boot = startup_find(defaults, offer, "boot");
    if (given->boot_ns.known)
        add_given(s, "boot", given->boot_ns.v);
    else if (itself && boot_counts(run, boot))
        add_given(s, "boot", run->phases.boot_ns.v);
    else
        add_default(s, "boot", boot, 0);
    s->time.boot_low_ns = s->low_ns;
    s->time.boot_high_ns = s->high_ns;
    if (given->image_ns.known)
        add_given(s, "image", given->image_ns.v);
    else if (!none && !ours) // fare needs no image; its bundle is small
        add_default(s, "image", startup_find(defaults, offer, "image"), 0);
    add_given(s, "download", known(given->download_ns));
    add_given(s, "install", known(given->setup_ns));
    if (!none && cached_kernels(run))
        add_default(s, "kernels", startup_find(defaults, offer, "kernels"),
                    run->phases.kernels_ns.v);
}

int bill_time_on(struct market *market, const struct run *run, bool itself,
                 const struct offer *offer, const struct startup_given *given,
                 struct bill_time *out, bool *is_known, struct err *err)
{
    const struct startups *defaults;
    struct start s = {0};
    struct bill_time own;
    *is_known = bill_time_of(run, &own);
    TRY(*is_known ? market_startups(market, &defaults, err) : 0);
    if (!*is_known)
        return 0;
    add_startup(&s, defaults, run, itself, offer, given);
    *out = s.time;
    out->startup_ns = s.time.total_ns;
    for (size_t i = 0; i < own.count; i++)
        out->parts[out->count++] = own.parts[i];
    out->total_ns += own.total_ns;
    out->basis = own.basis;
    bool range = own.low_ns >= 0 || s.low_ns < s.high_ns;
    out->low_ns = range ? s.low_ns + (own.low_ns >= 0 ? own.low_ns : own.total_ns) : -1;
    out->high_ns = range ? s.high_ns + (own.high_ns >= 0 ? own.high_ns : own.total_ns) : -1;
    return 0;
}
