// SPDX-License-Identifier: Apache-2.0
#include "advise/run_history.h"

#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "base/clock.h"
#include "record/read.h"

#define YEAR_S        INT64_C(31622400)
#define LIBRARIES_MAX 64            // compared of each: a record may list any number
#define DRIVER        "CUDA driver" // differs between machines and changes no kernel

// ---- runs

static bool is_wanted(const struct run_history *history, const struct run *run)
{
    struct bill_time time;
    bool again = history->runs.count > 0 && strcmp(history->runs.items[0].id, run->id) == 0;
    return !again && evidence_usable(run) && !run_stopped(run) && bill_time_of(run, &time);
}

int run_history_add(void *history_, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct run_history *history = history_;
    struct run run = {0};
    int rc = record_from_text(run_fields, text, strlen(text), &run, err);
    // What ships with fare is lent, and no experience of the user's where it was imported.
    bool wanted = rc == 0 && is_wanted(history, &run) && !run_shipped(&run);
    struct run *added = wanted ? LIST_ADD(&history->runs, err) : NULL;
    if (added) {
        *added = run;
        return 0;
    }
    record_release(run_fields, &run);
    return wanted ? ERR_MEMORY : rc;
}

int run_history_load(struct run_history *history, struct ledger *ledger,
                     const struct ledger_filter *which, const char *first, struct err *err)
{
    struct ledger_filter filter = which ? *which : (struct ledger_filter){.limit = 0};
    filter.heads = true;
    if (filter.limit == 0 || filter.limit >= HISTORY_OWN)
        filter.limit = HISTORY_OWN - 1;
    TRY(first ? run_history_add(history, NULL, first, err) : 0);
    TRY(ledger ? ledger_each(ledger, &filter, run_history_add, history, err) : 0);
    history->own = history->runs.count;
    return 0;
}

int run_history_lend(struct run_history *history, const struct published *all, struct err *err)
{
    for (size_t i = 0; i < published_count(all); i++) {
        const struct run *run = published_run(all, i);
        if (!is_wanted(history, run))
            continue;
        struct run *added = LIST_ADD(&history->runs, err);
        if (!added)
            return ERR_MEMORY;
        *added = *run;
        history->lent++;
    }
    return 0;
}

void run_history_release(struct run_history *history)
{
    for (size_t i = 0; i + history->lent < history->runs.count; i++)
        record_release(run_fields, &history->runs.items[i]);
    free(history->runs.items);
    *history = (struct run_history){.own = 0};
}

// ---- the same training

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

static bool same_training(const struct run *a, const struct run *b)
{
    if (!same_text(a->workload, b->workload) || !same_text(a->framework, b->framework))
        return false;
    if (a->workload ? differ(a->net, b->net) || differ(a->recipe, b->recipe)
                    : !comparable_command(a, b))
        return false;
    return same_text(a->variant, b->variant) && evidence_same_setting(a, b) &&
           comparable_data(a, b) && comparable_length(a, b);
}

// The first two numbers of a version: "2.8" of "2.8.0+cu128".
static size_t version_len(const char *version)
{
    size_t len = strspn(version, "0123456789");
    if (version[len] == '.')
        len += 1 + strspn(version + len + 1, "0123456789");
    return len;
}

static bool same_version(const char *a, const char *b)
{
    size_t len = a && b ? version_len(a) : 0;
    return !a || !b || (len == version_len(b) && strncmp(a, b, len) == 0);
}

bool run_history_same_software(const struct run *a, const struct run *b)
{
    int64_t from, to;
    for (size_t i = 0; i < a->libraries.count && i < LIBRARIES_MAX; i++)
        for (size_t k = 0; k < b->libraries.count && k < LIBRARIES_MAX; k++) {
            const struct run_library *x = &a->libraries.items[i], *y = &b->libraries.items[k];
            if (x->name && same_text(x->name, y->name) && strcmp(x->name, DRIVER) != 0 &&
                !same_version(x->version, y->version))
                return false;
        }
    if (!a->started || !b->started || !clock_parse(a->started, &from) ||
        !clock_parse(b->started, &to))
        return same_text(run_label(a, "published"), run_label(b, "published"));
    return to - from <= YEAR_S && from - to <= YEAR_S;
}

// ---- proofs

static int add_proofs(struct trials *t, struct market *market, size_t first, size_t count,
                      struct proof **all, struct err *err)
{
    struct proofs proofs = {0};
    const struct quote_ask ask = {
        .market = market, .evidence = t->evidence + first, .evidence_count = count};
    int rc = proofs_gather(&proofs, &ask, err);
    if (rc == 0)
        memcpy(t->items + t->count, proofs.items, proofs.count * sizeof *proofs.items);
    t->count += rc == 0 ? proofs.count : 0;
    t->devices = proofs.devices;
    *all = proofs.all;
    proofs.all = NULL;
    proofs_release(&proofs);
    return rc;
}

int trials_make(struct trials *t, const struct run_history *history, struct market *market,
                struct err *err)
{
    size_t count = history->runs.count;
    const struct run *runs = history->runs.items;
    t->evidence = calloc(count + 1, sizeof *t->evidence);
    t->items = calloc(count + 1, sizeof *t->items);
    if (!t->evidence || !t->items)
        return err_memory(err);
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < i && (t->evidence[at].training != at || !same_training(&runs[at], &runs[i])))
            at++;
        t->evidence[i] = (struct quote_evidence){.run = &runs[i], .training = at};
    }
    TRY(add_proofs(t, market, 0, history->own, &t->all[0], err));
    t->own = t->count;
    return add_proofs(t, market, history->own, count - history->own, &t->all[1], err);
}

void trials_release(struct trials *t)
{
    free(t->evidence);
    free(t->items);
    free(t->all[0]);
    free(t->all[1]);
}
