// SPDX-License-Identifier: Apache-2.0
#include "price/catalogue.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "price/book.h"
#include "price/files.h"
#include "record/field.h"

struct row {
    char *providers, *offers; // patterns, separated by ';'; null: all
    char *currency;           // null: not said
    bool any_kind;
    enum offer_kind kind;
    enum offer_basis basis;
    int valid_to; // day; 0: not said
};

struct catalogues {
    LIST_OF(struct row) rows; // the user's own first
};

enum { PROVIDER, OFFERS, KIND, CURRENCY, PRICE_IS, VALID_TO, SOURCE, DATE, COLUMNS };
static const char *const names[COLUMNS] = {"provider", "offers",   "kind",   "currency",
                                           "price_is", "valid_to", "source", "date"};

static int read_row(const struct csv *csv, const int *at, struct row *row, struct err *err)
{
    const char *kind = csv_text(csv, at[KIND]), *currency = csv_text(csv, at[CURRENCY]);
    const char *basis = csv_text(csv, at[PRICE_IS]), *end = csv_text(csv, at[VALID_TO]);
    int64_t day = 0;
    row->any_kind = !*kind;
    if (*kind && !offer_kind_parse(kind, &row->kind))
        return csv_fault(csv, at[KIND], err, "'%.40s' is not on-demand, spot or monthly", kind);
    if (*currency && !offer_currency_good(currency))
        return csv_fault(csv, at[CURRENCY], err, "'%.20s' is not a currency: USD, EUR, ...",
                         currency);
    if (!offer_basis_parse(basis, &row->basis))
        return csv_fault(csv, at[PRICE_IS], err, "'%.40s' is not list, floor or median", basis);
    if (*end && files_day(end, &day, err) != 0)
        return csv_context(csv, at[VALID_TO], err);
    row->valid_to = (int)day;
    if (!*csv_text(csv, at[SOURCE]))
        return csv_fault(csv, at[SOURCE], err, "the source is missing");
    return TEXTS_SET(err, {&row->providers, csv_text(csv, at[PROVIDER])},
                     {&row->offers, csv_text(csv, at[OFFERS])}, {&row->currency, currency});
}

static int read_file(void *arg, const char *path, struct err *err)
{
    struct catalogues *catalogues = arg;
    struct csv csv;
    int at[COLUMNS] = {0};
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, names, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0) {
        struct row *row = LIST_ADD(&catalogues->rows, err);
        rc = row ? read_row(&csv, at, row, err) : ERR_MEMORY;
    }
    csv_release(&csv);
    return rc;
}

int catalogues_open(struct catalogues **out, struct err *err)
{
    struct catalogues *catalogues = calloc(1, sizeof *catalogues);
    *out = NULL;
    if (!catalogues)
        return err_memory(err);
    int rc = files_both("catalogues.csv", "catalogues.csv", read_file, catalogues, err);
    if (rc == 0)
        *out = catalogues;
    else
        catalogues_close(catalogues);
    return rc;
}

void catalogues_close(struct catalogues *catalogues)
{
    for (size_t i = 0; catalogues && i < catalogues->rows.count; i++) {
        free(catalogues->rows.items[i].providers);
        free(catalogues->rows.items[i].offers);
        free(catalogues->rows.items[i].currency);
    }
    if (catalogues)
        free(catalogues->rows.items);
    free(catalogues);
}

// Whether a word fits one of the patterns in "aws;gcp"; without patterns every word does.
static bool fits(const char *patterns, const char *word)
{
    char pattern[128];
    for (const char *p = patterns; p && *p;) {
        size_t plain = strcspn(p, ";*?["), len = plain + strcspn(p + plain, ";");
        if (plain == len && strncmp(p, word, len) == 0 && word[len] == '\0')
            return true;
        if (plain < len && len < sizeof pattern && strncmp(p, word, plain) == 0) {
            memcpy(pattern, p, len);
            pattern[len] = '\0';
            if (fnmatch(pattern, word, 0) == 0)
                return true;
        }
        p += len + (p[len] == ';');
    }
    return !patterns;
}

void catalogue_declare(const struct catalogues *catalogues, struct offer *offer)
{
    bool priced = false;
    for (size_t i = 0; i < catalogues->rows.count; i++) {
        const struct row *row = &catalogues->rows.items[i];
        if (!fits(row->providers, offer->provider) || !fits(row->offers, offer->name) ||
            (!row->any_kind && row->kind != offer->kind))
            continue;
        if (row->currency && !priced)
            offer->currency = row->currency;
        priced |= row->currency != NULL;
        if (offer->basis == BASIS_UNSAID)
            offer->basis = row->basis;
        if (offer->valid_to == 0)
            offer->valid_to = row->valid_to;
    }
    offer->lacks |= (priced ? 0 : LACKS_CURRENCY) | (*offer->region ? 0 : LACKS_REGION);
}
