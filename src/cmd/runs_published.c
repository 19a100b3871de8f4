// SPDX-License-Identifier: Apache-2.0
// The published results that the options select, as ledger_each() would select and sort them.
#include "cmd/runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "ledger/ledger.h"
#include "record/read.h"

struct result {
    struct run run;
    char *id, *text;
};

struct results {
    const struct ledger_filter *filter;
    int64_t since_s;
    struct result *items;
    size_t count, cap;
};

static void release(struct result *result)
{
    record_release(run_fields, &result->run);
    free(result->id);
    free(result->text);
}

// ---- select

static bool equal(const char *wanted, const char *text)
{
    return !wanted || (text && strcmp(wanted, text) == 0);
}

static bool contains(const char *text, const char *part)
{
    return text && strcasestr(text, part);
}

static bool named(const char *wanted, const char *text)
{
    char hashed[RUN_HASHED_BYTES];
    if (!wanted || equal(wanted, text))
        return true;
    run_hashed_name(wanted, hashed);
    return equal(hashed, text);
}

static bool has_label(const struct run *run, const char *label)
{
    const char *equals = strchr(label, '=');
    size_t len = equals ? (size_t)(equals - label) : 0;
    for (size_t i = 0; equals && i < run->labels.count; i++) {
        const struct run_label *l = &run->labels.items[i];
        if (l->key && strlen(l->key) == len && memcmp(l->key, label, len) == 0 &&
            equal(equals + 1, l->value))
            return true;
    }
    return false;
}

// The start of the run or, if nobody said it, of the month or year in which it was published.
static bool is_since(const struct run *run, int64_t since_s)
{
    const char *published = run_label(run, "published");
    char day[] = "0000-01-01";
    int64_t started_s;
    if (!run->started && published && strlen(published) < sizeof day)
        memcpy(day, published, strlen(published));
    return clock_parse(run->started ? run->started : day, &started_s) && started_s >= since_s;
}

static bool fits(const struct run *run, const struct results *r)
{
    const struct ledger_filter *f = r->filter;
    const struct run_machine *m = &run->machine;
    for (size_t i = 0; i < f->label_count; i++)
        if (!has_label(run, f->labels[i]))
            return false;
    return equal(f->name, run->name) && equal(f->workload, run->workload) &&
           equal(f->framework, run->framework) && equal(f->ended, run->ended) &&
           (!f->gpu || contains(m->gpu, f->gpu)) &&
           (!f->machine || contains(m->name, f->machine) ||
            contains(m->instance_type, f->machine) || contains(m->cpu, f->machine) ||
            contains(m->fingerprint, f->machine)) &&
           named(f->host, run->host) && named(f->user, run->user) &&
           (!f->since || is_since(run, r->since_s));
}

static int take(void *arg, const char *id, const char *text, struct err *err)
{
    struct results *r = arg;
    TRY(array_grow(&r->items, r->count, &r->cap, sizeof *r->items, err));
    struct result *to = &r->items[r->count];
    *to = (struct result){0};
    int rc = record_from_text(run_fields, text, strlen(text), &to->run, err);
    if (rc == 0 && fits(&to->run, r)) {
        r->count++;
        rc = text_set(&to->id, id, err);
        to->text = text_copy(text, err);
        return rc == 0 && to->text ? 0 : ERR_MEMORY;
    }
    record_release(run_fields, &to->run);
    return rc;
}

// ---- sort

static int newest_first(const void *a, const void *b)
{
    const struct result *one = a, *two = b;
    const char *first = one->run.started ? one->run.started : "";
    const char *second = two->run.started ? two->run.started : "";
    int order = strcmp(second, first);
    return order != 0 ? order : strcmp(two->id, one->id);
}

static struct maybe_real figure_of(const struct run *run, enum ledger_sort sort)
{
    if (sort == LEDGER_STEP)
        return run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
    if (run->full.known && run->full.v && run->phases.wall_ns.known)
        return some_real((double)run->phases.wall_ns.v / 1e9);
    return run->projection.wall_s;
}

static int by_figure(const void *a, const void *b, enum ledger_sort sort)
{
    struct maybe_real one = figure_of(&((const struct result *)a)->run, sort);
    struct maybe_real two = figure_of(&((const struct result *)b)->run, sort);
    int order = one.known != two.known ? two.known - one.known : (one.v > two.v) - (one.v < two.v);
    return order != 0 ? order : newest_first(a, b);
}

static int by_step(const void *a, const void *b)
{
    return by_figure(a, b, LEDGER_STEP);
}

static int by_wall(const void *a, const void *b)
{
    return by_figure(a, b, LEDGER_WALL);
}

static int by_name(const void *a, const void *b)
{
    const char *one = ((const struct result *)a)->run.name,
               *two = ((const struct result *)b)->run.name;
    int order = strcmp(one ? one : "", two ? two : "");
    return order != 0 ? order : newest_first(a, b);
}

static void sort_and_cut(struct results *r, bool asked)
{
    static int (*const orders[])(const void *, const void *) = {[LEDGER_STARTED] = newest_first,
                                                                [LEDGER_STEP] = by_step,
                                                                [LEDGER_WALL] = by_wall,
                                                                [LEDGER_NAME] = by_name};
    size_t limit = r->filter->limit > 0 ? (size_t)r->filter->limit : SIZE_MAX;
    if (limit < r->count) {
        qsort(r->items, r->count, sizeof *r->items, newest_first);
        while (r->count > limit)
            release(&r->items[--r->count]);
    }
    if (asked && r->count > 1)
        qsort(r->items, r->count, sizeof *r->items, orders[r->filter->sort]);
}

int runs_published(const struct runs_options *o, ledger_visit_fn *visit, void *arg, struct err *err)
{
    const struct ledger_filter filter = runs_which(o);
    struct results r = {.filter = &filter};
    char since[CLOCK_ISO_BYTES];
    TRY(ledger_since(filter.since, since, err));
    (void)clock_parse(since, &r.since_s);
    int rc = published_each(NULL, take, &r, err);
    if (rc == 0)
        sort_and_cut(&r, o->sort != NULL);
    for (size_t i = 0; i < r.count; i++) {
        if (rc == 0)
            rc = visit(arg, r.items[i].id, r.items[i].text, err);
        release(&r.items[i]);
    }
    free(r.items);
    return rc;
}
