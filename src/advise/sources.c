// SPDX-License-Identifier: Apache-2.0
#include "advise/sources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/stats.h"

#define MOST_PLACES     8 // of a training: their pairs are references
#define MOST_REFERENCES 512
#define WIDEST          2.0 // a source with an interval this many times the narrowest adds little
#define ALL_CPUS        0.8 // of those usable: a run that used as many scales with their number

bool estimated_known(const struct estimated *e)
{
    return e->proof && e->estimate.kind >= ESTIMATE_MEASURED;
}

// Loading, set-up and checkpoints depend on the host and the disk: they stay as they were.
bool sources_scales(const char *part)
{
    static const char *const parts[] = {"train", "evaluate", "warm-up", "run"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(part, parts[i]) == 0)
            return true;
    return false;
}

struct estimate_time sources_time(const struct bill_time *own)
{
    struct estimate_time time = {0};
    for (size_t i = 0; i < own->count; i++)
        time.s += sources_scales(own->parts[i].what) ? (double)own->parts[i].ns / 1e9 : 0;
    if (own->low_ns > 0 && own->high_ns >= own->low_ns) {
        time.low = time.s * ((double)own->low_ns / (double)own->total_ns);
        time.high = time.s * ((double)own->high_ns / (double)own->total_ns);
    }
    return time;
}

static struct estimate_place place_of(const struct proof *p, const struct devices *devices)
{
    struct estimate_place place = estimate_place_of(p->run, devices);
    place.gpus = (int)p->gpus;
    place.device = p->device;
    return place;
}

static enum rate_precision precision_of(const struct run *run)
{
    return rate_precision(run->precision ? run->precision : run->account.precision);
}

// ---- reference runs

static int add_reference(struct references *all, const struct reference *new, struct err *err)
{
    for (size_t i = 0; i < all->count; i++) {
        struct reference *r = &all->items[i];
        if (r->training == new->training && r->from == new->from && r->to == new->to &&
            r->gpus == new->gpus) {
            r->error = (r->error * (double)r->pairs + new->error) / (double)(r->pairs + 1);
            r->pairs++;
            return 0;
        }
    }
    if (all->count == MOST_REFERENCES)
        return 0;
    TRY(array_grow(&all->items, all->count, &all->cap, sizeof *all->items, err));
    all->items[all->count++] = *new;
    return 0;
}

static int try_pair(struct references *all, const struct trials *t,
                    const struct estimate_tables *tables, const struct proof *a,
                    const struct proof *b, struct err *err)
{
    enum rate_precision precision = precision_of(a->run);
    if (a->device == b->device || a->gpus != b->gpus || precision == RATE_UNKNOWN ||
        !run_history_same_software(a->run, b->run))
        return 0;
    struct estimate e;
    struct run untraced = *a->run;
    untraced.account.work.count = 0;
    struct estimate_time here = sources_time(&a->time), there = sources_time(&b->time);
    const struct estimate_place from = place_of(a, t->devices);
    const struct estimate_place to = {.device = b->device, .gpus = (int)b->gpus};
    estimate_make(tables, &untraced, &from, &to, &here, &e);
    double error = log(there.s / e.time_s);
    if (e.kind <= ESTIMATE_BOUND || !e.class || !e.net || !isfinite(error))
        return 0;
    const struct reference r = {.from = a->device,
                                .to = b->device,
                                .gpus = from.gpus,
                                .precision = precision,
                                .bound = e.class->bound,
                                .net = e.net,
                                .training = a->from->training,
                                .pairs = 1,
                                .error = error};
    return add_reference(all, &r, err);
}

static int references_make(struct references *all, const struct trials *t,
                           const struct estimate_tables *tables, struct err *err)
{
    for (size_t i = 0; i < t->count; i++) {
        const struct proof *a = &t->items[i];
        size_t places = 0;
        for (size_t k = 0; k < t->count && places < MOST_PLACES; k++) {
            const struct proof *b = &t->items[k];
            bool pair = k != i && a->from->training == b->from->training && a->gpus > 0 &&
                        a->gpus <= 1024 && a->device && b->device;
            places += pair;
            TRY(pair ? try_pair(all, t, tables, a, b, err) : 0);
        }
    }
    return 0;
}

static void references_release(struct references *all)
{
    free(all->items);
}

static struct estimate_calibration find_references(const struct sources_ask *ask,
                                                   const struct estimate_source *s,
                                                   const struct estimate *e)
{
    enum rate_precision precision = precision_of(s->proof->run);
    struct estimate_calibration found = {0};
    for (size_t i = 0; ask->references && e->class && e->net && i < ask->references->count; i++) {
        const struct reference *r = &ask->references->items[i];
        bool itself = ask->measured && r->training == ask->training;
        if (r->from != s->from.device || r->to != s->to.device || r->gpus != s->from.gpus ||
            r->gpus != s->to.gpus || itself || r->precision != precision ||
            strcmp(r->bound, e->class->bound) != 0 || strcmp(r->net, e->net) != 0)
            continue;
        found.error += r->error;
        found.trainings++;
    }
    if (found.trainings > 0)
        found.error /= (double)found.trainings;
    return found;
}

// ---- sources

struct candidate {
    struct estimate_source source;
    struct estimate estimate;
    bool alike; // in precision and batch to the run asked for
    double half;
};

static struct estimate_place processor_there(const struct sources_ask *ask, const struct run *run,
                                             const struct estimate_place *from)
{
    double has = ask->vcpus_milli / 1e3, usable = run->machine.usable_cpus.v;
    bool all = !run->machine.usable_cpus.known || from->cpus >= ALL_CPUS * usable;
    return (struct estimate_place){
        .device = ask->processor, .cpus = all ? has : fmin(has, from->cpus), .cpus_most = has};
}

static bool try_source(const struct sources_ask *ask, const struct proof *p, struct candidate *c)
{
    int gpus = ask->used > 0         ? ask->used
               : p->gpus == 0        ? 1
               : p->gpus < ask->gpus ? (int)p->gpus
                                     : ask->gpus;
    if (p->from->training != ask->training || p->gpus > 1024)
        return false;
    if (ask->measured && (p->device == ask->gpu || gpus != ask->gpus))
        return false;
    *c = (struct candidate){.source = {.proof = p, .from = place_of(p, ask->devices)}};
    c->source.to = (struct estimate_place){.device = ask->gpu,
                                           .gpus = gpus,
                                           .machines = ask->machines,
                                           .share = ask->share,
                                           .gpu_memory_bytes = ask->gpu_memory_bytes};
    c->source.from.machines = ask->machines;
    if (ask->vcpus_milli > 0)
        c->source.to = processor_there(ask, p->run, &c->source.from);
    const struct estimate_time time = sources_time(&p->time);
    estimate_make(ask->tables, p->run, &c->source.from, &c->source.to, &time, &c->estimate);
    const struct estimate_calibration calibration = find_references(ask, &c->source, &c->estimate);
    double before = c->estimate.time_s;
    if (estimate_calibrate(ask->tables, &calibration, &c->estimate)) {
        c->source.references = calibration.trainings;
        c->source.corrected = c->estimate.time_s / before;
    }
    c->alike = !ask->run || evidence_same_setting(ask->run, p->run);
    c->half = log(c->estimate.high_s / c->estimate.low_s) / 2;
    return true;
}

static bool is_nearer(const struct candidate *a, const struct candidate *b)
{
    const bool better[][2] = {
        {a->estimate.kind >= ESTIMATE_MEASURED, b->estimate.kind >= ESTIMATE_MEASURED},
        {a->estimate.kind != ESTIMATE_BOUND, b->estimate.kind != ESTIMATE_BOUND},
        {a->alike, b->alike},
        {a->estimate.kind == ESTIMATE_MEASURED, b->estimate.kind == ESTIMATE_MEASURED}};
    for (size_t i = 0; i < sizeof better / sizeof *better; i++)
        if (better[i][0] != better[i][1])
            return better[i][0];
    return a->estimate.kind >= ESTIMATE_MEASURED && a->half < b->half;
}

// Keeps the nearest few, one for each device, the nearest first. Runs on one device share its
// error, so a second one adds nothing.
static size_t keep(struct candidate list[ESTIMATE_SOURCES], size_t count,
                   const struct candidate *new)
{
    size_t twin = 0, at;
    while (twin < count && list[twin].source.proof->device != new->source.proof->device)
        twin++;
    if (twin < count) {
        if (!is_nearer(new, &list[twin]))
            return count;
        count--;
        memmove(&list[twin], &list[twin + 1], (count - twin) * sizeof *list);
    }
    for (at = count; at > 0 && is_nearer(new, &list[at - 1]);)
        at--;
    if (at == ESTIMATE_SOURCES)
        return count;
    count += count < ESTIMATE_SOURCES;
    memmove(&list[at + 1], &list[at], (count - 1 - at) * sizeof *list);
    list[at] = *new;
    return count;
}

static bool is_combined(const struct candidate *a, const struct candidate *b)
{
    return a->estimate.kind > ESTIMATE_BOUND && b->estimate.kind > ESTIMATE_BOUND &&
           a->source.to.gpus == b->source.to.gpus && b->half <= WIDEST * a->half &&
           evidence_same_setting(a->source.proof->run, b->source.proof->run);
}

// The interval holds what a run says: if that lies apart, it reaches there, and the run is named.
// Of a lower bound, nothing is above.
static void span(const struct sources_ask *ask, const struct proof *p, struct estimated *out)
{
    struct candidate one;
    struct estimate *e = &out->estimate;
    const struct estimate *o = &one.estimate;
    if (p->stopped || !evidence_same_setting(out->proof->run, p->run) ||
        !try_source(ask, p, &one) || o->kind < ESTIMATE_MEASURED ||
        one.source.to.gpus != out->to.gpus)
        return;
    bool bound = o->kind == ESTIMATE_BOUND, above = o->low_s > e->high_s;
    if (!above && (bound || o->high_s >= e->low_s))
        return;
    out->apart = p;
    out->apart_time = (struct estimate_time){o->time_s, o->low_s, bound ? 0 : o->high_s};
    e->high_s = fmax(e->high_s, o->high_s);
    e->low_s = bound ? e->low_s : fmin(e->low_s, o->low_s);
    estimate_set_kind(e);
}

// Of many runs on one machine, the run asked for, the fastest and the slowest tell.
static void span_all(const struct sources_ask *ask, struct estimated *out)
{
    for (size_t i = 0; i < ask->proof_count && out->estimate.kind > ESTIMATE_BOUND; i++) {
        const struct proof *p = &ask->proofs[i];
        if (ask->proof_count > 1)
            span(ask, p, out);
        size_t last = p->again_count;
        while (last > 1 && p->again[last - 1].stopped)
            last--;
        for (size_t k = 0; last > 1 && k < last; k += k == 1 && last > 3 ? last - 2 : 1)
            span(ask, &p->again[k], out);
    }
}

void sources_estimate(const struct sources_ask *ask, struct estimated *out)
{
    struct candidate list[ESTIMATE_SOURCES], one;
    struct estimate estimates[ESTIMATE_SOURCES];
    double weights[ESTIMATE_SOURCES];
    size_t count = 0, used = 0;
    *out = (struct estimated){.learnt = 1};
    for (size_t i = 0; i < ask->proof_count; i++)
        if (try_source(ask, &ask->proofs[i], &one))
            count = keep(list, count, &one);
    if (count == 0)
        return;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && !is_combined(&list[0], &list[i]))
            continue;
        estimates[used] = list[i].estimate;
        out->sources[used++] = list[i].source;
    }
    estimate_combine(ask->tables, estimates, used, weights, &out->estimate);
    for (size_t i = 0; i < used; i++)
        out->sources[i].weight = weights[i];
    out->source_count = used;
    out->proof = list[0].source.proof;
    out->from = list[0].source.from;
    out->to = list[0].source.to;
    span_all(ask, out);
}

struct lesson {
    const char *relation;
    double error; // ÷ the half-width of the estimate
};

struct past {
    const struct estimate_tables *tables;
    const struct run_history *history;
    struct market *market;
    struct trials trials;
    struct references references;
    struct lesson *lessons;
    size_t lesson_count;
};

struct outcome {
    const struct proof *proof;
    struct estimated estimated;
    double measured_s;
};

// ---- one

// What the user's other runs say about a measured one; false: nothing.
static bool look_back(const struct past *past, const struct proof *p, struct outcome *out)
{
    const struct trials *t = &past->trials;
    if (p->gpus < 1 || p->gpus > 1024 || !p->device)
        return false;
    const struct sources_ask ask = {.tables = past->tables,
                                    .devices = t->devices,
                                    .references = &past->references,
                                    .proofs = t->items,
                                    .proof_count = t->own,
                                    .training = p->from->training,
                                    .gpu = p->device,
                                    .gpus = (int)p->gpus,
                                    .measured = true};
    sources_estimate(&ask, &out->estimated);
    out->proof = p;
    out->measured_s = sources_time(&p->time).s;
    return out->estimated.estimate.kind > ESTIMATE_BOUND && out->measured_s > 0;
}

// 1: at the end of the interval.
static double distance(const struct outcome *o)
{
    const struct estimate *e = &o->estimated.estimate;
    double end = o->measured_s > e->time_s ? e->high_s : e->low_s;
    return fabs(log(o->measured_s / e->time_s)) / fmax(fabs(log(end / e->time_s)), 1e-9);
}

static const char *machine_of(const struct proof *p)
{
    return p->device ? p->device->name : run_place(p->run);
}

static int describe(const struct outcome *o, struct past_estimate *out, struct err *err)
{
    const struct estimated *made = &o->estimated;
    const struct estimate *e = &made->estimate;
    out->sources = some_int((int64_t)made->source_count);
    out->time_s = some_real(e->time_s);
    out->low_s = some_real(e->low_s);
    out->high_s = some_real(e->high_s);
    out->measured_s = some_real(o->measured_s);
    out->error = some_real(e->time_s / o->measured_s - 1);
    out->within = some_bool(e->low_s <= o->measured_s && o->measured_s <= e->high_s);
    return TEXTS_SET(err, {&out->run, o->proof->run->id}, {&out->machine, machine_of(o->proof)},
                     {&out->from, made->proof->run->id}, {&out->source, machine_of(made->proof)},
                     {&out->relation, e->class ? e->class->relation : NULL});
}

// ---- all

static int learn(struct past *past, struct err *err)
{
    struct outcome o;
    past->lessons = calloc(past->trials.own + 1, sizeof *past->lessons);
    if (!past->lessons)
        return err_memory(err);
    for (size_t i = 0; i < past->trials.own; i++) {
        if (!look_back(past, &past->trials.items[i], &o) || !o.estimated.estimate.class)
            continue;
        struct lesson l = {o.estimated.estimate.class->relation, distance(&o)};
        if (isfinite(l.error))
            past->lessons[past->lesson_count++] = l;
    }
    return 0;
}

int past_open(struct past **out, const struct run_history *history, struct market *market,
              const struct estimate_tables *tables, struct err *err)
{
    struct past *past = calloc(1, sizeof *past);
    *out = NULL;
    if (!past)
        return err_memory(err);
    past->tables = tables;
    past->history = history;
    past->market = market;
    int rc = trials_make(&past->trials, history, market, err);
    if (rc == 0)
        rc = references_make(&past->references, &past->trials, tables, err);
    if (rc == 0)
        rc = learn(past, err);
    if (rc == 0)
        *out = past;
    else
        past_close(past);
    return rc;
}

void past_close(struct past *past)
{
    if (!past)
        return;
    trials_release(&past->trials);
    references_release(&past->references);
    free(past->lessons);
    free(past);
}

const struct references *past_references(const struct past *past)
{
    return &past->references;
}

int past_find(const struct past *past, const char *id, struct past_estimate *out, struct err *err)
{
    struct outcome o;
    SCOPED(proofs_release) struct proofs proofs = {0};
    const struct quote_evidence *run = past->trials.evidence;
    const struct quote_evidence *end = run + past->history->own;
    while (run < end && strcmp(run->run->id, id) != 0)
        run++;
    if (run == end)
        return 0;
    // Of several runs on one machine, the trials have only the median.
    const struct quote_ask ask = {.market = past->market, .evidence = run, .evidence_count = 1};
    TRY(proofs_gather(&proofs, &ask, err));
    return proofs.count > 0 && look_back(past, &proofs.items[0], &o) ? describe(&o, out, err) : 0;
}

int past_list(const struct past *past, struct past_summary *out, struct err *err)
{
    struct outcome o;
    SCOPED(free_pointer) double *errors = calloc(past->trials.own + 1, sizeof *errors);
    TRY(errors ? text_set(&out->schema, PAST_SCHEMA, err) : err_memory(err));
    int64_t count = 0, within = 0;
    out->estimates.known = true;
    for (size_t i = 0; i < past->trials.own; i++) {
        if (!look_back(past, &past->trials.items[i], &o))
            continue;
        struct past_estimate *one = LIST_ADD(&out->estimates, err);
        TRY(one ? describe(&o, one, err) : ERR_MEMORY);
        errors[count++] = fabs(one->error.v);
        within += one->within.v;
    }
    out->count = some_int(count);
    if (count > 0) {
        out->within = some_int(within);
        out->median_error = some_real(stats_median_of(errors, (size_t)count));
    }
    return 0;
}

void past_teach(const struct past *past, struct estimated *e)
{
    const struct estimate_errors *class = e->estimate.class;
    double errors[HISTORY_OWN];
    size_t count = 0;
    for (size_t i = 0; class && i < past->lesson_count; i++)
        if (strcmp(past->lessons[i].relation, class->relation) == 0)
            errors[count++] = past->lessons[i].error;
    if (count == 0)
        return;
    e->learnt_from = count;
    e->learnt = estimate_learn(class, errors, count);
    estimate_stretch(&e->estimate, e->learnt);
}

// ---- records

#define T struct past_estimate
const struct field past_estimate_fields[] = {
    FIELD(FIELD_TEXT, T, run, "id of the measured run"),
    FIELD(FIELD_TEXT, T, machine, "its GPU"),
    FIELD(FIELD_TEXT, T, from, "id of the run it would have been estimated from, the nearest"),
    FIELD(FIELD_TEXT, T, source, "that run's GPU or processor"),
    FIELD(FIELD_INT, T, sources, "number of runs the estimate combines"),
    FIELD(FIELD_REAL, T, time_s, "estimated: time of training and evaluation, without loading"),
    FIELD(FIELD_REAL, T, low_s, "lower end of the 90 % interval"),
    FIELD(FIELD_REAL, T, high_s, "upper end"),
    FIELD(FIELD_REAL, T, measured_s, "measured or projected: the same time"),
    FIELD(FIELD_REAL, T, error, "time_s ÷ measured_s - 1"),
    FIELD(FIELD_BOOL, T, within, "measured_s is within the interval"),
    FIELD(FIELD_TEXT, T, relation,
          "of the two devices, as in docs/estimating.md; absent: the same"),
    FIELD_END,
};
#undef T

#define T struct past_summary
const struct field past_summary_fields[] = {
    FIELD(FIELD_TEXT, T, schema, "`" PAST_SCHEMA "`"),
    FIELD(FIELD_INT, T, count, "number of estimates: one for each training and machine"),
    FIELD(FIELD_INT, T, within, "of these: the measured time was within the interval"),
    FIELD(FIELD_REAL, T, median_error, "median of the absolute errors"),
    FIELD_SUB(FIELD_LIST, T, estimates, past_estimate_fields, "the estimates, newest run first"),
    FIELD_END,
};
#undef T
