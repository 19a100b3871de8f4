// SPDX-License-Identifier: Apache-2.0
#include "ledger/budget.h"

#include <stdio.h>

#include "base/tree.h"
#include "ledger/inside.h"

int ledger_budget_set(struct ledger *ledger, const struct ledger_budget *b, struct err *err)
{
    char amount[24];
    snprintf(amount, sizeof amount, "%lld", (long long)b->nano);
    const char *const values[] = {b->kind, b->name, b->period, b->currency, amount};
    TRY(ledger_make(ledger, NULL, err));
    return ledger->place.backend->run(
        ledger->db,
        "INSERT INTO fare_budget (kind, name, period, currency, nano) VALUES ($1, $2, $3, $4, $5) "
        "ON CONFLICT (kind, name, period) DO UPDATE SET currency = excluded.currency, "
        "nano = excluded.nano",
        values, 5, NULL, NULL, NULL, err);
}

int ledger_budget_remove(struct ledger *ledger, const char *kind, const char *name,
                         const char *period, int64_t *removed, struct err *err)
{
    const char *const values[] = {kind, name, period};
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(
        ledger->db,
        period ? "DELETE FROM fare_budget WHERE kind = $1 AND name = $2 AND period = $3"
               : "DELETE FROM fare_budget WHERE kind = $1 AND name = $2",
        values, period ? 3 : 2, NULL, NULL, removed, err);
}

struct visiting {
    ledger_budget_fn *visit;
    void *arg;
};

static int visit_row(void *arg, const char *const *v, struct err *err)
{
    const struct visiting *visiting = arg;
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
    struct visiting visiting = {visit, arg};
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(
        ledger->db,
        "SELECT kind, name, period, currency, nano FROM fare_budget ORDER BY kind, name, period",
        NULL, 0, visit_row, &visiting, NULL, err);
}
