// SPDX-License-Identifier: Apache-2.0
#include "book/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/money.h"
#include "tables/currency.h"
#include "book/tariffs.h"

// By price per GPU-hour, then per vCPU-hour; then unknown prices, then doubtful ones.
static int by_price(const void *left, const void *right)
{
    const struct listing_line *x = left, *y = right;
    const struct offer *a = &x->offer, *b = &y->offer;
    if (!x->doubt != !y->doubt)
        return x->doubt ? 1 : -1;
    bool gpu_a = a->gpus_milli > 0, gpu_b = b->gpus_milli > 0;
    if (gpu_a != gpu_b)
        return gpu_a ? -1 : 1;
    int units_a = gpu_a ? a->gpus_milli : a->vcpus_milli;
    int units_b = gpu_b ? b->gpus_milli : b->vcpus_milli;
    bool unknown_a = units_a == 0 || x->usd_hour < 0, unknown_b = units_b == 0 || y->usd_hour < 0;
    if (unknown_a != unknown_b)
        return unknown_a ? 1 : -1;
    __int128 u = (__int128)x->usd_hour * units_b, v = (__int128)y->usd_hour * units_a;
    if (u != v && !unknown_a)
        return u < v ? -1 : 1;
    int order = strcmp(a->provider, b->provider);
    if (order == 0)
        order = strcmp(a->name, b->name);
    if (order == 0)
        order = strcmp(a->region, b->region);
    if (order == 0)
        order = strcmp(a->zone, b->zone);
    return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static bool same_name(const struct offer *a, const struct offer *b)
{
    return (a->name == b->name || strcmp(a->name, b->name) == 0) &&
           (a->provider == b->provider || strcmp(a->provider, b->provider) == 0);
}

// The price of an hour in USD; -1 if there is no rate for the currency.
static int convert(struct listing *list, struct listing_line *line, struct err *err)
{
    const struct offer *o = &line->offer;
    line->usd_hour = offer_per_hour(o);
    if (strcmp(o->currency, "USD") == 0)
        return 0;
    struct err why = {0};
    struct currency_rate rate;
    int rc = currency_to_usd(list->currencies, o->currency, list->day, line->usd_hour,
                             &line->usd_hour, &rate, &why);
    if (rc != 0)
        line->usd_hour = -1;
    else if (list->rate.usd == 0)
        list->rate = rate;
    return rc == ERR_MEMORY ? err_memory(err) : 0;
}

static int append(struct listing *list, const struct listing_line *line, struct err *err)
{
    TRY(array_grow(&list->items, list->count, &list->cap, sizeof *line, err));
    list->items[list->count++] = *line;
    return 0;
}

const char *listing_doubt(const struct devices *devices, const struct listing_line *line, int day)
{
    return offer_retired(&line->offer, day) ? "of a machine that can no longer be ordered"
                                            : doubt_of(devices, &line->offer, line->usd_hour);
}

// The line of an offer; `*fits`: its price is not above the largest one.
static int make_line(struct listing *list, const struct offer *offer, struct listing_line *line,
                     bool *fits, struct err *err)
{
    *line = (struct listing_line){.offer = *offer};
    TRY(convert(list, line, err));
    *fits = list->max_rate < 0 || line->usd_hour <= list->max_rate;
    line->doubt = list->devices ? listing_doubt(list->devices, line, list->day) : NULL;
    return 0;
}

int64_t price_oldest_age(int64_t newest_age)
{
    return newest_age <= PRICE_CURRENT_DAYS ? PRICE_CURRENT_DAYS : newest_age + PRICE_CURRENT_DAYS;
}

static int lead_of(const struct offer *offer)
{
    return (int)offer->kind + (offer->gpus_milli == 0 ? OFFER_KINDS : 0);
}

const struct listing_line *listing_lead(const struct listing *list, enum offer_kind kind)
{
    const bool gpus = list->count > 0 && list->items[0].offer.gpus_milli > 0;
    const struct listing_line *lead = &list->lead[gpus ? kind : kind + OFFER_KINDS];
    return lead->offer.provider ? lead : NULL;
}

// The newest price of each kind that is not in doubt.
static int find_newest(void *arg, const struct offer *offer, struct err *err)
{
    struct listing *list = arg;
    struct listing_line line;
    bool fits;
    TRY(make_line(list, offer, &line, &fits, err));
    if (fits && !line.doubt && offer->day > list->current[lead_of(offer)])
        list->current[lead_of(offer)] = offer->day;
    return 0;
}

static void set_generations(struct listing *list)
{
    const int today = list->day ? list->day : book_today();
    for (int kind = 0; kind < LISTING_LEADS; kind++) {
        if (list->current[kind] == 0)
            continue;
        const int age = (int)price_oldest_age(today - list->current[kind]);
        list->current[kind] = today - age;
        list->hidden[kind] = today - (age > PRICE_HIDDEN_DAYS ? age : PRICE_HIDDEN_DAYS);
    }
}

static void keep_lead(struct listing *list, const struct listing_line *line)
{
    struct listing_line *lead = &list->lead[lead_of(&line->offer)];
    if (!line->doubt && line->offer.day >= list->current[lead_of(&line->offer)] &&
        offer_unit(&line->offer, line->usd_hour) > 0 &&
        (!lead->offer.provider || by_price(line, lead) < 0))
        *lead = *line;
}

static int collect(void *arg, const struct offer *offer, struct err *err)
{
    struct listing *list = arg;
    struct listing_line line;
    bool fits;
    if (offer->day < list->oldest) {
        list->stale++;
        return 0;
    }
    TRY(make_line(list, offer, &line, &fits, err));
    if (!fits)
        return 0;
    if (list->hide_old && offer->day < list->hidden[lead_of(offer)]) {
        list->outdated++;
        return 0;
    }
    keep_lead(list, &line);
    list->seen++;
    if (list->all)
        return append(list, &line, err);
    if (list->group < list->count && !same_name(&list->items[list->group].offer, offer))
        list->group = list->count;
    for (size_t i = list->group; i < list->count; i++) {
        struct listing_line *other = &list->items[i];
        if (other->offer.kind != offer->kind)
            continue;
        if (by_price(&line, other) < 0)
            *other = line;
        return 0;
    }
    return append(list, &line, err);
}

void listing_release(struct listing *list)
{
    free(list->items);
}

int listing_make(struct listing *list, const struct book *book, const struct book_filter *filter,
                 struct err *err)
{
    list->day = filter->day;
    TRY(book_each(book, filter, find_newest, list, err));
    set_generations(list);
    TRY(book_each(book, filter, collect, list, err));
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_price);
    return 0;
}

#define MW_PER_KW INT64_C(1000000)

const char doubt_power_words[] = "less than the electricity of its GPUs costs: it must be wrong";

// Of an hour of the offer's GPUs, with so many watts each.
static bool power_cost(int watts, const struct offer *offer, int64_t *cost)
{
    const int64_t mw = (int64_t)watts * offer->gpus_milli;
    return mw > 0 && money_scale(DOUBT_LEAST_KWH, mw, MW_PER_KW, MONEY_HALF_EVEN, cost, NULL) == 0;
}

int64_t doubt_least(const struct devices *devices, const struct offer *offer)
{
    const struct device *gpu = *offer->gpu ? device_find(devices, offer->gpu) : NULL;
    int64_t cost = 0;
    bool known = gpu && strcmp(offer->provider, "own") != 0 && power_cost(gpu->watts, offer, &cost);
    return known ? cost : 0;
}

bool doubt_power(const struct devices *devices, const struct offer *offer, int64_t hour)
{
    return offer->kind != OFFER_MONTHLY && hour < doubt_least(devices, offer);
}

const char *doubt_of(const struct devices *devices, const struct offer *offer, int64_t hour)
{
    // Most prices pay for the electricity of any GPU, so that the offer's own need not be found.
    int64_t most = 0;
    const bool enough = power_cost(devices_most_watts(devices), offer, &most) && hour >= most;
    return doubt_below(enough ? 0 : doubt_least(devices, offer), offer, hour);
}

const char *doubt_below(int64_t least, const struct offer *offer, int64_t hour)
{
    if (hour >= 0 && hour < least && offer->kind != OFFER_MONTHLY)
        return doubt_power_words;
    if (offer->basis == BASIS_FLOOR)
        return "the lowest bid of an auction: one pays that or more";
    if (offer->leapt)
        return "over five times the one before, or under a fifth, and seen only once";
    if (offer->lacks & LACKS_CURRENCY)
        return "in a currency that its catalogue does not name";
    if (offer->lacks & LACKS_REGION)
        return "for no region: its catalogue knows none that has the machine";
    if (offer->lacks & EQUALS_SPOT)
        return "the same on demand and spot: one of the two is not known";
    return NULL;
}

void offer_date(int day, char out[12])
{
    char iso[CLOCK_ISO_BYTES];
    clock_iso((int64_t)day * 86400, iso);
    snprintf(out, 12, "%.10s", iso);
}

void offer_milli(int value, char out[24])
{
    snprintf(out, 24, "%d.%03d", value / 1000, value % 1000);
    size_t len = strlen(out);
    while (out[len - 1] == '0')
        out[--len] = '\0';
    if (out[len - 1] == '.')
        out[len - 1] = '\0';
}

int64_t offer_unit(const struct offer *o, int64_t hour)
{
    int64_t price;
    int units = o->gpus_milli > 0 ? o->gpus_milli : o->vcpus_milli;
    if (units == 0 || hour < 0 ||
        money_scale(hour, 1000, units, MONEY_HALF_EVEN, &price, NULL) != 0)
        return -1;
    return price;
}

static int record_price(const struct offer *o, int day, struct offer_record *r, struct err *err)
{
    char since[12], seen[12];
    int64_t unit = offer_unit(o, offer_per_hour(o));
    r->price = some_money(o->rate);
    r->price_per_hour = some_money(offer_per_hour(o));
    if (o->gpus_milli > 0 && unit >= 0)
        r->price_per_gpu_hour = some_money(unit);
    offer_date(o->since, since);
    offer_date(o->day, seen);
    r->per_s = some_int(o->per_s);
    r->age_days = some_int(offer_age(o, day));
    r->old = some_bool(offer_old(o, day));
    return TEXTS_SET(err, {&r->currency, o->currency}, {&r->since, since}, {&r->seen, seen},
                     {&r->source, o->source});
}

static int record_limits(const struct offer *o, struct offer_record *r, struct err *err)
{
    struct buf lacks = {0};
    char end[12] = "";
    if (o->valid_to > 0)
        offer_date(o->valid_to, end);
    offer_lacks_words(o->lacks, &lacks);
    TRY(text_take(&r->lacks, &lacks, err));
    return TEXTS_SET(err, {&r->price_is, offer_basis_word(o->basis)}, {&r->valid_to, end});
}

// Fills a zeroed record, without tariff, interruptions and history. The caller releases it.
static int offer_to_record(const struct offer *o, int day, struct offer_record *r, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    book_name(o, &name);
    int rc = buf_check(&name, err);
    if (rc == 0)
        rc = TEXTS_SET(err, {&r->offer, buf_str(&name)}, {&r->provider, o->provider},
                       {&r->name, o->name}, {&r->region, o->region}, {&r->zone, o->zone},
                       {&r->gpu, o->gpu}, {&r->cpu, o->cpu}, {&r->kind, offer_kind_word(o->kind)});
    if (o->vcpus_milli > 0 || o->gpus_milli > 0)
        r->gpus = some_real(o->gpus_milli / 1000.0);
    if (o->gpu_memory_mib > 0)
        r->gpu_memory_mib = some_int(o->gpu_memory_mib);
    if (o->vcpus_milli > 0)
        r->vcpus = some_real(o->vcpus_milli / 1000.0);
    if (o->memory_mib > 0)
        r->memory_mib = some_int(o->memory_mib);
    r->bare_metal = some_bool(o->bare_metal);
    if (rc == 0)
        rc = record_limits(o, r, err);
    return rc == 0 ? record_price(o, day, r, err) : rc;
}

int offer_line_record(const struct listing_line *line, int day, struct offer_record *r,
                      struct err *err)
{
    if (line->doubt == doubt_power_words)
        r->price_impossible = some_bool(true);
    TRY(text_set(&r->price_doubt, line->doubt, err));
    return offer_to_record(&line->offer, day, r, err);
}

static int add_history(void *arg, const struct offer *o, struct err *err)
{
    struct offer_record *r = arg;
    struct offer_price *p = LIST_ADD(&r->history, err);
    if (!p)
        return ERR_MEMORY;
    char since[12], seen[12];
    p->price = some_money(o->rate);
    offer_date(o->since, since);
    offer_date(o->day, seen);
    p->per_s = some_int(o->per_s);
    return TEXTS_SET(err, {&p->currency, o->currency}, {&p->since, since}, {&p->seen, seen},
                     {&p->source, o->source});
}

// The billing rule in words.
static int add_tariff(const struct offer *offer, int day, struct offer_record *r, struct err *err)
{
    struct tariff_book *book = NULL;
    struct buf words = {0};
    bool assumed;
    int rc = tariff_book_open(&book, err);
    if (rc == 0) {
        const struct tariff *tariff = tariff_for(book, offer, day, &assumed);
        if (assumed)
            buf_adds(&words, "ASSUMED: ");
        tariff_words(tariff, offer->name, day, &words);
        rc = text_take(&r->tariff, &words, err);
    }
    tariff_book_close(book);
    return rc;
}

static int add_risk(const struct book *book, const struct offer *o, int day, struct offer_record *r,
                    struct err *err)
{
    struct offer_risk risk;
    if (o->kind != OFFER_SPOT || !book_risk(book, o, day, &risk))
        return 0;
    r->interruptions.low_percent = some_int(risk.low_percent);
    r->interruptions.high_percent = some_int(risk.high_percent);
    if (risk.saving_percent >= 0)
        r->interruptions.saving_percent = some_int(risk.saving_percent);
    char date[12];
    offer_date(risk.day, date);
    return TEXTS_SET(err, {&r->interruptions.date, date}, {&r->interruptions.source, risk.source});
}

int offer_describe(const struct book *book, const struct offer *offer, int day,
                   struct offer_record *r, struct err *err)
{
    TRY(offer_to_record(offer, day, r, err));
    TRY(book_history(book, offer, add_history, r, err));
    TRY(add_tariff(offer, day, r, err));
    return add_risk(book, offer, day, r, err);
}

// ---- SkyPilot

// Clouds that both SkyPilot (sky.skylet.constants.ALL_CLOUDS in 0.14.1) and the book know, under
// the same names. `keeps`: a machine cannot take itself down there (AUTODOWN among the unsupported
// features in sky/clouds/). Left out: fluidstack, whose machines have other names in the book, and
// shadeform, of whose machines that version's validator accepts none.
static const struct {
    const char *name;
    bool keeps;
} clouds[] = {
    {"aws", false},           {"azure", false},     {"cudo", false}, {"do", false},
    {"gcp", false},           {"hyperbolic", true}, {"ibm", false},  {"lambda", false},
    {"mithril", false},       {"nebius", false},    {"oci", false},  {"paperspace", false},
    {"primeintellect", true}, {"runpod", false},    {"scp", false},  {"seeweb", false},
    {"vast", false},          {"verda", true},      {"yotta", true},
};

bool listing_in_sky(const char *provider, bool *keeps)
{
    for (size_t i = 0; i < sizeof clouds / sizeof *clouds; i++)
        if (strcmp(clouds[i].name, provider) == 0) {
            if (keeps)
                *keeps = clouds[i].keeps;
            return true;
        }
    return false;
}
