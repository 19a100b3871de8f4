// SPDX-License-Identifier: Apache-2.0
// What one's own and imported runs say about a provider: how long its machines took to be ready,
// how often a run failed before its first step, was noisy, throttled or taken away, and how far the
// step times of equal runs are apart.
#include "view/provider.h"

#include <string.h>

#include "base/array.h"

struct equal_runs { // of one training on one type of machine
    const struct run *first;
    int64_t count;
    double low_ms, high_ms;
};

struct tally {
    struct provider *out;
    struct index keys, taken;
    struct equal_runs *groups;
    size_t cap;
};

// "PROVIDER/NAME..." or "PROVIDER NAME"
static bool names(const char *text, const char *provider)
{
    const size_t len = strlen(provider);
    return text && strncmp(text, provider, len) == 0 && (text[len] == '/' || text[len] == ' ');
}

static bool is_there(const struct run *run, const char *provider)
{
    const char *own = run->machine.provider;
    return own ? strcmp(own, provider) == 0 : names(run->spent.offer, provider);
}

static void count(struct maybe_int *number, bool one)
{
    number->v += one;
}

// Not from the kernel's start: that lacks the provider's part.
static void add_start(const struct run *run, struct provider_start *start)
{
    const int64_t s = run->phases.boot_ns.known ? run->phases.boot_ns.v / 1000000000 : 0;
    if (!run->boot_from || strcmp(run->boot_from, "kernel") == 0 || s <= 0)
        return;
    if (!start->measured.known || s < start->measured_low_s.v)
        start->measured_low_s = some_int(s);
    if (!start->measured.known || s > start->measured_high_s.v)
        start->measured_high_s = some_int(s);
    start->measured = some_int(start->measured.v + 1);
}

// A job's later records have its earlier starts too.
static int add_taken(const struct run *run, struct tally *t, struct err *err)
{
    for (size_t i = 0; i < run->saving.attempts.count; i++) {
        const struct run_attempt *a = &run->saving.attempts.items[i];
        SCOPED(buf_release) struct buf key = {0};
        size_t number;
        if (!a->taken.v || !names(a->billed ? a->billed : a->machine, t->out->provider))
            continue;
        buf_printf(&key, "%s\n%lld", a->job ? a->job : "", (long long)a->epoch.v);
        TRY(buf_check(&key, err));
        TRY(index_number(&t->taken, buf_str(&key), key.len, &number, err));
    }
    return 0;
}

static const char *training_of(const struct run *run)
{
    return run->workload ? run->workload : run->name ? run->name : "";
}

static const char *machine_of(const struct run *run)
{
    const char *place = run_place(run);
    return run->machine.instance_type ? run->machine.instance_type : place ? place : "";
}

static int add_step(const struct run *run, struct tally *t, struct err *err)
{
    SCOPED(buf_release) struct buf key = {0};
    size_t number;
    if (!run->step_ms.known || run->step_ms.v <= 0 || run_failed(run) || !*machine_of(run))
        return 0;
    buf_printf(&key, "%s\n%s\n%s\n%s\n%s\n%lld\n%lld", training_of(run), machine_of(run),
               run->framework ? run->framework : "", run->engine ? run->engine : "",
               run->precision ? run->precision : "", (long long)run->batch.v,
               (long long)run->ranks.v);
    TRY(buf_check(&key, err));
    const size_t before = t->keys.count;
    TRY(index_number(&t->keys, buf_str(&key), key.len, &number, err));
    TRY(array_grow(&t->groups, before, &t->cap, sizeof *t->groups, err));
    struct equal_runs *g = &t->groups[number];
    if (number == before)
        *g = (struct equal_runs){run, 0, run->step_ms.v, run->step_ms.v};
    g->count++;
    g->low_ms = run->step_ms.v < g->low_ms ? run->step_ms.v : g->low_ms;
    g->high_ms = run->step_ms.v > g->high_ms ? run->step_ms.v : g->high_ms;
    return 0;
}

static int add_run(const struct run *run, struct tally *t, struct err *err)
{
    struct provider_runs *yours = &t->out->yours;
    count(&yours->runs, true);
    count(&yours->failed_starts, run_failed(run) && !(run->steps.v > 0));
    count(&yours->throttled, run_throttled(run));
    count(&yours->noisy, run->taints.count > 0);
    if (run->taints.count > 0 && !yours->noise) // the newest comes first
        TRY(text_set(&yours->noise, run->taints.items[0], err));
    add_start(run, &t->out->start);
    TRY(add_taken(run, t, err));
    return add_step(run, t, err);
}

// The widest of those with several runs.
static int set_spread(const struct tally *t, struct err *err)
{
    struct provider_runs *yours = &t->out->yours;
    const struct equal_runs *widest = NULL;
    for (size_t i = 0; i < t->keys.count; i++) {
        const struct equal_runs *g = &t->groups[i];
        const double percent = (g->high_ms - g->low_ms) / (g->high_ms + g->low_ms) * 100;
        if (g->count < 2 || (widest && percent <= yours->spread_percent.v))
            continue;
        widest = g;
        yours->spread_percent = some_real(percent);
        yours->spread_runs = some_int(g->count);
    }
    if (!widest)
        return 0;
    struct buf words = {0};
    buf_printf(&words, "%s on %s", training_of(widest->first), machine_of(widest->first));
    return text_take(&yours->spread_of, &words, err);
}

int provider_add_runs(struct ledger *ledger, struct provider *provider, struct err *err)
{
    const struct ledger_filter filter = {.heads = true};
    struct provider_runs *yours = &provider->yours;
    struct tally t = {.out = provider};
    SCOPED(runs_release) struct runs all = {0};
    int rc = ledger_list(ledger, &filter, &all, err);
    for (size_t i = 0; i < all.runs.count && rc == 0; i++)
        if (is_there(&all.runs.items[i], provider->provider))
            rc = add_run(&all.runs.items[i], &t, err);
    yours->interruptions.v = (int64_t)t.taken.count;
    yours->runs.known = rc == 0;
    yours->failed_starts.known = yours->noisy.known = yours->throttled.known =
        yours->interruptions.known = yours->runs.v > 0;
    if (rc == 0)
        rc = set_spread(&t, err);
    index_release(&t.keys);
    index_release(&t.taken);
    free(t.groups);
    return rc;
}
