// SPDX-License-Identifier: Apache-2.0
#include "tables/rates.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"

#define DAY_S INT64_C(86400)

struct rates_item {
    struct rates_row row;
    char *text; // the row's three strings
};

struct rates {
    struct rates_item *rows;
    size_t count;
};

enum { PROVIDER, OFFER, DISCOUNT, CREDIT, RATE, CURRENCY, FROM, TO, COLUMNS };
static const char *const columns[COLUMNS] = {
    "provider", "offer", "discount_percent", "credit", "rate", "currency", "from", "to"};

// ---- reading

// A percentage with at most one decimal, in tenths.
static int read_discount(const char *text, int64_t *permille, struct err *err)
{
    int64_t nano;
    if (*text == '\0')
        return 0;
    int rc = money_parse(text, &nano, NULL);
    if (rc != 0 || nano < 0 || nano > 100 * MONEY_UNIT || nano % (MONEY_UNIT / 10) != 0)
        return err_set(err, ERR_FORMAT, "expected per cent from 0 to 100, such as 12.5");
    *permille = nano / (MONEY_UNIT / 10);
    return 0;
}

static int read_amount(const char *text, int64_t *nano, struct err *err)
{
    TRY(*text ? money_parse(text, nano, err) : 0);
    if (*text && *nano < 0)
        return err_set(err, ERR_FORMAT, "expected an amount of zero or more");
    return 0;
}

static int read_column(struct rates_item *item, int column, const char *text, struct err *err)
{
    switch (column) {
    case PROVIDER:
        return *text ? 0 : err_set(err, ERR_FORMAT, "expected a provider");
    case DISCOUNT:
        return read_discount(text, &item->row.discount_permille, err);
    case CREDIT:
        return read_amount(text, &item->row.credit, err);
    case RATE:
        return read_amount(text, &item->row.rate, err);
    case CURRENCY:
        if (*text && (strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != 3 || text[3] != '\0'))
            return err_set(err, ERR_FORMAT, "expected a currency such as EUR");
        return 0;
    case FROM:
        return *text ? files_day(text, &item->row.from, err) : 0;
    case TO:
        return *text ? files_day(text, &item->row.to, err) : 0;
    default:
        return 0;
    }
}

static int read_row(struct rates_item *item, const struct csv *csv, const int at[COLUMNS],
                    struct err *err)
{
    *item = (struct rates_item){.row = {.rate = -1, .to = INT64_MAX, .line = csv_line(csv)}};
    for (int i = 0; i < COLUMNS; i++)
        if (read_column(item, i, csv_text(csv, at[i]), err) != 0)
            return csv_context(csv, at[i], err);
    if (item->row.from >= item->row.to)
        return csv_fault(csv, at[TO], err, "expected a date after 'from'");
    const char *currency = csv_text(csv, at[CURRENCY]);
    struct buf text = {0};
    buf_printf(&text, "%s%c%s%c%s", csv_text(csv, at[PROVIDER]), '\0', csv_text(csv, at[OFFER]),
               '\0', *currency ? currency : "USD");
    item->text = buf_take(&text, err);
    if (!item->text)
        return ERR_MEMORY;
    item->row.provider = item->text;
    item->row.offer = item->row.provider + strlen(item->row.provider) + 1;
    item->row.currency = item->row.offer + strlen(item->row.offer) + 1;
    return 0;
}

static int read_rows(struct rates *rates, struct csv *csv, struct err *err)
{
    int at[COLUMNS];
    int rc = csv_find(csv, columns, COLUMNS, COLUMNS, at, err);
    if (rc == 0)
        rc = csv_only(csv, columns, COLUMNS, err);
    while (rc == 0 && (rc = csv_next(csv, err)) > 0) {
        struct rates_item *rows = realloc(rates->rows, (rates->count + 1) * sizeof *rows);
        if (!rows)
            return err_memory(err);
        rates->rows = rows;
        rc = read_row(&rows[rates->count], csv, at, err);
        rates->count += rc == 0;
    }
    return rc;
}

int rates_open(struct rates **out, const char *path, struct err *err)
{
    struct buf own = {0};
    struct csv csv;
    struct rates *rates = calloc(1, sizeof *rates);
    *out = NULL;
    int rc = rates ? 0 : err_memory(err);
    if (rc == 0 && !path) {
        rc = files_own("rates.csv", &own, err);
        path = buf_str(&own);
    }
    if (rc == 0 && *path && access(path, F_OK) == 0) {
        rc = csv_open(&csv, path, NULL, err);
        if (rc == 0) {
            rc = read_rows(rates, &csv, err);
            csv_release(&csv);
        }
    }
    buf_release(&own);
    if (rc == 0)
        *out = rates;
    else
        rates_close(rates);
    return rc;
}

void rates_close(struct rates *rates)
{
    for (size_t i = 0; rates && i < rates->count; i++)
        free(rates->rows[i].text);
    if (rates)
        free(rates->rows);
    free(rates);
}

// ---- finding

size_t rates_count(const struct rates *rates)
{
    return rates->count;
}

const struct rates_row *rates_row(const struct rates *rates, size_t i)
{
    return &rates->rows[i].row;
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
    const struct rates_item *found = NULL;
    for (size_t i = 0; i < rates->count; i++) {
        const struct rates_item *k = &rates->rows[i];
        bool credit_alone = k->row.credit > 0 && k->row.discount_permille == 0 && k->row.rate < 0;
        if (credit_alone || !rates_fits(&k->row, provider, offer) || !rates_holds(&k->row, day))
            continue;
        if (!found || k->row.offer[0] != '\0' || found->row.offer[0] == '\0')
            found = k;
    }
    return found ? &found->row : NULL;
}

const struct rates_row *rates_credit(const struct rates *rates, const char *provider,
                                     const char *offer, int day, const struct rates_row *after)
{
    bool behind = !after;
    for (size_t i = 0; i < rates->count; i++) {
        const struct rates_item *k = &rates->rows[i];
        if (behind && k->row.credit > 0 && rates_fits(&k->row, provider, offer) &&
            rates_holds(&k->row, day))
            return &k->row;
        behind |= &k->row == after;
    }
    return NULL;
}
