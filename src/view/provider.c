// SPDX-License-Identifier: Apache-2.0
#include "view/provider.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/spot/hazard.h"
#include "base/array.h"
#include "base/units.h"
#include "view/offers.h"

enum { RULES_MOST = 32, NS_A_S = 1000000000 };

// ---- what the book has

struct billed_rule {
    const struct tariff *tariff;
    enum offer_kind kind;
    bool assumed;
    size_t offers;
};

struct provider_making {
    struct market *market;
    struct provider *out;
    struct listing list;
    struct index regions;
    struct billed_rule rules[RULES_MOST]; // the first is that of most offers on demand
    size_t rule_count;
    struct offer any; // of them; else one without a name
    const struct offer *largest;
    int fewest_milli;    // GPUs of a machine that has some
    int64_t spot_offers; // that can be ordered
    const char *doubt;   // about some price
    int day;             // on which a price was last seen
};

static int find_first(void *arg, const struct offer *offer, struct err *err)
{
    (void)arg;
    (void)offer;
    (void)err;
    return 1;
}

// Any of its rules; null: none is known. One's own machine has a rule too, but no provider.
static const struct tariff *rule_of(const struct tariff_book *tariffs, const char *name)
{
    const struct tariff *t;
    for (size_t i = 0; (t = tariff_at(tariffs, i)); i++)
        if (t->provider && strcasecmp(t->provider, name) == 0 && strcmp(t->provider, "own") != 0)
            return t;
    return NULL;
}

int provider_known(struct market *market, const char *name, bool *known, struct err *err)
{
    const struct book_filter filter = {.provider = name};
    const struct tariff_book *tariffs;
    const struct book *book;
    TRY(market_book(market, &book, err));
    TRY(market_tariffs(market, &tariffs, err));
    const int rc = book_each(book, &filter, find_first, NULL, err);
    *known = rc == 1 || rule_of(tariffs, name) != NULL;
    return rc < 0 ? rc : 0;
}

static void widen(struct provider_range *range, int64_t usd)
{
    if (usd < 0)
        return;
    if (!range->low.known || usd < range->low.nano)
        range->low = some_money(usd);
    if (!range->high.known || usd > range->high.nano)
        range->high = some_money(usd);
}

static int add_price(struct provider *out, const struct listing_line *line, struct err *err)
{
    struct provider_price *price = NULL;
    for (size_t i = 0; i < out->prices.count && !price; i++)
        if (strcmp(out->prices.items[i].gpu, line->offer.gpu) == 0)
            price = &out->prices.items[i];
    if (!price) {
        price = LIST_ADD(&out->prices, err);
        TRY(price ? text_set(&price->gpu, line->offer.gpu, err) : ERR_MEMORY);
    }
    struct provider_range *const by_kind[] = {[OFFER_ON_DEMAND] = &price->on_demand,
                                              [OFFER_SPOT] = &price->spot,
                                              [OFFER_MONTHLY] = &price->monthly};
    price->offers = some_int(price->offers.v + 1);
    widen(by_kind[line->offer.kind], offers_unit(line));
    return 0;
}

// By the number of GPUs, then by their memory.
static bool is_larger(const struct offer *o, const struct offer *than)
{
    return o->gpus_milli != than->gpus_milli ? o->gpus_milli > than->gpus_milli
                                             : o->gpu_memory_mib > than->gpu_memory_mib;
}

static int add_offer(struct provider_making *m, const struct listing_line *line, struct err *err)
{
    const struct offer *o = &line->offer;
    size_t number;
    if (line->doubt) {
        m->doubt = line->doubt;
        m->out->doubtful = some_int(m->out->doubtful.v + 1);
        return 0;
    }
    m->out->offers.v++;
    m->spot_offers += o->kind == OFFER_SPOT;
    m->day = o->day > m->day ? o->day : m->day;
    if (*o->region)
        TRY(index_number(&m->regions, o->region, strlen(o->region), &number, err));
    if (o->gpus_milli == 0)
        return 0;
    if (!m->largest || is_larger(o, m->largest))
        m->largest = o;
    m->fewest_milli =
        m->fewest_milli && m->fewest_milli < o->gpus_milli ? m->fewest_milli : o->gpus_milli;
    return add_price(m->out, line, err);
}

static int64_t first_price(const struct provider_price *p)
{
    return money_or(p->on_demand.low, INT64_MAX);
}

// By the column that stands first; then by the next.
static int by_price(const void *x, const void *y)
{
    const struct provider_price *a = x, *b = y;
    const int64_t pairs[][2] = {
        {first_price(a), first_price(b)},
        {money_or(a->spot.low, INT64_MAX), money_or(b->spot.low, INT64_MAX)},
        {money_or(a->monthly.low, INT64_MAX), money_or(b->monthly.low, INT64_MAX)}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] != pairs[i][1])
            return pairs[i][0] < pairs[i][1] ? -1 : 1;
    return strcmp(a->gpu, b->gpu);
}

static int set_largest(struct provider_making *m, const struct book *book, struct err *err)
{
    struct buf name = {0};
    if (!m->largest)
        return 0;
    m->out->largest_gpus = some_real((double)m->largest->gpus_milli / 1000);
    TRY(text_set(&m->out->largest_gpu, m->largest->gpu, err));
    book_short_name(book, m->largest, false, &name);
    return text_take(&m->out->largest, &name, err);
}

static int add_book(struct provider_making *m, struct err *err)
{
    struct provider *out = m->out;
    const struct book *book;
    char seen[12];
    TRY(market_book(m->market, &book, err));
    out->prices.known = true;
    out->offers = some_int(0);
    for (size_t i = 0; i < m->list.count; i++)
        TRY(add_offer(m, &m->list.items[i], err));
    if (out->prices.count > 1)
        qsort(out->prices.items, out->prices.count, sizeof *out->prices.items, by_price);
    if (m->list.stale > 0)
        out->old = some_int((int64_t)m->list.stale);
    if (m->regions.count > 0)
        out->regions = some_int((int64_t)m->regions.count);
    if (m->day > 0) {
        offer_date(m->day, seen);
        out->age_days = some_int(book_today() - m->day);
        TRY(text_set(&out->seen, seen, err));
    }
    return set_largest(m, book, err);
}

// ---- how it bills

static bool is_default(const struct tariff *t)
{
    return strcmp(t->id, "default") == 0;
}

static bool goes_before(const struct billed_rule *a, const struct billed_rule *b)
{
    const bool a_demand = a->kind == OFFER_ON_DEMAND, b_demand = b->kind == OFFER_ON_DEMAND;
    return a_demand != b_demand ? a_demand : a->offers > b->offers;
}

// Of a provider without a current offer: whatever rules it has.
static void rules_without_offers(struct provider_making *m, const struct tariff_book *tariffs)
{
    for (int kind = OFFER_ON_DEMAND; kind < OFFER_KINDS; kind++) {
        struct billed_rule rule = {.kind = (enum offer_kind)kind};
        struct offer offer = m->any;
        offer.kind = rule.kind;
        rule.tariff = tariff_for(tariffs, &offer, 0, &rule.assumed);
        if (!is_default(rule.tariff))
            m->rules[m->rule_count++] = rule;
    }
}

static void collect_rules(struct provider_making *m, const struct tariff_book *tariffs)
{
    if (m->list.count == 0)
        rules_without_offers(m, tariffs);
    for (size_t i = 0; i < m->list.count; i++) {
        const struct offer *o = &m->list.items[i].offer;
        struct billed_rule rule = {.kind = o->kind};
        size_t at = 0;
        if (offer_retired(o, 0))
            continue;
        rule.tariff = tariff_for(tariffs, o, 0, &rule.assumed);
        while (at < m->rule_count &&
               (m->rules[at].tariff != rule.tariff || m->rules[at].kind != rule.kind))
            at++;
        if (at == RULES_MOST)
            continue;
        if (at == m->rule_count)
            m->rules[m->rule_count++] = rule;
        m->rules[at].offers++;
    }
    for (size_t i = 1; i < m->rule_count; i++)
        if (goes_before(&m->rules[i], &m->rules[0])) {
            const struct billed_rule first = m->rules[i];
            m->rules[i] = m->rules[0];
            m->rules[0] = first;
        }
}

static int add_rule(struct provider_making *m, const struct billed_rule *rule, struct err *err)
{
    const struct tariff *t = rule->tariff;
    struct provider_rule *out = LIST_ADD(&m->out->rules, err);
    struct buf words = {0}, unit = {0}, source = {0};
    if (!out)
        return ERR_MEMORY;
    for (size_t i = 0; i < t->offers.count; i++)
        texts_add(&out->names, t->offers.items[i], err);
    out->assumed = some_bool(rule->assumed);
    tariff_words(t, "", book_today(), &words); // only commitments that are for every offer
    tariff_part_words(t, TARIFF_UNIT, &unit);
    if (t->source)
        buf_printf(&source, "%s%s%s", t->source, t->date ? ", " : "", t->date ? t->date : "");
    text_set(&out->kind, offer_kind_word(rule->kind), err);
    text_take(&out->words, &words, err);
    text_take(&out->unit, &unit, err);
    text_take(&out->source, &source, err);
    return err->code;
}

static void note_assumed(struct provider_making *m, const struct billed_rule *rule, struct err *err)
{
    const char *kind = offers_kind_names[rule->kind];
    struct buf point = {0};
    if (is_default(rule->tariff))
        buf_printf(&point, "everything but the price %s: no billing rule is known", kind);
    else if (rule->assumed)
        buf_printf(&point, "the unit of time %s", kind);
    texts_take(&m->out->assumed, &point, err);
}

static int add_rules(struct provider_making *m, struct err *err)
{
    const struct tariff_book *tariffs;
    struct buf storage = {0}, traffic = {0};
    TRY(market_tariffs(m->market, &tariffs, err));
    collect_rules(m, tariffs);
    for (size_t i = 0; i < m->rule_count; i++) {
        TRY(add_rule(m, &m->rules[i], err));
        note_assumed(m, &m->rules[i], err);
    }
    if (m->rule_count == 0)
        return err->code;
    tariff_part_words(m->rules[0].tariff, TARIFF_STORAGE, &storage);
    tariff_part_words(m->rules[0].tariff, TARIFF_TRAFFIC, &traffic);
    text_take(&m->out->storage, &storage, err);
    text_take(&m->out->traffic, &traffic, err);
    return err->code;
}

// ---- what the tables have

static int add_start(struct provider_making *m, struct err *err)
{
    struct provider_start *start = &m->out->start;
    const struct startups *startups;
    TRY(market_startups(m->market, &startups, err));
    const struct startup_row *boot = startup_find(startups, &m->any, "boot");
    const struct startup_row *image = startup_find(startups, &m->any, "image");
    if (boot) {
        const bool own = strcmp(boot->provider, "*") != 0;
        start->typical_s = some_int(boot->ns / NS_A_S);
        start->low_s = some_int(boot->low_ns / NS_A_S);
        start->high_s = some_int(boot->high_ns / NS_A_S);
        if (!own)
            start->general = some_bool(true);
        TRY(text_set(&start->source, boot->source, err));
        if (own && strcmp(boot->machine, "any") != 0)
            TRY(text_set(&m->out->machine,
                         strcmp(boot->machine, "vm") == 0          ? "virtual machines"
                         : strcmp(boot->machine, "container") == 0 ? "containers"
                                                                   : "bare metal",
                         err));
    }
    if (image)
        start->image_s = some_int(image->ns / NS_A_S);
    return 0;
}

static int add_images(struct provider_making *m, struct err *err)
{
    const struct boot_images *images;
    const struct boot_image *row;
    TRY(market_boot_images(m->market, &images, err));
    for (size_t i = 0; (row = boot_images_find(images, m->out->provider, i)); i++) {
        struct provider_image *image = LIST_ADD(&m->out->images, err);
        if (!image)
            return ERR_MEMORY;
        if (row->disk_gb > 0)
            image->disk_gb = some_int(row->disk_gb);
        TRY(TEXTS_SET(err, {&image->image, row->image}, {&image->machine, row->machine},
                      {&image->driver, row->driver}, {&image->cuda, row->cuda},
                      {&image->pytorch, row->pytorch}, {&image->holds, row->holds},
                      {&image->source, row->source}));
    }
    return 0;
}

static int add_notice(struct provider_making *m, struct err *err)
{
    struct warnings warnings;
    TRY(warnings_open(&warnings, err));
    const struct warning *w = warnings_find(&warnings, m->out->provider);
    if (w && w->ns >= 0)
        m->out->notice_s = some_int(w->ns / NS_A_S);
    int rc =
        w ? TEXTS_SET(err, {&m->out->notice, w->words}, {&m->out->notice_source, w->source}) : 0;
    warnings_release(&warnings);
    return rc;
}

static int add_remarks(struct provider *out, struct err *err)
{
    SCOPED(remarks_release) struct remarks all = {0};
    TRY(remarks_read(&all, err));
    for (size_t i = 0; i < all.count; i++) {
        if (strcmp(all.items[i].provider, out->provider) != 0)
            continue;
        struct provider_remark *remark = LIST_ADD(&out->remarks, err);
        TRY(remark ? TEXTS_SET(err, {&remark->date, all.items[i].date},
                               {&remark->remark, all.items[i].text})
                   : ERR_MEMORY);
    }
    return 0;
}

// ---- for and against

struct units_text provider_time(int64_t s)
{
    struct units_text text = units_time((double)s);
    if (s < 60) // whole, as it was read
        snprintf(text.s, sizeof text.s, "%lld s", (long long)s);
    return text;
}

// A failure sticks in `err`.
PRINTF_LIKE(5, 6)
static void point(struct provider_making *m, bool pro, const char *from, struct err *err,
                  const char *format, ...)
{
    void *list = pro ? (void *)&m->out->pros : (void *)&m->out->cons;
    struct provider_point *new = err->code ? NULL : list_add(list, sizeof *new, err);
    struct buf says = {0};
    va_list args;
    if (!new)
        return;
    va_start(args, format);
    buf_vprintf(&says, format, args);
    va_end(args);
    text_take(&new->says, &says, err);
    text_set(&new->from, from, err);
}

static void judge_billing(struct provider_making *m, struct err *err)
{
    const struct tariff *t = m->rule_count > 0 ? m->rules[0].tariff : NULL;
    const char *const from = "billing rule";
    if (!t || is_default(t)) {
        point(m, false, from, err, "no billing rule is known: bills assume whole seconds");
        texts_add(&m->out->unknown, "how it bills time", err);
        return;
    }
    const char *unit = m->out->rules.items[0].unit;
    const int64_t unit_ms = t->unit_ms.known ? t->unit_ms.v : 1000;
    if (m->rules[0].assumed)
        point(m, false, from, err, "its unit of time is assumed (%s): no source gives it", unit);
    else
        point(m,
              unit_ms <= PROVIDER_FINE_MS && t->minimum_s.v <= PROVIDER_MINIMUM_S &&
                  !t->clock_units.v,
              from, err, "billed %s", unit);
    if (t->boot_free.v)
        point(m, true, from, err, "the time until a machine is ready is free");
}

static bool is_more(const char *amount, const char *than)
{
    int64_t a, b;
    struct err ignored = {0};
    return amount && than && money_parse(amount, &a, &ignored) == 0 &&
           money_parse(than, &b, &ignored) == 0 && a > b;
}

static void judge_stopping(struct provider_making *m, struct err *err)
{
    const struct tariff *t = m->rule_count > 0 ? m->rules[0].tariff : NULL;
    const char *const from = "billing rule", *storage = m->out->storage;
    if (!t || (!t->cannot_stop.v && !t->billed_while_stopped.known))
        texts_add(&m->out->unknown, "what a stopped machine costs", err);
    else if (t->cannot_stop.v)
        point(m, false, from, err, "a machine cannot be stopped, only given back");
    else if (t->billed_while_stopped.v)
        point(m, false, from, err, "a stopped machine costs as much as a running one");
    else {
        const bool more = is_more(t->storage_stopped_rate, t->storage_rate);
        point(m, !more, from, err, "a stopped machine costs only its disk%s%s%s",
              more ? ", but more than while it runs" : "", storage ? ": " : "",
              storage ? storage : "");
    }
    if (!storage)
        texts_add(&m->out->unknown, "the price of storage", err);
}

static void judge_traffic(struct provider_making *m, struct err *err)
{
    const struct tariff *t = m->rule_count > 0 ? m->rules[0].tariff : NULL;
    if (m->out->traffic)
        point(m, !is_more(t->egress_rate, "0"), "billing rule", err, "%s", m->out->traffic);
    else
        texts_add(&m->out->unknown, "the price of traffic", err);
}

// "45 s", or "41 s to 1 min 02 s"
static void range_words(int64_t low_s, int64_t high_s, struct buf *out)
{
    buf_adds(out, provider_time(low_s).s);
    if (high_s > low_s)
        buf_printf(out, " to %s", provider_time(high_s).s);
}

static void judge_start(struct provider_making *m, struct err *err)
{
    const struct provider_start *s = &m->out->start;
    SCOPED(buf_release) struct buf range = {0};
    if (s->measured.known) {
        range_words(s->measured_low_s.v, s->measured_high_s.v, &range);
        if (buf_check(&range, err) != 0)
            return;
        point(m, s->measured_high_s.v <= PROVIDER_READY_S, "your runs", err, "ready in %s",
              buf_str(&range));
    }
    if (!s->typical_s.known || s->general.v) {
        if (!s->measured.known)
            texts_add(&m->out->unknown, "how long a machine takes to be ready", err);
        return;
    }
    buf_reset(&range);
    range_words(s->low_s.v, s->high_s.v, &range);
    if (buf_check(&range, err) != 0)
        return;
    point(m, s->typical_s.v <= PROVIDER_READY_S, "typical start-up", err, "ready in %s, usually %s",
          provider_time(s->typical_s.v).s, buf_str(&range));
}

// "driver 580 and CUDA 13", "PyTorch 2.8.0 and CUDA 12.8.1"
static void image_words(const struct provider_image *image, struct buf *out)
{
    const struct {
        const char *what, *version;
    } parts[] = {{"PyTorch", image->pytorch}, {"CUDA", image->cuda}, {"driver", image->driver}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].version)
            continue;
        buf_printf(out, "%s%s", out->len ? ", " : "", parts[i].what);
        if (strcmp(parts[i].version, "included") != 0)
            buf_printf(out, " %s", parts[i].version);
    }
}

static void judge_images(struct provider_making *m, struct err *err)
{
    SCOPED(buf_release) struct buf words = {0};
    if (m->out->images.count == 0) {
        texts_add(&m->out->unknown, "ready images", err);
        return;
    }
    image_words(&m->out->images.items[0], &words);
    if (buf_check(&words, err) != 0)
        return;
    point(m, true, "image list", err, "a ready image with %s", buf_str(&words));
}

static void judge_spot(struct provider_making *m, struct err *err)
{
    const struct maybe_int notice = m->out->notice_s;
    if (m->spot_offers == 0)
        return;
    if (!notice.known)
        texts_add(&m->out->unknown, "the notice before a spot machine is taken away", err);
    else if (notice.v == 0)
        point(m, false, "spot notices", err, "spot machines are taken away without notice");
    else
        point(m, notice.v >= PROVIDER_NOTICE_S, "spot notices", err,
              "%lld s of notice before a spot machine is taken away", (long long)notice.v);
}

static void judge_prices(struct provider_making *m, struct err *err)
{
    const struct provider *p = m->out;
    if (p->offers.v == 0)
        point(m, false, "prices", err, "the book has no current price of it");
    else if (p->age_days.v > 30)
        point(m, false, "prices", err, "its newest price is %s old",
              units_count(p->age_days.v, "day").s);
    if (p->doubtful.known && m->doubt)
        point(m, false, "prices", err, "%s left out, one of them because its price is %s",
              units_count(p->doubtful.v, "offer").s, m->doubt);
}

static void judge_runs(struct provider_making *m, struct err *err)
{
    const struct provider_runs *y = &m->out->yours;
    const char *const from = "your runs";
    const struct units_text of = units_count(y->runs.v, "run");
    if (y->failed_starts.v > 0)
        point(m, false, from, err, "%lld of %s failed before the first step",
              (long long)y->failed_starts.v, of.s);
    if (y->interruptions.v > 0)
        point(m, false, from, err, "%lld taken away, or announced to be",
              (long long)y->interruptions.v);
    if (y->throttled.v > 0)
        point(m, false, from, err, "%lld of %s throttled", (long long)y->throttled.v, of.s);
    if (y->spread_percent.known)
        point(m, y->spread_percent.v <= PROVIDER_SPREAD_PERCENT, from, err,
              "steps within ±%.2g %% between %s of %s", y->spread_percent.v,
              units_count(y->spread_runs.v, "run").s, y->spread_of);
}

// ---- all of it

static int set_title(struct provider_making *m, struct err *err)
{
    const struct provider *p = m->out;
    struct buf title = {0};
    char fewest[24], most[24];
    buf_printf(&title, "%s: ", p->provider);
    if (p->machine)
        buf_printf(&title, "%s, ", p->machine);
    buf_adds(&title, p->prices.count > 0 ? units_count((int64_t)p->prices.count, "GPU kind").s
                                         : "no current price of a GPU");
    if (m->largest) {
        offer_milli(m->fewest_milli, fewest);
        if (m->fewest_milli < 1000 && 1000 % m->fewest_milli == 0) // a part of one
            snprintf(fewest, sizeof fewest, "1/%d", 1000 / m->fewest_milli);
        offer_milli(m->largest->gpus_milli, most);
        buf_printf(&title, ", %s%s%s %s a machine", fewest,
                   m->fewest_milli < m->largest->gpus_milli ? " to " : "",
                   m->fewest_milli < m->largest->gpus_milli ? most : "",
                   m->largest->gpus_milli <= 1000 ? "GPU" : "GPUs");
    }
    if (p->regions.known)
        buf_printf(&title, ", %s in the book", units_count(p->regions.v, "region").s);
    return text_take(&m->out->title, &title, err);
}

static int make(struct provider_making *m, struct ledger *ledger, struct err *err)
{
    static void (*const judges[])(struct provider_making *, struct err *) = {
        judge_billing, judge_start, judge_images, judge_stopping,
        judge_traffic, judge_spot,  judge_prices, judge_runs};
    TRY(add_book(m, err));
    TRY(add_rules(m, err));
    TRY(add_start(m, err));
    TRY(add_images(m, err));
    TRY(add_notice(m, err));
    TRY(add_remarks(m->out, err));
    if (ledger)
        TRY(provider_add_runs(ledger, m->out, err));
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++)
        judges[i](m, err);
    return err->code ? err->code : set_title(m, err);
}

int provider_make(struct market *market, struct ledger *ledger, const char *name,
                  struct provider *out, struct err *err)
{
    const struct book_filter filter = {.provider = name};
    struct provider_making m = {.market = market,
                                .out = out,
                                .list = {.all = true, .max_rate = -1},
                                .any = {.provider = name, .name = ""}};
    struct err ignored = {0};
    const struct tariff_book *tariffs;
    const struct tariff *rule = NULL;
    err = err ? err : &ignored;
    int rc = market_tariffs(market, &tariffs, err);
    if (rc == 0)
        rc = offers_list(market, &filter, &m.list, err);
    if (rc == 0 && m.list.count + m.list.stale == 0 && !(rule = rule_of(tariffs, name)))
        rc = err_set(err, ERR_MISSING, "the book has no provider called '%s'", name);
    if (rc == 0) {
        if (m.list.count > 0)
            m.any = m.list.items[0].offer;
        else if (rule)
            m.any.provider = rule->provider;
        rc = TEXTS_SET(err, {&out->schema, PROVIDER_SCHEMA}, {&out->provider, m.any.provider});
    }
    if (rc == 0)
        rc = make(&m, ledger, err);
    index_release(&m.regions);
    listing_release(&m.list);
    return rc;
}
