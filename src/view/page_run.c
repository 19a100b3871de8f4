// SPDX-License-Identifier: Apache-2.0
// A run as its page shows it: the figures that matter, the command that repeats it, and where the
// figures are from.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "bill/bill.h"
#include "view/draft.h"
#include "view/start.h"

static int add_fact(struct page_run *to, const char *what, const char *value, struct err *err)
{
    if (!value || !*value)
        return 0;
    struct page_fact *fact = LIST_ADD(&to->facts, err);
    return fact ? TEXTS_SET(err, {&fact->what, what}, {&fact->value, value}) : ERR_MEMORY;
}

// Adds what the buffer holds, and empties it.
static int take_fact(struct page_run *to, const char *what, struct buf *value, struct err *err)
{
    int rc = buf_check(value, err);
    if (rc == 0)
        rc = add_fact(to, what, buf_str(value), err);
    buf_release(value);
    return rc;
}

// "a, b, c" of what is known.
static void join(struct buf *out, const char *text)
{
    if (text && *text)
        buf_printf(out, "%s%s", out->len ? ", " : "", text);
}

static int machine_facts(struct page_run *to, const struct run_machine *m, struct err *err)
{
    struct buf text = {0};
    if (m->gpu)
        buf_printf(&text, "%lld × %s", m->gpus.known ? (long long)m->gpus.v : 1LL, m->gpu);
    if (m->gpu && m->gpu_memory_bytes.known)
        buf_printf(&text, " with %s", units_bytes(m->gpu_memory_bytes.v).s);
    if (m->gpu && m->driver)
        buf_printf(&text, ", driver %s", m->driver);
    TRY(take_fact(to, "GPUs", &text, err));
    join(&text, m->cpu);
    if (m->usable_cpus.known)
        buf_printf(&text, "%s%g CPUs", text.len ? ", " : "", m->usable_cpus.v);
    if (m->memory_bytes.known)
        buf_printf(&text, "%s%s of memory", text.len ? ", " : "", units_bytes(m->memory_bytes.v).s);
    TRY(take_fact(to, "processor", &text, err));
    join(&text, m->provider);
    join(&text, m->instance_type);
    join(&text, m->region);
    TRY(take_fact(to, "rented as", &text, err));
    if (m->virtualisation && strcmp(m->virtualisation, "none") != 0)
        join(&text, m->virtualisation);
    if (m->container && strcmp(m->container, "none") != 0)
        join(&text, m->container);
    TRY(take_fact(to, "inside of", &text, err));
    return add_fact(to, "machine's fingerprint", m->fingerprint, err);
}

static int data_facts(struct page_run *to, const struct run_data *d, struct err *err)
{
    struct buf text = {0};
    join(&text, d->name);
    if (d->train_samples.known)
        buf_printf(&text, "%s%lld samples", text.len ? ", " : "", (long long)d->train_samples.v);
    join(&text, d->source);
    TRY(take_fact(to, "data", &text, err));
    return add_fact(to, "data's identity", d->identity, err);
}

static int code_facts(struct page_run *to, const struct run *run, struct err *err)
{
    const struct run_code *c = &run->code;
    struct buf text = {0};
    join(&text, c->script);
    join(&text, c->folder);
    TRY(take_fact(to, "script", &text, err));
    if (c->commit)
        buf_printf(&text, "%s%s", c->commit, c->dirty.v ? ", with changes" : "");
    TRY(take_fact(to, "git commit", &text, err));
    if (c->python)
        buf_printf(&text, "Python %s", c->python);
    for (size_t i = 0; i < c->packages.count; i++)
        if (c->packages.items[i].name)
            buf_printf(&text, "%s%s %s", text.len ? ", " : "", c->packages.items[i].name,
                       c->packages.items[i].version ? c->packages.items[i].version : "");
    for (size_t i = 0; i < run->libraries.count; i++)
        if (run->libraries.items[i].name)
            buf_printf(&text, "%s%s %s", text.len ? ", " : "", run->libraries.items[i].name,
                       run->libraries.items[i].version ? run->libraries.items[i].version : "");
    return take_fact(to, "libraries", &text, err);
}

static int training_facts(struct page_run *to, const struct run *run, struct err *err)
{
    struct buf text = {0};
    join(&text, run->framework);
    join(&text, run->engine);
    join(&text, run->precision);
    join(&text, run->variant);
    TRY(take_fact(to, "trained with", &text, err));
    if (run->batch.known)
        buf_printf(&text, "batch %lld", (long long)run->batch.v);
    if (run->seed.known)
        buf_printf(&text, "%sseed %lld", text.len ? ", " : "", (long long)run->seed.v);
    if (run->parameters.known)
        buf_printf(&text, "%s%lld parameters", text.len ? ", " : "", (long long)run->parameters.v);
    TRY(take_fact(to, "training", &text, err));
    return add_fact(to, "recipe", run->recipe, err);
}

static int all_facts(struct page_run *to, const struct run *run, struct err *err)
{
    struct buf text = {0};
    TRY(add_fact(to, "run", run->id, err));
    TRY(add_fact(to, "started", run->started, err));
    TRY(training_facts(to, run, err));
    TRY(machine_facts(to, &run->machine, err));
    start_boot_words(run, &text);
    TRY(take_fact(to, "boot", &text, err));
    start_idle_words(run, &text);
    TRY(take_fact(to, "before it began", &text, err));
    start_corrected_words(run, &text);
    TRY(take_fact(to, "corrected", &text, err));
    TRY(data_facts(to, &run->data, err));
    TRY(code_facts(to, run, err));
    if (run->program.version)
        buf_printf(&text, "fare %s%s%s", run->program.version, run->program.build ? ", build " : "",
                   run->program.build ? run->program.build : "");
    TRY(take_fact(to, "measured by", &text, err));
    TRY(add_fact(to, "project", run->project, err));
    for (size_t i = 0; i < run->labels.count; i++)
        if (run->labels.items[i].key)
            buf_printf(&text, "%s%s=%s", text.len ? ", " : "", run->labels.items[i].key,
                       run->labels.items[i].value ? run->labels.items[i].value : "");
    TRY(take_fact(to, "labels", &text, err));
    return add_fact(to, "source", run->source, err);
}

static void set_times(struct page_run *to, const struct run *run)
{
    const struct run_steady *steady = &run->steady;
    to->step_ms = steady->step_ms.known ? steady->step_ms : run->step_ms;
    if (steady->step_ms.known) {
        to->step_low_ms = steady->low_ms;
        to->step_high_ms = steady->high_ms;
    }
    to->samples_per_s = run->samples_per_s;
}

// ---- a job that was saved and resumed

static int add_start(struct page_run *to, const struct run_attempt *a, struct err *err)
{
    struct page_start *start = LIST_ADD(&to->starts, err);
    if (!start)
        return ERR_MEMORY;
    start->number = a->epoch;
    start->time_s = a->wall_s;
    start->from_step = a->from_step;
    start->saved_step = a->saved_step;
    start->lost_s = a->lost_s;
    start->usd = a->usd;
    return TEXTS_SET(err, {&start->began, a->started}, {&start->machine, a->machine},
                     {&start->ended, a->ended});
}

static int add_starts(struct page_run *to, const struct run_saving *s, struct err *err)
{
    struct buf text = {0};
    char lost[48];
    if (s->attempts.count == 0)
        return 0;
    for (size_t i = 0; i < s->attempts.count; i++)
        TRY(add_start(to, &s->attempts.items[i], err));
    clock_words(s->lost_s.known && s->lost_s.v < 9e9 ? (int64_t)(s->lost_s.v * 1e9) : 0, lost,
                sizeof lost);
    buf_printf(&text, "%s, ", units_count((int64_t)s->attempts.count, "start").s);
    buf_printf(&text, "%lld interruption%s, %s of work lost.", (long long)s->interruptions.v,
               s->interruptions.v == 1 ? "" : "s", lost);
    if (s->usd.known && s->unpriced.known)
        buf_printf(&text, " %s USD without %s whose cost is unknown", money_exact(s->usd).s,
                   units_count(s->unpriced.v, "start").s);
    else if (s->usd.known)
        buf_printf(&text, " %s USD for all of them", money_exact(s->usd).s);
    if (s->usd.known && s->on_demand_usd.known)
        buf_printf(&text, "; on demand %s USD%s%s, without the work lost",
                   money_exact(s->on_demand_usd).s, s->on_demand_seen ? " at a price of " : "",
                   s->on_demand_seen ? s->on_demand_seen : "");
    buf_adds(&text, s->usd.known ? "." : "");
    return text_take(&to->starts_words, &text, err);
}

int page_run_add(struct page *page, const struct run *run, struct err *err)
{
    struct page_run *to = LIST_ADD(&page->runs, err);
    struct bill_time time;
    if (!to)
        return ERR_MEMORY;
    to->accuracy = run->test_accuracy;
    to->usd = run->spent.usd;
    char quality[RUN_QUALITY_BYTES];
    run_quality_words(run, quality);
    if (bill_time_of(run, &time)) {
        to->time_s = some_real((double)time.total_ns / 1e9);
        if (time.low_ns >= 0 && time.high_ns >= 0) {
            to->low_s = some_real((double)time.low_ns / 1e9);
            to->high_s = some_real((double)time.high_ns / 1e9);
        }
    }
    set_times(to, run);
    TRY(TEXTS_SET(err, {&to->id, run->id}, {&to->name, run->name}, {&to->workload, run->workload},
                  {&to->framework, run->framework}, {&to->machine, run_place(run)},
                  {&to->started, run->started}, {&to->ended, run->ended},
                  {&to->problem, run->problem}, {&to->basis, to->time_s.known ? time.basis : NULL},
                  {&to->source, run->source}, {&to->quality, *quality ? quality : NULL},
                  {&to->usd_from, run->spent.from}, {&to->again, run->program.command_line}));
    for (size_t i = 0; i < run->taints.count; i++)
        TRY(texts_add(&to->taints, run->taints.items[i], err));
    TRY(add_starts(to, &run->saving, err));
    return all_facts(to, run, err);
}
