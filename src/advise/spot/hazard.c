// SPDX-License-Identifier: Apache-2.0
#include "advise/spot/hazard.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/tree.h"
#include "record/field.h"
#include "tables/files.h"

#define MONTH_NS (INT64_C(730) * 3600 * NS_PER_S)
#define TICK_S   INT64_C(600)

const char *hazard_word(enum hazard_kind kind)
{
    static const char *const words[] = {"unknown", "trace", "prices", "given", "advisor"};
    return words[kind];
}

int64_t hazard_mean_ns(double percent)
{
    return (int64_t)(-(double)MONTH_NS / log1p(-percent / 100));
}

static void trace_words(struct hazard *h, const char *what)
{
    char mean[48], length[48];
    clock_words((int64_t)(availability_mean_s(h->trace) * 1e9), mean, sizeof mean);
    clock_words(h->trace->length_ns, length, sizeof length);
    buf_printf(&h->words, "%s of %s: available %.0f %% of the time, for %s at a stretch on average",
               what, length, 100 * availability_share(h->trace), mean);
}

static void mean_words(struct hazard *h, const char *who)
{
    char mean[48];
    clock_words(h->mean_ns, mean, sizeof mean);
    buf_printf(&h->words, "random interruptions, one in %s on average (%s)", mean, who);
}

int hazard_by_prices(const struct spot_series *p, int64_t bid, struct availability *out,
                     struct err *err)
{
    *out = (struct availability){0};
    if (p->count == 0 || p->until_s <= p->changes[0].at_s)
        return err_set(err, ERR_FORMAT, "a price history without a price");
    int64_t first = p->changes[0].at_s, length_s = p->until_s - first;
    size_t ticks = (size_t)((length_s + TICK_S - 1) / TICK_S), tick = 0;
    out->up = calloc(p->count, sizeof *out->up);
    out->samples = calloc(ticks, 1);
    int rc = out->up && out->samples ? text_set(&out->name, "prices", err) : err_memory(err);
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        int64_t from = p->changes[i].at_s - first;
        int64_t until = (i + 1 < p->count ? p->changes[i + 1].at_s : p->until_s) - first;
        bool had = p->changes[i].nano_usd <= bid;
        for (; tick < ticks && (int64_t)tick * TICK_S < until; tick++)
            out->samples[tick] = had;
        if (had && out->count > 0 && out->up[out->count - 1].until_ns == from * NS_PER_S)
            out->up[out->count - 1].until_ns = until * NS_PER_S;
        else if (had)
            out->up[out->count++] = (struct availability_span){from * NS_PER_S, until * NS_PER_S};
    }
    out->first_s = first;
    out->length_ns = length_s * NS_PER_S;
    out->sample_count = ticks;
    out->tick_ns = TICK_S * NS_PER_S;
    if (rc != 0)
        availability_release(out);
    return rc;
}

// The middle of the band. The last has no upper end, so it reaches to all of them.
static int by_advisor(struct market *market, const struct offer *offer, int day, struct hazard *h,
                      struct err *err)
{
    const struct book *book;
    struct offer_risk risk;
    TRY(market_book(market, &book, err));
    if (!book_risk(book, offer, day ? day : book_today(), &risk) || risk.high_percent <= 0)
        return 0;
    double middle = (risk.low_percent + risk.high_percent) / 2.0;
    char who[200];
    h->kind = HAZARD_ADVISOR;
    h->mean_ns = hazard_mean_ns(middle < 99 ? middle : 99);
    snprintf(who, sizeof who,
             "estimated: the middle of the spot advisor's %d to %d %% of machines a month, %.80s",
             risk.low_percent, risk.high_percent, risk.source);
    mean_words(h, who);
    return 0;
}

void hazard_release(struct hazard *h)
{
    availability_release(&h->own);
    buf_release(&h->words);
    *h = (struct hazard){0};
}

static const char *const takers[] = {"capacity", "price", NULL};

#define AT(member) offsetof(struct warning, member)
static const struct column notice_columns[] = {
    {"provider", COLUMN_TEXT, AT(provider), COLUMN_EMPTY},
    {"notice_s", COLUMN_NANO, AT(ns), COLUMN_EMPTY, .most = 86400, .empty = -1},
    {"taken", COLUMN_TEXT, AT(taken), .words = takers},
    {"words", COLUMN_TEXT, AT(words), COLUMN_EMPTY},
    {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, AT(source), COLUMN_EMPTY},
    {0}};
static const struct columns table = {notice_columns, sizeof(struct warning), false, NULL};

int warnings_open(struct warnings *out, struct err *err)
{
    *out = (struct warnings){0};
    int rc = columns_both(&table, "spot.csv", "spot.csv", out, NULL, err);
    if (rc != 0)
        warnings_release(out);
    return rc;
}

void warnings_release(struct warnings *warnings)
{
    columns_release(&table, warnings);
}

const struct warning *warnings_find(const struct warnings *warnings, const char *provider)
{
    for (size_t i = 0; i < warnings->count; i++)
        if (strcmp(warnings->items[i].provider, provider) == 0)
            return &warnings->items[i];
    return NULL;
}

// ---- traces of when machines were there

#define FILE_MOST    ((size_t)256 << 20)
#define SAMPLES_MOST 4000000
#define SINGLE_NS    (600 * NS_PER_S)
#define MINUTE_NS    (60 * NS_PER_S)
#define LONGEST_S    (INT64_C(200) * 365 * 86400)

enum { INDEX, TIME, AWAY, TRACE_COLUMNS };
static const char *const columns[] = {"index", "timestamp", "x", NULL};

struct reading {
    struct availability *out;
    size_t samples_cap, up_cap;
    int64_t last_s, gap_s; // of the last sample; the gap before it
};

static int add_sample(struct reading *r, const struct csv *csv, struct err *err)
{
    struct availability *a = r->out;
    const char *x = csv_text(csv, AWAY);
    int64_t index, at_s;
    if (!text_int(csv_text(csv, INDEX), &index))
        return csv_fault(csv, INDEX, err, "expected a whole number");
    if (!clock_parse(csv_text(csv, TIME), &at_s))
        return csv_fault(csv, TIME, err, "expected a time such as 2022-10-26T22:05:04Z");
    if (strcmp(x, "0") != 0 && strcmp(x, "1") != 0)
        return csv_fault(csv, AWAY, err, "expected 0 (available) or 1 (not available)");
    if (a->sample_count > 0 && at_s <= r->last_s)
        return csv_fault(csv, TIME, err, "expected a later time than on the line before");
    if (a->sample_count == SAMPLES_MOST)
        return csv_fault(csv, -1, err, "over %d samples", SAMPLES_MOST);
    if (a->sample_count == 0)
        a->first_s = at_s;
    else
        r->gap_s = at_s - r->last_s;
    if (at_s - a->first_s > LONGEST_S)
        return csv_fault(csv, TIME, err, "over 200 years after the first sample");
    TRY(array_grow(&a->samples, a->sample_count, &r->samples_cap, 1, err));
    TRY(array_grow(&a->up, a->count, &r->up_cap, sizeof *a->up, err));
    bool had = *x == '0', before = a->sample_count > 0 && a->samples[a->sample_count - 1];
    int64_t at_ns = (at_s - a->first_s) * NS_PER_S;
    if (before && !had)
        a->up[a->count - 1].until_ns = at_ns;
    if (had && !before)
        a->up[a->count++] = (struct availability_span){at_ns, at_ns};
    a->samples[a->sample_count++] = had;
    r->last_s = at_s;
    return 0;
}

static int finish(struct reading *r, const char *name, struct err *err)
{
    struct availability *a = r->out;
    if (a->sample_count == 0)
        return err_set(err, ERR_FORMAT, "%s: no samples", name);
    int64_t last_ns = r->gap_s > 0 ? r->gap_s * NS_PER_S : SINGLE_NS;
    a->length_ns = (r->last_s - a->first_s) * NS_PER_S + last_ns;
    if (a->samples[a->sample_count - 1])
        a->up[a->count - 1].until_ns = a->length_ns;
    a->tick_ns = a->length_ns / (int64_t)a->sample_count;
    if (a->tick_ns > MINUTE_NS)
        a->tick_ns = (a->tick_ns + MINUTE_NS / 2) / MINUTE_NS * MINUTE_NS;
    const char *base = strrchr(name, '/');
    return text_set(&a->name, base ? base + 1 : name, err);
}

int availability_read(const char *name, const char *text, size_t len, struct availability *out,
                      struct err *err)
{
    const struct csv_options options = {.names = columns};
    struct reading r = {.out = out};
    struct csv csv;
    *out = (struct availability){0};
    int rc = csv_init_text(&csv, name, text, len, &options, err);
    if (rc != 0)
        return rc;
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = add_sample(&r, &csv, err);
    if (rc == 0)
        rc = finish(&r, name, err);
    csv_release(&csv);
    if (rc != 0)
        availability_release(out);
    return rc;
}

int availability_open(const char *path, struct availability *out, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    *out = (struct availability){0};
    TRY(fs_read(path, FILE_MOST, &text, err));
    return availability_read(path, buf_str(&text), text.len, out, err);
}

void availability_release(struct availability *a)
{
    free(a->name);
    free(a->up);
    free(a->samples);
    *a = (struct availability){0};
}

// "0,2022-10-26T22:05:04.000Z,0": a number, a time, 0 or 1, and the end of the line.
bool availability_knows(const char *head, size_t len)
{
    char line[96], *comma, *second;
    const char *end = memchr(head, '\n', len);
    size_t length = end ? (size_t)(end - head) : len;
    int64_t number, at_s;
    if (length >= sizeof line)
        return false;
    memcpy(line, head, length);
    line[length] = '\0';
    line[strcspn(line, "\r")] = '\0';
    comma = strchr(line, ',');
    second = comma ? strchr(comma + 1, ',') : NULL;
    if (!second)
        return false;
    *comma = *second = '\0';
    return text_int(line, &number) && clock_parse(comma + 1, &at_s) &&
           (strcmp(second + 1, "0") == 0 || strcmp(second + 1, "1") == 0);
}

bool availability_file(const char *path)
{
    char head[128];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, head, sizeof head) : -1;
    if (fd >= 0)
        close(fd);
    return len > 0 && availability_knows(head, (size_t)len);
}

double availability_share(const struct availability *a)
{
    double up = 0;
    for (size_t i = 0; i < a->count; i++)
        up += (double)(a->up[i].until_ns - a->up[i].from_ns);
    return a->length_ns > 0 ? up / (double)a->length_ns : 0;
}

double availability_mean_s(const struct availability *a)
{
    return a->count > 0 ? availability_share(a) * (double)a->length_ns / 1e9 / (double)a->count : 0;
}

// ---- kept files

struct parts { // of a name
    char zone[64], gpu[64];
    int64_t gpus;
};

// "2022-10-26_us-west-2a_v100_1.txt"
static bool parse_name(const char *name, struct parts *out)
{
    char copy[256], *fields[4];
    int64_t at_s;
    const char *base = strrchr(name, '/');
    int len = snprintf(copy, sizeof copy, "%s", base ? base + 1 : name);
    if (len < 0 || (size_t)len >= sizeof copy)
        return false;
    char *dot = strrchr(copy, '.'), *at = copy;
    if (dot)
        *dot = '\0';
    for (int i = 0; i < 4; i++) {
        fields[i] = at;
        char *end = at ? strchr(at, '_') : NULL;
        if (!at || (i < 3) != (end != NULL))
            return false;
        if (end)
            *end++ = '\0';
        at = end;
    }
    if (!clock_parse(fields[0], &at_s) || !text_int(fields[3], &out->gpus) || out->gpus < 1)
        return false;
    int a = snprintf(out->zone, sizeof out->zone, "%s", fields[1]);
    int b = snprintf(out->gpu, sizeof out->gpu, "%s", fields[2]);
    return a > 0 && (size_t)a < sizeof out->zone && b > 0 && (size_t)b < sizeof out->gpu;
}

bool availability_fits(const char *name, const struct offer *offer)
{
    struct parts p;
    if (!parse_name(name, &p) || p.gpus > 1000000 || offer->gpus_milli != p.gpus * 1000 ||
        strcasecmp(p.gpu, offer->gpu) != 0)
        return false;
    size_t region = strlen(offer->region);
    if (*offer->zone)
        return strcasecmp(p.zone, offer->zone) == 0;
    return region > 0 && strncasecmp(p.zone, offer->region, region) == 0;
}

static int kept_folder(struct buf *out, struct err *err)
{
    TRY(folder_data(out, err));
    buf_adds(out, "/availability");
    return buf_check(out, err);
}

int availability_named(const char *path, struct err *err)
{
    struct parts parts;
    if (parse_name(path, &parts))
        return 0;
    err_set(err, ERR_FORMAT, "'%s' does not say which machine its samples are of", path);
    return err_hint(err, "name it DATE_ZONE_GPU_COUNT.txt: 2022-10-26_us-west-2a_v100_1.txt");
}

int availability_keep(const char *path, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, to = {0};
    const char *base = strrchr(path, '/');
    TRY(kept_folder(&to, err));
    TRY(fs_mkdirs(buf_str(&to), err));
    buf_printf(&to, "/%s", base ? base + 1 : path);
    TRY(buf_check(&to, err));
    TRY(fs_read(path, FILE_MOST, &text, err));
    return fs_write(buf_str(&to), buf_str(&text), text.len, err);
}

struct choosing {
    const struct offer *offer;
    struct buf path; // the last that fits: names begin with their date
};

static int consider(void *arg, const char *path, struct err *err)
{
    struct choosing *c = arg;
    if (!availability_fits(path, c->offer))
        return 0;
    buf_reset(&c->path);
    buf_adds(&c->path, path);
    return buf_check(&c->path, err);
}

// The kept one that fits the offer and is newest by its name; `*found` false: none.
static int availability_find(const struct offer *offer, struct availability *out, bool *found,
                             struct err *err)
{
    struct choosing c = {.offer = offer};
    SCOPED(buf_release) struct buf dir = {0};
    *out = (struct availability){0};
    *found = false;
    int rc = kept_folder(&dir, NULL);
    if (rc == ERR_MEMORY)
        err_memory(err);
    else
        rc = rc == 0 ? files_each(buf_str(&dir), ".txt", consider, &c, err) : 0; // no home: none
    if (rc == 0 && c.path.len > 0) {
        rc = availability_open(buf_str(&c.path), out, err);
        *found = rc == 0;
    }
    buf_release(&c.path);
    return rc;
}

static int find(struct market *market, const struct offer *offer, int day,
                const struct hazard_given *given, const struct spot_series *prices,
                struct hazard *h, struct err *err)
{
    bool found = false;
    SCOPED(buf_release) struct buf what = {0};
    if (given->trace) {
        h->trace = given->trace;
        h->kind = HAZARD_TRACE;
    } else if (given->mean_ns > 0) {
        h->mean_ns = given->mean_ns;
        h->kind = HAZARD_GIVEN;
        mean_words(h, "given");
        return 0;
    } else {
        TRY(availability_find(offer, &h->own, &found, err));
        if (found) {
            h->trace = &h->own;
            h->kind = HAZARD_TRACE;
        } else if (given->bid > 0 && prices) {
            TRY(hazard_by_prices(prices, given->bid, &h->own, err));
            h->trace = &h->own;
            h->kind = HAZARD_PRICES;
            trace_words(h, "its prices against the bid, a history");
            return 0;
        }
    }
    if (h->kind == HAZARD_UNKNOWN)
        return by_advisor(market, offer, day, h, err);
    buf_printf(&what, "availability trace %.80s", h->trace->name);
    trace_words(h, buf_str(&what));
    h->words.failed |= what.failed;
    return 0;
}

static void add_life(struct hazard *h, int64_t life_ns)
{
    char life[48];
    clock_words(life_ns, life, sizeof life);
    h->life_ns = life_ns;
    buf_printf(&h->words, "%sthe provider ends it after %s", h->words.len > 0 ? "; " : "", life);
}

int hazard_find(struct market *market, const struct offer *offer, int day,
                const struct hazard_given *given, const struct spot_series *prices,
                struct hazard *out, struct err *err)
{
    const struct tariff_book *tariffs;
    *out = (struct hazard){0};
    int rc = find(market, offer, day, given, prices, out, err);
    if (rc == 0)
        rc = market_tariffs(market, &tariffs, err);
    if (rc == 0) {
        const struct tariff *t = tariff_for(tariffs, offer, day ? day : book_today(), NULL);
        if (t && t->ends_after_s.known && t->ends_after_s.v > 0)
            add_life(out, t->ends_after_s.v * NS_PER_S);
        rc = buf_check(&out->words, err);
    }
    if (rc != 0)
        hazard_release(out);
    return rc;
}
