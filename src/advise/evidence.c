// SPDX-License-Identifier: Apache-2.0
#include "advise/evidence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

static bool is_made(const struct run *run)
{
    return run->data.made.known && run->data.made.v;
}

static int year_of(const struct run *run)
{
    const char *date = run->started ? run->started : run_label(run, "published");
    long year = date ? strtol(date, NULL, 10) : 0;
    return year > 1900 && year < 10000 ? (int)year : 0;
}

// By --offer; false if the machine's metadata, which has the region too, confirms it.
static bool is_assumed(const struct run *run)
{
    const char *offer = run_label(run, "offer");
    const struct run_machine *m = &run->machine;
    char seen[200];
    if (!offer || !m->provider || !m->instance_type || !m->region)
        return offer != NULL;
    snprintf(seen, sizeof seen, "%s/%s", m->provider, m->instance_type);
    return strncmp(offer, seen, strlen(seen)) != 0 || !strchr("@:", offer[strlen(seen)]);
}

// ---- the training asked for

static bool as_defined(const struct workload *w, const struct run *run)
{
    return !run->variant && (!run->batch.known || run->batch.v == w->recipe.batch) &&
           (!run->epochs.known || w->recipe.epochs == 0 || run->epochs.v == w->recipe.epochs);
}

static bool is_better(const struct workload *w, const struct run *a, const struct run *b)
{
    struct bill_time time;
    const bool better[][2] = {
        {bill_time_of(a, &time), bill_time_of(b, &time)},
        {!run_stopped(a), !run_stopped(b)},
        {!is_made(a), !is_made(b)},
        {as_defined(w, a), as_defined(w, b)},
        {!a->source, !b->source}, // measured by the user
    };
    for (size_t i = 0; i < sizeof better / sizeof *better; i++)
        if (better[i][0] != better[i][1])
            return better[i][0];
    int years = year_of(a) - year_of(b);
    if (years != 0 || !a->started || !b->started)
        return years > 0;
    return strcmp(a->started, b->started) > 0;
}

static bool is_usable(const struct evidence_ask *ask, size_t i)
{
    return (ask->asked && i == 0) || !(run_failed(&ask->runs[i]) || is_assumed(&ask->runs[i]));
}

static const struct run *find_reference(const struct evidence_ask *ask)
{
    const struct run *best = ask->reference;
    for (size_t i = 0; i < ask->count && !ask->reference; i++)
        if (is_usable(ask, i) && (!best || is_better(ask->workload, &ask->runs[i], best)))
            best = &ask->runs[i];
    return best;
}

static int is_same(const struct evidence_ask *ask, const struct run *reference,
                   const struct run *run, struct comparison *against, bool *same, struct err *err)
{
    struct run like = *reference;
    int years = abs(year_of(run) - year_of(reference));
    if (ask->any_data && comparable_samples(reference) == comparable_samples(run))
        like.data = run->data;
    int rc = comparison_make(&like, run, against, err);
    *same = rc == 0 && against->verdict != COMPARABLE_NOT && comparable_length(reference, run) &&
            !differ(reference->framework, run->framework) &&
            (years <= 1 || !year_of(run) || !year_of(reference)) && !run_stopped(run);
    return rc;
}

// ---- labels

static void add_grouped(struct buf *out, int64_t count)
{
    if (count >= 1000) {
        add_grouped(out, count / 1000);
        buf_printf(out, ",%03lld", (long long)(count % 1000));
    } else {
        buf_printf(out, "%lld", (long long)count);
    }
}

static void add_part(struct buf *out, const char *text)
{
    if (text)
        buf_printf(out, "%s%s", out->len > 0 ? ", " : "", text);
}

// "pytorch, 2018, tweets, 1,578,627 samples"; then further differences from the reference.
static void add_label(struct buf *out, const struct run *run, const struct run *reference)
{
    char year[16];
    bool same_data = comparable_data(run, reference) && reference->data.name;
    snprintf(year, sizeof year, "%d", year_of(run));
    add_part(out, run->framework);
    add_part(out, year_of(run) ? year : NULL);
    add_part(out, same_data ? reference->data.name : run->data.name);
    if (is_made(run) && run->data.name && !strstr(run->data.name, "made"))
        buf_adds(out, " (generated)");
    if (comparable_samples(run) > 0) {
        add_part(out, "");
        add_grouped(out, comparable_samples(run));
        buf_adds(out, " samples");
    }
    if (!comparable_length(run, reference))
        add_part(out, run->epochs.known ? units_count(run->epochs.v, "epoch").s
                                        : units_count(run->total_steps.v, "step").s);
    if (run->batch.known && reference->batch.known && run->batch.v != reference->batch.v) {
        add_part(out, "batch ");
        buf_printf(out, "%lld", (long long)run->batch.v);
    }
    add_part(out, run->variant);
    add_part(out, run_stopped(run) ? "stopped" : NULL);
}

static int set_label(struct quote_evidence *e, const struct run *reference, struct err *err)
{
    struct buf label = {0}, asked = {0};
    add_label(&label, e->run, reference);
    add_label(&asked, reference, reference);
    if (e->training > 0 && !asked.failed && strcmp(buf_str(&label), buf_str(&asked)) == 0)
        add_part(&label, "another recipe or version of the data");
    buf_release(&asked);
    e->label = buf_take(&label, err);
    return e->label ? 0 : ERR_MEMORY;
}

// Numbers other trainings by their labels, from 1 on, and keeps the first QUOTE_TRAININGS. Returns
// the number of runs kept.
static size_t number_others(struct quote_evidence *items, size_t count)
{
    size_t numbers = 0, left = 0;
    for (size_t i = 0; i < count; i++) {
        struct quote_evidence e = items[i];
        size_t at = 0;
        while (at < left && (items[at].training == 0 || strcmp(items[at].label, e.label) != 0))
            at++;
        if (e.training > 0)
            e.training = at < left ? items[at].training : ++numbers;
        if (e.training < QUOTE_TRAININGS)
            items[left++] = e;
        else
            free(e.label);
    }
    return left;
}

static int judge(const struct evidence_ask *ask, const struct run *reference, size_t i,
                 struct comparison *against, struct quote_evidence *e, struct err *err)
{
    const struct run *run = &ask->runs[i];
    bool same = run == reference;
    int rc = same ? 0 : is_same(ask, reference, run, against, &same, err);
    *e = (struct quote_evidence){.run = run, .year = year_of(run), .training = !same};
    e->against = ask->asked && i > 0 ? against : NULL;
    return rc == 0 ? set_label(e, reference, err) : rc;
}

static int by_training(const void *a, const void *b)
{
    const struct quote_evidence *x = a, *y = b;
    if ((x->training == 0) != (y->training == 0))
        return x->training == 0 ? -1 : 1;
    return x->run < y->run ? -1 : 1; // in their original order
}

int evidence_choose(const struct evidence_ask *ask, struct quote_evidence *out,
                    struct comparison *against, size_t *count, struct err *err)
{
    const struct run *reference = find_reference(ask);
    *count = 0;
    for (size_t i = 0; i < ask->count; i++)
        if (is_usable(ask, i))
            TRY(judge(ask, reference, i, &against[i], &out[(*count)++], err));
    if (*count == 0)
        return 0;
    qsort(out, *count, sizeof *out, by_training);
    *count = number_others(out, *count);
    return 0;
}
