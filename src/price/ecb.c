// SPDX-License-Identifier: Apache-2.0
#include "price/ecb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/folders.h"
#include "base/fs.h"
#include "base/money.h"
#include "price/files.h"

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
    struct order *order = calloc(ecb->count, sizeof *order);
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
    free(order);
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

static int read_record(struct ecb *ecb, const struct csv *csv, const int *columns, struct err *err)
{
    int64_t day = 0;
    if (files_day(csv_text(csv, 0), &day, err) != 0)
        return csv_context(csv, 0, err);
    struct ecb_day *row;
    TRY(add_day(ecb, day, &row, err));
    for (size_t c = 1; c < csv->header.count; c++) {
        const char *text = csv_text(csv, (int)c);
        if (columns[c] < 0 || *text == '\0' || strcmp(text, "N/A") == 0)
            continue;
        if (read_rate(text, &row->per_euro[columns[c]], err) != 0)
            return csv_context(csv, (int)c, err);
    }
    return 0;
}

static int read_csv(struct ecb *ecb, const char *name, const char *text, size_t len,
                    struct err *err)
{
    struct csv csv;
    int *columns = NULL;
    TRY(csv_init_text(&csv, name, text, len, NULL, err));
    int rc = csv.header.count < CSV_MAX_COLUMNS ? 0 : err_set(err, ERR_FORMAT, "too many columns");
    if (rc == 0 && !(columns = calloc(csv.header.count + 1, sizeof *columns)))
        rc = err_memory(err);
    for (size_t c = 0; rc == 0 && c < csv.header.count; c++)
        columns[c] = is_currency(csv_name(&csv, c)) ? column_of(ecb, csv_name(&csv, c)) : -1;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = read_record(ecb, &csv, columns, err);
    free(columns);
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
    struct buf text = {0};
    int rc = fs_read(path, FILE_MAX, &text, err);
    if (rc == 0)
        rc = ecb_read(ecb, path, buf_str(&text), text.len, NULL, err);
    buf_release(&text);
    return rc;
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

bool ecb_find(const struct ecb *ecb, const char *currency, int day, int *on, int64_t *usd)
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
