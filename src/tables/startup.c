// SPDX-License-Identifier: Apache-2.0
#include "tables/startup.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "tables/files.h"
#include "record/field.h"

#define MOST_NS (INT64_C(86400) * NS_PER_S)

struct startups {
    LIST_OF(struct startup_row) rows; // the user's own first
};

enum { PROVIDER, MACHINE, PART, SECONDS, LOW, HIGH, SOURCE, DATE, COLUMNS };
static const char *const names[COLUMNS] = {"provider", "machine", "part",   "seconds",
                                           "low",      "high",    "source", "date"};

// Seconds have the nine decimals of money.
static int read_time(const struct csv *csv, int column, int64_t *ns, struct err *err)
{
    int rc = money_parse(csv_text(csv, column), ns, err);
    if (rc == 0 && (*ns < 0 || *ns > MOST_NS))
        rc = err_set(err, ERR_FORMAT, "expected 0 to 86400 seconds");
    return rc == 0 ? 0 : csv_context(csv, column, err);
}

// A misspelt word would hide the row that it was meant to replace.
static int check_word(const struct csv *csv, int column, const char *const *words, struct err *err)
{
    const char *text = csv_text(csv, column);
    for (size_t i = 0; words[i]; i++)
        if (strcmp(words[i], text) == 0)
            return 0;
    struct buf expected = {0};
    for (size_t i = 0; words[i]; i++)
        buf_printf(&expected, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    int rc = buf_check(&expected, err);
    if (rc == 0) {
        err_set(err, ERR_FORMAT, "expected %s", buf_str(&expected));
        rc = csv_context(csv, column, err);
    }
    buf_release(&expected);
    return rc;
}

static int read_row(const struct csv *csv, const int *at, struct startup_row *row, struct err *err)
{
    static const char *const machines[] = {"vm", "container", "bare-metal", "any", NULL};
    static const char *const parts[] = {"boot", "image", "kernels", NULL};
    struct buf source = {0};
    int rc = *csv_text(csv, at[PROVIDER]) ? check_word(csv, at[MACHINE], machines, err)
                                          : csv_fault(csv, at[PROVIDER], err, "no provider");
    if (rc == 0)
        rc = check_word(csv, at[PART], parts, err);
    if (rc == 0)
        rc = read_time(csv, at[SECONDS], &row->ns, err);
    if (rc == 0)
        rc = read_time(csv, at[LOW], &row->low_ns, err);
    if (rc == 0)
        rc = read_time(csv, at[HIGH], &row->high_ns, err);
    if (rc == 0 && (row->low_ns > row->ns || row->high_ns < row->ns))
        rc = csv_fault(csv, at[LOW], err, "expected low, seconds and high in ascending order");
    buf_printf(&source, "%s, %s", csv_text(csv, at[SOURCE]), csv_text(csv, at[DATE]));
    if (rc == 0)
        rc = text_take(&row->source, &source, err);
    if (rc == 0)
        rc = TEXTS_SET(err, {&row->provider, csv_text(csv, at[PROVIDER])},
                       {&row->machine, csv_text(csv, at[MACHINE])},
                       {&row->part, csv_text(csv, at[PART])});
    buf_release(&source);
    return rc;
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct startups *startups = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    int rc = csv_open(&csv, path, NULL, err);
    if (rc != 0)
        return rc;
    rc = csv_find(&csv, names, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct startup_row *row = LIST_ADD(&startups->rows, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int startups_open(struct startups **out, struct err *err)
{
    struct startups *startups = calloc(1, sizeof *startups);
    *out = NULL;
    if (!startups)
        return err_memory(err);
    int rc = files_both("startup.csv", "startup.csv", read_file, startups, err);
    if (rc == 0)
        *out = startups;
    else
        startups_close(startups);
    return rc;
}

void startups_close(struct startups *startups)
{
    for (size_t i = 0; startups && i < startups->rows.count; i++) {
        struct startup_row *row = &startups->rows.items[i];
        free(row->provider);
        free(row->machine);
        free(row->part);
        free(row->source);
    }
    if (startups)
        free(startups->rows.items);
    free(startups);
}

// A provider rents out the kind of machine that its own row says, and whole machines.
static const char *kind_of(const struct startups *startups, const struct offer *offer)
{
    if (offer->bare_metal)
        return "bare-metal";
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        if (strcmp(row->provider, offer->provider) == 0 && strcmp(row->machine, "any") != 0 &&
            strcmp(row->machine, "bare-metal") != 0)
            return row->machine;
    }
    return "vm";
}

const struct startup_row *startup_find(const struct startups *startups, const struct offer *offer,
                                       const char *part)
{
    const struct startup_row *general = NULL;
    const char *kind = kind_of(startups, offer);
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        bool any = strcmp(row->machine, "any") == 0;
        if (strcmp(row->part, part) != 0 || (!any && strcmp(row->machine, kind) != 0))
            continue;
        if (strcmp(row->provider, offer->provider) == 0)
            return row;
        if (!general && strcmp(row->provider, "*") == 0)
            general = row;
    }
    return general;
}
