// SPDX-License-Identifier: Apache-2.0
#include "bill/bill.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/market.h"
#include "book/listing.h"

#define DAY_S             INT64_C(86400)
#define COMMITTED_MONTH_S INT64_C(2628000)

// Lines of start-up (bill_time.c).
static const char *const startups[] = {"boot", "image", "download", "install", "kernels"};

// ---- the bill

struct making {
    const struct wishes *wishes;
    const struct offer *offer;
    struct priced price;
    const struct currencies *currencies;
    const struct rates *rates;
    struct charge charge;
    struct bill *bill;
    int64_t sum; // of the items so far, nano-USD
};

static int add_usd(struct making *m, const char *what, const char *how, const char *assumed,
                   int64_t usd, struct err *err)
{
    struct bill_item *item = LIST_ADD(&m->bill->items, err);
    if (!item)
        return ERR_MEMORY;
    item->amount = some_money(usd);
    TRY(TEXTS_SET(err, {&item->what, what}, {&item->how, how}, {&item->assumed, assumed}));
    return money_add(m->sum, usd, &m->sum, err);
}

// An amount of 0 gets no line.
static int add_time(struct making *m, const char *what, const char *how, const char *assumed,
                    int64_t amount, struct err *err)
{
    int64_t usd = 0;
    if (amount == 0)
        return 0;
    TRY(priced_usd(&m->price, amount, &usd, err));
    return add_usd(m, what, how, assumed, usd, err);
}

static int add_item(struct making *m, const char *what, const char *how, int64_t amount,
                    struct err *err)
{
    return add_time(m, what, how, NULL, amount, err);
}

// An amount for a time: "21 d 00 h"; "2 × 21 d 00 h" of two machines.
static int add_ns(struct making *m, const char *what, int64_t ns, const char *assumed,
                  int64_t amount, struct err *err)
{
    char words[48], how[64];
    if (amount == 0)
        return 0;
    clock_words(ns, words, sizeof words);
    if (m->wishes->machines > 1)
        snprintf(how, sizeof how, "%lld × %s", (long long)m->wishes->machines, words);
    return add_time(m, what, m->wishes->machines > 1 ? how : words, assumed, amount, err);
}

static int add_times(struct making *m, const struct bill_time *time, int64_t gpus_used,
                     struct err *err)
{
    int64_t lengths[BILL_PARTS_MAX], prices[BILL_PARTS_MAX + 1], unused = 0;
    int64_t gpus = (m->offer->gpus_milli + 999) / 1000;
    for (size_t i = 0; i < time->count; i++)
        lengths[i] = time->parts[i].ns;
    int64_t used = gpus_used > 0 ? gpus_used : gpus; // a CPU run leaves none unused
    TRY(charge_parts(&m->charge, gpus, used < gpus ? used : gpus, lengths, time->count, prices,
                     &unused, err));
    for (size_t i = 0; i < time->count; i++) {
        const struct bill_part *part = &time->parts[i];
        TRY(add_ns(m, part->what, part->ns, part->source, prices[i], err));
    }
    TRY(add_ns(m, LINE_IDLE, m->charge.charged_ns - time->total_ns, NULL, prices[time->count],
               err));
    char how[64] = "";
    if (unused != 0)
        snprintf(how, sizeof how, "%lld of %lld", (long long)(gpus - used), (long long)gpus);
    TRY(add_item(m, LINE_UNUSED, how, unused, err));
    return add_ns(m, LINE_STOPPED, wishes_stopped_ns(m->wishes, time->total_ns), NULL,
                  m->charge.stopped, err);
}

// "500 GB", in the provider's GB; "97.8 GB" if it is not whole.
static void traffic_words(const struct rule *rule, int64_t bytes, int64_t free_gb, char *out,
                          size_t size)
{
    int64_t tenths = bytes / (rule->gb_bytes / 10);
    int len = snprintf(out, size, tenths % 10 ? "%lld.%lld GB" : "%lld GB",
                       (long long)(tenths / 10), (long long)(tenths % 10));
    if (free_gb > 0 && len > 0 && (size_t)len < size)
        snprintf(out + len, size - (size_t)len, ", %lld free", (long long)free_gb);
}

// The size charged: some providers sell disks in steps.
static int64_t disk_gb(const struct rule *rule, int64_t gb)
{
    for (int i = 0; i < rule->step_count; i++)
        if (rule->storage_steps[i] >= gb)
            return rule->storage_steps[i];
    return gb;
}

static int add_rest(struct making *m, struct err *err)
{
    char each[32] = "", storage[96] = "", discount[64] = "", egress[64] = "", ingress[64] = "";
    const struct rule *rule = &m->price.rule;
    const struct charge *c = &m->charge;
    int64_t permille = m->price.own ? m->price.own->discount_permille : 0;
    int64_t disk = disk_gb(rule, m->wishes->storage_gb);
    if (m->wishes->machines > 1)
        snprintf(each, sizeof each, "%lld × ", (long long)m->wishes->machines);
    if (c->storage != 0 || c->storage_stopped != 0)
        snprintf(storage, sizeof storage,
                 disk != m->wishes->storage_gb ? "%s%lld GB as %lld" : "%s%lld GB", each,
                 (long long)m->wishes->storage_gb, (long long)disk);
    int64_t runs = m->wishes->runs > 1 ? m->wishes->runs : 1;
    if (c->egress != 0)
        traffic_words(rule, m->wishes->egress_bytes * runs, rule->egress_free_gb, egress,
                      sizeof egress);
    if (c->ingress != 0)
        traffic_words(rule, m->wishes->ingress_bytes * runs, 0, ingress, sizeof ingress);
    if (c->discount != 0)
        snprintf(discount, sizeof discount, "%lld.%lld %%", (long long)(permille / 10),
                 (long long)(permille % 10));
    TRY(add_item(m, LINE_MONTHLY_FEE, NULL, c->monthly_fee, err));
    TRY(add_item(m, LINE_SETUP_FEE, NULL, c->setup_fee, err));
    TRY(add_item(m, LINE_STORAGE, storage, c->storage, err));
    TRY(add_item(m, LINE_STORAGE_STOPPED, storage, c->storage_stopped, err));
    TRY(add_item(m, LINE_EGRESS, egress, c->egress, err));
    TRY(add_item(m, LINE_INGRESS, ingress, c->ingress, err));
    return add_item(m, LINE_DISCOUNT, discount, -c->discount, err);
}

// In USD. The remainder from converting and rounding each line is a separate line.
static int add_total(struct making *m, struct err *err)
{
    int64_t usd = 0, rest = 0;
    TRY(priced_usd(&m->price, m->charge.total, &usd, err));
    TRY(money_sub(usd, m->sum, &rest, err));
    if (rest != 0)
        TRY(add_usd(m, LINE_ROUNDING, NULL, NULL, rest, err));
    m->bill->total = some_money(usd);
    return 0;
}

// Whether the bill depends on the time of day of a start that nobody knows.
static bool any_start(const struct making *m)
{
    return m->price.rule.clock_units && !m->wishes->prorated && m->wishes->clock != CLOCK_KNOWN;
}

static int total_at(const struct making *m, int64_t length_ns, enum charge_clock clock,
                    struct maybe_money *member, struct err *err)
{
    struct wishes wishes = *m->wishes;
    int64_t usd = 0;
    if (any_start(m))
        wishes.clock = clock;
    TRY(priced_total(&m->price, &wishes, length_ns, &usd, err));
    *member = some_money(usd);
    return 0;
}

static int add_interval(struct making *m, const struct bill_time *time, struct err *err)
{
    struct bill *bill = m->bill;
    bill->charged_s = some_real((double)m->charge.charged_ns / 1e9);
    bool range = time->low_ns >= 0 && time->high_ns >= 0;
    if (!range && !any_start(m))
        return 0;
    TRY(total_at(m, range ? time->low_ns : time->total_ns, CLOCK_BEST, &bill->low, err));
    TRY(total_at(m, range ? time->high_ns : time->total_ns, CLOCK_WORST, &bill->high, err));
    if (any_start(m))
        texts_add(&bill->notes,
                  "units begin on the clock: the bill is the mean over all times of day at which "
                  "it may start, its interval from the best of them to the worst",
                  err);
    return 0;
}

static void set_date(char **member, int day, struct err *err)
{
    char text[CLOCK_ISO_BYTES];
    clock_iso((int64_t)day * DAY_S, text);
    text[10] = '\0';
    text_set(member, text, err);
}

// A price seen again after the date of the bill was valid on that date.
static int seen_day(const struct making *m)
{
    int day = m->price.day;
    return day > 0 && m->offer->day > day ? day : m->offer->day;
}

// A negotiated rate replaces the list price and has no age.
static bool own_rate(const struct making *m)
{
    return m->price.own_rate;
}

static void describe(struct making *m, const char *name, struct err *err)
{
    const struct tariff *tariff = m->price.tariff;
    struct bill *b = m->bill;
    const struct offer *o = m->offer;
    struct buf words = {0};
    priced_words(&m->price, false, &words);
    text_take(&b->words, &words, err);
    TEXTS_SET(err, {&b->offer, name}, {&b->provider, o->provider}, {&b->name, o->name},
              {&b->region, o->region}, {&b->zone, o->zone}, {&b->kind, offer_kind_word(o->kind)},
              {&b->gpu, o->gpu}, {&b->currency, m->price.paid_in},
              {&b->price_source, own_rate(m) ? "your rates.csv" : o->source},
              {&b->rule, m->wishes->prorated ? "prorated" : "paid"}, {&b->tariff, tariff->id});
    if (own_rate(m)) {
        b->price_own = some_bool(true);
        if (m->price.own->from > 0)
            set_date(&b->price_date, (int)m->price.own->from, err);
    } else {
        b->price_age_days = some_int(offer_age(o, m->price.day));
        b->price_old = some_bool(offer_old(o, m->price.day));
        set_date(&b->price_date, seen_day(m), err);
    }
    b->rate = some_money(m->price.rate);
    b->per_s = some_int(m->price.per_s);
    if (o->gpus_milli > 0)
        b->gpus = some_real(o->gpus_milli / 1000.0);
    if (o->vcpus_milli > 0)
        b->vcpus = some_real(o->vcpus_milli / 1000.0);
    if (m->wishes->machines > 1)
        b->machines = some_int(m->wishes->machines);
    if (m->price.assumed)
        b->tariff_assumed = some_bool(true);
}

// Notes each exchange rate used and its date, once. `currency` may be null.
static int note_exchange(struct making *m, const char *currency, struct err *err)
{
    struct buf text = {0};
    char begin[16];
    const char *said = m->bill->exchange ? m->bill->exchange : "";
    struct currency_rate rate;
    int64_t usd;
    if (!currency || strcmp(currency, "USD") == 0)
        return 0;
    snprintf(begin, sizeof begin, "1 %.3s = ", currency);
    if (strstr(said, begin))
        return 0;
    TRY(currency_to_usd(m->currencies, currency, m->price.day, MONEY_UNIT, &usd, &rate, err));
    buf_printf(&text, "%s%s%s", said, *said ? "; " : "", begin);
    currency_words(&rate, true, &text);
    if (rate.old)
        m->bill->exchange_old = some_bool(true);
    return text_take(&m->bill->exchange, &text, err);
}

// Marks a price that is an estimate.
static void note_estimated(struct making *m, struct err *err)
{
    struct buf text = {0};
    if (!offer_estimated(m->offer) || own_rate(m))
        return;
    m->bill->price_estimated = some_bool(true);
    buf_printf(&text, "the price is %s", m->offer->source);
    texts_take(&m->bill->notes, &text, err);
}

// What the price is, and why it is not to be believed. A floor makes the bill a lower bound.
static int note_doubt(struct making *m, struct market *market, struct err *err)
{
    const struct devices *devices;
    struct buf text = {0};
    int64_t hour = 0;
    if (own_rate(m))
        return 0;
    text_set(&m->bill->price_is, offer_basis_word(m->offer->basis), err);
    if (m->offer->basis == BASIS_FLOOR)
        m->bill->lower_bound = some_bool(true);
    TRY(market_devices(market, &devices, err));
    TRY(currency_to_usd(m->currencies, m->offer->currency, m->price.day, offer_per_hour(m->offer),
                        &hour, NULL, err));
    const char *doubt = doubt_of(devices, m->offer, hour);
    if (!doubt)
        return 0;
    if (doubt_power(devices, m->offer, hour))
        m->bill->price_impossible = some_bool(true);
    buf_printf(&text, "the price is %s", doubt);
    text_set(&m->bill->price_doubt, doubt, err);
    return texts_take(&m->bill->notes, &text, err);
}

// A commitment costs money whether the machine is used or not.
static int note_commitment(struct making *m, struct err *err)
{
    int64_t month = 0, all = 0, owed = 0;
    const struct currencies *currencies;
    char amount[MONEY_BYTES], sum[MONEY_BYTES], text[600];
    if (m->wishes->commit_months > 0 && m->offer->kind == OFFER_ON_DEMAND &&
        m->price.committed == 0) {
        snprintf(text, sizeof text,
                 "the price with a commitment of %s is unknown: this is the price without one",
                 units_count(m->wishes->commit_months, "month").s);
        m->bill->committed = (struct maybe_money){.unknown = true};
        return texts_add(&m->bill->notes, text, err);
    }
    if (m->price.committed == 0)
        return 0;
    TRY(money_scale(m->price.rate, COMMITTED_MONTH_S, m->price.per_s, MONEY_HALF_EVEN, &month,
                    err));
    if (m->wishes->machines > 1)
        TRY(money_scale(month, m->wishes->machines, 1, MONEY_HALF_EVEN, &month, err));
    TRY(money_scale(month, m->price.committed, 1, MONEY_HALF_EVEN, &all, err));
    money_short_in(month, m->price.paid_in, amount);
    money_short_in(all, m->price.paid_in, sum);
    const struct tariff_commitment *c = m->price.commitment;
    snprintf(
        text, sizeof text,
        "committed for %s%s%.60s: %s %s a month of 730 hours, %s %s in all, used or not%s%.300s",
        units_count(m->price.committed, "month").s, c->name ? ", " : "", c->name ? c->name : "",
        amount, m->price.paid_in, sum, m->price.paid_in, c->source ? "; " : "",
        c->source ? c->source : "");
    m->bill->committed_months = some_int(m->price.committed);
    m->bill->committed = some_money(all);
    TRY(market_currencies(m->price.market, &currencies, err));
    TRY(currency_to_usd(currencies, m->price.paid_in, m->price.day, all, &owed, NULL, err));
    m->bill->owed = some_money(owed);
    return texts_add(&m->bill->notes, text, err);
}

// The user's own rate replaces the list price.
static void note_own(struct making *m, struct err *err)
{
    char list[MONEY_BYTES], seen[CLOCK_ISO_BYTES], text[160];
    if (!own_rate(m))
        return;
    money_text(m->offer->rate, list);
    clock_iso((int64_t)seen_day(m) * DAY_S, seen);
    snprintf(text, sizeof text, "your own rate; the list price is %s %s, seen %.10s", list,
             m->offer->currency, seen);
    texts_add(&m->bill->notes, text, err);
}

// Items without a price in the tariff are not free: their cost is unknown.
static void note_unpriced(struct making *m, int64_t length_ns, struct err *err)
{
    const struct tariff *tariff = m->price.tariff;
    bool disk = m->wishes->storage_gb > 0;
    bool kept = wishes_stopped_ns(m->wishes, length_ns) > 0;
    const char *stopped = tariff->storage_stopped_rate;
    stopped = stopped ? stopped : tariff->storage_rate;
    const struct {
        bool asked;
        const char *rate, *what;
    } parts[] = {{disk && !tariff->disk_included.v, tariff->storage_rate, "storage"},
                 {disk && tariff->disk_included.v && kept, stopped, "storage while stopped"},
                 {kept && !tariff->billed_while_stopped.known, NULL, "the machine while stopped"},
                 {m->wishes->egress_bytes > 0, tariff->egress_rate, "traffic out"},
                 {m->wishes->ingress_bytes > 0, tariff->ingress_rate, "traffic in"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char text[120];
        snprintf(text, sizeof text, "%s: not in the total, since the tariff has no price for it",
                 parts[i].what);
        if (!parts[i].asked || parts[i].rate)
            continue;
        m->bill->incomplete = some_bool(true);
        texts_add(&m->bill->notes, text, err);
    }
}

// The sum of the user's credits that are valid on the day, in USD, and its description.
static int find_credit(struct making *m, int64_t *credit, char *how, size_t size, struct err *err)
{
    const struct rates *rates = m->rates;
    const struct rates_row *row = NULL;
    char name[256], amount[MONEY_BYTES];
    *credit = 0;
    if (!rates || m->wishes->without_credit)
        return 0;
    rates_name(m->offer, name, sizeof name);
    while ((row = rates_credit(rates, m->offer->provider, name, m->price.day, row))) {
        int64_t usd = 0;
        TRY(currency_to_usd(m->currencies, row->currency, m->price.day, row->credit, &usd, NULL,
                            err));
        money_short_in(row->credit, row->currency, amount);
        if (*credit > 0)
            snprintf(how, size, "several");
        else
            snprintf(how, size, "of %s %s", amount, row->currency);
        TRY(money_add(*credit, usd, credit, err));
        TRY(note_exchange(m, row->currency, err));
    }
    return 0;
}

// A credit pays as much of the bill as it covers, as a separate line, and reduces both interval
// ends.
static int take_credit(struct making *m, int64_t *found, struct err *err)
{
    char how[64] = "", left[MONEY_BYTES], text[160];
    struct bill *b = m->bill;
    int64_t credit = 0, total = bill_total(b);
    TRY(total > 0 ? find_credit(m, &credit, how, sizeof how, err) : 0);
    *found = credit;
    if (credit <= 0)
        return 0;
    int64_t paid = credit < total ? credit : total;
    b->before_credit = b->total;
    TRY(add_usd(m, LINE_CREDIT, how, NULL, -paid, err));
    struct maybe_money *const amounts[] = {&b->total, &b->low, &b->high, &b->by_hours};
    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        amounts[i]->nano = amounts[i]->nano > credit ? amounts[i]->nano - credit : 0;
    money_short(credit - paid, left);
    snprintf(text, sizeof text, "your credit with %.40s pays %s; %s USD of it would be left",
             m->offer->provider, paid == total ? "all of it" : "a part", left);
    return texts_add(&b->notes, text, err);
}

// The amounts in the currency asked for, and its rate.
static int add_local(struct making *m, struct market *market, struct err *err)
{
    struct bill *b = m->bill;
    const char *to = m->wishes->currency;
    int day = m->price.day;
    if (!to)
        return 0;
    TRY(local_money(market, to, day, b->total, &b->local_total, err));
    TRY(local_money(market, to, day, b->low, &b->local_low, err));
    TRY(local_money(market, to, day, b->high, &b->local_high, err));
    text_set(&b->local_currency, to, err);
    if (b->local_total.known)
        return note_exchange(m, to, err);
    struct buf why = {0};
    int rc = local_words(market, to, day, &why, err);
    texts_take(&b->notes, &why, err);
    return rc;
}

static int count_waiting(struct making *m, const struct bill_time *time, struct err *err)
{
    int64_t waiting = 0;
    if (!m->wishes->hour_of_mine.known)
        return 0;
    TRY(money_scale(m->wishes->hour_of_mine.v, time->total_ns, 3600 * NS_PER_S, MONEY_HALF_EVEN,
                    &waiting, err));
    m->bill->waiting = some_money(waiting);
    return 0;
}

// Under an assumed rule of shorter units, also the cost by started hours.
static int add_by_hours(struct making *m, int64_t length_ns, struct err *err)
{
    struct priced price = m->price;
    int64_t usd = 0;
    if (!price.assumed || m->wishes->prorated || m->offer->kind == OFFER_MONTHLY ||
        price.rule.unit_ns > 3600 * NS_PER_S)
        return 0;
    price.rule.unit_ns = 3600 * NS_PER_S;
    price.rule.rounding = RULE_UP;
    TRY(priced_total(&price, m->wishes, length_ns, &usd, err));
    m->bill->by_hours = some_money(usd);
    return 0;
}

// Some providers do not charge for boot.
static struct bill_time without_boot(const struct bill_time *time)
{
    struct bill_time rest = *time;
    if (time->count < 2 || strcmp(time->parts[0].what, "boot") != 0)
        return rest;
    int64_t boot = time->parts[0].ns;
    rest.count--;
    for (size_t i = 0; i < rest.count; i++)
        rest.parts[i] = time->parts[i + 1];
    rest.total_ns -= boot;
    rest.startup_ns -= boot;
    rest.low_ns -= time->low_ns >= 0 ? time->boot_low_ns : 0;
    rest.high_ns -= time->high_ns >= 0 ? time->boot_high_ns : 0;
    if (rest.low_ns == rest.high_ns) // it was that of the boot alone
        rest.low_ns = rest.high_ns = -1;
    return rest;
}

static int open_making(struct making *m, struct market *market, struct err *err)
{
    TRY(market_price(market, m->offer, m->wishes, &m->price, err));
    TRY(market_currencies(market, &m->currencies, err));
    return m->wishes->list_price ? 0 : market_rates(market, &m->rates, err);
}

int bill_take_credit(struct market *market, const struct wishes *wishes, const struct offer *offer,
                     struct bill *bill, int64_t *credit, struct err *err)
{
    struct making m = {.wishes = wishes, .offer = offer, .bill = bill};
    TRY(open_making(&m, market, err));
    return take_credit(&m, credit, err);
}

int bill_make(struct market *market, const struct wishes *wishes, const struct offer *offer,
              const char *name, const struct bill_time *whole, int64_t gpus_used, struct bill *bill,
              struct err *err)
{
    struct making m = {.wishes = wishes, .offer = offer, .bill = bill};
    int64_t credit;
    struct err own;
    err = err ? err : &own;
    err->code = 0; // texts that fail set it
    TRY(open_making(&m, market, err));
    struct bill_time charged = priced_boots_free(&m.price) ? without_boot(whole) : *whole;
    const struct bill_time *time = &charged;
    TRY(priced_charge(&m.price, wishes, time->total_ns, &m.charge, err));
    describe(&m, name, err);
    TRY(note_exchange(&m, m.price.paid_in, err));
    TRY(note_exchange(&m, m.price.fees_in, err));
    note_own(&m, err);
    note_estimated(&m, err);
    TRY(note_doubt(&m, market, err));
    TRY(note_commitment(&m, err));
    text_set(&bill->basis, time->basis, err);
    TRY(add_times(&m, time, gpus_used, err));
    TRY(add_rest(&m, err));
    TRY(add_total(&m, err));
    TRY(add_interval(&m, time, err));
    TRY(add_by_hours(&m, time->total_ns, err));
    note_unpriced(&m, time->total_ns, err);
    TRY(take_credit(&m, &credit, err));
    TRY(add_local(&m, market, err));
    TRY(count_waiting(&m, whole, err));
    bill->time_s = some_real((double)whole->total_ns / 1e9);
    if (whole->startup_ns > 0)
        bill->startup_s = some_real((double)whole->startup_ns / 1e9);
    if (whole->low_ns >= 0 && whole->high_ns >= 0) {
        bill->low_s = some_real((double)whole->low_ns / 1e9);
        bill->high_s = some_real((double)whole->high_ns / 1e9);
    }
    return err->code;
}

bool bill_doubtful(const struct bill *bill)
{
    return bill->incomplete.v || bill_price_doubtful(bill) || bill->spot.never_ends.v;
}

bool bill_price_doubtful(const struct bill *bill)
{
    return bill->price_doubt || bill->price_impossible.v; // records until 2026-11 have only this
}

double bill_training_s(const struct bill *bill)
{
    return bill->time_s.v - (bill->startup_s.known ? bill->startup_s.v : 0);
}

int64_t bill_total(const struct bill *bill)
{
    return money_or(bill->total, INT64_MAX);
}

int64_t bill_before_credit(const struct bill *bill)
{
    return money_or(bill->before_credit, bill_total(bill));
}

// The lines of a replayed spot bill are those without interruptions: their shares hold.
double bill_share(const struct bill *bill, enum bill_wait which)
{
    double wanted = 0, sum = 0;
    for (size_t i = 0; i < bill->items.count; i++) {
        const struct bill_item *item = &bill->items.items[i];
        double usd = money_real(item->amount).v;
        bool startup = false;
        for (size_t k = 0; item->what && k < sizeof startups / sizeof *startups; k++)
            startup |= strcmp(item->what, startups[k]) == 0;
        bool idle = item->what && strcmp(item->what, LINE_IDLE) == 0;
        wanted += (which == BILL_STARTUP ? startup : idle) ? usd : 0;
        sum += usd;
    }
    double total = (double)bill_total(bill) / MONEY_UNIT;
    return sum > 0 && total > 0 ? wanted / sum * total : 0;
}

bool bill_is_bound(const struct bill *bill)
{
    return bill->lower_bound.v || bill->spot.lower_bound.v || bill->incomplete.v;
}

const char *bill_mark(const struct bill *bill)
{
    return bill_is_bound(bill) ? "≥" : "";
}

bool bill_time_is_bound(const struct bill *bill)
{
    return bill->lower_bound.v && bill->basis && strcmp(bill->basis, "bound") == 0;
}

void bill_time_words(const struct bill *bill, char *out, size_t size)
{
    char text[48];
    clock_words((int64_t)(bill->time_s.v * 1e9), text, sizeof text);
    snprintf(out, size, "%s%s", bill_time_is_bound(bill) ? "≥ " : "", text);
}

void bill_amount(const struct bill *bill, char amount[MONEY_BYTES],
                 char interval[MONEY_INTERVAL_BYTES])
{
    const int64_t total = bill_total(bill);
    const bool known = bill->low.known && bill->high.known;
    int64_t high = known ? bill->high.nano : total;
    char text[MONEY_BYTES];
    if (bill->by_hours.known && bill->by_hours.nano > high) // the rule is assumed
        high = bill->by_hours.nano;
    money_interval(total, known ? bill->low.nano : total, high, text, interval);
    snprintf(amount, MONEY_BYTES, "%s%s", bill_mark(bill), text);
    if (bill_is_bound(bill) && *interval) { // no end is known
        char low_text[MONEY_BYTES];
        snprintf(low_text, sizeof low_text, "%.*s", (int)strcspn(interval, "-"), interval);
        bool same = strcmp(low_text, text) == 0; // as "≥" says already
        snprintf(interval, MONEY_INTERVAL_BYTES, "%s%s", same ? "" : "from ", same ? "" : low_text);
    }
    if (bill->spot.never_ends.v)
        snprintf(amount, MONEY_BYTES, "never ends");
}

// ---- the time that is billed
// The time for which a run needs a machine, in parts.

// Records come from anywhere: an impossible time counts as unknown.
static bool can_be(double seconds)
{
    return seconds > 0 && seconds <= BILL_LONGEST_NS / 1e9;
}

static void add_part(struct bill_time *t, const char *what, int64_t ns)
{
    if (ns <= 0)
        return;
    t->parts[t->count++] = (struct bill_part){what, ns, NULL};
    t->total_ns += ns;
}

static int64_t known(struct maybe_int value)
{
    return value.known && value.v > 0 ? value.v : 0;
}

static void add_measured(struct bill_time *t, const struct run_phases *p)
{
    int64_t before = t->total_ns;
    add_part(t, "set-up", known(p->setup_ns) + known(p->kernels_ns));
    add_part(t, "load", known(p->load_ns) + known(p->device_ns));
    add_part(t, "warm-up", known(p->warmup_ns));
    add_part(t, "train", known(p->train_ns));
    add_part(t, "evaluate", known(p->evaluate_ns));
    add_part(t, "checkpoint", known(p->checkpoint_ns));
    int64_t rest = known(p->wall_ns) - (t->total_ns - before);
    add_part(t, t->total_ns == before ? "run" : "other", rest);
}

static int64_t ns_of(struct maybe_real seconds)
{
    return seconds.known && seconds.v > 0 && seconds.v < 9e9 ? (int64_t)(seconds.v * 1e9 + 0.5) : 0;
}

static void add_projected(struct bill_time *t, const struct run_projection *p)
{
    int64_t before = t->total_ns, wall = ns_of(p->wall_s);
    const struct {
        const char *what;
        int64_t ns;
    } parts[] = {{"load", ns_of(p->load_s)},
                 {"train", ns_of(p->train_s)},
                 {"evaluate", ns_of(p->evaluate_s)},
                 {"checkpoint", ns_of(p->checkpoint_s)}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { // the parts never exceed the whole
        int64_t left = wall - (t->total_ns - before);
        add_part(t, parts[i].what, parts[i].ns < left ? parts[i].ns : left);
    }
    add_part(t, t->total_ns == before ? "run" : "other", wall - (t->total_ns - before));
    if (p->low_s.known && p->high_s.known && p->low_s.v >= 0 && p->low_s.v <= p->wall_s.v &&
        p->wall_s.v <= p->high_s.v && can_be(p->high_s.v)) {
        t->low_ns = before + ns_of(p->low_s);
        t->high_ns = before + ns_of(p->high_s);
    }
}

bool bill_time_of(const struct run *run, struct bill_time *out)
{
    *out = (struct bill_time){.low_ns = -1, .high_ns = -1};
    bool full = run->full.known && run->full.v && run->phases.wall_ns.known &&
                can_be((double)run->phases.wall_ns.v / 1e9);
    if (!full && !(run->projection.wall_s.known && can_be(run->projection.wall_s.v)))
        return false;
    if (full) {
        add_measured(out, &run->phases);
        out->basis = run_shipped(run) ? "published" : run->source ? "imported" : "measured";
    } else {
        add_projected(out, &run->projection);
        out->basis = run_given(run) ? RUN_GIVEN : "projected";
    }
    return out->total_ns > 0;
}

// ---- on an offer

struct start { // start-up so far, with its range
    struct bill_time time;
    int64_t low_ns, high_ns;
};

static void add_given(struct start *s, const char *what, int64_t ns)
{
    add_part(&s->time, what, ns);
    s->low_ns += ns;
    s->high_ns += ns;
}

static void add_default(struct start *s, const char *what, const struct startup_row *row,
                        int64_t less_ns)
{
    if (!row || row->ns <= less_ns)
        return;
    add_part(&s->time, what, row->ns - less_ns);
    s->time.parts[s->time.count - 1].source = row->source;
    s->low_ns += row->low_ns > less_ns ? row->low_ns - less_ns : 0;
    s->high_ns += row->high_ns - less_ns;
}

// Whether fare's own GPU kernels came from the driver's cache, compiled by an earlier run.
static bool cached_kernels(const struct run *run)
{
    return run->framework && strcmp(run->framework, "fare") == 0 && !run->source &&
           run->use.gpus.known && run->use.gpus.v > 0 && run->phases.kernels_ns.known &&
           run->phases.kernels_ns.v < NS_PER_S;
}

// Whether the boot that a run measured is evidence for that of an offer: it was counted from the
// order or the launch, with the provider's part, and lies in the range that is known of such
// machines.
static bool boot_counts(const struct run *run, const struct startup_row *row)
{
    bool whole = run->boot_from && strcmp(run->boot_from, "kernel") != 0;
    int64_t ns = known(run->phases.boot_ns);
    return whole && row && ns > 0 && ns >= row->low_ns && ns <= row->high_ns;
}

static void add_startup(struct start *s, const struct startups *defaults, const struct run *run,
                        bool itself, const struct offer *offer, const struct startup_given *given)
{
    bool none = given->boot_ns.known && given->boot_ns.v == 0;
    bool ours = run->framework && strcmp(run->framework, "fare") == 0;
    const struct startup_row *boot = startup_find(defaults, offer, "boot");
    if (given->boot_ns.known)
        add_given(s, "boot", given->boot_ns.v);
    else if (itself && boot_counts(run, boot))
        add_given(s, "boot", run->phases.boot_ns.v);
    else
        add_default(s, "boot", boot, 0);
    s->time.boot_low_ns = s->low_ns;
    s->time.boot_high_ns = s->high_ns;
    if (given->image_ns.known)
        add_given(s, "image", given->image_ns.v);
    else if (!none && !ours) // fare needs no image; its bundle is small
        add_default(s, "image", startup_find(defaults, offer, "image"), 0);
    add_given(s, "download", known(given->download_ns));
    add_given(s, "install", known(given->setup_ns));
    if (!none && cached_kernels(run))
        add_default(s, "kernels", startup_find(defaults, offer, "kernels"),
                    run->phases.kernels_ns.v);
}

int bill_time_on(struct market *market, const struct run *run, bool itself,
                 const struct offer *offer, const struct startup_given *given,
                 struct bill_time *out, bool *is_known, struct err *err)
{
    const struct startups *defaults;
    struct start s = {0};
    struct bill_time own;
    *is_known = bill_time_of(run, &own);
    TRY(*is_known ? market_startups(market, &defaults, err) : 0);
    if (!*is_known)
        return 0;
    add_startup(&s, defaults, run, itself, offer, given);
    *out = s.time;
    out->startup_ns = s.time.total_ns;
    for (size_t i = 0; i < own.count; i++)
        out->parts[out->count++] = own.parts[i];
    out->total_ns += own.total_ns;
    out->basis = own.basis;
    bool range = own.low_ns >= 0 || s.low_ns < s.high_ns;
    out->low_ns = range ? s.low_ns + (own.low_ns >= 0 ? own.low_ns : own.total_ns) : -1;
    out->high_ns = range ? s.high_ns + (own.high_ns >= 0 ? own.high_ns : own.total_ns) : -1;
    return 0;
}
