// SPDX-License-Identifier: Apache-2.0
#include "book/format.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/money.h"
#include "base/utf8.h"
#include "book/book.h"
#include "tables/currency.h"
#include "tables/files.h"
#include "record/field.h"

enum { WORD_MAX_BYTES = 200, MIB_MAX = INT32_MAX / 4 };

bool format_has_columns(const char *head, const char *const *names, size_t count)
{
    size_t line = strcspn(head, "\r\n");
    if (strncmp(head, "\xEF\xBB\xBF", 3) == 0) {
        head += 3;
        line -= 3;
    }
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        bool found = false;
        for (size_t at = 0; at < line && !found;) {
            size_t end = at;
            while (end < line && head[end] != ',')
                end++;
            size_t from = at + (head[at] == '"'), to = end;
            if (to > from && head[to - 1] == '"')
                to--;
            found = to - from == len && memcmp(head + from, names[i], len) == 0;
            at = end + 1;
        }
        if (!found)
            return false;
    }
    return true;
}

int format_csv(struct import *im, struct csv *csv, struct err *err)
{
    return csv_init_text(csv, im->name, im->text, im->len, NULL, err);
}

// ---- notes ----

static void note(struct import *im, size_t line, bool left_out, const char *why,
                 const char *example)
{
    struct import_report *r = im->report;
    size_t i = 0;
    while (i < r->note_count && strcmp(r->notes[i].why, why) != 0)
        i++;
    if (i == IMPORT_NOTES)
        return;
    struct import_note *n = &r->notes[i];
    if (i == r->note_count) {
        r->note_count++;
        *n = (struct import_note){.why = why, .left_out = left_out, .line = line};
        snprintf(n->example, sizeof n->example, "%.*s", IMPORT_EXAMPLE - 1, example);
    }
    n->count++;
}

void format_left_out(struct import *im, size_t line, const char *why, const char *example)
{
    note(im, line, true, why, example);
}

void format_noted(struct import *im, size_t line, const char *why, const char *example)
{
    note(im, line, false, why, example);
}

// ---- fields ----

// Most words are ASCII, and need no decoding.
static bool is_printable(const char *text, size_t *len)
{
    const char *c = text;
    while (*c >= ' ' && *c < 0x7f)
        c++;
    bool all = *c == '\0';
    *len = (size_t)(c - text) + (all ? 0 : strlen(c));
    return all;
}

int format_word(const struct csv *csv, int column, const char **out, struct err *err)
{
    const char *text = csv_text(csv, column);
    *out = text ? text : "";
    size_t len;
    if (!text || (is_printable(text, &len) && len <= WORD_MAX_BYTES))
        return 0;
    const char *fault = NULL;
    if (len > WORD_MAX_BYTES)
        fault = "a text that is too long";
    else if (utf8_bad(text, len) != len)
        fault = "text that is not UTF-8";
    for (size_t i = 0; i < len && !fault;) {
        uint32_t c;
        i += utf8_next(text + i, len - i, &c);
        if (utf8_steers(c))
            fault = "a control character";
    }
    return fault ? csv_fault(csv, column, err, "%s", fault) : 0;
}

int format_decimal(const char *text, int64_t *nano, struct err *err)
{
    char shorter[64];
    const char *point = strchr(text, '.');
    size_t whole = point ? (size_t)(point - text) + 10 : 0;
    bool long_one = point && strlen(point + 1) > 9 && whole < sizeof shorter;
    if (!long_one || strspn(point + 1, "0123456789") != strlen(point + 1)) {
        int rc = money_parse(text, nano, err);
        if (rc == 0 && *nano < 0)
            rc = err_set(err, ERR_FORMAT, "'%.40s' is below zero", text);
        return rc;
    }
    memcpy(shorter, text, whole);
    shorter[whole] = '\0';
    int rc = format_decimal(shorter, nano, err);
    const char *rest = point + 10;
    bool more = strspn(rest + 1, "0") != strlen(rest + 1);
    bool up = *rest > '5' || (*rest == '5' && (more || *nano % 2 != 0));
    return rc == 0 && up ? money_add(*nano, 1, nano, err) : rc;
}

int format_price(const struct csv *csv, int column, int64_t *nano, bool *given, struct err *err)
{
    const char *text = csv_text(csv, column);
    *nano = 0;
    *given = text && *text;
    int rc = *given ? format_decimal(text, nano, err) : 0;
    if (rc != 0)
        csv_context(csv, column, err);
    return rc;
}

// A number times `scale`, rounded half to even.
static int scaled(const struct csv *csv, int column, int64_t scale, int *out, struct err *err)
{
    int64_t nano, value = 0;
    bool given;
    int rc = format_price(csv, column, &nano, &given, err);
    *out = 0;
    if (rc != 0 || !given)
        return rc;
    rc = money_scale(nano, scale, MONEY_UNIT, MONEY_HALF_EVEN, &value, err);
    if (rc == 0 && value > MIB_MAX)
        rc = err_set(err, ERR_FORMAT, "'%.40s' is too large", csv_text(csv, column));
    if (rc != 0)
        csv_context(csv, column, err);
    *out = rc == 0 ? (int)value : 0;
    return rc;
}

int format_fields(const struct csv *csv, const int *at, const struct format_field *fields,
                  size_t count, struct err *err)
{
    for (const struct format_field *f = fields; f < fields + count; f++)
        TRY(f->word    ? format_word(csv, at[f->column], f->word, err)
            : f->milli ? scaled(csv, at[f->column], 1000, f->milli, err)
                       : scaled(csv, at[f->column], 1024, f->gib, err));
    return 0;
}

// ---- GPUs ----

const struct device *format_device(struct import *im, const char *text)
{
    if (!im->devices || !*text)
        return NULL;
    // Rows of one machine are adjacent: most lookups repeat the last one.
    if (strcmp(text, im->gpu_text) != 0 || strlen(text) >= sizeof im->gpu_text) {
        im->gpu = device_find(im->devices, text);
        snprintf(im->gpu_text, sizeof im->gpu_text, "%s", text);
    }
    return im->gpu;
}

// "A100" with 80 GB is another model, if the table has it.
static void sized_name(const struct device *device, int memory_mib, char out[96])
{
    snprintf(out, 96, "%.60s-%dGB", device->name, (memory_mib + 512) / 1024);
}

static bool near(int64_t a, int64_t b)
{
    int64_t apart = a > b ? a - b : b - a;
    return apart * 5 <= b; // some catalogues convert 24 GB to 22888 MiB
}

// True if no GPU of this name has this memory.
static bool format_odd_memory(struct import *im, const char *text, int memory_mib)
{
    char name[96];
    const struct device *device = format_device(im, text);
    if (!device || device->memory_mib == 0 || near(memory_mib, device->memory_mib))
        return false;
    sized_name(device, memory_mib, name);
    return !device_find(im->devices, name);
}

bool format_is_total(struct import *im, const char *text, int gpus_milli, int memory_mib)
{
    int gpus = gpus_milli / 1000;
    return gpus > 1 && format_odd_memory(im, text, memory_mib) &&
           !format_odd_memory(im, text, memory_mib / gpus);
}

bool format_is_other(const char *accelerator)
{
    static const char *const others[] = {
        "tpu",   "trainium", "inferentia", "gaudi",  "habana",   "qualcomm",    "virtex",
        "alveo", "fpga",     "graphcore",  "ascend", "cerebras", "tenstorrent", "groq"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcasestr(accelerator, others[i]))
            return true;
    return false;
}

const char *format_gpu(struct import *im, const char *text, int gpus_milli, int *memory_mib)
{
    const struct device *device = format_device(im, text);
    if (!device)
        return text;
    bool part = gpus_milli > 0 && gpus_milli < 1000; // has a part of the GPU's memory
    if (*memory_mib == 0 && !part)
        *memory_mib = device->memory_mib;
    if (part || device->memory_mib == 0 || near(*memory_mib, device->memory_mib))
        return device->name;
    sized_name(device, *memory_mib, im->gpu_name);
    const struct device *sized = device_find(im->devices, im->gpu_name);
    return sized ? sized->name : im->gpu_name;
}

// ---- offers ----

bool format_is_bare_metal(const char *name)
{
    const char *metal = strstr(name, "metal");
    return metal && metal > name && (metal[-1] == '.' || metal[-1] == '-');
}

struct offer format_offer(const struct import *im)
{
    return (struct offer){
        .provider = im->provider,
        .name = "",
        .region = "",
        .zone = "",
        .gpu = "",
        .cpu = "",
        .currency = "USD",
        .source = im->source,
        .per_s = 3600,
        .since = im->day,
        .day = im->day,
    };
}

int format_add(struct import *im, const struct offer *offer, struct err *err)
{
    uint32_t number;
    if (im->unknown && im->devices && *offer->gpu && !format_device(im, offer->gpu))
        TRY(words_add(im->unknown, offer->gpu, &number, err));
    int rc = stock_add(im->stock, offer, err);
    im->report->offers += rc == 0;
    return rc;
}

struct catalogue_row {
    char *providers, *offers; // patterns, separated by ';'; null: all
    char *currency;           // null: not said
    char *kind_word, *basis_word, *source;
    enum offer_kind kind; // unless kind_word is null: any
    enum offer_basis basis;
    int64_t valid_to; // day; 0: not said
};

struct catalogues {
    LIST_OF(struct catalogue_row) rows; // the user's own first
};

#define AT(member) offsetof(struct catalogue_row, member)
static const struct column columns[] = {{"provider", COLUMN_TEXT, AT(providers), COLUMN_EMPTY},
                                        {"offers", COLUMN_TEXT, AT(offers), COLUMN_EMPTY},
                                        {"kind", COLUMN_TEXT, AT(kind_word), COLUMN_EMPTY},
                                        {"currency", COLUMN_TEXT, AT(currency), COLUMN_EMPTY},
                                        {"price_is", COLUMN_STRING, AT(basis_word), COLUMN_EMPTY},
                                        {"valid_to", COLUMN_DAY, AT(valid_to), COLUMN_EMPTY},
                                        {"source", COLUMN_TEXT, AT(source)},
                                        {"date", COLUMN_JOINED, AT(source), COLUMN_EMPTY},
                                        {0}};

static int check_catalogue(const struct columns_row *at, void *arg, struct err *err)
{
    struct catalogue_row *row = arg;
    if (row->kind_word && !offer_kind_parse(row->kind_word, &row->kind))
        return columns_fault(at, "kind", err, "'%.40s' is not on-demand, spot or monthly",
                             row->kind_word);
    if (row->currency && !currency_is_name(row->currency))
        return columns_fault(at, "currency", err, "'%.20s' is not a currency: USD, EUR, ...",
                             row->currency);
    if (!offer_basis_parse(row->basis_word, &row->basis))
        return columns_fault(at, "price_is", err, "'%.40s' is not list, floor or median",
                             row->basis_word);
    return 0;
}

static const struct columns table = {columns, sizeof(struct catalogue_row), false, check_catalogue};

int catalogues_open(struct catalogues **out, struct err *err)
{
    int rc;
    *out = columns_new(&table, "catalogues.csv", "catalogues.csv", &rc, err);
    return rc;
}

void catalogues_close(struct catalogues *catalogues)
{
    columns_free(&table, catalogues);
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

// Sets what the table says about this offer: for each of the three the first row that fits and has
// it. The currency belongs to `catalogues`. An offer without a region or a known currency is marked
// (offer.lacks).
static void catalogue_declare(const struct catalogues *catalogues, struct offer *offer)
{
    bool priced = false;
    for (size_t i = 0; i < catalogues->rows.count; i++) {
        const struct catalogue_row *row = &catalogues->rows.items[i];
        if (!fits(row->providers, offer->provider) || !fits(row->offers, offer->name) ||
            (row->kind_word && row->kind != offer->kind))
            continue;
        if (row->currency && !priced)
            offer->currency = row->currency;
        priced |= row->currency != NULL;
        if (offer->basis == BASIS_UNSAID)
            offer->basis = row->basis;
        if (offer->valid_to == 0)
            offer->valid_to = (int)row->valid_to;
    }
    offer->lacks |= (priced ? 0 : LACKS_CURRENCY) | (*offer->region ? 0 : LACKS_REGION);
}

int format_add_listed(struct import *im, struct offer *offer, struct err *err)
{
    if (im->catalogues)
        catalogue_declare(im->catalogues, offer);
    return format_add(im, offer, err);
}
