// SPDX-License-Identifier: Apache-2.0
#include "ledger/charge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tree.h"
#include "ledger/inside.h"

#define COLUMNS                                                                                    \
    "id, began, ended, category, provider, resource, name, region, product, what, run, project, "  \
    "source, currency, billed, effective"

enum { TEXTS = 14, TEXT_BYTES_MOST = 1000 };

static int put(struct ledger *ledger, const struct ledger_charge *c, char *const *texts,
               enum charge_change *change, struct err *err)
{
    const struct backend *backend = ledger->place.backend;
    char billed[24], effective[24];
    int64_t changed = 0;
    const char *values[TEXTS + 2];
    for (size_t i = 0; i < TEXTS; i++)
        values[i] = texts[i] ? texts[i] : "";
    snprintf(billed, sizeof billed, "%lld", (long long)c->billed);
    snprintf(effective, sizeof effective, "%lld", (long long)c->effective);
    values[TEXTS] = billed;
    values[TEXTS + 1] = c->effective_known ? effective : NULL;
    TRY(backend->run(ledger->db,
                     "INSERT INTO fare_charge (" COLUMNS
                     ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, "
                     "$16) ON CONFLICT DO NOTHING",
                     values, TEXTS + 2, NULL, NULL, &changed, err));
    *change = CHARGE_ADDED;
    if (changed > 0)
        return 0;
    const char *const amounts[] = {billed, values[TEXTS + 1], values[12], values[0],
                                   billed, values[TEXTS + 1]};
    TRY(backend->run(
        ledger->db,
        "UPDATE fare_charge SET billed = $1, effective = $2, source = $3 WHERE id = $4 "
        "AND (billed <> $5 OR COALESCE(effective, 0) <> COALESCE(CAST($6 AS BIGINT), 0))",
        amounts, sizeof amounts / sizeof *amounts, NULL, NULL, &changed, err));
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
        rc = put(ledger, c, texts, change, err);
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
    const char *value = date;
    ledger_date(since, date);
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(
        ledger->db, "SELECT " COLUMNS " FROM fare_charge WHERE ended > $1 ORDER BY began, id",
        &value, 1, visit_row, &visiting, NULL, err);
}

int ledger_charge_remove(struct ledger *ledger, const char *source, int64_t *removed,
                         struct err *err)
{
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(ledger->db, "DELETE FROM fare_charge WHERE source = $1",
                                      &source, 1, NULL, NULL, removed, err);
}
