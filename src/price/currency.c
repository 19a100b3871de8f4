// SPDX-License-Identifier: Apache-2.0
#include "price/currency.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "price/files.h"

enum { OLD_DAYS = 45, DAY_S = 86400, NAME_MAX_BYTES = 8 };

struct rate {
    char currency[NAME_MAX_BYTES];
    bool own;
    int64_t day;
    int64_t usd;  // nano-USD for one unit
    char *source; // "OLD: 1.228 USD on 2018-02-01, ..."; recent rates skip the prefix
};

struct currencies {
    struct rate *rates;
    size_t count;
};

// ---- reading

enum { DATE, CURRENCY, USD, SOURCE, COLUMNS };
static const char *const columns[COLUMNS] = {"date", "currency", "usd", "source"};

static int read_row(struct rate *rate, const struct csv *csv, const int at[COLUMNS],
                    struct err *err)
{
    const char *date = csv_text(csv, at[DATE]), *name = csv_text(csv, at[CURRENCY]);
    size_t len = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
    int column = DATE;
    int rc = files_day(date, &rate->day, err);
    if (rc == 0 && (column = CURRENCY, len != 3 || name[len] != '\0' || strcmp(name, "USD") == 0))
        rc = err_set(err, ERR_FORMAT, "expected a currency other than USD, such as EUR");
    if (rc == 0) {
        column = USD;
        rc = money_parse(csv_text(csv, at[USD]), &rate->usd, err);
    }
    if (rc == 0 && rate->usd <= 0)
        rc = err_set(err, ERR_FORMAT, "expected a rate above zero");
    if (rc != 0)
        return csv_context(csv, at[column], err);
    memcpy(rate->currency, name, len + 1);
    struct buf text = {0};
    buf_printf(&text, "OLD: %s USD on %s, %s", csv_text(csv, at[USD]), date,
               csv_text(csv, at[SOURCE]));
    rate->source = buf_take(&text, err);
    return rate->source ? 0 : ERR_MEMORY;
}

static int read_rows(struct currencies *c, struct csv *csv, bool own, struct err *err)
{
    int at[COLUMNS];
    int rc = csv_find(csv, columns, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(csv, err)) > 0) {
        struct rate *rates = realloc(c->rates, (c->count + 1) * sizeof *rates);
        if (!rates)
            return err_memory(err);
        c->rates = rates;
        rates[c->count] = (struct rate){.own = own};
        rc = read_row(&rates[c->count], csv, at, err);
        c->count += rc == 0;
    }
    return rc;
}

static int read_file(struct currencies *c, const char *path, bool own, struct err *err)
{
    struct csv csv;
    if (!path || !*path || (own && access(path, F_OK) != 0))
        return 0;
    int rc = csv_open(&csv, path, NULL, err);
    if (rc == 0) {
        rc = read_rows(c, &csv, own, err);
        csv_release(&csv);
    }
    return rc;
}

int currencies_read(struct currencies **out, const char *shipped, const char *own, struct err *err)
{
    struct currencies *c = calloc(1, sizeof *c);
    *out = NULL;
    int rc = c ? read_file(c, own, true, err) : err_memory(err);
    if (rc == 0)
        rc = read_file(c, shipped, false, err);
    if (rc == 0)
        *out = c;
    else
        currencies_close(c);
    return rc;
}

int currencies_open(struct currencies **out, struct err *err)
{
    struct buf shipped = {0}, own = {0};
    *out = NULL;
    int rc = files_shipped("currencies.csv", &shipped, err);
    if (rc == 0)
        rc = files_own("currencies.csv", &own, err);
    if (rc == 0)
        rc = currencies_read(out, buf_str(&shipped), buf_str(&own), err);
    buf_release(&shipped);
    buf_release(&own);
    return rc;
}

void currencies_close(struct currencies *c)
{
    for (size_t i = 0; c && i < c->count; i++)
        free(c->rates[i].source);
    if (c)
        free(c->rates);
    free(c);
}

// ---- finding

// True if `a` is better for that day: own beats shipped, then as files_applies() says.
static bool better(const struct rate *a, const struct rate *b, int64_t day)
{
    if (!b || a->own != b->own)
        return !b || a->own;
    return files_applies(a->day, b->day, day);
}

int currency_to_usd(const struct currencies *c, const char *from, int day, int64_t amount,
                    int64_t *usd, int64_t *rate, const char **source, struct err *err)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S, used = MONEY_UNIT;
    const char *says = "";
    if (strcmp(from, "USD") != 0) {
        const struct rate *found = NULL;
        for (size_t i = 0; i < c->count; i++)
            if (strcmp(c->rates[i].currency, from) == 0 && better(&c->rates[i], found, on))
                found = &c->rates[i];
        if (!found) {
            err_set(err, ERR_MISSING, "no exchange rate for the currency '%.20s'", from);
            return err_hint(err, "add one to currencies.csv in your configuration folder: "
                                 "date,currency,usd,source");
        }
        int64_t apart = on > found->day ? on - found->day : found->day - on;
        used = found->usd;
        says = apart > OLD_DAYS ? found->source : found->source + strlen("OLD: ");
    }
    if (rate)
        *rate = used;
    if (source)
        *source = says;
    return money_scale(amount, used, MONEY_UNIT, MONEY_HALF_EVEN, usd, err);
}
