// SPDX-License-Identifier: Apache-2.0
#include "tables/rates.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "record/field.h"
#include "tables/columns.h"
#include "tables/currency.h"
#include "tables/files.h"

#define DAY_S INT64_C(86400)

struct rates {
    LIST_OF(struct rates_row) rows;
};

#define AT(member) offsetof(struct rates_row, member)
static const struct column columns[] = {
    {"provider", COLUMN_STRING, AT(provider)},
    {"offer", COLUMN_STRING, AT(offer), COLUMN_EMPTY},
    {"discount_percent", COLUMN_NANO, AT(discount_permille), COLUMN_EMPTY, .most = 100},
    {"credit", COLUMN_NANO, AT(credit), COLUMN_EMPTY, .most = 1e10},
    {"rate", COLUMN_NANO, AT(rate), COLUMN_EMPTY, .most = 1e10, .empty = -1},
    {"currency", COLUMN_TEXT, AT(currency), COLUMN_EMPTY},
    {"from", COLUMN_DAY, AT(from), COLUMN_EMPTY},
    {"to", COLUMN_DAY, AT(to), COLUMN_EMPTY, .empty = INT64_MAX},
    {0}};

static int check_own_rate(const struct columns_row *at, void *arg, struct err *err)
{
    struct rates_row *row = arg;
    row->line = csv_line(at->csv);
    if (row->discount_permille % (MONEY_UNIT / 10) != 0)
        return columns_fault(at, "discount_percent", err,
                             "expected per cent from 0 to 100, such as 12.5");
    row->discount_permille /= MONEY_UNIT / 10;
    if (row->currency && !currency_is_name(row->currency))
        return columns_fault(at, "currency", err, "expected a currency such as EUR");
    if (row->from >= row->to)
        return columns_fault(at, "to", err, "expected a date after 'from'");
    return row->currency ? 0 : text_set(&row->currency, "USD", err);
}

static const struct columns table = {columns, sizeof(struct rates_row), true, check_own_rate};

int rates_open(struct rates **out, const char *path, struct err *err)
{
    SCOPED(buf_release) struct buf own = {0};
    struct rates *rates = calloc(1, sizeof *rates);
    *out = NULL;
    int rc = !rates ? err_memory(err) : path ? 0 : files_own("rates.csv", &own, err);
    if (rc == 0)
        rc = columns_load(&table, path ? path : buf_str(&own), true, rates, NULL, err);
    if (rc == 0)
        *out = rates;
    else
        rates_close(rates);
    return rc;
}

void rates_close(struct rates *rates)
{
    columns_free(&table, rates);
}

// ---- finding

size_t rates_count(const struct rates *rates)
{
    return rates->rows.count;
}

const struct rates_row *rates_row(const struct rates *rates, size_t i)
{
    return &rates->rows.items[i];
}

bool rates_holds(const struct rates_row *row, int day)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    return on >= row->from && on < row->to;
}

bool rates_fits(const struct rates_row *row, const char *provider, const char *offer)
{
    return strcmp(row->provider, provider) == 0 &&
           (row->offer[0] == '\0' || fnmatch(row->offer, offer, 0) == 0);
}

const struct rates_row *rates_find(const struct rates *rates, const char *provider,
                                   const char *offer, int day)
{
    const struct rates_row *found = NULL;
    for (size_t i = 0; i < rates->rows.count; i++) {
        const struct rates_row *k = &rates->rows.items[i];
        bool credit_alone = k->credit > 0 && k->discount_permille == 0 && k->rate < 0;
        if (credit_alone || !rates_fits(k, provider, offer) || !rates_holds(k, day))
            continue;
        if (!found || k->offer[0] != '\0' || found->offer[0] == '\0')
            found = k;
    }
    return found;
}

const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after)
{
    bool behind = !after;
    for (size_t i = 0; i < rates->rows.count; i++) {
        const struct rates_row *k = &rates->rows.items[i];
        if (behind && k->credit > 0 && rates_fits(k, provider, offer) && rates_holds(k, day))
            return k;
        behind |= k == after;
    }
    return NULL;
}
