// SPDX-License-Identifier: Apache-2.0
#include "tables/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/tree.h"
#include "record/field.h"

int files_shipped(const char *name, struct buf *path, struct err *err)
{
    TRY(folder_share(path, err));
    buf_printf(path, "/%s", name);
    return buf_check(path, err);
}

int files_own(const char *name, struct buf *path, struct err *err)
{
    int rc = folder_config(path, NULL);
    if (rc == ERR_MISSING) // no home folder
        return 0;
    buf_printf(path, "/%s", name);
    return rc == 0 ? buf_check(path, err) : err_memory(err);
}

int files_day(const char *text, int64_t *day, struct err *err)
{
    int64_t s;
    if (strlen(text) != 10 || !clock_parse(text, &s) || s < 0)
        return err_set(err, ERR_FORMAT, "expected a date such as 2026-01-31");
    *day = s / 86400;
    return 0;
}

bool files_applies(int64_t a, int64_t b, int64_t day)
{
    if ((a <= day) != (b <= day))
        return a <= day;
    return a <= day ? a >= b : a < b;
}

// Independent of the locale, unlike alphasort().
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int files_each(const char *dir, const char *ending, files_visit_fn *visit, void *arg,
               struct err *err)
{
    struct dirent **names;
    int count = scandir(dir, &names, visible, by_bytes);
    if (count < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (count < 0)
        return fs_refused("cannot open the folder", dir, errno, err);
    int rc = 0;
    for (int i = 0; i < count; i++) {
        SCOPED(buf_release) struct buf path = {0};
        if (rc == 0 && text_ends(names[i]->d_name, ending)) {
            buf_printf(&path, "%s/%s", dir, names[i]->d_name);
            rc = buf_check(&path, err);
            if (rc == 0)
                rc = visit(arg, buf_str(&path), err);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}

// ---- columns

static bool is_text(enum column_kind kind)
{
    return kind <= COLUMN_DATE && kind != COLUMN_JOINED;
}

static char **text_at(void *row, const struct column *c)
{
    return (char **)(void *)((char *)row + c->at);
}

static bool is_one_of(const char *const *words, const char *text)
{
    while (words && *words && strcmp(*words, text) != 0)
        words++;
    return words && *words;
}

// A misspelt word would hide the row that it was meant to replace.
static int expect_words(const char *const *words, struct err *err)
{
    SCOPED(buf_release) struct buf expected = {0};
    for (size_t i = 0; words[i]; i++)
        buf_printf(&expected, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
    TRY(buf_check(&expected, err));
    return err_set(err, ERR_FORMAT, "expected %s", buf_str(&expected));
}

static int join(char **member, const char *text, struct err *err)
{
    struct buf both = {0};
    buf_printf(&both, "%s, %s", *member ? *member : "", text);
    return text_take(member, &both, err);
}

static int read_text(const struct column *c, const char *text, char **member, struct err *err)
{
    int64_t day;
    bool listed = is_one_of(c->words, text);
    if (c->kind == COLUMN_DATE && *text && !listed)
        TRY(files_day(text, &day, err));
    else if (c->words && *text && !listed)
        return expect_words(c->words, err);
    if (c->kind == COLUMN_JOINED)
        return join(member, text, err);
    if (c->kind == COLUMN_TEXT)
        return text_set(member, text, err);
    *member = strdup(text);
    return *member ? 0 : err_memory(err);
}

static int read_number(const struct column *c, const char *text, void *member, struct err *err)
{
    int64_t nano = 0, whole = 0;
    bool any = c->least == 0 && c->most == 0;
    const bool fits = text_int(text, &whole);
    const bool is_whole = c->kind == COLUMN_WHOLE || (c->kind == COLUMN_REAL && fits);
    if (*text && !is_whole)
        TRY(money_parse(text, &nano, err));
    if (*text &&
        (c->kind == COLUMN_WHOLE ? !fits : c->kind == COLUMN_INT && nano % MONEY_UNIT != 0))
        return err_set(err, ERR_FORMAT, "'%.40s' is not a whole number", text);
    double value = is_whole ? (double)whole : (double)nano / MONEY_UNIT;
    if (*text && !any && !(value >= c->least && value <= c->most))
        return err_set(err, ERR_FORMAT, "'%.40s' is out of range: expected %s%.10g to %.10g", text,
                       c->least == COLUMN_ABOVE_0 ? "more than " : "",
                       c->least == COLUMN_ABOVE_0 ? 0 : c->least, c->most);
    int64_t milli = nano / (MONEY_UNIT / 1000);
    if (c->kind == COLUMN_REAL)
        *(double *)member = *text ? value : (double)c->empty;
    else if (c->kind == COLUMN_NANO || c->kind == COLUMN_WHOLE)
        *(int64_t *)member = !*text ? c->empty : c->kind == COLUMN_NANO ? nano : whole;
    else if (!*text)
        *(int *)member = (int)c->empty;
    else
        *(int *)member = (int)(c->kind == COLUMN_INT    ? milli / 1000
                               : c->kind == COLUMN_KIBI ? milli * 1024 / 1000
                                                        : milli);
    return 0;
}

static int read_value(const struct column *c, const char *text, void *row, struct err *err)
{
    void *member = (char *)row + c->at;
    if (!*text && c->may_be == COLUMN_NEEDED)
        return c->words ? expect_words(c->words, err)
                        : err_set(err, ERR_FORMAT, "expected a value");
    if (c->kind == COLUMN_DAY && *text)
        return files_day(text, member, err);
    if (c->kind == COLUMN_DAY)
        *(int64_t *)member = c->empty;
    else if (is_text(c->kind) || c->kind == COLUMN_JOINED)
        return read_text(c, text, member, err);
    else
        return read_number(c, text, member, err);
    return 0;
}

static int read_row(const struct columns *of, const struct columns_row *at, void *row,
                    struct err *err)
{
    for (size_t i = 0; of->columns[i].name; i++) {
        const char *text = csv_text(at->csv, at->at[i]);
        int rc = read_value(&of->columns[i], text ? text : "", row, err);
        if (rc != 0) {
            csv_context(at->csv, at->at[i], err);
            return rc; // also where nobody wants the words
        }
    }
    return of->finish ? of->finish(at, row, err) : 0;
}

static int find_columns(const struct columns *of, const struct csv *csv, int *at, struct err *err)
{
    const char *names[COLUMNS_MOST];
    size_t count = 0;
    for (; of->columns[count].name; count++) {
        names[count] = of->columns[count].name;
        at[count] = csv_column(csv, names[count]);
        if (of->columns[count].may_be != COLUMN_ABSENT)
            TRY(csv_need(csv, names[count], &at[count], err));
    }
    return of->only ? csv_only(csv, names, count, err) : 0;
}

int columns_load(const struct columns *of, const char *path, bool own, void *list, void *arg,
                 struct err *err)
{
    struct csv csv;
    struct columns_row at = {.csv = &csv, .own = own, .arg = arg};
    struct list *rows = list;
    if (own && (!path || !*path || access(path, F_OK) != 0))
        return 0;
    TRY(csv_open(&csv, path, NULL, err));
    int rc = find_columns(of, &csv, at.at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        void *row = rows->count < COLUMNS_ROWS_MOST ? list_add(rows, of->size, err) : NULL;
        rc = row ? read_row(of, &at, row, err)
             : rows->count < COLUMNS_ROWS_MOST
                 ? ERR_MEMORY
                 : csv_fault(&csv, -1, err, "more than %d rows", COLUMNS_ROWS_MOST);
    }
    csv_release(&csv);
    return rc;
}

int columns_both(const struct columns *of, const char *own, const char *shipped, void *list,
                 void *arg, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    TRY(files_own(own, &path, err));
    TRY(columns_load(of, buf_str(&path), true, list, arg, err));
    buf_reset(&path);
    TRY(files_shipped(shipped, &path, err));
    return columns_load(of, buf_str(&path), false, list, arg, err);
}

void columns_release(const struct columns *of, void *list)
{
    struct list *rows = list;
    for (size_t i = 0; i < rows->count; i++)
        for (const struct column *c = of->columns; c->name; c++)
            if (is_text(c->kind))
                free(*text_at((char *)rows->items + i * of->size, c));
    free(rows->items);
    *rows = (struct list){0};
}

void *columns_new(const struct columns *of, const char *own, const char *shipped, int *rc,
                  struct err *err)
{
    struct list *rows = calloc(1, sizeof *rows);
    *rc = rows ? columns_both(of, own, shipped, rows, NULL, err) : err_memory(err);
    if (*rc == 0)
        return rows;
    columns_free(of, rows);
    return NULL;
}

void columns_free(const struct columns *of, void *table)
{
    if (table)
        columns_release(of, table);
    free(table);
}

int columns_fault(const struct columns_row *at, const char *column, struct err *err,
                  const char *format, ...)
{
    char text[200];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return csv_fault(at->csv, column ? csv_column(at->csv, column) : -1, err, "%s", text);
}
