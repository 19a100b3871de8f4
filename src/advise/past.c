// SPDX-License-Identifier: Apache-2.0
#include "advise/past.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

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
    struct proofs proofs = {0};
    const struct quote_evidence *run = past->trials.evidence;
    const struct quote_evidence *end = run + past->history->own;
    while (run < end && strcmp(run->run->id, id) != 0)
        run++;
    if (run == end)
        return 0;
    // Of several runs on one machine, the trials have only the median.
    const struct quote_ask ask = {.market = past->market, .evidence = run, .evidence_count = 1};
    int rc = proofs_gather(&proofs, &ask, err);
    if (rc == 0 && proofs.count > 0 && look_back(past, &proofs.items[0], &o))
        rc = describe(&o, out, err);
    proofs_release(&proofs);
    return rc;
}

int past_list(const struct past *past, struct past_summary *out, struct err *err)
{
    struct outcome o;
    double *errors = calloc(past->trials.own + 1, sizeof *errors);
    int rc = errors ? text_set(&out->schema, PAST_SCHEMA, err) : err_memory(err);
    int64_t count = 0, within = 0;
    out->estimates.known = true;
    for (size_t i = 0; rc == 0 && i < past->trials.own; i++) {
        if (!look_back(past, &past->trials.items[i], &o))
            continue;
        struct past_estimate *one = LIST_ADD(&out->estimates, err);
        rc = one ? describe(&o, one, err) : ERR_MEMORY;
        if (rc == 0) {
            errors[count++] = fabs(one->error.v);
            within += one->within.v;
        }
    }
    out->count = some_int(count);
    if (rc == 0 && count > 0) {
        out->within = some_int(within);
        out->median_error = some_real(stats_median_of(errors, (size_t)count));
    }
    free(errors);
    return rc;
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
