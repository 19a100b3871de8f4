// SPDX-License-Identifier: Apache-2.0
#include "price/currency.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "price/ecb.h"
#include "price/files.h"

enum { OLD_DAYS = 45, DAY_S = 86400, NAME_MAX_BYTES = 8 };

struct rate {
    char currency[NAME_MAX_BYTES];
    bool own;
    int64_t day;
    int64_t usd;  // nano-USD for one unit
    char *source; // "OLD: 1.228 USD on 2018-02-01, ..."; recent rates skip the prefix
};

struct said { // the source of a rate, made when it is asked for
    int day;
    char currency[NAME_MAX_BYTES];
    char *text; // as in struct rate
};

struct sources {
    struct said *items;
    size_t count, cap;
};

struct currencies {
    struct rate *rates;
    size_t count;
    struct ecb shipped, imported;
    struct sources *sources;
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
    if (c)
        c->sources = calloc(1, sizeof *c->sources);
    int rc = c && c->sources ? read_file(c, own, true, err) : err_memory(err);
    if (rc == 0)
        rc = read_file(c, shipped, false, err);
    if (rc == 0)
        *out = c;
    else
        currencies_close(c);
    return rc;
}

// The bank's month ends, and the days that were imported since.
static int read_ecb(struct currencies *c, struct err *err)
{
    struct buf shipped = {0}, imported = {0};
    int rc = files_shipped("ecb-rates.csv", &shipped, err);
    if (rc == 0)
        rc = ecb_load(&c->shipped, buf_str(&shipped), err);
    int home = rc == 0 ? ecb_path(&imported, NULL) : rc; // without one nothing was imported
    if (rc == 0 && home == ERR_MEMORY)
        rc = err_memory(err);
    if (rc == 0 && home == 0 && access(buf_str(&imported), F_OK) == 0)
        rc = ecb_load(&c->imported, buf_str(&imported), err);
    buf_release(&shipped);
    buf_release(&imported);
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
    if (rc == 0)
        rc = read_ecb(*out, err);
    if (rc != 0) {
        currencies_close(*out);
        *out = NULL;
    }
    buf_release(&shipped);
    buf_release(&own);
    return rc;
}

void currencies_close(struct currencies *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->count; i++)
        free(c->rates[i].source);
    for (size_t i = 0; c->sources && i < c->sources->count; i++)
        free(c->sources->items[i].text);
    if (c->sources)
        free(c->sources->items);
    free(c->sources);
    ecb_release(&c->shipped);
    ecb_release(&c->imported);
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

// "OLD: 1.1172 USD on 2026-10-30, ECB reference rate", kept until the tables are closed.
static int say_ecb(const struct currencies *c, const char *currency, int day, int64_t usd,
                   const char **text, struct err *err)
{
    struct sources *all = c->sources;
    char date[CLOCK_ISO_BYTES], rate[MONEY_BYTES];
    for (size_t i = all->count; i-- > 0;)
        if (all->items[i].day == day && strcmp(all->items[i].currency, currency) == 0) {
            *text = all->items[i].text;
            return 0;
        }
    TRY(array_grow(&all->items, all->count, &all->cap, sizeof *all->items, err));
    struct said *said = &all->items[all->count];
    struct buf words = {0};
    clock_iso((int64_t)day * DAY_S, date);
    money_text(usd, rate);
    buf_printf(&words, "OLD: %s USD on %.10s, ECB reference rate", rate, date);
    *said = (struct said){.day = day, .text = buf_take(&words, err)};
    snprintf(said->currency, sizeof said->currency, "%.7s", currency);
    *text = said->text;
    all->count += said->text != NULL;
    return said->text ? 0 : ERR_MEMORY;
}

struct found {
    int64_t day, usd;
    const char *source; // null: the bank's
    bool known;
};

// The bank's rate counts where no table has one nearer before the day, and never against the user's
// own.
static void try_ecb(const struct ecb *ecb, const char *currency, int64_t day, struct found *found)
{
    int on = 0;
    int64_t usd = 0;
    if (!ecb_find(ecb, currency, (int)day, &on, &usd) ||
        (found->known && !files_applies(on, found->day, day)))
        return;
    *found = (struct found){.day = on, .usd = usd, .known = true};
}

static struct found find(const struct currencies *c, const char *currency, int64_t day)
{
    const struct rate *row = NULL;
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->rates[i].currency, currency) == 0 && better(&c->rates[i], row, day))
            row = &c->rates[i];
    struct found found = {0};
    if (row)
        found = (struct found){row->day, row->usd, row->source, true};
    if (row && row->own)
        return found;
    try_ecb(&c->shipped, currency, day, &found);
    try_ecb(&c->imported, currency, day, &found);
    return found;
}

static int rate_of(const struct currencies *c, const char *currency, int day, int64_t *rate,
                   const char **source, struct err *err)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    *rate = MONEY_UNIT;
    if (source)
        *source = "";
    if (strcmp(currency, "USD") == 0)
        return 0;
    struct found found = find(c, currency, on);
    if (!found.known) {
        err_set(err, ERR_MISSING, "no exchange rate for the currency '%.20s'", currency);
        return err_hint(err, "add one to currencies.csv in your configuration folder: "
                             "date,currency,usd,source");
    }
    *rate = found.usd;
    if (!source)
        return 0;
    if (!found.source)
        TRY(say_ecb(c, currency, (int)found.day, found.usd, &found.source, err));
    int64_t apart = on > found.day ? on - found.day : found.day - on;
    *source = found.source + (apart > OLD_DAYS ? 0 : strlen("OLD: "));
    return 0;
}

// ---- names

// Calls `add` with each name, perhaps several times.
static void each_name(const struct currencies *c, void (*add)(void *, const char *), void *arg)
{
    const struct ecb *const tables[] = {&c->shipped, &c->imported};
    for (size_t i = 0; i < c->count; i++)
        add(arg, c->rates[i].currency);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t i = 0; i < tables[t]->name_count; i++)
            add(arg, tables[t]->names[i]);
    if (c->shipped.count + c->imported.count > 0)
        add(arg, "EUR");
    add(arg, "USD");
}

struct nearby { // of `name`: those that differ in one letter, or all
    const char *name;
    bool all;
    struct buf text; // "EUR, CZK"
};

static void add_nearby(void *arg, const char *name)
{
    struct nearby *near = arg;
    size_t differ = 0;
    for (size_t i = 0; i < 3; i++)
        differ += strlen(near->name) != 3 || toupper((unsigned char)near->name[i]) != name[i];
    if ((near->all || differ <= 1) && !strstr(buf_str(&near->text), name))
        buf_printf(&near->text, "%s%s", near->text.len > 0 ? ", " : "", name);
}

int currency_check(const struct currencies *c, const char *name, struct err *err)
{
    struct nearby near = {.name = name};
    if (strcmp(name, "USD") == 0 || find(c, name, clock_date_s() / DAY_S).known)
        return 0;
    each_name(c, add_nearby, &near);
    near.all = near.text.len == 0;
    if (near.all)
        each_name(c, add_nearby, &near);
    err_set(err, ERR_USAGE, "no exchange rate for the currency '%.20s'", name);
    int rc = err_hint(err, near.all ? "known are %s" : "did you mean %s?", buf_str(&near.text));
    buf_release(&near.text);
    return rc;
}

int64_t currency_begins(const struct currencies *c, const char *name)
{
    struct found found = find(c, name, INT_MIN); // before all: the first
    return strcmp(name, "USD") == 0 || !found.known ? INT_MIN : found.day;
}

int currency_to_usd(const struct currencies *c, const char *from, int day, int64_t amount,
                    int64_t *usd, int64_t *rate, const char **source, struct err *err)
{
    int64_t used;
    TRY(rate_of(c, from, day, &used, source, err));
    if (rate)
        *rate = used;
    return money_scale(amount, used, MONEY_UNIT, MONEY_HALF_EVEN, usd, err);
}

int currency_from_usd(const struct currencies *c, const char *to, int day, int64_t usd,
                      int64_t *amount, const char **source, struct err *err)
{
    int64_t rate;
    TRY(rate_of(c, to, day, &rate, source, err));
    return money_scale(usd, MONEY_UNIT, rate, MONEY_HALF_EVEN, amount, err);
}
