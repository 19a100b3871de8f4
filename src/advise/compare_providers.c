// SPDX-License-Identifier: Apache-2.0
// Rented machines of several providers side by side: what each is, which is its provider's cheap
// and which its dear one, costs as comparisons print them, and what follows, in sentences.
#include "advise/compare_parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/verdict_words.h"
#include "base/clock.h"
#include "base/money.h"
#include "tables/device.h"

#define LOW         "low"
#define HIGH        "high"
#define SAME_SHARE  0.05 // costs this near each other count as the same
#define S_PER_H     3600
#define S_PER_DAY   86400
#define READY_DAYS  1096 // between a price and a start-up time that is still that of its machines
#define NS_PER_HOUR INT64_C(3600000000000)

// ---- the machine

// The typical time until such a machine is ready. A source of another time says nothing of it.
static int add_ready(const struct comparing *c, const struct offer *offer, struct compare_row *row,
                     struct err *err)
{
    const struct startups *startups;
    int64_t date_s;
    TRY(market_startups(c->market, &startups, err));
    const struct startup_row *boot = startup_find(startups, offer, "boot");
    if (!boot || strcmp(boot->provider, "*") == 0)
        return 0;
    const size_t len = strlen(boot->source), date = strlen("2024-10-31");
    if (len >= date && clock_parse(boot->source + len - date, &date_s) &&
        llabs(date_s / S_PER_DAY - offer->day) <= READY_DAYS)
        row->ready_s = some_real((double)boot->ns / 1e9);
    return 0;
}

// What the provider is like in the point of money and time besides its price.
static int add_terms(const struct comparing *c, const struct group *g, struct compare_row *row,
                     struct err *err)
{
    const struct priced *priced = &g->price.priced;
    const struct tariff *t = g->price.known ? priced->tariff : NULL;
    struct buf billed = {0};
    if (!t || !c->market || strcmp(t->id, "default") == 0)
        return 0;
    if (priced->assumed)
        buf_adds(&billed, "assumed: ");
    tariff_part_words(t, TARIFF_UNIT, &billed);
    TRY(text_take(&row->billed, &billed, err));
    TRY(text_set(&row->while_stopped,
                 t->cannot_stop.v                 ? "cannot be stopped"
                 : !t->billed_while_stopped.known ? NULL
                 : t->billed_while_stopped.v      ? "full price"
                                                  : "disk only",
                 err));
    return add_ready(c, &priced->offer, row, err);
}

int compare_row_machine(const struct comparing *c, const struct group *g, struct compare_row *row,
                        struct err *err)
{
    const struct run_machine *m = &g->run.machine;
    const char *name = run_gpu_name(&g->run);
    const struct devices *devices;
    TRY(text_set(&row->provider, m->provider, err));
    TRY(text_set(&row->instance, m->instance_type, err));
    if (m->provider)
        TRY(add_terms(c, g, row, err));
    if (!name || !c->market)
        return 0;
    row->gpus = m->gpus.known ? m->gpus : g->run.use.gpus;
    row->gpus_used = g->run.use.gpus;
    TRY(market_devices(c->market, &devices, err));
    const struct device *device = device_find(devices, name);
    if (device && device->memory_mib > 0)
        row->gpu_memory_gib = some_real((double)device->memory_mib / 1024);
    return text_set(&row->gpu, device ? device->name : name, err);
}

// ---- printed costs

int compare_part_printed(const struct run_price *price, struct part *part, struct err *err)
{
    part->charged = part->cost;
    TRY(run_price_printed(price, llround(part->time_s * 1e9), &part->cost, err));
    if (part->time_high <= 0)
        return 0;
    TRY(run_price_printed(price, llround(part->time_low * 1e9), &part->cost_low, err));
    return run_price_printed(price, llround(part->time_high * 1e9), &part->cost_high, err);
}

// Half of the last digit of "3.13" or "2", in billionths.
static int64_t half_digit(const char *printed)
{
    const char *point = strchr(printed, '.');
    int64_t half = MONEY_UNIT / 2;
    for (size_t digits = point ? strlen(point + 1) : 0; digits > 0; digits--)
        half /= 10;
    return half;
}

// The first whole second within the rounding of the printed hours that costs what is printed; -1:
// none.
static int second_of(const struct run_price *price, const char *hours, int64_t least, int64_t most,
                     int64_t *second, struct err *err)
{
    int64_t nano_h, cost, half_h = half_digit(hours);
    *second = -1;
    if (money_parse(hours, &nano_h, NULL) != 0 || nano_h <= half_h || nano_h > 9000 * MONEY_UNIT)
        return 0;
    const int64_t from = (nano_h - half_h) * S_PER_H / MONEY_UNIT;
    const int64_t to = (nano_h + half_h) * S_PER_H / MONEY_UNIT;
    for (int64_t s = from; s < to; s++) {
        TRY(run_price_printed(price, s * (NS_PER_HOUR / S_PER_H), &cost, err));
        if (cost >= least && cost < most) {
            *second = s;
            return 0;
        }
    }
    return 0;
}

int compare_row_printed(const struct group *g, struct compare_row *row, struct err *err)
{
    const char *printed = run_label(&g->run, "printed_cost_usd");
    const char *hours = run_label(&g->run, "printed_hours");
    int64_t nano, second = -1, cost = row->cost.nano_usd.v;
    char note[200], ours[MONEY_BYTES];
    if (g->costed && !g->relative && g->parts.count == 1)
        row->cost.charged_usd = some_money(g->parts.items[0].charged);
    if (!printed || !row->cost.charged_usd.known || money_parse(printed, &nano, NULL) != 0)
        return 0;
    const char *source = g->price.priced.offer.source;
    if (source && strncmp(source, "derived:", strlen("derived:")) == 0) {
        snprintf(note, sizeof note, "the price is %.180s", source);
        TRY(texts_add(&row->notes, note, err));
    }
    const int64_t least = nano - half_digit(printed), most = nano + half_digit(printed);
    if (cost >= least && cost < most)
        return text_set(&row->cost.printed, printed, err);
    money_short(cost, ours);
    if (hours)
        TRY(second_of(&g->price, hours, least, most, &second, err));
    if (second < 0) {
        snprintf(note, sizeof note, "$%.20s was printed", printed);
        return texts_add(&row->notes, note, err);
    }
    snprintf(note, sizeof note, "%.10s h is rounded: it costs $%s, and %.4f h the printed $%.20s",
             hours, ours, (double)second / S_PER_H, printed);
    TRY(texts_add(&row->notes, note, err));
    return text_set(&row->cost.printed, printed, err);
}

// ---- cheap and dear machines

static int64_t hour_of(const struct compare_row *row)
{
    return row->price.usd_per_hour.nano;
}

static bool is_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

// The prices of an hour at a row's provider.
static void hours_at(const struct compare_workload *w, const char *provider, int64_t *least,
                     int64_t *most)
{
    *least = INT64_MAX;
    *most = 0;
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        if (!is_text(row->provider, provider))
            continue;
        *least = hour_of(row) < *least ? hour_of(row) : *least;
        *most = hour_of(row) > *most ? hour_of(row) : *most;
    }
}

// All are rented machines with GPUs and a price, by one framework, of several providers.
static bool between_providers(const struct compare_workload *w)
{
    bool several = false;
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i], *first = &w->rows.items[0];
        if (!row->provider || !row->gpu || !row->price.usd_per_hour.known || !row->cost.usd.known ||
            !row->time_s.value.known || !is_text(row->framework, first->framework))
            return false;
        several |= !is_text(row->provider, first->provider);
    }
    return several;
}

int compare_types(struct compare_workload *w, struct err *err)
{
    int64_t least, most, dear = INT64_MAX; // the cheapest of the dear ones
    if (!between_providers(w))
        return 0;
    for (size_t i = 0; i < w->rows.count; i++) {
        hours_at(w, w->rows.items[i].provider, &least, &most);
        if (least < most)
            dear = most < dear ? most : dear;
    }
    for (size_t i = 0; i < w->rows.count && dear < INT64_MAX; i++) {
        struct compare_row *row = &w->rows.items[i];
        hours_at(w, row->provider, &least, &most);
        // One between the two is of the type it is nearer to, as a ratio.
        const double ratio = (double)hour_of(row) / (double)least;
        bool low = least < most ? ratio * ratio < (double)most / (double)least : least < dear;
        TRY(text_set(&row->type, low ? LOW : HIGH, err));
    }
    return 0;
}

bool compare_rented(const struct compare_workload *w)
{
    return w->rows.count > 0 && w->rows.items[0].type;
}

// ---- in sentences

struct pair { // of one provider: its cheapest training on a cheap machine and on a dear one
    const struct compare_row *low, *high;
};

static const struct compare_row *cheapest_of(const struct compare_workload *w, const char *provider,
                                             const char *type)
{
    const struct compare_row *best = NULL;
    for (size_t i = 0; i < w->rows.count; i++) {
        const struct compare_row *row = &w->rows.items[i];
        if (is_text(row->provider, provider) && is_text(row->type, type) && verdict_can_win(row) &&
            !row->cost.lower_bound.v && (!best || row->cost.nano_usd.v < best->cost.nano_usd.v))
            best = row;
    }
    return best;
}

// The pair of a row's provider, at the provider's first row; false: it has not both.
static bool pair_at(const struct compare_workload *w, size_t number, struct pair *pair)
{
    const char *provider = w->rows.items[number].provider;
    for (size_t i = 0; i < number; i++)
        if (is_text(w->rows.items[i].provider, provider))
            return false;
    pair->low = cheapest_of(w, provider, LOW);
    pair->high = cheapest_of(w, provider, HIGH);
    return pair->low && pair->high;
}

enum { COSTS_LESS, COSTS_SAME, COSTS_MORE, COSTS };

// The cheap machine's training against the dear one's. Intervals that overlap show no difference.
static int costs_of(const struct pair *pair)
{
    const struct compare_cost *low = &pair->low->cost, *high = &pair->high->cost;
    bool less = low->nano_usd.v < high->nano_usd.v;
    const struct compare_cost *first = less ? low : high, *second = less ? high : low;
    bool overlap = first->high_usd.known && second->low_usd.known &&
                   first->high_usd.nano >= second->low_usd.nano;
    double near = (double)second->nano_usd.v * (1 - SAME_SHARE);
    if (overlap || (double)first->nano_usd.v >= near)
        return COSTS_SAME;
    return less ? COSTS_LESS : COSTS_MORE;
}

static void add_listed(struct buf *list, const char *text)
{
    buf_printf(list, "%s%s", list->len > 0 ? ", " : "", text);
}

static void add_costs(const struct compare_workload *w, struct buf *out)
{
    static const char *const words[COSTS] = {"less", "the same", "more"};
    SCOPED(buf_release) struct buf less = {0}, same = {0}, more = {0};
    struct buf *const lists[COSTS] = {&less, &same, &more};
    struct pair pair;
    for (size_t i = 0; i < w->rows.count; i++)
        if (pair_at(w, i, &pair))
            add_listed(lists[costs_of(&pair)], pair.low->provider);
    for (int is = 0; is < COSTS; is++)
        if (lists[is]->len > 0)
            buf_printf(out, "%s%s at %s",
                       out->len > 0 ? "; " : "A training on the budget GPU costs ", words[is],
                       buf_str(lists[is]));
    if (out->len > 0)
        buf_adds(out, ".");
}

// Two digits.
static void add_trainings(const struct compare_row *row, struct buf *out)
{
    const double per_usd = 1e9 / (double)row->cost.nano_usd.v;
    buf_printf(out, per_usd < 99.5 ? "%#.2g" : "%.0f", per_usd);
}

static void add_dollar(const struct compare_workload *w, struct buf *out)
{
    struct pair pair;
    for (size_t i = 0; i < w->rows.count; i++) {
        if (!pair_at(w, i, &pair) || pair.low->cost.nano_usd.v <= 0)
            continue;
        buf_adds(out, out->len > 0
                          ? ", "
                          : "A dollar buys, in trainings on the budget and the high-end GPU: ");
        add_trainings(pair.low, out);
        buf_adds(out, " and ");
        add_trainings(pair.high, out);
        buf_printf(out, " at %s", pair.low->provider);
    }
    if (out->len > 0)
        buf_adds(out, ".");
}

// What an hour must be worth for the dear machine to pay; below 0: it never does.
static double worth_of(const struct pair *pair)
{
    double saved_h = (pair->low->time_s.value.v - pair->high->time_s.value.v) / S_PER_H;
    double more = (double)(pair->high->cost.nano_usd.v - pair->low->cost.nano_usd.v) / 1e9;
    return saved_h <= 0 ? -1 : more <= 0 ? 0 : more / saved_h;
}

static void add_worth(const struct compare_workload *w, struct buf *out)
{
    SCOPED(buf_release) struct buf always = {0}, worth = {0}, never = {0};
    struct pair pair;
    for (size_t i = 0; i < w->rows.count; i++) {
        if (!pair_at(w, i, &pair))
            continue;
        const char *provider = pair.low->provider;
        const double usd = worth_of(&pair);
        if (usd > 0)
            buf_printf(&worth, "%s$%.2f at %s", worth.len > 0 ? ", " : "", usd, provider);
        else if (usd < 0 && pair.high->cost.nano_usd.v < pair.low->cost.nano_usd.v)
            continue; // cheaper but slower
        else
            add_listed(usd < 0 ? &never : &always, provider);
    }
    const char *before = "The high-end GPU pays: ";
    if (always.len > 0)
        buf_printf(out, "%salways at %s", before, buf_str(&always)), before = "; ";
    if (worth.len > 0)
        buf_printf(out, "%sif an hour sooner is worth %s", before, buf_str(&worth)), before = "; ";
    if (never.len > 0)
        buf_printf(out, "%snever at %s, where it is no faster", before, buf_str(&never));
    if (out->len > 0)
        buf_adds(out, ".");
}

// "the GTX 1080 at hetzner, $0.50 a training if its month is paid anyway"
static void add_machine(const struct compare_row *row, bool cost, struct buf *out)
{
    char usd[MONEY_BYTES];
    if (row->gpus.v > 1)
        buf_printf(out, "%lld × ", (long long)row->gpus.v);
    buf_printf(out, "%s at %s", row->gpu, row->provider);
    if (cost) {
        money_short(row->cost.nano_usd.v, usd);
        buf_printf(out, ", $%s a training", usd);
    }
}

// `shared`: months count in parts. Then a row may win whose month has to be paid anyway, and the
// next one answers where it is not.
static void add_leaders(const struct compare_workload *w, bool shared, struct buf *out)
{
    const struct verdict cost = verdict_of_rows(w->rows.items, w->rows.count, VERDICT_COST);
    const struct verdict time = verdict_of_rows(w->rows.items, w->rows.count, VERDICT_TIME);
    const struct compare_row *cheapest = cost.winner.row, *fastest = time.winner.row;
    if (!cheapest || !fastest)
        return;
    buf_adds(out, "Cheapest: ");
    add_machine(cheapest, true, out);
    if (cheapest->price.monthly.v && shared) {
        buf_adds(out, " if its month is paid anyway");
        if (cost.next.row) {
            buf_adds(out, ", else ");
            add_machine(cost.next.row, true, out);
        }
    }
    buf_adds(out, ". Fastest: ");
    add_machine(fastest, false, out);
    buf_adds(out, ", ");
    verdict_add_time(out, fastest->time_s.value.v);
    buf_adds(out, ".");
}

int compare_say_providers(struct compare_workload *w, bool shared, struct err *err)
{
    struct buf leaders = {0}, costs = {0}, dollar = {0}, worth = {0};
    add_leaders(w, shared, &leaders);
    add_costs(w, &costs);
    add_dollar(w, &dollar);
    add_worth(w, &worth);
    struct buf *const all[] = {&leaders, &costs, &dollar, &worth};
    int rc = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int added = texts_take(&w->sentences, all[i], err);
        rc = rc == 0 ? added : rc;
    }
    return rc;
}
