// SPDX-License-Identifier: Apache-2.0
#include "book/tariffs.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "book/book.h"
#include "record/read.h"
#include "tables/files.h"

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
    SCOPED(buf_release) struct buf text = {0};
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
    SCOPED(buf_release) struct buf shipped = {0}, own = {0};
    *out = NULL;
    TRY(files_shipped("providers", &shipped, err));
    TRY(files_own("providers", &own, err));
    return tariff_book_read(out, buf_str(&shipped), buf_str(&own), err);
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

// A tariff as a sentence for people.

struct sentence {
    struct buf *out;
    const char *currency;
    const char *offer; // (optional) its name: only what holds for it,
    int64_t day;       // on this day
    bool begun;
};

// Begins the next part of the sentence.
static struct buf *part(struct sentence *s)
{
    if (s->begun)
        buf_adds(s->out, "; ");
    s->begun = true;
    return s->out;
}

// "60 s", "10 min", "1 h", "30 days": the largest unit that is whole.
static void length_words(struct buf *out, int64_t ms)
{
    static const struct {
        int64_t ms;
        const char *one, *many;
    } units[] = {{86400000, "1 day", "days"},
                 {3600000, "1 h", "h"},
                 {60000, "1 min", "min"},
                 {1000, "1 s", "s"},
                 {1, "1 ms", "ms"}};
    size_t i = 0;
    // A minute as a minimum is "60 s": that is how it is written everywhere.
    while (units[i].ms > 1 && (ms % units[i].ms != 0 || (ms == 60000 && units[i].ms == 60000)))
        i++;
    if (ms == units[i].ms)
        buf_adds(out, units[i].one);
    else
        buf_printf(out, "%" PRId64 " %s", ms / units[i].ms, units[i].many);
}

static const char *unit_name(int64_t ms)
{
    switch (ms) {
    case 1:
        return "millisecond";
    case 1000:
        return "second";
    case 60000:
        return "minute";
    case 3600000:
        return "hour";
    case 86400000:
        return "day";
    case INT64_C(2592000000):
        return "month of 30 days";
    case INT64_C(2628000000):
        return "month of 730 hours";
    default:
        return NULL;
    }
}

static void per_words(struct buf *out, int64_t ms)
{
    if (unit_name(ms)) {
        buf_adds(out, unit_name(ms));
        return;
    }
    length_words(out, ms);
}

static void unit_words(const struct tariff *t, struct buf *out)
{
    int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    const char *rounding = t->rounding ? t->rounding : "up";
    if (unit_ms == 0) {
        buf_adds(out, "by the exact time");
        return;
    }
    buf_adds(out, t->clock_units.v                   ? "for every clock "
                  : strcmp(rounding, "nearest") == 0 ? "to the nearest "
                  : strcmp(rounding, "down") == 0    ? "per whole "
                  : unit_ms <= 1000                  ? "per "
                                                     : "per started ");
    per_words(out, unit_ms);
    buf_adds(out, t->clock_units.v ? " touched" : "");
}

static void minimum_words(const struct tariff *t, struct sentence *s)
{
    // A minimum of one unit says only that a start is charged.
    int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    bool time = t->minimum_s.known && t->minimum_s.v > 0 && t->minimum_s.v * 1000 != unit_ms;
    if (!time && !t->minimum_amount)
        return;
    buf_adds(s->out, ", at least ");
    if (time)
        length_words(s->out, t->minimum_s.v * 1000);
    if (t->minimum_amount)
        buf_printf(s->out, "%s%s %s", time ? " and " : "", t->minimum_amount, s->currency);
    buf_adds(s->out, " a start");
}

static void time_words(const struct tariff *t, struct sentence *s)
{
    struct buf *out = part(s);
    if (t->rate) {
        buf_printf(out, "%s %s per ", t->rate, s->currency);
        per_words(out, (t->per_s.known ? t->per_s.v : 3600) * 1000);
        buf_adds(out, ", ");
    }
    unit_words(t, out);
    minimum_words(t, s);
    if (t->billed_while_stopped.v)
        buf_adds(part(s), "full price while stopped, until deleted");
    for (size_t i = 0; i < t->regions.count; i++)
        buf_printf(part(s), "%" PRId64 " %% of the rate in regions like %s",
                   t->regions.items[i].percent.v, t->regions.items[i].region);
}

static void spot_words(const struct tariff *t, struct sentence *s)
{
    if (t->ends_after_s.known) {
        buf_adds(part(s), "ends after ");
        length_words(s->out, t->ends_after_s.v * 1000);
        buf_adds(s->out, " at the latest");
    }
    if (t->spot_first_hour_free.v)
        buf_adds(part(s), "free if the provider interrupts it within the first hour");
    if (t->spot_partial_free.v) {
        struct buf *out = part(s);
        buf_adds(out, "the ");
        per_words(out, t->unit_ms.known ? t->unit_ms.v : 1000);
        buf_adds(out, " in which the provider interrupts it is free");
    }
}

static void month_words(const struct tariff *t, struct sentence *s)
{
    if (t->tiers.count > 0) {
        struct buf *out = part(s);
        buf_adds(out, "sustained use: of the month's time the first");
        int64_t before = 0;
        for (size_t i = 0; i < t->tiers.count; i++) {
            int64_t share = t->tiers.items[i].upto_permille.v - before;
            buf_printf(out, "%s %" PRId64 ".%" PRId64 " %% at %" PRId64 " %% of the rate",
                       i == 0 ? "" : ", the next", share / 10, share % 10,
                       t->tiers.items[i].percent.v);
            before = t->tiers.items[i].upto_permille.v;
        }
    }
    if (t->monthly_cap)
        buf_printf(part(s), "at most %s %s a calendar month", t->monthly_cap, s->currency);
    for (size_t i = 0; i < t->commitments.count; i++) {
        const struct tariff_commitment *c = &t->commitments.items[i];
        bool own = s->offer && tariff_names(c->offers.items, c->offers.count, s->offer) &&
                   tariff_holds(NULL, c->valid_to, s->day);
        if (s->offer && !own)
            continue;
        buf_printf(part(s), "%g %% of the rate with a commitment of %" PRId64 " months",
                   (double)tariff_commitment_permille(c) / 10, c->months.v);
        for (size_t k = 0; !own && k < c->offers.count; k++)
            buf_printf(s->out, "%s%s", k ? ", " : " (", c->offers.items[k]);
        buf_adds(s->out, !own && c->offers.count > 0 ? ")" : "");
        if (c->valid_to)
            buf_printf(s->out, " before %s", c->valid_to);
    }
    if (t->capped_by_month.v)
        buf_adds(part(s), "a calendar month costs at most the offer's price by the month");
    if (t->monthly_fee)
        buf_printf(part(s), "%s %s for every calendar month of use", t->monthly_fee, s->currency);
    if (t->setup_fee)
        buf_printf(part(s), "%s %s once", t->setup_fee, s->currency);
}

static bool is_free(const char *amount)
{
    return strspn(amount, "0.") == strlen(amount);
}

static void storage_words(const struct tariff *t, struct sentence *s)
{
    if (t->disk_included.v)
        buf_adds(part(s), "the price includes a disk while running");
    if (!t->storage_rate)
        return;
    struct buf *out = part(s);
    if (is_free(t->storage_rate)) {
        buf_adds(out, "storage is free");
        return;
    }
    buf_printf(out, "storage %s %s", t->storage_rate, s->currency);
    if (t->storage_stopped_rate)
        buf_printf(out, " (%s while stopped)", t->storage_stopped_rate);
    buf_adds(out, " per GB and ");
    int64_t month_s = t->storage_month_s.known ? t->storage_month_s.v : 2592000;
    if (t->storage_calendar_month.v)
        buf_adds(out, "calendar month");
    else
        per_words(out, month_s * 1000);
    if (t->storage_unit_ms.known && t->storage_unit_ms.v > 1000) {
        buf_adds(out, t->clock_units.v ? ", for every clock " : ", per started ");
        per_words(out, t->storage_unit_ms.v);
        buf_adds(out, t->clock_units.v ? " touched" : "");
    }
    if (t->storage_minimum_s.known && t->storage_minimum_s.v > 0) {
        buf_adds(out, ", at least ");
        length_words(out, t->storage_minimum_s.v * 1000);
    }
    if (t->storage_steps.count > 0)
        buf_printf(out, ", charged at the next size on sale (%" PRId64 " GB and up)",
                   t->storage_steps.items[0].gb.v);
    if (t->storage_free_gb.known && t->storage_free_gb.v > 0)
        buf_printf(out, ", the first %" PRId64 " GB free", t->storage_free_gb.v);
}

static void traffic_words(const struct tariff *t, struct sentence *s)
{
    if (t->egress_rate && is_free(t->egress_rate)) {
        buf_adds(part(s), "traffic out is free");
    } else if (t->egress_rate) {
        buf_adds(part(s), "traffic out ");
        for (size_t i = 0; i < t->egress_steps.count; i++)
            buf_printf(s->out, "%s up to %" PRId64 " GB, ", t->egress_steps.items[i].rate,
                       t->egress_steps.items[i].upto_gb.v);
        buf_printf(s->out, "%s %s per GB", t->egress_rate, s->currency);
        if (t->egress_free_gb.known && t->egress_free_gb.v > 0)
            buf_printf(s->out, ", the first %" PRId64 " GB a month free", t->egress_free_gb.v);
    }
    if (t->ingress_rate && !is_free(t->ingress_rate))
        buf_printf(part(s), "traffic in %s %s per GB", t->ingress_rate, s->currency);
}

void tariff_part_words(const struct tariff *t, enum tariff_part part, struct buf *out)
{
    struct sentence s = {.out = out, .currency = t->currency ? t->currency : "USD"};
    if (part == TARIFF_STORAGE) {
        storage_words(t, &s);
    } else if (part == TARIFF_TRAFFIC) {
        traffic_words(t, &s);
    } else {
        unit_words(t, out);
        minimum_words(t, &s);
    }
}

void tariff_words(const struct tariff *t, const char *offer, int64_t day, struct buf *out)
{
    struct sentence s = {
        .out = out, .currency = t->currency ? t->currency : "USD", .offer = offer, .day = day};
    time_words(t, &s);
    spot_words(t, &s);
    month_words(t, &s);
    storage_words(t, &s);
    traffic_words(t, &s);
    if (t->words)
        buf_adds(part(&s), t->words);
}

// ==== checks of a tariff ====

// ---- checks

#define YEAR_S     (INT64_C(366) * 86400)
#define YEAR_MS    (YEAR_S * 1000)
#define DAY_MS     INT64_C(86400000)
#define MOST_GB    INT64_C(1000000000)
#define AT(member) offsetof(struct tariff, member)

static const struct {
    const char *name;
    size_t at;
} amounts[] = {
    {"rate", AT(rate)},
    {"minimum_amount", AT(minimum_amount)},
    {"monthly_cap", AT(monthly_cap)},
    {"monthly_fee", AT(monthly_fee)},
    {"setup_fee", AT(setup_fee)},
    {"storage_rate", AT(storage_rate)},
    {"storage_stopped_rate", AT(storage_stopped_rate)},
    {"egress_rate", AT(egress_rate)},
    {"ingress_rate", AT(ingress_rate)},
};

static const struct {
    const char *name;
    size_t at;
    int64_t low, high;
} numbers[] = {
    {"per_s", AT(per_s), 1, YEAR_S},
    {"unit_ms", AT(unit_ms), 0, YEAR_MS},
    {"minimum_s", AT(minimum_s), 0, YEAR_S},
    {"ends_after_s", AT(ends_after_s), 1, YEAR_S},
    {"storage_month_s", AT(storage_month_s), 1, YEAR_S},
    {"storage_unit_ms", AT(storage_unit_ms), 0, YEAR_MS},
    {"storage_minimum_s", AT(storage_minimum_s), 0, YEAR_S},
    {"storage_free_gb", AT(storage_free_gb), 0, MOST_GB},
    {"egress_free_gb", AT(egress_free_gb), 0, MOST_GB},
    {"gb_bytes", AT(gb_bytes), 1000000000, 1 << 30},
    {"decimals", AT(decimals), 0, 9},
};

static int wrong(const struct tariff *t, const char *member, const char *expected, struct err *err)
{
    return err_set(err, ERR_FORMAT, "tariff '%s', %s: expected %s",
                   t->id ? t->id : "without a name", member, expected);
}

static bool one_of(const char *text, const char *const *words)
{
    for (; text && *words; words++)
        if (strcmp(text, *words) == 0)
            return true;
    return !text;
}

static int check_dates(const struct tariff *t, struct err *err)
{
    static const char expected[] = "a date such as 2017-10-02";
    int64_t from = INT64_MIN, to = INT64_MAX, read;
    if (t->valid_from && (strlen(t->valid_from) != 10 || !clock_parse(t->valid_from, &from)))
        return wrong(t, "valid_from", expected, err);
    if (t->valid_to && (strlen(t->valid_to) != 10 || !clock_parse(t->valid_to, &to)))
        return wrong(t, "valid_to", expected, err);
    if (t->date && !clock_parse(t->date, &read))
        return wrong(t, "date", expected, err);
    if (from >= to)
        return wrong(t, "valid_to", "a date after valid_from", err);
    return 0;
}

static bool is_amount(const char *text)
{
    int64_t nano;
    return money_parse(text, &nano, NULL) == 0 && nano >= 0;
}

static int check_egress(const struct tariff *t, struct err *err)
{
    int64_t before = 0;
    if (t->egress_steps.count > TARIFF_EGRESS_MAX)
        return wrong(t, "egress_steps", "fewer of them", err);
    if (t->egress_steps.count > 0 && !t->egress_rate)
        return wrong(t, "egress_rate", "the price past the last of egress_steps", err);
    for (size_t i = 0; i < t->egress_steps.count; i++) {
        const struct tariff_egress *step = &t->egress_steps.items[i];
        if (!step->upto_gb.known || step->upto_gb.v <= before || step->upto_gb.v > MOST_GB ||
            !step->rate || !is_amount(step->rate))
            return wrong(t, "egress_steps", "ascending upto_gb, and a rate each", err);
        before = step->upto_gb.v;
    }
    return 0;
}

static int check_regions(const struct tariff *t, struct err *err)
{
    for (size_t i = 0; i < t->regions.count; i++) {
        struct maybe_int percent = t->regions.items[i].percent;
        if (!t->regions.items[i].region || !percent.known || percent.v < 1 || percent.v > 1000)
            return wrong(t, "regions", "a region and a percent from 1 to 1000 each", err);
    }
    return 0;
}

// Units that begin on the clock end where the day does, so no unit lies in two months.
static bool clock_unit(struct maybe_int unit_ms)
{
    return !unit_ms.known || (unit_ms.v > 0 && unit_ms.v % 1000 == 0 && DAY_MS % unit_ms.v == 0);
}

static int check_units(const struct tariff *t, struct err *err)
{
    static const char expected[] = "with clock_units, whole seconds that divide a day";
    static const char *const roundings[] = {"up", "nearest", "down", NULL};
    if (!one_of(t->rounding, roundings))
        return wrong(t, "rounding", "up, nearest or down", err);
    if (t->storage_calendar_month.v && t->storage_month_s.known)
        return wrong(t, "storage_month_s", "none beside storage_calendar_month", err);
    if (!t->clock_units.v)
        return 0;
    if (!clock_unit(t->unit_ms))
        return wrong(t, "unit_ms", expected, err);
    if (!clock_unit(t->storage_unit_ms))
        return wrong(t, "storage_unit_ms", expected, err);
    return t->rounding && strcmp(t->rounding, "up") != 0
               ? wrong(t, "rounding", "up, with clock_units", err)
               : 0;
}

int64_t tariff_commitment_permille(const struct tariff_commitment *c)
{
    return c->permille.known ? c->permille.v : 10 * c->percent.v;
}

static int check_commitments(const struct tariff *t, struct err *err)
{
    for (size_t i = 0; i < t->commitments.count; i++) {
        const struct tariff_commitment *c = &t->commitments.items[i];
        bool once = c->percent.known != c->permille.known;
        int64_t to;
        if (!c->months.known || c->months.v < 1 || c->months.v > 120 || !once ||
            c->percent.v > 100 || tariff_commitment_permille(c) < 1 ||
            tariff_commitment_permille(c) > 1000)
            return wrong(t, "commitments",
                         "months up to 120, and a percent up to 100 or a permille up to 1000 each",
                         err);
        if (c->valid_to && (strlen(c->valid_to) != 10 || !clock_parse(c->valid_to, &to)))
            return wrong(t, "commitments", "a valid_to such as 2017-10-02", err);
    }
    return 0;
}

static int check_lists(const struct tariff *t, struct err *err)
{
    int64_t before = 0;
    if (t->tiers.count > TARIFF_TIERS_MAX)
        return wrong(t, "tiers", "fewer of them", err);
    for (size_t i = 0; i < t->tiers.count; i++) {
        struct maybe_int upto = t->tiers.items[i].upto_permille,
                         percent = t->tiers.items[i].percent;
        if (!upto.known || upto.v <= before || upto.v > 1000 || !percent.known || percent.v < 0 ||
            percent.v > 1000)
            return wrong(t, "tiers", "ascending upto_permille up to 1000, and a percent each", err);
        before = upto.v;
    }
    TRY(check_commitments(t, err));
    if (t->storage_steps.count > TARIFF_STEPS_MAX)
        return wrong(t, "storage_steps", "fewer of them", err);
    before = 0;
    for (size_t i = 0; i < t->storage_steps.count; i++) {
        struct maybe_int gb = t->storage_steps.items[i].gb;
        if (!gb.known || gb.v <= before)
            return wrong(t, "storage_steps", "ascending sizes", err);
        before = gb.v;
    }
    return 0;
}

int tariff_check(const struct tariff *t, struct err *err)
{
    static const char *const kinds[] = {"on-demand", "spot", "monthly", NULL};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++) {
        const char *text = *(char *const *)((const char *)t + amounts[i].at);
        if (text && !is_amount(text))
            return wrong(t, amounts[i].name, TARIFF_AMOUNT, err);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const struct maybe_int *v = (const void *)((const char *)t + numbers[i].at);
        if (v->known && (v->v < numbers[i].low || v->v > numbers[i].high))
            return wrong(t, numbers[i].name, "a number that makes sense there", err);
    }
    if (!one_of(t->kind, kinds))
        return wrong(t, "kind", "on-demand, spot or monthly", err);
    TRY(check_units(t, err));
    TRY(check_dates(t, err));
    TRY(check_lists(t, err));
    TRY(check_egress(t, err));
    return check_regions(t, err);
}
