// SPDX-License-Identifier: Apache-2.0
#include "price/tariffs.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "price/book.h"
#include "price/files.h"
#include "record/read.h"

enum { FILE_MAX = 4 << 20, DAY_S = 86400 };

struct tariff_book {
    struct tariffs **files; // pointers, so that tariffs do not move when a file is added
    size_t count;
    size_t own; // the first files are the user's
};

static const struct tariff default_tariff = {
    .id = (char[]){"default"},
    .assumed = {true, true},
    .words = (char[]){"no billing rule of this provider is known"},
};

// ---- reading

static int check_file(const struct tariffs *file, struct err *err)
{
    if (!file->schema || strcmp(file->schema, TARIFF_SCHEMA) != 0)
        return err_set(err, ERR_FORMAT, "schema: expected \"" TARIFF_SCHEMA "\"");
    for (size_t i = 0; i < file->tariffs.count; i++) {
        const struct tariff *t = &file->tariffs.items[i];
        if (!t->id || !t->provider)
            return err_set(err, ERR_FORMAT, "tariffs[%zu]: expected an id and a provider", i);
        for (size_t j = 0; j < i; j++)
            if (strcmp(file->tariffs.items[j].id, t->id) == 0)
                return err_set(err, ERR_FORMAT, "tariffs[%zu]: '%s' appears twice", i, t->id);
        TRY(tariff_check(t, err));
    }
    return 0;
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct tariff_book *book = arg;
    struct buf text = {0};
    struct tariffs *file = calloc(1, sizeof *file);
    struct tariffs **files = realloc(book->files, (book->count + 1) * sizeof *files);
    if (files)
        book->files = files;
    int rc = file && files ? fs_read(path, FILE_MAX, &text, err) : err_memory(err);
    if (rc == 0) {
        rc = record_from_text_strict(tariffs_fields, buf_str(&text), text.len, file, err);
        if (rc == 0)
            rc = check_file(file, err);
        if (rc == ERR_FORMAT)
            err_context(err, "'%s'", path);
    }
    buf_release(&text);
    if (rc == 0) {
        book->files[book->count++] = file;
    } else if (file) {
        record_release(tariffs_fields, file);
        free(file);
    }
    return rc;
}

int tariff_book_read(struct tariff_book **out, const char *shipped, const char *own,
                     struct err *err)
{
    struct tariff_book *book = calloc(1, sizeof *book);
    *out = NULL;
    if (!book)
        return err_memory(err);
    int rc = 0;
    if (own && *own)
        rc = files_each(own, ".json", read_file, book, err);
    book->own = book->count;
    if (rc == 0 && shipped && *shipped)
        rc = files_each(shipped, ".json", read_file, book, err);
    if (rc == 0)
        *out = book;
    else
        tariff_book_close(book);
    return rc;
}

int tariff_book_open(struct tariff_book **out, struct err *err)
{
    struct buf shipped = {0}, own = {0};
    *out = NULL;
    int rc = files_shipped("providers", &shipped, err);
    if (rc == 0)
        rc = files_own("providers", &own, err);
    if (rc == 0)
        rc = tariff_book_read(out, buf_str(&shipped), buf_str(&own), err);
    buf_release(&shipped);
    buf_release(&own);
    return rc;
}

void tariff_book_close(struct tariff_book *book)
{
    if (!book)
        return;
    for (size_t i = 0; i < book->count; i++) {
        record_release(tariffs_fields, book->files[i]);
        free(book->files[i]);
    }
    free(book->files);
    free(book);
}

// ---- finding

const struct tariff *tariff_at(const struct tariff_book *book, size_t index)
{
    for (size_t i = 0; i < book->count; i++) {
        size_t count = book->files[i]->tariffs.count;
        if (index < count)
            return &book->files[i]->tariffs.items[index];
        index -= count;
    }
    return NULL;
}

static int64_t day_of(const char *date, int64_t absent)
{
    int64_t s;
    if (!date || !clock_parse(date, &s))
        return absent;
    return s >= 0 ? s / DAY_S : -((DAY_S - 1 - s) / DAY_S);
}

static bool is_of(const struct tariff *t, const char *provider)
{
    for (size_t i = 0; i < t->aliases.count; i++)
        if (strcmp(t->aliases.items[i], provider) == 0)
            return true;
    return strcmp(t->provider, provider) == 0;
}

bool tariff_holds(const char *from, const char *to, int64_t day)
{
    return day >= day_of(from, INT_MIN) && day < day_of(to, INT64_MAX);
}

bool tariff_names(char *const *patterns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (name && fnmatch(patterns[i], name, 0) == 0)
            return true;
    return count == 0;
}

// 0: does not fit, 1: fits all of the provider's offers, 2: fits this offer by its name.
static int fits(const struct tariff *t, const char *provider, enum offer_kind kind,
                const char *name, int64_t day)
{
    const char *its_kind = t->kind ? t->kind : "on-demand";
    if (!is_of(t, provider) || strcmp(its_kind, offer_kind_word(kind)) != 0)
        return 0;
    if (!tariff_holds(t->valid_from, t->valid_to, day))
        return 0;
    if (t->offers.count == 0)
        return 1;
    return tariff_names(t->offers.items, t->offers.count, name) ? 2 : 0;
}

// Searches the files from `first` to before `end`.
static const struct tariff *best(const struct tariff_book *book, size_t first, size_t end,
                                 const struct offer *offer, int64_t day)
{
    const struct tariff *found = NULL;
    int found_fit = 0;
    for (size_t i = first; i < end; i++)
        for (size_t j = 0; j < book->files[i]->tariffs.count; j++) {
            const struct tariff *t = &book->files[i]->tariffs.items[j];
            int fit = fits(t, offer->provider, offer->kind, offer->name, day);
            if (fit == 0 || fit < found_fit)
                continue;
            if (fit > found_fit ||
                day_of(t->valid_from, INT_MIN) >= day_of(found->valid_from, INT_MIN)) {
                found = t;
                found_fit = fit;
            }
        }
    return found;
}

bool tariff_has_regions(const struct tariff_book *book, const char *provider)
{
    const struct tariff *t;
    for (size_t i = 0; (t = tariff_at(book, i)); i++)
        if (t->regions.count > 0 && is_of(t, provider))
            return true;
    return false;
}

bool tariff_has_end(const struct tariff_book *book, const char *provider)
{
    const struct tariff *t;
    for (size_t i = 0; (t = tariff_at(book, i)); i++)
        if (t->ends_after_s.known && is_of(t, provider))
            return true;
    return false;
}

const struct tariff *tariff_for(const struct tariff_book *book, const struct offer *offer, int day,
                                bool *assumed)
{
    int64_t on = day != 0 ? day : clock_date_s() / DAY_S;
    const struct tariff *found = best(book, 0, book->own, offer, on);
    if (!found)
        found = best(book, book->own, book->count, offer, on);
    if (!found)
        found = &default_tariff;
    if (assumed)
        *assumed = found->assumed.v;
    return found;
}
