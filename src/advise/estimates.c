// SPDX-License-Identifier: Apache-2.0
#include "advise/estimates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "estimate/rates.h"

struct kind {        // of machine
    const char *gpu; // the book's text: one for each name
    int gpus, gpu_memory_mib;
    int used; // of them; 0: as many as the run did
    const struct device *processor; // without a GPU
    int vcpus_milli;
    struct estimated estimated;
};

#define ALL_CPUS 0.8 // of those usable: a run that used as many scales with their number

struct estimates {
    const struct proofs *proofs;
    struct estimate_tables *tables;
    struct kind **kinds; // each on its own: pointers to them stay valid
    size_t count, cap;
    bool on_cpus;                          // some run was
    const char *last_provider, *last_name; // of the offer asked for last, and its processor
    const struct device *last_processor;
};

int estimates_open(struct estimates **out, const struct proofs *proofs, struct err *err)
{
    struct estimates *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all)
        return err_memory(err);
    all->proofs = proofs;
    for (size_t i = 0; i < proofs->count; i++)
        all->on_cpus |= proofs->items[i].gpus == 0;
    int rc = estimate_tables_open(&all->tables, err);
    if (rc == 0)
        *out = all;
    else
        estimates_close(all);
    return rc;
}

void estimates_close(struct estimates *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        free(all->kinds[i]);
    free(all->kinds);
    estimate_tables_close(all->tables);
    free(all);
}

// Loading, set-up and checkpoints depend on the host and the disk: they stay as they were.
static bool follows_device(const char *part)
{
    static const char *const parts[] = {"train", "evaluate", "warm-up", "run"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(part, parts[i]) == 0)
            return true;
    return false;
}

static struct estimate_time scaled_time(const struct bill_time *own)
{
    struct estimate_time time = {0};
    for (size_t i = 0; i < own->count; i++)
        time.s += follows_device(own->parts[i].what) ? (double)own->parts[i].ns / 1e9 : 0;
    if (own->low_ns > 0 && own->high_ns >= own->low_ns) {
        time.low = time.s * ((double)own->low_ns / (double)own->total_ns);
        time.high = time.s * ((double)own->high_ns / (double)own->total_ns);
    }
    return time;
}

static bool is_better(const struct estimated *a, const struct estimated *b)
{
    if (!b->proof || estimated_known(a) != estimated_known(b))
        return !b->proof || estimated_known(a);
    if (!estimated_known(a))
        return false;
    return a->estimate.high_s / a->estimate.low_s < b->estimate.high_s / b->estimate.low_s;
}

static double cpus_there(const struct run *run, const struct estimate_place *from, int vcpus_milli)
{
    double has = vcpus_milli / 1e3, usable = run->machine.usable_cpus.v;
    bool all = !run->machine.usable_cpus.known || from->cpus >= ALL_CPUS * usable;
    return all ? has : fmin(has, from->cpus);
}

static void choose_source(const struct estimates *all, struct kind *kind)
{
    const struct proofs *proofs = all->proofs;
    for (size_t i = 0; i < proofs->count; i++) {
        const struct proof *p = &proofs->items[i];
        struct estimated one = {.proof = p, .from = estimate_place_of(p->run, proofs->devices)};
        if (p->from->training > 0 || p->gpus > 1024)
            continue;
        one.from.gpus = (int)p->gpus;
        one.from.device = p->device;
        one.to =
            (struct estimate_place){.device = device_find(proofs->devices, kind->gpu),
                                    .gpus = kind->used > 0                        ? kind->used
                                            : p->gpus > 0 && p->gpus < kind->gpus ? (int)p->gpus
                                            : p->gpus > 0                         ? kind->gpus
                                                                                  : 1,
                                    .gpu_memory_bytes = (int64_t)kind->gpu_memory_mib << 20};
        if (kind->processor)
            one.to =
                (struct estimate_place){.device = kind->processor,
                                        .cpus = cpus_there(p->run, &one.from, kind->vcpus_milli)};
        struct estimate_time time = scaled_time(&p->time);
        estimate_make(all->tables, p->run, &one.from, &one.to, &time, &one.estimate);
        if (is_better(&one, &kind->estimated))
            kind->estimated = one;
    }
}

// Tries 1, 2, 4, ... and all GPUs of the machine: it bills them all, so the fastest is cheapest.
static void choose_count(const struct estimates *all, struct kind *kind)
{
    struct estimated best = {0};
    for (int used = 1;; used = used * 2 < kind->gpus ? used * 2 : kind->gpus) {
        kind->used = used;
        kind->estimated = (struct estimated){0};
        choose_source(all, kind);
        const struct estimated *e = &kind->estimated;
        bool faster = estimated_known(e) &&
                      (!estimated_known(&best) || e->estimate.time_s < best.estimate.time_s);
        if (used == 1 || faster)
            best = *e;
        if (used == kind->gpus)
            break;
    }
    kind->estimated = best;
}

static void make_one(const struct estimates *all, struct kind *kind)
{
    int asked = all->proofs->gpus;
    if (asked == QUOTE_GPUS_ANY) {
        choose_count(all, kind);
    } else if (asked > kind->gpus) {
        struct estimate *none = &kind->estimated.estimate;
        snprintf(none->why, sizeof none->why, "the offer has %s, %d were asked for",
                 units_count(kind->gpus, "GPU").s, asked);
    } else {
        kind->used = asked;
        choose_source(all, kind);
    }
}

// A book's regions of one offer follow each other, and finding its processor takes long.
static const struct device *processor_of(struct estimates *all, const struct offer *offer)
{
    if (!all->last_name || strcmp(all->last_name, offer->name) != 0 ||
        strcmp(all->last_provider, offer->provider) != 0) {
        const struct devices *devices = all->proofs->devices;
        all->last_provider = offer->provider;
        all->last_name = offer->name;
        all->last_processor = device_of_offer(devices, offer->provider, offer->name);
        if (!all->last_processor)
            all->last_processor = device_find(devices, offer->cpu);
    }
    return all->last_processor;
}

int estimates_find(struct estimates *all, const struct offer *offer, const struct estimated **out,
                   struct err *err)
{
    int gpus = offer->gpus_milli / 1000, vcpus = *offer->gpu ? 0 : offer->vcpus_milli;
    const struct device *processor = NULL;
    *out = NULL;
    if (!*offer->gpu && all->on_cpus && vcpus > 0)
        processor = processor_of(all, offer);
    if (!processor && (!*offer->gpu || gpus < 1 || offer->gpus_milli % 1000 != 0))
        return 0;
    for (size_t i = all->count; i-- > 0;) { // a book's neighbours are alike
        const struct kind *k = all->kinds[i];
        if (k->gpus == gpus && k->gpu_memory_mib == offer->gpu_memory_mib &&
            k->processor == processor && k->vcpus_milli == vcpus &&
            strcmp(k->gpu, offer->gpu) == 0) {
            *out = &k->estimated;
            return 0;
        }
    }
    TRY(array_grow(&all->kinds, all->count, &all->cap, sizeof(struct kind *), err));
    struct kind *added = calloc(1, sizeof *added);
    if (!added)
        return err_memory(err);
    *added = (struct kind){.gpu = offer->gpu,
                           .gpus = gpus,
                           .gpu_memory_mib = offer->gpu_memory_mib,
                           .processor = processor,
                           .vcpus_milli = vcpus};
    all->kinds[all->count++] = added;
    make_one(all, added);
    *out = &added->estimated;
    return 0;
}

bool estimated_known(const struct estimated *e)
{
    return e->proof && e->estimate.kind >= ESTIMATE_MEASURED;
}

// ---- the time on an offer

static int64_t in_ns(double s)
{
    double ns = s * 1e9;
    return ns < (double)BILL_LONGEST_NS ? (int64_t)ns : BILL_LONGEST_NS;
}

void estimated_time(const struct estimated *e, const struct bill_time *own, struct bill_time *time)
{
    const struct estimate *estimate = &e->estimate;
    double factor = estimate->time_s / scaled_time(own).s;
    int64_t fixed_ns = 0, scaled_ns = 0;
    int64_t low_ns = time->startup_ns, high_ns = time->startup_ns; // the start-up's own range
    if (time->low_ns >= 0) {
        low_ns = time->low_ns - (own->low_ns >= 0 ? own->low_ns : own->total_ns);
        high_ns = time->high_ns - (own->high_ns >= 0 ? own->high_ns : own->total_ns);
    }
    for (size_t i = 0; i < time->count; i++) {
        struct bill_part *part = &time->parts[i];
        if (follows_device(part->what))
            scaled_ns += part->ns = in_ns((double)part->ns / 1e9 * factor);
        else
            fixed_ns += part->ns;
    }
    time->total_ns = fixed_ns + scaled_ns;
    fixed_ns -= time->startup_ns;
    time->low_ns = low_ns + fixed_ns + in_ns(estimate->low_s);
    time->high_ns = high_ns + fixed_ns + in_ns(estimate->high_s);
    time->basis = estimate->kind == ESTIMATE_ROUGH ? "rough" : "estimated";
}

// ---- in words

static void add_devices(const struct estimated *e, struct buf *out)
{
    const struct device *a = e->from.device, *b = e->to.device;
    if (e->from.gpus > 0 && a && b)
        buf_printf(out,
                   "data sheets: %s to %s: fp32 %g to %g TFLOP/s, fp16 %g to %g, memory %g to %g "
                   "GB/s, %d to %d units at %d and %d MHz\n",
                   a->name, b->name, a->fp32_gflops / 1e3, b->fp32_gflops / 1e3,
                   a->fp16_gflops / 1e3, b->fp16_gflops / 1e3, a->memory_mbs / 1e3,
                   b->memory_mbs / 1e3, a->units, b->units, a->boost_mhz, b->boost_mhz);
}

static void add_processors(const struct estimated *e, struct buf *out)
{
    const struct device *a = e->from.device, *b = e->to.device;
    if (e->to.gpus > 0 || !b)
        return;
    buf_printf(out, "processors: %s to %s, %.3g to %.3g virtual CPUs, ",
               a ? a->name : "one that is not in the device table", b->name, e->from.cpus,
               e->to.cpus);
    if (a)
        buf_printf(out, "fp32 %.3g to %.3g TFLOP/s\n", rate_cpu(a, e->from.cpus),
                   rate_cpu(b, e->to.cpus));
    else
        buf_printf(out, "fp32 unknown to %.3g TFLOP/s\n", rate_cpu(b, e->to.cpus));
}

static void add_split(const struct estimate *e, struct buf *out)
{
    if (e->part_count == 0)
        return;
    buf_adds(out, "split:");
    for (size_t i = 0; i < e->part_count && i < 5; i++)
        buf_printf(out, "%s %s%s%s %.0f %% × %.2f", i ? "," : "", e->parts[i].name,
                   e->parts[i].precision ? " " : "",
                   e->parts[i].precision ? e->parts[i].precision : "", 100 * e->parts[i].share,
                   e->parts[i].factor);
    buf_adds(out, e->part_count > 5 ? ", ...\n" : "\n");
}

static void add_run(const struct estimated *e, struct buf *out)
{
    const struct run *run = e->proof->run;
    const char *precision = run->precision ? run->precision : run->account.precision;
    char words[48];
    clock_words(e->proof->time.total_ns, words, sizeof words);
    buf_printf(out, "source: run %s on %s%s%s, %s, %s\n", run->id ? run->id : "?",
               e->proof->gpus > 1 ? units_count(e->proof->gpus, "GPU").s : "",
               e->proof->gpus > 1 ? " of " : "", run_place(run) ? run_place(run) : "?", words,
               e->proof->time.basis);
    if (e->proof->gpus == 0)
        return;
    buf_printf(out, "net: %s; precision: %s", e->estimate.net ? e->estimate.net : "unknown kind",
               precision ? precision
                         : "unknown: the range of fp32, tf32 and fp16 is in the interval");
    if (e->estimate.busy >= 0)
        buf_printf(out, "; GPU busy %.0f %%\n", 100 * e->estimate.busy);
    else
        buf_adds(out, "; GPU busy: unknown\n");
}

void estimated_explain(const struct estimated *e, struct buf *out)
{
    const struct estimate *m = &e->estimate;
    char low[48], high[48], time[48], words[ESTIMATE_WORDS];
    if (!e->proof) {
        buf_printf(out, "no estimate: %s\n", *m->why ? m->why : "no run has a known time");
        return;
    }
    add_run(e, out);
    if (!estimated_known(e)) {
        buf_printf(out, "%s: %s\n", m->kind == ESTIMATE_IMPOSSIBLE ? "does not fit" : "no estimate",
                   m->why);
        return;
    }
    add_devices(e, out);
    add_processors(e, out);
    add_split(m, out);
    buf_printf(out, "factor of a step: %.3g\n", m->device);
    estimate_several_words(m, &e->from, &e->to, out);
    buf_adds(out, "class: ");
    estimate_class_words(m, out);
    if (m->class)
        buf_printf(out, "; error %.0f %% in the median, %.0f %% at the 90th percentile",
                   m->class->median_percent, m->class->p90_percent);
    clock_words(in_ns(m->time_s), time, sizeof time);
    clock_words(in_ns(m->low_s), low, sizeof low);
    clock_words(in_ns(m->high_s), high, sizeof high);
    estimate_words(m, words);
    buf_printf(out, "\ntraining: %s (%s to %s), %s, 90 %% interval\n", time, low, high, words);
}
