// SPDX-License-Identifier: Apache-2.0
// A run in words, once for all media: its record on a page, with facts of what was measured and
// with what. view/run.c makes documents of it.
#include <stdarg.h>
#include <string.h>

#include "base/units.h"
#include "bill/bill.h"
#include "view/run.h"
#include "view/run_words.h"
#include "view/spending.h"

// ---- facts: a name, and what is known of it, "a, b, c"

struct facts {
    struct page_run *to;
    bool measured;    // the next ones are figures, not settings
    struct buf value; // of the next one
    struct err *err;
    int rc; // sticky
};

static void part(struct facts *f, const char *format, ...) PRINTF_LIKE(2, 3);
static void part(struct facts *f, const char *format, ...)
{
    va_list args;
    buf_adds(&f->value, f->value.len ? ", " : "");
    va_start(args, format);
    buf_vprintf(&f->value, format, args);
    va_end(args);
}

static void text_part(struct facts *f, const char *text)
{
    if (text && *text)
        part(f, "%s", text);
}

static void count_part(struct facts *f, struct maybe_int count, const char *noun)
{
    if (count.known)
        part(f, "%s", units_count(count.v, noun).s);
}

// "CPU 31 %", with so many decimals.
static void real_part(struct facts *f, const char *before, struct maybe_real value, int decimals,
                      const char *after)
{
    if (value.known)
        part(f, "%s%.*f%s", before, decimals, value.v, after);
}

// The same with four digits.
static void quantity_part(struct facts *f, const char *before, struct maybe_real value,
                          const char *after)
{
    if (value.known)
        part(f, "%s%.4g%s", before, value.v, after);
}

static void bytes_part(struct facts *f, const char *before, struct maybe_int bytes)
{
    if (bytes.known)
        part(f, "%s%s", before, units_bytes(bytes.v).s);
}

static struct maybe_real times(struct maybe_real value, double factor)
{
    return (struct maybe_real){value.v * factor, value.known};
}

// Ends the fact whose parts were added; nothing without any.
static void fact(struct facts *f, const char *what)
{
    f->rc = f->rc == 0 ? buf_check(&f->value, f->err) : f->rc;
    if (f->rc == 0 && f->value.len > 0) {
        struct page_fact *new = LIST_ADD(&f->to->facts, f->err);
        f->rc = new ? TEXTS_SET(f->err, {&new->what, what}, {&new->value, buf_str(&f->value)})
                    : ERR_MEMORY;
        if (new && f->measured)
            new->measured = some_bool(true);
    }
    buf_reset(&f->value);
}

static void text_fact(struct facts *f, const char *what, const char *text)
{
    text_part(f, text);
    fact(f, what);
}

typedef void words_fn(const struct run *run, struct buf *out);

static void words_fact(struct facts *f, const char *what, words_fn *words, const struct run *run)
{
    words(run, &f->value);
    fact(f, what);
}

static struct units_text time_of(struct maybe_int ns)
{
    return units_time((double)ns.v / 1e9);
}

// ---- what was measured

#define HASHED "sha256:"

static bool hashed(const char *name)
{
    return strncmp(name, HASHED, strlen(HASHED)) == 0;
}

static void begin_facts(struct facts *f, const struct run *run)
{
    bool sampled = run->ended && strcmp(run->ended, "sampled") == 0;
    if (run->started)
        part(f, "started %s", run->started);
    text_part(f, run->ended);
    if (run->exit_code.known)
        part(f, "exit code %lld", (long long)run->exit_code.v);
    if (run->signal.known && !sampled) // by us
        part(f, "signal %lld", (long long)run->signal.v);
    fact(f, "Run");
    if (run->phases.queue_ns.known) {
        part(f, "%s in the queue", time_of(run->phases.queue_ns).s);
        if (run->phases.wall_ns.known)
            part(f, "then ran for %s", time_of(run->phases.wall_ns).s);
    }
    fact(f, "Time");
    words_fact(f, "Boot", run_words_boot, run);
    words_fact(f, "Before", run_words_idle, run);
    words_fact(f, "Corrected", run_words_corrected, run);
    const char *name = run->machine.name, *host = run->host;
    host = host && !hashed(host) && !(name && strcmp(name, host) == 0) ? host : NULL;
    if (name || host)
        part(f, "on %s%s%s%s", name ? name : host, name && host ? " (" : "",
             name && host ? host : "", name && host ? ")" : "");
    if (run->user && !hashed(run->user))
        part(f, "by %s", run->user);
    fact(f, "Measured");
}

static void bill_fact(struct facts *f, const struct run *run)
{
    const struct run_spent *spent = &run->spent;
    if (!spent->usd.known || run->saving.usd.known) // that of all its starts is said
        return;
    part(f, "%s USD", spending_amount(spent->usd).s);
    if (spent->usd_per_hour.known && spent->from)
        part(f, "derived from %s USD an hour (%s)", spending_amount(spent->usd_per_hour).s,
             spent->from);
    fact(f, "Bill");
}

static void whole_fact(struct facts *f, const struct run *run)
{
    const struct run_projection *p = &run->projection;
    const struct page_run *to = f->to;
    if (!to->time_s.known)
        return;
    buf_adds(&f->value, units_time(to->time_s.v).s);
    if (to->low_s.known)
        buf_printf(&f->value, " (95 %%: %s to %s)", units_time(to->low_s.v).s,
                   units_time(to->high_s.v).s);
    text_part(f, to->basis);
    if (strcmp(to->basis, "projected") == 0 && p->after_s.known)
        buf_printf(&f->value, " after %s", units_time(p->after_s.v).s);
    if (to->low_s.known && p->assumption.known && p->assumption.v)
        buf_adds(&f->value, "; one part was not measured and is assumed");
    fact(f, "Whole run");
}

static void quality_part(struct facts *f, const struct run_quality *q)
{
    if (!q->metric || !q->value.known)
        return;
    part(f, "%s %.6g", q->metric, q->value.v);
    if (q->target.known)
        buf_printf(&f->value, " (target %.6g%s%s)", q->target.v,
                   q->reached_s.known ? ", reached after " : "",
                   q->reached_s.known ? units_time(q->reached_s.v).s : "");
}

static void result_fact(struct facts *f, const struct run *run)
{
    const bool scored = run->quality.count > 0;
    for (size_t i = 0; i < run->quality.count; i++)
        quality_part(f, &run->quality.items[i]);
    if (!scored)
        real_part(f, "", times(run->test_accuracy, 100), 2, " % accuracy on held-out data");
    if (run->first_loss.known && run->last_loss.known)
        part(f, "loss %.4g to %.4g", run->first_loss.v, run->last_loss.v);
    if (run->reached.known && !(scored && run->quality.items[0].reached_s.known))
        part(f, "%s the target%s", run->reached.v ? "reached" : "did not reach",
             scored ? "" : " of a correct training");
    run_words_l1(run, &f->value);
    quantity_part(f, "", run->l1_pairs_per_s, " differences/s");
    real_part(f, "", times(run->l1_share_of_peak, 100), 0, " % of the device's peak");
    real_part(f, "copied to the device at ", times(run->l1_copy_bytes_per_s, 1e-9), 1, " GB/s");
    fact(f, "Result");
}

static void step_part(struct facts *f, const struct run *run)
{
    const struct run_steady *s = &run->steady;
    bool interval = s->step_ms.known && s->low_ms.known && s->high_ms.known;
    if (interval && s->high_ms.v < 1000)
        part(f, "%.4g ms (95 %%: %.4g to %.4g)", s->step_ms.v, s->low_ms.v, s->high_ms.v);
    else if (interval)
        part(f, "%s (95 %%: %s to %s)", units_step(s->step_ms.v).s, units_step(s->low_ms.v).s,
             units_step(s->high_ms.v).s);
    else if (run->step_ms.known)
        part(f, "%s", units_step(run->step_ms.v).s);
}

static void step_facts(struct facts *f, const struct run *run)
{
    const struct run_steady *s = &run->steady;
    const char *counts = run->progress.counts ? run->progress.counts : "steps";
    step_part(f, run);
    text_part(f, s->kind);
    quantity_part(f, "", run->samples_per_s, " samples/s");
    real_part(f, "", run->tokens_per_s, 0, " tokens/s");
    // l1 repeats its passes until it has measured enough.
    if (run->steps.known && run->total_steps.known && run->steps.v <= run->total_steps.v)
        part(f, "%lld of %lld done", (long long)run->steps.v, (long long)run->total_steps.v);
    else if (run->steps.known)
        part(f, "%lld done", (long long)run->steps.v);
    if (s->outliers.known && s->outliers.v > 0)
        part(f, "%s", units_count(s->outliers.v, "outlier").s);
    fact(f, strcmp(counts, "steps") == 0    ? "Step"
            : strcmp(counts, "epochs") == 0 ? "Epoch"
                                            : "Sample");
    words_fact(f, "Ranks", run_words_ranks, run);
}

// In the steady part alone. Waits and workers only where there are any to speak of.
static void activity_fact(struct facts *f, const struct run_activity *a)
{
    const struct {
        struct maybe_real percent;
        double least;
        const char *words;
    } rows[] = {{a->gpu_percent, 0, "GPU busy"},
                {a->sm_percent, 0, "its multiprocessors"},
                {a->tensor_percent, 0, "tensor cores"},
                {a->dram_percent, 0, "memory bandwidth"},
                {a->workers_cpu_percent, 1, "workers' CPU"},
                {a->io_pressure_percent, 1, "waiting for storage"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].percent.known && rows[i].percent.v >= rows[i].least)
            part(f, "%s %.0f %%", rows[i].words, rows[i].percent.v);
    if (a->pcie_bytes_per_s.known)
        part(f, "PCIe %s", units_rate(a->pcie_bytes_per_s.v).s);
    fact(f, "In steps");
}

static void use_fact(struct facts *f, const struct run_use *u)
{
    real_part(f, "CPU ", u->cpu_percent, 0, " %");
    real_part(f, "others ", u->other_cpu_percent, 0, " %");
    real_part(f, "stolen ", u->steal_percent, 1, " %");
    bytes_part(f, "memory ", u->memory_peak_bytes);
    if (u->gpus.known && u->gpu_percent.known)
        part(f, "%s at %.0f %%", units_count(u->gpus.v, "GPU").s, u->gpu_percent.v);
    else
        real_part(f, "GPU ", u->gpu_percent, 0, " %");
    bytes_part(f, "GPU memory ", u->gpu_memory_peak_bytes);
    if (u->data_wait_ns.known)
        part(f, "waited %s for data", time_of(u->data_wait_ns).s);
    if (u->throttled_ns.known && u->throttled_ns.v > 0)
        part(f, "held back %s by the CPU quota", time_of(u->throttled_ns).s);
    quantity_part(f, "GPUs ", u->gpu_energy_j, " J");
    quantity_part(f, "CPUs ", u->cpu_energy_j, " J");
    real_part(f, "", times(u->share_of_peak, 100), 1, " % of the device's peak");
    real_part(f, "MFU ", times(u->mfu, 100), 1, " % (of the dense bf16 peak)");
    quantity_part(f, "", u->joules_per_mtoken, " J per million tokens");
    fact(f, "Used");
}

static void figures(struct facts *f, const struct run *run)
{
    struct buf checks = {0};
    f->measured = true;
    begin_facts(f, run);
    bill_fact(f, run);
    whole_fact(f, run);
    run_words_checks(run, &checks);
    if (checks.len > 0)
        part(f, "off by %s", buf_str(&checks));
    fact(f, "Projected");
    buf_drop(&f->value, &checks);
    words_fact(f, "Progress", run_words_progress, run);
    result_fact(f, run);
    step_facts(f, run);
    use_fact(f, &run->use);
    activity_fact(f, &run->use.steady);
}

// ---- with what

static void training_facts(struct facts *f, const struct run *run)
{
    bool command = run->framework && strcmp(run->framework, "command") == 0;
    for (size_t i = 0; i < run->command.count; i++)
        buf_printf(&f->value, "%s%s", i ? " " : "", run->command.items[i]);
    fact(f, "Command");
    if (run->batch.known)
        part(f, "batch %lld", (long long)run->batch.v);
    if (run->epochs.known && run->epochs.v > 0)
        count_part(f, run->epochs, "epoch");
    count_part(f, run->samples_trained, "sample");
    if (run->seed.known)
        part(f, "seed %lld", (long long)run->seed.v);
    count_part(f, run->parameters, "parameter");
    fact(f, "Training");
    text_fact(f, "Net", run->net && hashed(run->net) ? run->net + strlen(HASHED) : run->net);
    text_fact(f, "Recipe", run->recipe);
    text_part(f, command ? NULL : run->framework);
    if (run->engine)
        part(f, "engine %s", run->engine);
    text_part(f, run->precision);
    text_part(f, run->variant);
    count_part(f, run->threads, "thread");
    fact(f, "With");
}

static void data_facts(struct facts *f, const struct run_data *d)
{
    if (d->name)
        part(f, "%s%s", d->name, d->made.known && d->made.v ? " (generated)" : "");
    count_part(f, d->train_samples, "sample");
    if (d->test_samples.known)
        part(f, "%lld held out", (long long)d->test_samples.v);
    text_part(f, d->source);
    fact(f, "Data");
    text_fact(f, "Data id", d->identity);
}

static void machine_facts(struct facts *f, const struct run_machine *m)
{
    if (m->gpu && m->gpus.known)
        buf_printf(&f->value, "%lld × ", (long long)m->gpus.v);
    buf_adds(&f->value, m->gpu ? m->gpu : "");
    if (m->gpu && m->gpu_memory_bytes.known)
        buf_printf(&f->value, " with %s", units_bytes(m->gpu_memory_bytes.v).s);
    if (m->driver)
        part(f, "driver %s", m->driver);
    fact(f, "GPUs");
    text_part(f, m->cpu);
    if (m->usable_cpus.known)
        part(f, "%.3g CPUs", m->usable_cpus.v);
    if (m->memory_bytes.known)
        part(f, "%s of memory", units_bytes(m->memory_bytes.v).s);
    fact(f, "Processor");
    text_part(f, m->provider);
    text_part(f, m->instance_type);
    text_part(f, m->region);
    fact(f, "Rented as");
    if (m->virtualisation && strcmp(m->virtualisation, "none") != 0)
        text_part(f, m->virtualisation);
    if (m->container && strcmp(m->container, "none") != 0)
        text_part(f, m->container);
    fact(f, "Inside of");
    text_fact(f, "Hardware", m->fingerprint);
}

static void code_facts(struct facts *f, const struct run_code *c)
{
    text_part(f, c->script);
    text_part(f, c->folder);
    if (c->script_sha256)
        part(f, "sha256 %.12s", c->script_sha256);
    fact(f, "Script");
    text_part(f, c->commit);
    if (c->commit && c->dirty.known)
        part(f, "with%s changes", c->dirty.v ? "" : "out");
    fact(f, "Commit");
}

static void version_part(struct facts *f, const char *name, const char *version, const char *more)
{
    if (name)
        part(f, "%s%s%s%s%s%s", name, version ? " " : "", version ? version : "", more ? " (" : "",
             more ? more : "", more ? ")" : "");
}

static void software_facts(struct facts *f, const struct run *run)
{
    const struct run_code *c = &run->code;
    if (c->python)
        version_part(f, "Python", c->python, c->interpreter);
    for (size_t i = 0; i < c->packages.count; i++)
        version_part(f, c->packages.items[i].name, c->packages.items[i].version, NULL);
    for (size_t i = 0; i < run->libraries.count; i++)
        version_part(f, run->libraries.items[i].name, run->libraries.items[i].version,
                     run->libraries.items[i].kernels);
    fact(f, "Software");
    if (run->program.version)
        part(f, "fare %s", run->program.version);
    if (run->program.build)
        part(f, "build %s", run->program.build);
    fact(f, "Made by");
}

static void settings(struct facts *f, const struct run *run)
{
    f->measured = false;
    training_facts(f, run);
    data_facts(f, &run->data);
    machine_facts(f, &run->machine);
    code_facts(f, &run->code);
    software_facts(f, run);
    text_fact(f, "Project", run->project);
    for (size_t i = 0; i < run->labels.count; i++)
        if (run->labels.items[i].key)
            part(f, "%s=%s", run->labels.items[i].key,
                 run->labels.items[i].value ? run->labels.items[i].value : "");
    fact(f, "Labels");
    text_fact(f, "Source", run->source);
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

static void saved_words(const struct run_saving *s, struct buf *out)
{
    if (s->place)
        buf_printf(out, "Saved in %s", s->place);
    if (s->place && s->every_s.known)
        buf_printf(out, " every %s (%s)", units_time(s->every_s.v).s,
                   s->every_from ? s->every_from : "");
    if (s->place && s->between_s.known && s->between_from)
        buf_printf(out, "; one interruption in %s (%s)", units_time(s->between_s.v).s,
                   s->between_from);
    buf_adds(out, s->place ? ". " : "");
}

static void starts_words(const struct run_saving *s, struct buf *out)
{
    const int64_t count = (int64_t)s->attempts.count;
    saved_words(s, out);
    buf_printf(out, "%s, %lld interruption%s", units_count(count, "start").s,
               (long long)s->interruptions.v, s->interruptions.v == 1 ? "" : "s");
    if (s->lost_s.known)
        buf_printf(out, ", %s of work lost", units_time(s->lost_s.v).s);
    if (s->wall_s.known)
        buf_printf(out, " in %s", units_time(s->wall_s.v).s);
    buf_addc(out, '.');
    if (!s->usd.known)
        return;
    buf_printf(out, " %s USD for ", money_exact(s->usd).s);
    if (s->unpriced.known)
        buf_printf(out, "%lld of %lld starts; the cost of the other%s is unknown",
                   (long long)(count - s->unpriced.v), (long long)count,
                   s->unpriced.v == 1 ? "" : "s");
    else
        buf_adds(out, "all starts together");
    if (s->on_demand_usd.known)
        buf_printf(out, "; on demand %s USD%s%s, without the work lost",
                   money_exact(s->on_demand_usd).s, s->on_demand_seen ? " at a price of " : "",
                   s->on_demand_seen ? s->on_demand_seen : "");
    buf_addc(out, '.');
}

static int add_starts(struct page_run *to, const struct run_saving *s, struct err *err)
{
    struct buf text = {0};
    if (s->attempts.count == 0 && !s->place)
        return 0;
    for (size_t i = 0; i < s->attempts.count; i++)
        TRY(add_start(to, &s->attempts.items[i], err));
    starts_words(s, &text);
    return text_take(&to->starts_words, &text, err);
}

// ---- the page's record

static void set_times(struct page_run *to, const struct run *run)
{
    const struct run_steady *steady = &run->steady;
    struct bill_time time;
    if (bill_time_of(run, &time)) {
        to->time_s = some_real((double)time.total_ns / 1e9);
        if (time.low_ns >= 0 && time.high_ns >= 0) {
            to->low_s = some_real((double)time.low_ns / 1e9);
            to->high_s = some_real((double)time.high_ns / 1e9);
        }
    }
    to->step_ms = steady->step_ms.known ? steady->step_ms : run->step_ms;
    if (steady->step_ms.known) {
        to->step_low_ms = steady->low_ms;
        to->step_high_ms = steady->high_ms;
    }
    to->samples_per_s = run->samples_per_s;
}

static const char *basis_of(const struct run *run)
{
    struct bill_time time;
    return bill_time_of(run, &time) ? time.basis : NULL;
}

int page_run_add(struct page *page, const struct run *run, struct err *err)
{
    struct page_run *to = LIST_ADD(&page->runs, err);
    struct facts f = {.to = to, .err = err};
    char quality[RUN_QUALITY_BYTES];
    if (!to)
        return ERR_MEMORY;
    to->accuracy = run->test_accuracy;
    to->usd = run->spent.usd;
    run_quality_words(run, quality);
    set_times(to, run);
    TRY(TEXTS_SET(err, {&to->id, run->id}, {&to->name, run->name}, {&to->workload, run->workload},
                  {&to->framework, run->framework}, {&to->machine, run_place(run)},
                  {&to->started, run->started}, {&to->ended, run->ended},
                  {&to->problem, run->problem}, {&to->basis, basis_of(run)},
                  {&to->source, run->source}, {&to->quality, *quality ? quality : NULL},
                  {&to->usd_from, run->spent.from}, {&to->again, run->program.command_line}));
    for (size_t i = 0; i < run->taints.count; i++)
        TRY(texts_add(&to->taints, run->taints.items[i], err));
    TRY(add_starts(to, &run->saving, err));
    figures(&f, run);
    settings(&f, run);
    buf_release(&f.value);
    return f.rc;
}
