// SPDX-License-Identifier: Apache-2.0
#include "advise/estimates.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "advise/estimate/rates.h"

struct kind {        // of machine
    const char *gpu; // the book's text: one for each name
    int gpus, gpu_memory_mib;
    int share_milli;                // of one GPU; 0: whole ones
    int used;                       // of them; 0: as many as the run did
    int machines;                   // of which these are all GPUs; 0: one
    const struct device *processor; // without a GPU; null: unknown
    int vcpus_milli;
    struct estimated estimated;
    struct model_plan plan; // with a model's description
};

struct estimates {
    const struct proofs *proofs;
    struct estimate_tables *tables;
    struct past *past;   // null: no history
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
    const struct quote_ask *ask = proofs->ask;
    for (size_t i = 0; i < proofs->count; i++)
        all->on_cpus |= proofs->items[i].gpus == 0;
    int rc = estimate_tables_open(&all->tables, err);
    if (rc == 0 && ask->history)
        rc = past_open(&all->past, ask->history, ask->market, all->tables, err);
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
    past_close(all->past);
    estimate_tables_close(all->tables);
    free(all);
}

static void estimate_kind(const struct estimates *all, struct kind *kind)
{
    const struct proofs *proofs = all->proofs;
    const struct proof *first = proofs->items;
    const struct sources_ask ask = {
        .tables = all->tables,
        .devices = proofs->devices,
        .references = all->past ? past_references(all->past) : NULL,
        .proofs = proofs->items,
        .proof_count = proofs->count,
        .run = proofs->count > 0 && first->asked ? first->run : NULL,
        .gpu = device_find(proofs->devices, kind->gpu),
        .processor = kind->processor,
        .vcpus_milli = kind->vcpus_milli,
        .gpus = kind->gpus,
        .share = kind->share_milli / 1e3,
        .used = kind->used,
        .machines = kind->machines,
        .gpu_memory_bytes = (int64_t)kind->gpu_memory_mib << 20,
    };
    sources_estimate(&ask, &kind->estimated);
    if (all->past)
        past_teach(all->past, &kind->estimated);
}

// From a model's description; `gpus` in all, which are all of the machines'.
static void model_kind(const struct estimates *all, struct kind *kind, int gpus)
{
    const struct proofs *proofs = all->proofs;
    struct estimated *e = &kind->estimated;
    const struct device *device = device_find(proofs->devices, kind->gpu);
    const int64_t memory_bytes = (int64_t)kind->gpu_memory_mib << 20;
    modelled_estimate(proofs->ask->model, device, gpus, kind->gpus, memory_bytes, &kind->plan,
                      &e->estimate);
    e->plan = &kind->plan;
    e->proof = proofs->items; // the stand-in, of a second
    e->to = (struct estimate_place){.device = device,
                                    .gpus = gpus,
                                    .machines = kind->machines,
                                    .gpu_memory_bytes = memory_bytes};
}

// Tries 1, 2, 4, ... and all GPUs of the machine: it bills them all, so the fastest is cheapest.
static void choose_count(const struct estimates *all, struct kind *kind)
{
    struct estimated best = {0};
    for (int used = 1;; used = used * 2 < kind->gpus ? used * 2 : kind->gpus) {
        kind->used = used;
        kind->estimated = (struct estimated){0};
        estimate_kind(all, kind);
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
    const struct offer one = {.gpus_milli = kind->gpus * 1000};
    const int64_t machines = asked > 0 ? proof_machines(all->proofs, asked, &one) : 1;
    struct estimate *none = &kind->estimated.estimate;
    if (all->proofs->ask->model && kind->share_milli == 0 && asked <= kind->gpus * machines) {
        kind->machines = (int)machines;
        model_kind(all, kind, asked > 0 ? asked : kind->gpus);
    } else if (all->proofs->ask->model && kind->share_milli > 0) {
        snprintf(none->why, sizeof none->why,
                 "a model's description tells nothing of a part of one");
    } else if (asked == QUOTE_GPUS_ANY) {
        choose_count(all, kind);
    } else if (machines > 1 && kind->share_milli == 0) {
        kind->used = asked;
        kind->machines = (int)machines;
        estimate_kind(all, kind);
    } else if (asked > kind->gpus) {
        snprintf(none->why, sizeof none->why, "the offer has %s, %d were asked for",
                 units_count(kind->gpus, "GPU").s, asked);
    } else {
        kind->used = asked;
        estimate_kind(all, kind);
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

// False: nothing can be said of such a machine.
static bool kind_of(struct estimates *all, const struct offer *offer, struct kind *kind)
{
    int whole = offer->gpus_milli / 1000, rest = offer->gpus_milli % 1000;
    *kind = (struct kind){.gpu = offer->gpu, .gpu_memory_mib = offer->gpu_memory_mib};
    if (*offer->gpu) {
        kind->gpus = whole > 0 ? whole : 1;
        kind->share_milli = rest;
        return offer->gpus_milli > 0 && (whole == 0 || rest == 0);
    }
    kind->vcpus_milli = offer->vcpus_milli;
    if (all->proofs->ask->model || !all->on_cpus || offer->vcpus_milli <= 0)
        return false;
    kind->processor = processor_of(all, offer);
    return true;
}

int estimates_find(struct estimates *all, const struct offer *offer, const struct estimated **out,
                   struct err *err)
{
    struct kind kind;
    *out = NULL;
    if (!kind_of(all, offer, &kind))
        return 0;
    for (size_t i = all->count; i-- > 0;) { // a book's neighbours are alike
        const struct kind *k = all->kinds[i];
        if (k->gpus == kind.gpus && k->share_milli == kind.share_milli &&
            k->gpu_memory_mib == kind.gpu_memory_mib && k->processor == kind.processor &&
            k->vcpus_milli == kind.vcpus_milli && strcmp(k->gpu, kind.gpu) == 0) {
            *out = &k->estimated;
            return 0;
        }
    }
    TRY(array_grow(&all->kinds, all->count, &all->cap, sizeof(struct kind *), err));
    struct kind *added = malloc(sizeof *added);
    if (!added)
        return err_memory(err);
    *added = kind;
    all->kinds[all->count++] = added;
    make_one(all, added);
    *out = &added->estimated;
    return 0;
}

// ---- the time on an offer

static int64_t in_ns(double s)
{
    double ns = s * 1e9;
    return ns < (double)BILL_LONGEST_NS ? (int64_t)ns : BILL_LONGEST_NS;
}

// The training alone: how long the rest takes there is not known, and start-up is the offer's.
static void least_time(const struct estimate *estimate, const struct bill_time *own,
                       struct bill_time *time)
{
    double factor = estimate->time_s / sources_time(own).s;
    time->total_ns = time->startup_ns;
    for (size_t i = 0; i < time->count; i++) {
        struct bill_part *part = &time->parts[i];
        bool own_part = false;
        for (size_t k = 0; k < own->count; k++)
            own_part |= strcmp(own->parts[k].what, part->what) == 0;
        if (own_part)
            part->ns = sources_scales(part->what) ? in_ns((double)part->ns / 1e9 * factor) : 0;
        time->total_ns += own_part ? part->ns : 0;
    }
    time->low_ns = time->high_ns = -1;
    time->basis = "bound";
}

void estimated_time(const struct estimated *e, const struct bill_time *own, struct bill_time *time)
{
    const struct estimate *estimate = &e->estimate;
    if (estimate->kind == ESTIMATE_BOUND) {
        least_time(estimate, own, time);
        return;
    }
    double factor = estimate->time_s / sources_time(own).s;
    int64_t fixed_ns = 0, scaled_ns = 0;
    int64_t low_ns = time->startup_ns, high_ns = time->startup_ns; // the start-up's own range
    if (time->low_ns >= 0) {
        low_ns = time->low_ns - (own->low_ns >= 0 ? own->low_ns : own->total_ns);
        high_ns = time->high_ns - (own->high_ns >= 0 ? own->high_ns : own->total_ns);
    }
    for (size_t i = 0; i < time->count; i++) {
        struct bill_part *part = &time->parts[i];
        if (sources_scales(part->what))
            scaled_ns += part->ns = in_ns((double)part->ns / 1e9 * factor);
        else
            fixed_ns += part->ns;
    }
    time->total_ns = fixed_ns + scaled_ns;
    fixed_ns -= time->startup_ns;
    time->low_ns = low_ns + fixed_ns + in_ns(estimate->low_s);
    time->high_ns = high_ns + fixed_ns + in_ns(estimate->high_s);
    time->basis = estimate->modelled                 ? "modelled"
                  : estimate->kind == ESTIMATE_ROUGH ? "rough"
                                                     : "estimated";
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
    if (e->to.gpus > 0 && b && *b->part_of)
        buf_printf(out, "part of: %s, with its own multiprocessors and memory\n", b->part_of);
    if (e->to.share > 0)
        buf_printf(out,
                   "part: %g of the GPU's time; it may be as fast as a whole one while the others "
                   "are idle\n",
                   e->to.share);
}

static void add_cpu_rate(const struct device *d, double cpus, struct buf *out)
{
    if (d)
        buf_printf(out, "%.3g TFLOP/s", rate_cpu(d, cpus));
    else
        buf_adds(out, "unknown");
}

static void add_processors(const struct estimated *e, struct buf *out)
{
    const struct device *a = e->from.device, *b = e->to.device;
    if (e->to.gpus > 0)
        return;
    buf_printf(out, "processors: %s to %s, %.3g to %.3g virtual CPUs",
               a ? a->name : "one that is not in the device table", b ? b->name : "an unknown one",
               e->from.cpus, e->to.cpus);
    if (e->from.cpus_most > e->from.cpus)
        buf_printf(out, " or, if it was other programs that kept it from more, %.3g to %.3g",
                   e->from.cpus_most, e->to.cpus_most);
    buf_adds(out, ", fp32 ");
    add_cpu_rate(a, e->from.cpus, out);
    buf_adds(out, " to ");
    add_cpu_rate(b, e->to.cpus, out);
    buf_adds(out, b ? "\n" : ": as fast as the middle of those in the device table\n");
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

static void add_sources(const struct estimated *e, struct buf *out)
{
    if (e->source_count < 2)
        return;
    buf_printf(out, "sources: the first counts %.0f %%", 100 * e->sources[0].weight);
    for (size_t i = 1; i < e->source_count; i++) {
        const struct run *run = e->sources[i].proof->run;
        buf_printf(out, ", run %s on %s %.0f %%", run->id ? run->id : "?",
                   run_place(run) ? run_place(run) : "?", 100 * e->sources[i].weight);
    }
    buf_adds(out, "\n");
}

static void add_factor(const struct estimated *e, struct buf *out)
{
    const struct estimate_source *s = &e->sources[0];
    buf_printf(out, "factor of a step: %.3g", e->estimate.device);
    if (s->references > 0)
        buf_printf(out, ", of which × %.3g by %s measured on both GPUs", s->corrected,
                   units_count((int64_t)s->references, "training").s);
    buf_adds(out, "\n");
}

void estimated_apart(const struct estimated *e, struct buf *out)
{
    const struct run *run = e->apart->run;
    char low[48], high[48];
    clock_words(in_ns(e->apart_time.low), low, sizeof low);
    clock_words(in_ns(e->apart_time.high), high, sizeof high);
    buf_printf(out, "the runs disagree: by run %s alone it is %s%s%s%s; the interval covers both",
               run->id ? run->id : "?", e->apart_time.high > 0 ? "" : "at least ", low,
               e->apart_time.high > 0 ? " to " : "", e->apart_time.high > 0 ? high : "");
    if (run->taints.count > 0)
        buf_printf(out, " (%s)", run->taints.items[0]);
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
    add_sources(e, out);
    if (!estimated_known(e)) {
        buf_printf(out, "%s: %s\n", m->kind == ESTIMATE_IMPOSSIBLE ? "does not fit" : "no estimate",
                   m->why);
        return;
    }
    add_devices(e, out);
    add_processors(e, out);
    if (m->fit != ESTIMATE_FITS)
        buf_printf(out, "GPU memory: %s\n", m->memory);
    if (m->kind == ESTIMATE_BOUND) {
        clock_words(in_ns(m->time_s), time, sizeof time);
        buf_printf(out, "training: at least %s: ", time);
        estimate_class_words(m, out);
        buf_adds(out, "\n");
        return;
    }
    add_split(m, out);
    add_factor(e, out);
    estimate_several_words(m, &e->from, &e->to, out);
    buf_adds(out, "class: ");
    estimate_class_words(m, out);
    if (m->class)
        buf_printf(out, "; error %.0f %% in the median, %.0f %% at the 90th percentile",
                   m->class->median_percent, m->class->p90_percent);
    if (e->learnt_from > 0)
        buf_printf(out, "\nlearnt: from %s for runs of yours between such devices: interval × %.2f",
                   units_count((int64_t)e->learnt_from, "estimate").s, e->learnt);
    clock_words(in_ns(m->time_s), time, sizeof time);
    clock_words(in_ns(m->low_s), low, sizeof low);
    clock_words(in_ns(m->high_s), high, sizeof high);
    estimate_words(m, words);
    if (e->apart)
        estimated_apart(e, out);
    buf_printf(out, "\ntraining: %s (%s to %s), %s, 90 %% interval\n", time, low, high, words);
}
