// SPDX-License-Identifier: Apache-2.0
// import: opens a file, picks the reader of its format, and writes the stock to the book.
#include "book/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/gzip.h"
#include "base/tree.h"
#include "book/book.h"
#include "book/format.h"
#include "book/image.h"
#include "book/names.h"
#include "book/stock.h"
#include "tables/currency.h"
#include "tables/files.h"

#define TEXT_MAX ((int64_t)1 << 30) // unpacked

enum { HEAD_BYTES = 64 << 10 }; // enough to tell a format that streams

#define ROW(name) &format_##name,
static const struct price_format *const formats[] = {PRICE_FORMATS(ROW)};
#undef ROW
enum { FORMATS = sizeof formats / sizeof *formats };

const char *import_format(size_t i)
{
    return i < FORMATS ? formats[i]->name : NULL;
}

static const struct price_format *choose(const char *name, const char *text, size_t len,
                                         const char *path, struct err *err)
{
    for (int i = 0; i < FORMATS; i++)
        if (name ? strcmp(formats[i]->name, name) == 0 : formats[i]->knows(text, len))
            return formats[i];
    if (name) {
        err_set(err, ERR_USAGE, "'%s' is not a format of prices", name);
    } else {
        err_set(err, ERR_FORMAT, "'%s' is in none of the formats that fare reads", path);
        err_hint(err, "name it with --format: 'fare prices import --help' lists them");
    }
    return NULL;
}

// ---- names and dates ----

// "aws" of "x/aws.csv.gz" and of "x/aws/vms.csv" (SkyPilot's folders).
static void provider_of(const char *name, char out[64])
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    size_t len = strcspn(base, ".");
    if (slash && strncmp(base, "vms.", 4) == 0) {
        const char *from = slash;
        while (from > name && from[-1] != '/')
            from--;
        base = from;
        len = (size_t)(slash - from);
    }
    // Also of "aws-2026-08-22.csv" and "aws_2026-08.csv".
    for (size_t i = 1; i + 4 < len; i++)
        if ((base[i] == '-' || base[i] == '_') && strspn(base + i + 1, "0123456789") == 4)
            len = i;
    snprintf(out, 64, "%.*s", (int)len, base);
    for (char *p = out; *p; p++)
        if (*p >= 'A' && *p <= 'Z')
            *p = (char)(*p - 'A' + 'a');
}

// A date such as 2026-08-22 anywhere in the file's name.
static bool date_in(const char *name, int *day)
{
    const char *slash = strrchr(name, '/');
    for (const char *p = slash ? slash + 1 : name; strlen(p) >= 10; p++) {
        char date[11];
        int64_t s;
        snprintf(date, sizeof date, "%.10s", p);
        if (strspn(date, "0123456789-") == 10 && clock_parse(date, &s) && s > 0) {
            *day = (int)(s / 86400);
            return true;
        }
    }
    return false;
}

static void source_of(struct import *im, const char *format, const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *base = slash ? slash + 1 : name;
    if (slash && strncmp(base, "vms.", 4) == 0)
        while (base > name && (base == slash + 1 || base[-1] != '/'))
            base--;
    size_t len = strlen(base);
    if (len > 3 && strcmp(base + len - 3, ".gz") == 0)
        len -= 3;
    char date[CLOCK_ISO_BYTES];
    clock_iso((int64_t)im->day * 86400, date);
    snprintf(im->source, sizeof im->source, "%s %.*s %.10s", format, (int)(len > 120 ? 120 : len),
             base, date);
    for (char *p = im->source; *p; p++) // a file name may contain anything
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = '?';
}

// ---- one file ----

static int read_one(struct import *im, const struct price_format *format, const char *known_as,
                    struct err *err)
{
    provider_of(known_as, im->provider);
    source_of(im, format->name, known_as);
    *im->report = (struct import_report){.format = format->name, .day = im->day};
    return format->read(im, err);
}

int import_text(struct stock *stock, const struct devices *devices, const char *format,
                const char *name, const char *text, size_t len, int day,
                struct import_report *report, struct err *err)
{
    const struct price_format *chosen = choose(format, text, len, name, err);
    if (!chosen)
        return err->code;
    struct import im = {.name = name,
                        .text = text,
                        .len = len,
                        .day = day,
                        .stock = stock,
                        .devices = devices,
                        .report = report};
    return read_one(&im, chosen, name, err);
}

int import_table(struct stock *stock, const char *path, const struct devices *devices,
                 struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    struct import_report report = {0};
    TRY(gzip_load(path, TEXT_MAX, &text, NULL, err));
    struct import im = {.name = path,
                        .text = buf_str(&text),
                        .len = text.len,
                        .stock = stock,
                        .devices = devices,
                        .report = &report};
    return read_one(&im, &format_fare, path, err);
}

// Appends at least `most` bytes, or all there are.
static int load(struct gzip *file, struct buf *text, size_t most, struct err *err)
{
    ptrdiff_t got = 1;
    for (size_t len = text->len; got > 0 && text->len - len < most;) {
        char *into = buf_reserve(text, HEAD_BYTES);
        got = into ? gzip_read(file, into, HEAD_BYTES, err) : err_memory(err);
        if (got > 0)
            buf_advance(text, (size_t)got);
    }
    return got < 0 ? (int)got : buf_check(text, err);
}

// Reads the head of a file that streams, all of another.
static int open_text(struct gzip *file, const char *format, const char *path, struct buf *text,
                     const struct price_format **chosen, struct err *err)
{
    text->max = (size_t)TEXT_MAX + HEAD_BYTES + 1;
    TRY(load(file, text, HEAD_BYTES, err));
    for (int i = 0; i < FORMATS; i++)
        if (formats[i]->streams && (format ? strcmp(formats[i]->name, format) == 0
                                           : formats[i]->knows(buf_str(text), text->len))) {
            *chosen = formats[i];
            return 0;
        }
    TRY(load(file, text, TEXT_MAX, err));
    *chosen = choose(format, buf_str(text), text->len, path, err);
    return *chosen ? 0 : err->code;
}

// ---- into the book ----

struct importing {
    struct price_import_options options;
    struct stock stock;
    struct devices *devices;
    struct catalogues *catalogues;
    struct index unknown;
    struct ecb rates;
    struct buf path;
    int lock; // serialises imports; -1: not held
};

static int take_lock(struct importing *m, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    const char *path = buf_str(&m->path), *slash = strrchr(path, '/');
    if (slash && slash > path) {
        buf_add(&name, path, (size_t)(slash - path));
        TRY(buf_check(&name, err));
        TRY(fs_mkdirs_private(buf_str(&name), err));
        buf_reset(&name);
    }
    buf_printf(&name, "%s.lock", path);
    TRY(buf_check(&name, err));
    m->lock = open(buf_str(&name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (m->lock < 0)
        return err_errno(err, errno, "cannot create '%s'", buf_str(&name));
    while (flock(m->lock, LOCK_EX) != 0)
        if (errno != EINTR)
            return err_errno(err, errno, "cannot lock '%s'", buf_str(&name));
    return 0;
}

int importing_begin(struct importing **out, const struct price_import_options *options,
                    struct err *err)
{
    struct importing *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m)
        return err_memory(err);
    m->options = *options;
    m->lock = -1;
    int rc = book_path(options->book, &m->path, err);
    if (rc == 0)
        rc = devices_open(&m->devices, err);
    if (rc == 0)
        rc = catalogues_open(&m->catalogues, err);
    if (rc == 0)
        *out = m;
    else
        importing_free(m);
    return rc;
}

void importing_free(struct importing *m)
{
    if (!m)
        return;
    stock_release(&m->stock);
    index_release(&m->unknown);
    ecb_release(&m->rates);
    devices_close(m->devices);
    catalogues_close(m->catalogues);
    buf_release(&m->path);
    if (m->lock >= 0)
        close(m->lock);
    free(m);
}

int importing_file(struct importing *m, const char *path, const char *known_as,
                   struct import_report *report, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    SCOPED(gzip_release) struct gzip file = {0};
    struct stat st;
    const struct price_format *format = NULL;
    int rc = gzip_open(&file, path, TEXT_MAX, err);
    if (rc == 0) {
        file.unsummed = true;
        rc = open_text(&file, m->options.format, path, &text, &format, err);
    }
    if (rc == 0) {
        const char *name = known_as ? known_as : path;
        struct import im = {.name = name,
                            .text = buf_str(&text),
                            .len = text.len,
                            .rest = format->streams ? &file : NULL,
                            .day = m->options.day,
                            .stock = &m->stock,
                            .devices = m->devices,
                            .catalogues = m->catalogues,
                            .unknown = &m->unknown,
                            .rates = &m->rates,
                            .report = report};
        if (im.day == 0 && !date_in(name, &im.day))
            im.day =
                stat(path, &st) == 0 && st.st_mtime > 0 ? (int)(st.st_mtime / 86400) : book_today();
        size_t rows = m->stock.count, risks = m->stock.risk_count;
        size_t series = m->stock.series_count;
        rc = read_one(&im, format, name, err);
        if (rc != 0) { // import none of it
            m->stock.count = rows;
            m->stock.risk_count = risks;
            m->stock.series_count = series;
        }
    }
    return rc;
}

const char *importing_unknown(const struct importing *m, size_t i)
{
    return i < m->unknown.count ? words_text(&m->unknown, (uint32_t)i) : NULL;
}

// Adds the exchange rates to those imported before.
static int commit_rates(const struct importing *m, struct err *err)
{
    SCOPED(ecb_release) struct ecb all = {0};
    SCOPED(buf_release) struct buf path = {0}, fresh = {0}, text = {0};
    if (m->rates.count == 0)
        return 0;
    int rc = ecb_path(&path, err);
    if (rc == 0 && access(buf_str(&path), F_OK) == 0)
        rc = ecb_load(&all, buf_str(&path), err);
    if (rc == 0)
        rc = ecb_text(&m->rates, &fresh, err);
    if (rc == 0)
        rc = ecb_read(&all, "the rates imported", buf_str(&fresh), fresh.len, NULL, err);
    if (rc == 0)
        rc = ecb_text(&all, &text, err);
    char *slash = rc == 0 ? strrchr(path.data, '/') : NULL;
    if (slash) {
        *slash = '\0';
        rc = fs_mkdirs(path.data, err);
        *slash = '/';
    }
    if (rc == 0)
        rc = fs_write(buf_str(&path), text.data, text.len, err);
    return rc;
}

// Each machine of the new book keeps its short name, or gets one.
static int commit_names(const struct importing *m, const struct buf *bytes, struct err *err)
{
    SCOPED(image_release) struct image image = {0};
    SCOPED(buf_release) struct buf path = {0}, text = {0};
    SCOPED(names_close_at) struct names *names = NULL;
    names_path(buf_str(&m->path), &path);
    TRY(buf_check(&path, err));
    TRY(image_of(&image, bytes->data, bytes->len, NULL, err));
    SCOPED(free_pointer) struct offer *machines = calloc(image.offer_count + 1, sizeof *machines);
    size_t count = 0;
    TRY(machines ? names_open(&names, buf_str(&path), err) : err_memory(err));
    for (size_t i = 0; i < image.offer_count; i++) {
        const struct image_offer *o = &image.offers[i];
        if (i == 0 || o->provider != o[-1].provider || o->name != o[-1].name)
            layers_fill(&image, o, &image.prices[o->first_price], &machines[count++]);
    }
    TRY(names_give(names, machines, count, err));
    TRY(names_table(names, false, &text, err));
    return fs_write(buf_str(&path), text.data, text.len, err);
}

int importing_commit(struct importing *m, struct stock_counts *counts, struct err *err)
{
    SCOPED(image_release) struct image old = {0};
    SCOPED(buf_release) struct buf bytes = {0};
    TRY(take_lock(m, err));
    TRY(image_open(&old, buf_str(&m->path), err));
    TRY(stock_build(&m->stock, &old, &bytes, counts, err));
    TRY(fs_write(buf_str(&m->path), bytes.data, bytes.len, err));
    TRY(commit_names(m, &bytes, err));
    return commit_rates(m, err);
}

// ==== fare's own tables ====
// import: fare's own tables: share/offers/ and users' files (docs/adding-a-provider.md).

// First the columns that identify the format, then the other required one.
enum {
    PROVIDER,
    NAME,
    PRICE,
    DATE,
    SOURCE,
    REGION,
    ZONE,
    KIND,
    GPU,
    GPUS,
    GPU_MEMORY,
    VCPUS,
    MEMORY,
    CPU,
    BARE_METAL,
    CURRENCY,
    PER,
    PRICE_IS,
    LACKS,
    VALID_TO,
    COLUMNS
};
static const char *const columns[COLUMNS] = {
    "provider",   "name",     "price", "date",           "source", "region",     "zone",
    "kind",       "gpu",      "gpus",  "gpu_memory_gib", "vcpus",  "memory_gib", "cpu",
    "bare_metal", "currency", "per",   "price_is",       "lacks",  "valid_to"};

static bool knows(const char *head, size_t len)
{
    (void)len;
    return format_has_columns(head, columns, DATE + 1);
}

static int words(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    TRY(FORMAT_FIELDS(csv, at, err, {PROVIDER, .word = &o->provider}, {NAME, .word = &o->name},
                      {REGION, .word = &o->region}, {ZONE, .word = &o->zone},
                      {GPU, .word = &o->gpu}, {CPU, .word = &o->cpu},
                      {CURRENCY, .word = &o->currency}, {SOURCE, .word = &o->source}));
    if (*o->provider == '\0' || strchr(o->provider, '/'))
        return csv_fault(csv, at[PROVIDER], err, "a provider must be a word without a slash");
    if (*o->name == '\0')
        return csv_fault(csv, at[NAME], err, "an offer needs a name");
    if (strpbrk(o->name, "@:"))
        return csv_fault(csv, at[NAME], err,
                         "a name must not contain @ or :, which start region and kind");
    if (*o->source == '\0')
        return csv_fault(csv, at[SOURCE], err, "the source of the price is missing");
    if (*o->currency == '\0')
        o->currency = "USD";
    if (!currency_is_name(o->currency))
        return csv_fault(csv, at[CURRENCY], err, "'%.20s' is not a currency: USD, EUR, ...",
                         o->currency);
    return 0;
}

static int numbers(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    TRY(FORMAT_FIELDS(csv, at, err, {GPUS, .milli = &o->gpus_milli},
                      {GPU_MEMORY, .gib = &o->gpu_memory_mib}, {VCPUS, .milli = &o->vcpus_milli},
                      {MEMORY, .gib = &o->memory_mib}));
    bool given = false;
    TRY(format_price(csv, at[PRICE], &o->rate, &given, err));
    if (!given)
        return csv_fault(csv, at[PRICE], err, "no price");
    const char *gpus = csv_text(csv, at[GPUS]);
    if (*o->gpu != '\0' && o->gpus_milli == 0 && gpus && *gpus)
        return csv_fault(csv, at[GPUS], err, "no GPU of that name");
    if (*o->gpu != '\0' && o->gpus_milli == 0)
        o->gpus_milli = 1000;
    return *o->gpu == '\0' && o->gpus_milli > 0
               ? csv_fault(csv, at[GPU], err, "GPUs without a name")
               : 0;
}

static int choices(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    const char *kind, *metal, *per, *date;
    TRY(FORMAT_FIELDS(csv, at, err, {KIND, .word = &kind}, {BARE_METAL, .word = &metal},
                      {PER, .word = &per}, {DATE, .word = &date}));
    if (*kind && !offer_kind_parse(kind, &o->kind))
        return csv_fault(csv, at[KIND], err, "'%.40s' is not on-demand, spot or monthly", kind);
    o->bare_metal = strcmp(metal, "yes") == 0;
    if (*metal && !o->bare_metal && strcmp(metal, "no") != 0)
        return csv_fault(csv, at[BARE_METAL], err, "'%.40s' is not yes or no", metal);
    static const struct {
        const char *word;
        int64_t seconds;
    } units[] = {{"second", 1},  {"minute", 60},     {"hour", 3600},
                 {"day", 86400}, {"month", 2592000}, {"730 hours", 2628000}};
    o->per_s = *per ? 0 : o->kind == OFFER_MONTHLY ? 2592000 : 3600;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(per, units[i].word) == 0)
            o->per_s = units[i].seconds;
    if (o->per_s == 0)
        return csv_fault(csv, at[PER], err,
                         "'%.40s' is not second, minute, hour, day, month or 730 hours", per);
    int64_t s;
    if (!clock_parse(date, &s) || s < 0)
        return csv_fault(csv, at[DATE], err, "'%.40s' is not a date: 2026-08-22", date);
    o->since = o->day = (int)(s / 86400);
    return 0;
}

// What a catalogue left open, in the tables made from one.
static int limits(const struct csv *csv, const int *at, struct offer *o, struct err *err)
{
    const char *basis, *lacks, *end;
    int64_t day = 0;
    TRY(FORMAT_FIELDS(csv, at, err, {PRICE_IS, .word = &basis}, {LACKS, .word = &lacks},
                      {VALID_TO, .word = &end}));
    if (!offer_basis_parse(basis, &o->basis))
        return csv_fault(csv, at[PRICE_IS], err, "'%.40s' is not list, floor or median", basis);
    if (!offer_lacks_parse(lacks, &o->lacks))
        return csv_fault(csv, at[LACKS], err, "'%.40s' is not region, currency or spot", lacks);
    if (*end && files_day(end, &day, err) != 0)
        return csv_context(csv, at[VALID_TO], err);
    o->valid_to = (int)day;
    return 0;
}

static int add_fare_row(struct import *im, const struct csv *csv, const int *at, struct err *err)
{
    struct offer offer = format_offer(im);
    im->report->rows++;
    TRY(words(csv, at, &offer, err));
    TRY(numbers(csv, at, &offer, err));
    TRY(choices(csv, at, &offer, err));
    TRY(limits(csv, at, &offer, err));
    offer.gpu = format_gpu(im, offer.gpu, offer.gpus_milli, &offer.gpu_memory_mib);
    TRY(format_add(im, &offer, err));
    return stock_from(im->stock, im->name, csv_line(csv), err);
}

static int read_table(struct import *im, struct err *err)
{
    int at[COLUMNS];
    SCOPED(csv_release) struct csv csv = {0};
    TRY(format_csv(im, &csv, err));
    TRY(csv_find(&csv, columns, COLUMNS, SOURCE + 1, at, err));
    TRY(csv_only(&csv, columns, COLUMNS, err));
    int rc;
    while ((rc = csv_next(&csv, err)) > 0)
        TRY(add_fare_row(im, &csv, at, err));
    return rc;
}

const struct price_format format_fare = {
    .name = "fare",
    .knows = knows,
    .read = read_table,
};
