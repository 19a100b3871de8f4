// SPDX-License-Identifier: Apache-2.0
#include "ledger/spend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"
#include "base/tree.h"
#include "ledger/inside.h"

#define COLUMNS                                                                                    \
    "id, run, started, ended, who, host, project, offer, rate, resource, gpus, wall_ns, boot_ns, " \
    "nano_usd, corrected"

// A run's own row replaces what others tell of it; of several that tell it, the latest start
// counts.
#define INSERT                                                                                     \
    "INSERT INTO fare_spend (" COLUMNS ", own, told) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, " \
    "$10, $11, $12, $13, $14, $15, $16, $17) ON CONFLICT (id) DO UPDATE SET run = excluded.run, "  \
    "started = excluded.started, ended = excluded.ended, who = excluded.who, host = "              \
    "excluded.host, project = excluded.project, offer = excluded.offer, rate = excluded.rate, "    \
    "resource = excluded.resource, gpus = excluded.gpus, wall_ns = excluded.wall_ns, boot_ns = "   \
    "excluded.boot_ns, nano_usd = excluded.nano_usd, corrected = excluded.corrected, own = "       \
    "excluded.own, told = excluded.told "                                                          \
    "WHERE excluded.own > fare_spend.own OR (excluded.own = fare_spend.own AND excluded.told >= "  \
    "fare_spend.told)"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

struct number {
    char text[24];
};

static const char *number(struct number *to, bool known, int64_t value)
{
    if (!known)
        return NULL;
    snprintf(to->text, sizeof to->text, "%lld", (long long)value);
    return to->text;
}

static struct maybe_int ns_of(struct maybe_real s)
{
    bool known = s.known && s.v >= 0 && s.v < 9e9;
    return known ? some_int((int64_t)(s.v * 1e9)) : (struct maybe_int){0};
}

struct use {
    const char *id, *started, *ended, *host, *offer, *rate, *resource;
    struct maybe_int wall_ns, boot_ns;
    struct maybe_money usd;
    bool own, corrected;
    int64_t told;
};

static int put(struct ledger *ledger, const struct run *row, const struct use *use, struct err *err)
{
    struct maybe_int gpus = row->use.gpus.known ? row->use.gpus : row->machine.gpus;
    if (!gpus.known && !row->machine.gpu)
        gpus = some_int(0);
    const char *project = row->project ? row->project : run_label(row, "project");
    struct number numbers[6];
    char started[CLOCK_ISO_BYTES];
    ledger_date(use->started, started);
    const char *const values[] = {
        use->id,
        row->id,
        started,
        or_empty(use->ended),
        or_empty(row->user),
        or_empty(use->host),
        or_empty(project),
        or_empty(use->offer),
        or_empty(use->rate),
        or_empty(use->resource),
        number(&numbers[0], gpus.known && gpus.v >= 0, gpus.v),
        number(&numbers[1], use->wall_ns.known, use->wall_ns.v),
        number(&numbers[2], use->boot_ns.known, use->boot_ns.v),
        number(&numbers[3], use->usd.known && use->usd.nano >= 0, use->usd.nano),
        use->corrected ? "1" : "0",
        use->own ? "1" : "0",
        number(&numbers[4], true, use->told)};
    return ledger_do(ledger, INSERT, values, sizeof values / sizeof *values, NULL, err);
}

// "aws/p3.2xlarge@us-east-1:spot", as far as the record tells.
static void offer_of(const struct run *row, struct buf *out)
{
    const struct run_machine *m = &row->machine;
    const char *label = run_label(row, "offer"), *kind = run_label(row, "price_kind");
    bool spot = kind && (strcmp(kind, "preemptible") == 0 || strcmp(kind, "spot") == 0);
    if (row->spent.offer || label) {
        buf_adds(out, row->spent.offer ? row->spent.offer : label);
        return;
    }
    if (!m->provider && !m->instance_type)
        return;
    buf_printf(out, "%s/%s%s%s%s", or_empty(m->provider), or_empty(m->instance_type),
               m->region ? "@" : "", or_empty(m->region), spot ? ":spot" : "");
}

// The offer in "book: aws/p3.2xlarge@us-east-1:spot on 2026-11-01": starts until 2026-11 have no
// other.
static void offer_in(const char *source, struct buf *out)
{
    const char *colon = source ? strstr(source, ": ") : NULL;
    const char *end = colon ? strstr(colon, " on ") : NULL;
    if (end)
        buf_add(out, colon + 2, (size_t)(end - colon) - 2);
}

static int put_attempt(struct ledger *ledger, const struct run *row, const struct run_attempt *a,
                       int64_t told, struct err *err)
{
    SCOPED(buf_release) struct buf id = {0}, offer = {0};
    if (a->run)
        buf_adds(&id, a->run);
    else
        buf_printf(&id, "%s#%lld", or_empty(a->job), (long long)a->epoch.v);
    if (a->billed)
        buf_adds(&offer, a->billed);
    else
        offer_in(a->offer, &offer);
    const struct use use = {.id = buf_str(&id),
                            .started = a->started,
                            .ended = a->ended,
                            .host = a->host,
                            .offer = buf_str(&offer),
                            .wall_ns = ns_of(a->wall_s),
                            .usd = a->usd,
                            .told = told};
    TRY(buf_check(&id, err));
    TRY(buf_check(&offer, err));
    return put(ledger, row, &use, err);
}

int spend_insert(struct ledger *ledger, const struct run *row, struct err *err)
{
    const struct run_attempt *own = NULL;
    int64_t told = 0;
    for (size_t i = 0; i < row->saving.attempts.count; i++) {
        const struct run_attempt *a = &row->saving.attempts.items[i];
        told = a->epoch.known && a->epoch.v > told ? a->epoch.v : told;
        if (a->run && strcmp(a->run, row->id) == 0)
            own = a;
    }
    for (size_t i = 0; i < row->saving.attempts.count; i++)
        if (&row->saving.attempts.items[i] != own)
            TRY(put_attempt(ledger, row, &row->saving.attempts.items[i], told, err));
    const struct maybe_money usd = row->spent.usd.known    ? row->spent.usd
                                   : own && own->usd.known ? own->usd
                                                           : row->live.bill_usd;
    SCOPED(buf_release) struct buf offer = {0};
    offer_of(row, &offer);
    bool ordered = row->boot_from && strcmp(row->boot_from, RUN_BOOT_ORDERED) == 0;
    const struct use use = {.id = row->id,
                            .started = row->started,
                            .ended = row->ended,
                            .host = row->host,
                            .offer = buf_str(&offer),
                            .rate = run_label(row, "price_per_hour_usd"),
                            .resource = row->spent.resource,
                            .wall_ns = row->phases.wall_ns.known ? row->phases.wall_ns
                                                                 : ns_of(row->live.elapsed_s),
                            .boot_ns = ordered ? row->phases.boot_ns : (struct maybe_int){0},
                            .usd = usd,
                            .own = true,
                            .corrected = run_corrected(row, "cost"),
                            .told = told};
    TRY(buf_check(&offer, err));
    return put(ledger, row, &use, err);
}

// ---- reading

struct spend_reading {
    ledger_spend_fn *visit;
    void *arg;
};

// Rows may be older than the ranges of records.
static int64_t within(const char *text, const struct field_range *range)
{
    int64_t value;
    return text && text_int(text, &value) && (double)value <= range->most ? value : -1;
}

static int64_t integer(const char *text)
{
    int64_t value;
    return text && text_int(text, &value) ? value : -1;
}

static int read_spend(void *arg, const char *const *v, struct err *err)
{
    const struct spend_reading *r = arg;
    const struct ledger_spend spend = {.id = or_empty(v[0]),
                                       .run = or_empty(v[1]),
                                       .started = or_empty(v[2]),
                                       .ended = or_empty(v[3]),
                                       .user = or_empty(v[4]),
                                       .host = or_empty(v[5]),
                                       .project = or_empty(v[6]),
                                       .offer = or_empty(v[7]),
                                       .price_per_hour = or_empty(v[8]),
                                       .resource = or_empty(v[9]),
                                       .gpus = within(v[10], &range_devices),
                                       .wall_ns = within(v[11], &range_ns),
                                       .boot_ns = within(v[12], &range_ns),
                                       .nano_usd = integer(v[13]),
                                       .corrected = integer(v[14]) > 0};
    return r->visit(r->arg, &spend, err);
}

int ledger_spend_each(struct ledger *ledger, const struct ledger_filter *filter,
                      ledger_spend_fn *visit, void *arg, struct err *err)
{
    SCOPED(query_release) struct ledger_query q = {0};
    struct spend_reading reading = {visit, arg};
    TRY(ledger_connect(ledger, NULL, err));
    TRY(query_spend(&q, "SELECT " COLUMNS " FROM fare_spend", ledger->place.backend, filter, err));
    return ledger_rows(ledger, buf_str(&q.sql), q.values, q.count, read_spend, &reading, err);
}

// ==== charge ====

#define CHARGE_COLUMNS                                                                             \
    "id, began, ended, category, provider, resource, name, region, product, what, run, project, "  \
    "source, currency, billed, effective"

enum { TEXTS = 14, TEXT_BYTES_MOST = 1000 };

static int charge_put(struct ledger *ledger, const struct ledger_charge *c, char *const *texts,
                      enum charge_change *change, struct err *err)
{
    char billed[24], effective[24];
    int64_t changed = 0;
    const char *values[TEXTS + 2];
    for (size_t i = 0; i < TEXTS; i++)
        values[i] = texts[i] ? texts[i] : "";
    snprintf(billed, sizeof billed, "%lld", (long long)c->billed);
    snprintf(effective, sizeof effective, "%lld", (long long)c->effective);
    values[TEXTS] = billed;
    values[TEXTS + 1] = c->effective_known ? effective : NULL;
    TRY(ledger_do(ledger,
                  "INSERT INTO fare_charge (" CHARGE_COLUMNS
                  ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
                  "$16) ON CONFLICT DO NOTHING",
                  values, TEXTS + 2, &changed, err));
    *change = CHARGE_ADDED;
    if (changed > 0)
        return 0;
    TRY(ledger_do(
        ledger,
        "UPDATE fare_charge SET billed = $1, effective = $2, source = $3 WHERE id = $4 "
        "AND (billed <> $5 OR COALESCE(effective, 0) <> COALESCE(CAST($6 AS BIGINT), 0))",
        VALUES(billed, values[TEXTS + 1], values[12], values[0], billed, values[TEXTS + 1]),
        &changed, err));
    *change = changed > 0 ? CHARGE_CHANGED : CHARGE_THERE;
    return 0;
}

// Texts from elsewhere become valid UTF-8 without control characters.
int ledger_charge_put(struct ledger *ledger, const struct ledger_charge *c,
                      enum charge_change *change, struct err *err)
{
    const char *const given[TEXTS] = {c->id,       c->began,   c->ended,  c->category, c->provider,
                                      c->resource, c->name,    c->region, c->product,  c->what,
                                      c->run,      c->project, c->source, c->currency};
    char *texts[TEXTS] = {0};
    int rc = 0;
    for (size_t i = 0; i < TEXTS && rc == 0; i++) {
        struct buf cut = {0};
        buf_add(&cut, given[i], strnlen(given[i], TEXT_BYTES_MOST));
        rc = text_take(&texts[i], &cut, err);
    }
    if (rc == 0)
        rc = charge_put(ledger, c, texts, change, err);
    for (size_t i = 0; i < TEXTS; i++)
        free(texts[i]);
    return rc;
}

struct visiting {
    ledger_charge_fn *visit;
    void *arg;
};

static int visit_row(void *arg, const char *const *v, struct err *err)
{
    const struct visiting *visiting = arg;
    struct ledger_charge c = {v[0], v[1],  v[2],  v[3],  v[4],  v[5], v[6], v[7],         v[8],
                              v[9], v[10], v[11], v[12], v[13], 0,    0,    v[15] != NULL};
    if (!v[14] || !text_int(v[14], &c.billed) || (v[15] && !text_int(v[15], &c.effective)))
        return 0;
    return visiting->visit(visiting->arg, &c, err);
}

int ledger_charge_each(struct ledger *ledger, const char *since, ledger_charge_fn *visit, void *arg,
                       struct err *err)
{
    struct visiting visiting = {visit, arg};
    char date[CLOCK_ISO_BYTES];
    TRY(ledger_since(since, date, err));
    return ledger_rows(
        ledger, "SELECT " CHARGE_COLUMNS " FROM fare_charge WHERE ended > $1 ORDER BY began, id",
        VALUES(date), visit_row, &visiting, err);
}

int ledger_charge_remove(struct ledger *ledger, const char *source, int64_t *removed,
                         struct err *err)
{
    TRY(ledger_connect(ledger, NULL, err));
    return ledger_do(ledger, "DELETE FROM fare_charge WHERE source = $1", VALUES(source), removed,
                     err);
}

// ==== budget ====

int ledger_budget_set(struct ledger *ledger, const struct ledger_budget *b, struct err *err)
{
    char amount[24];
    snprintf(amount, sizeof amount, "%lld", (long long)b->nano);
    TRY(ledger_make(ledger, NULL, err));
    return ledger_do(
        ledger,
        "INSERT INTO fare_budget (kind, name, period, currency, nano) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (kind, name, period) DO UPDATE SET currency = excluded.currency, "
        "nano = excluded.nano",
        VALUES(b->kind, b->name, b->period, b->currency, amount), NULL, err);
}

int ledger_budget_remove(struct ledger *ledger, const char *kind, const char *name,
                         const char *period, int64_t *removed, struct err *err)
{
    const char *const values[] = {kind, name, period};
    TRY(ledger_connect(ledger, NULL, err));
    return ledger_do(ledger,
                     period
                         ? "DELETE FROM fare_budget WHERE kind = $1 AND name = $2 AND period = $3"
                         : "DELETE FROM fare_budget WHERE kind = $1 AND name = $2",
                     values, period ? 3 : 2, removed, err);
}

struct budget_visiting {
    ledger_budget_fn *visit;
    void *arg;
};

static int budget_visit_row(void *arg, const char *const *v, struct err *err)
{
    const struct budget_visiting *visiting = arg;
    struct ledger_budget budget = {v[0], v[1], v[2], v[3], 0};
    for (size_t i = 0; i < 5; i++)
        if (!v[i])
            return 0;
    if (!text_int(v[4], &budget.nano))
        return 0;
    return visiting->visit(visiting->arg, &budget, err);
}

int ledger_budget_each(struct ledger *ledger, ledger_budget_fn *visit, void *arg, struct err *err)
{
    struct budget_visiting visiting = {visit, arg};
    return ledger_rows(
        ledger,
        "SELECT kind, name, period, currency, nano FROM fare_budget ORDER BY kind, name, period",
        NO_VALUES, budget_visit_row, &visiting, err);
}
