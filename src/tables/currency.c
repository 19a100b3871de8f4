// SPDX-License-Identifier: Apache-2.0
#include "tables/currency.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/money.h"
#include "record/field.h"
#include "tables/files.h"

enum { OLD_DAYS = 45, DAY_S = 86400 };

struct rate {
    char *currency;
    bool own;
    int64_t day;
    int64_t usd; // nano-USD for one unit
    char *source;
};

struct currencies {
    LIST_OF(struct rate) rates;
    struct ecb shipped, imported;
};

// ---- reading

#define AT(member) offsetof(struct rate, member)
static const struct column columns[] = {
    {"date", COLUMN_DAY, AT(day)},
    {"currency", COLUMN_STRING, AT(currency)},
    {"usd", COLUMN_NANO, AT(usd), .least = COLUMN_ABOVE_0, .most = 1e9},
    {"source", COLUMN_STRING, AT(source), COLUMN_EMPTY},
    {0}};

bool currency_is_name(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == 3 && text[3] == '\0';
}

static int check_rate(const struct columns_row *at, void *row, struct err *err)
{
    struct rate *rate = row;
    rate->own = at->own;
    return currency_is_name(rate->currency) && strcmp(rate->currency, "USD") != 0
               ? 0
               : columns_fault(at, "currency", err,
                               "expected a currency other than USD, such as EUR");
}

static const struct columns table = {columns, sizeof(struct rate), false, check_rate};

int currencies_read(struct currencies **out, const char *shipped, const char *own, struct err *err)
{
    struct currencies *c = calloc(1, sizeof *c);
    *out = NULL;
    int rc = c ? columns_load(&table, own, true, &c->rates, NULL, err) : err_memory(err);
    if (rc == 0 && shipped)
        rc = columns_load(&table, shipped, false, &c->rates, NULL, err);
    if (rc == 0)
        *out = c;
    else
        currencies_close(c);
    return rc;
}

// The bank's month ends, and the days that were imported since.
static int read_ecb(struct currencies *c, struct err *err)
{
    SCOPED(buf_release) struct buf shipped = {0}, imported = {0};
    TRY(files_shipped("ecb-rates.csv", &shipped, err));
    TRY(ecb_load(&c->shipped, buf_str(&shipped), err));
    int home = ecb_path(&imported, NULL); // without one nothing was imported
    if (home == ERR_MEMORY)
        return err_memory(err);
    bool any = home == 0 && access(buf_str(&imported), F_OK) == 0;
    return any ? ecb_load(&c->imported, buf_str(&imported), err) : 0;
}

int currencies_open(struct currencies **out, struct err *err)
{
    SCOPED(buf_release) struct buf shipped = {0}, own = {0};
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
    return rc;
}

void currencies_close(struct currencies *c)
{
    if (!c)
        return;
    columns_release(&table, &c->rates);
    ecb_release(&c->shipped);
    ecb_release(&c->imported);
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

static int find_column(const struct ecb *ecb, const char *name)
{
    for (size_t i = 0; i < ecb->name_count; i++)
        if (strcmp(ecb->names[i], name) == 0)
            return (int)i;
    return -1;
}

// How many days are not after `day`.
static size_t up_to(const struct ecb *ecb, int day)
{
    size_t low = 0, high = ecb->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ecb->days[middle].day <= day)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The value of one unit in nano-USD on the last day up to `day`; before the first, on the first.
static bool ecb_find(const struct ecb *ecb, const char *currency, int day, int *on, int64_t *usd)
{
    bool euro = strcmp(currency, "EUR") == 0;
    int dollar = find_column(ecb, "USD"), other = euro ? dollar : find_column(ecb, currency);
    const struct ecb_day *found = NULL;
    size_t from = up_to(ecb, day);
    if (dollar < 0 || other < 0)
        return false;
    for (size_t i = from; i-- > 0 && !found;)
        if (ecb->days[i].per_euro[dollar] > 0 && ecb->days[i].per_euro[other] > 0)
            found = &ecb->days[i];
    for (size_t i = from; i < ecb->count && !found; i++)
        if (ecb->days[i].per_euro[dollar] > 0 && ecb->days[i].per_euro[other] > 0)
            found = &ecb->days[i];
    if (!found)
        return false;
    *on = found->day;
    *usd = found->per_euro[dollar];
    return euro ||
           money_scale(*usd, MONEY_UNIT, found->per_euro[other], MONEY_HALF_EVEN, usd, NULL) == 0;
}

// The bank's rate counts where no table has one nearer before the day, and never against the user's
// own.
static void try_ecb(const struct ecb *ecb, const char *currency, int64_t day,
                    struct currency_rate *found)
{
    int on = 0;
    int64_t usd = 0;
    if (!ecb_find(ecb, currency, (int)day, &on, &usd) ||
        (found->usd > 0 && !files_applies(on, found->day, day)))
        return;
    *found = (struct currency_rate){usd, on, "ECB reference rate"};
}

// `usd` is 0 if there is none.
static struct currency_rate find(const struct currencies *c, const char *currency, int64_t day)
{
    const struct rate *row = NULL;
    for (size_t i = 0; i < c->rates.count; i++)
        if (strcmp(c->rates.items[i].currency, currency) == 0 &&
            better(&c->rates.items[i], row, day))
            row = &c->rates.items[i];
    struct currency_rate found = {0};
    if (row)
        found = (struct currency_rate){row->usd, row->day, row->source};
    if (row && row->own)
        return found;
    try_ecb(&c->shipped, currency, day, &found);
    try_ecb(&c->imported, currency, day, &found);
    return found;
}

static int rate_of(const struct currencies *c, const char *currency, int day,
                   struct currency_rate *rate, struct err *err)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    *rate = (struct currency_rate){MONEY_UNIT, on, ""};
    if (strcmp(currency, "USD") == 0)
        return 0;
    *rate = find(c, currency, on);
    if (rate->usd <= 0) {
        err_set(err, ERR_MISSING, "no exchange rate for the currency '%.20s'", currency);
        return err_hint(err, "add one to currencies.csv in your configuration folder: "
                             "date,currency,usd,source");
    }
    rate->old = llabs(on - rate->day) > OLD_DAYS;
    return 0;
}

void currency_words(const struct currency_rate *rate, bool with_source, struct buf *out)
{
    char date[CLOCK_ISO_BYTES], usd[MONEY_BYTES];
    clock_iso(rate->day * DAY_S, date);
    money_text(rate->usd, usd);
    buf_printf(out, "%s%s USD on %.10s", rate->old ? "OLD: " : "", usd, date);
    if (with_source)
        buf_printf(out, ", %s", rate->source);
}

// ---- names

// Calls `add` with each name, perhaps several times.
static void each_name(const struct currencies *c, void (*add)(void *, const char *), void *arg)
{
    const struct ecb *const tables[] = {&c->shipped, &c->imported};
    for (size_t i = 0; i < c->rates.count; i++)
        add(arg, c->rates.items[i].currency);
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
    if (strcmp(name, "USD") == 0 || find(c, name, clock_date_s() / DAY_S).usd > 0)
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
    struct currency_rate found = find(c, name, INT_MIN); // before all: the first
    return strcmp(name, "USD") == 0 || found.usd <= 0 ? INT_MIN : found.day;
}

int currency_to_usd(const struct currencies *c, const char *from, int day, int64_t amount,
                    int64_t *usd, struct currency_rate *rate, struct err *err)
{
    struct currency_rate used;
    rate = rate ? rate : &used;
    TRY(rate_of(c, from, day, rate, err));
    if (rate->usd != MONEY_UNIT)
        return money_scale(amount, rate->usd, MONEY_UNIT, MONEY_HALF_EVEN, usd, err);
    *usd = amount;
    return 0;
}

int currency_from_usd(const struct currencies *c, const char *to, int day, int64_t usd,
                      int64_t *amount, struct err *err)
{
    struct currency_rate rate;
    TRY(rate_of(c, to, day, &rate, err));
    return money_scale(usd, MONEY_UNIT, rate.usd, MONEY_HALF_EVEN, amount, err);
}

enum { FILE_MAX = 64 << 20 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

void ecb_release(struct ecb *ecb)
{
    free(ecb->days);
    memset(ecb, 0, sizeof *ecb);
}

bool ecb_knows(const char *head)
{
    if (strncmp(head, "\xEF\xBB\xBF", 3) == 0)
        head += 3;
    return strncmp(head, "Date,USD,", 9) == 0 ||
           (strncmp(head, "<?xml", 5) == 0 && strstr(head, "eurofxref"));
}

// The number of a currency's column, or -1 if there are too many.
static int column_of(struct ecb *ecb, const char *name)
{
    for (size_t i = 0; i < ecb->name_count; i++)
        if (strcmp(ecb->names[i], name) == 0)
            return (int)i;
    if (ecb->name_count == ECB_CURRENCIES)
        return -1;
    snprintf(ecb->names[ecb->name_count], sizeof *ecb->names, "%.3s", name);
    return (int)ecb->name_count++;
}

static bool is_currency(const char *name)
{
    return strlen(name) == 3 && strspn(name, letters) == 3;
}

// ---- days

static int add_day(struct ecb *ecb, int64_t day, struct ecb_day **added, struct err *err)
{
    if (ecb->count == ECB_DAYS)
        return err_set(err, ERR_FORMAT, "more than %d days", ECB_DAYS);
    TRY(array_grow(&ecb->days, ecb->count, &ecb->cap, sizeof *ecb->days, err));
    *added = &ecb->days[ecb->count++];
    memset(*added, 0, sizeof **added);
    (*added)->day = (int)day;
    return 0;
}

struct order {
    int day;
    size_t at;
};

static int by_day(const void *a, const void *b)
{
    const struct order *x = a, *y = b;
    if (x->day != y->day)
        return x->day < y->day ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

// Sorts them; of each day the last that was added stays.
static int sort_days(struct ecb *ecb, struct err *err)
{
    if (ecb->count == 0)
        return 0;
    SCOPED(free_pointer) struct order *order = calloc(ecb->count, sizeof *order);
    struct ecb_day *sorted = calloc(ecb->count, sizeof *sorted);
    int rc = order && sorted ? 0 : err_memory(err);
    size_t left = 0;
    for (size_t i = 0; rc == 0 && i < ecb->count; i++)
        order[i] = (struct order){ecb->days[i].day, i};
    if (rc == 0)
        qsort(order, ecb->count, sizeof *order, by_day);
    for (size_t i = 0; rc == 0 && i < ecb->count; i++)
        if (i + 1 == ecb->count || order[i].day != order[i + 1].day)
            sorted[left++] = ecb->days[order[i].at];
    if (rc != 0) {
        free(sorted);
        return rc;
    }
    free(ecb->days);
    ecb->days = sorted;
    ecb->cap = ecb->count;
    ecb->count = left;
    return 0;
}

static int read_rate(const char *text, int64_t *nano, struct err *err)
{
    int rc = money_parse(text, nano, err);
    return rc == 0 && *nano <= 0 ? err_set(err, ERR_FORMAT, "expected a rate above zero") : rc;
}

// ---- CSV

static int read_record(struct ecb *ecb, const struct csv *csv, const int *places, struct err *err)
{
    int64_t day = 0;
    if (files_day(csv_text(csv, 0), &day, err) != 0)
        return csv_context(csv, 0, err);
    struct ecb_day *row;
    TRY(add_day(ecb, day, &row, err));
    for (size_t c = 1; c < csv->header.count; c++) {
        const char *text = csv_text(csv, (int)c);
        if (places[c] < 0 || *text == '\0' || strcmp(text, "N/A") == 0)
            continue;
        if (read_rate(text, &row->per_euro[places[c]], err) != 0)
            return csv_context(csv, (int)c, err);
    }
    return 0;
}

static int read_csv(struct ecb *ecb, const char *name, const char *text, size_t len,
                    struct err *err)
{
    struct csv csv;
    int *places = NULL;
    TRY(csv_init_text(&csv, name, text, len, NULL, err));
    int rc = csv.header.count < CSV_MAX_COLUMNS ? 0 : err_set(err, ERR_FORMAT, "too many columns");
    if (rc == 0 && !(places = calloc(csv.header.count + 1, sizeof *places)))
        rc = err_memory(err);
    for (size_t c = 0; rc == 0 && c < csv.header.count; c++)
        places[c] = is_currency(csv_name(&csv, c)) ? column_of(ecb, csv_name(&csv, c)) : -1;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_record(ecb, &csv, places, err);
    free(places);
    csv_release(&csv);
    return rc;
}

// ---- XML

// The value of an attribute within a tag that ends at `end`, in either kind of quotes.
static bool attribute(const char *tag, const char *end, const char *name, char *out, size_t size)
{
    size_t len = strlen(name);
    const char *at = tag;
    while ((at = strstr(at, name)) && at < end) {
        char quote = at[len] == '=' ? at[len + 1] : '\0';
        const char *from = at + len + 2,
                   *to = quote == '\'' || quote == '"' ? strchr(from, quote) : NULL;
        if (to && to < end && (size_t)(to - from) < size) {
            memcpy(out, from, (size_t)(to - from));
            out[to - from] = '\0';
            return true;
        }
        at += len;
    }
    return false;
}

static int read_cube(struct ecb *ecb, const char *tag, const char *end, struct ecb_day **row,
                     struct err *err)
{
    char time[16], currency[8], rate[24];
    int64_t day = 0;
    if (attribute(tag, end, "time", time, sizeof time)) {
        TRY(files_day(time, &day, err));
        return add_day(ecb, day, row, err);
    }
    if (!attribute(tag, end, "currency", currency, sizeof currency))
        return 0;
    if (!*row || !is_currency(currency) || !attribute(tag, end, "rate", rate, sizeof rate))
        return err_set(err, ERR_FORMAT, "a rate without its day, currency or value");
    int column = column_of(ecb, currency);
    return column < 0 ? 0 : read_rate(rate, &(*row)->per_euro[column], err);
}

// <Cube time="2026-10-30"> <Cube currency="USD" rate="1.1172"/> ...
static int read_xml(struct ecb *ecb, const char *name, const char *text, struct err *err)
{
    struct ecb_day *row = NULL;
    for (const char *tag = text; (tag = strstr(tag, "<Cube"));) {
        const char *end = strchr(tag, '>');
        int rc = end ? read_cube(ecb, tag, end, &row, err)
                     : err_set(err, ERR_FORMAT, "a tag does not end");
        if (rc != 0) {
            err_context(err, "'%s'", name);
            return rc;
        }
        tag = end;
    }
    return 0;
}

int ecb_read(struct ecb *ecb, const char *name, const char *text, size_t len, size_t *rows,
             struct err *err)
{
    size_t before = ecb->count;
    int rc = *text == '<' ? read_xml(ecb, name, text, err) : read_csv(ecb, name, text, len, err);
    if (rc == 0 && ecb->count == before)
        rc = err_set(err, ERR_FORMAT, "'%s' has no exchange rates", name);
    if (rows)
        *rows = ecb->count - before;
    if (rc != 0) {
        ecb->count = before;
        return rc;
    }
    return sort_days(ecb, err);
}

int ecb_load(struct ecb *ecb, const char *path, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    TRY(fs_read(path, FILE_MAX, &text, err));
    return ecb_read(ecb, path, buf_str(&text), text.len, NULL, err);
}

int ecb_path(struct buf *out, struct err *err)
{
    TRY(folder_data(out, err));
    buf_adds(out, "/ecb-rates.csv");
    return buf_check(out, err);
}

int ecb_text(const struct ecb *ecb, struct buf *out, struct err *err)
{
    char date[CLOCK_ISO_BYTES], rate[MONEY_BYTES];
    buf_adds(out, "Date");
    for (size_t c = 0; c < ecb->name_count; c++)
        buf_printf(out, ",%s", ecb->names[c]);
    for (size_t i = ecb->count; i-- > 0;) {
        clock_iso((int64_t)ecb->days[i].day * 86400, date);
        buf_printf(out, "\n%.10s", date);
        for (size_t c = 0; c < ecb->name_count; c++) {
            money_text(ecb->days[i].per_euro[c], rate);
            buf_printf(out, ",%s", ecb->days[i].per_euro[c] > 0 ? rate : "N/A");
        }
    }
    buf_adds(out, "\n");
    return buf_check(out, err);
}

// ---- finding
