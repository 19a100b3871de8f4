// SPDX-License-Identifier: Apache-2.0
#include "bill/bill.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "bill/charge.h"

#define DAY_S INT64_C(86400)

// ---- the time

static void add_part(struct bill_time *t, const char *what, int64_t ns)
{
    if (ns <= 0)
        return;
    t->parts[t->count++] = (struct bill_part){what, ns};
    t->total_ns += ns;
}

static int64_t known(struct maybe_int value)
{
    return value.known && value.v > 0 ? value.v : 0;
}

static void add_measured(struct bill_time *t, const struct run_phases *p)
{
    int64_t before = t->total_ns;
    add_part(t, "set-up", known(p->setup_ns));
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
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) { // never more than the whole
        int64_t room = wall - (t->total_ns - before);
        add_part(t, parts[i].what, parts[i].ns < room ? parts[i].ns : room);
    }
    add_part(t, "other", wall - (t->total_ns - before));
    if (p->low_s.known && p->high_s.known) {
        t->low_ns = before + ns_of(p->low_s);
        t->high_ns = before + ns_of(p->high_s);
    }
}

bool bill_time_of(const struct run *run, int64_t boot_ns, struct bill_time *out)
{
    *out = (struct bill_time){.low_ns = -1, .high_ns = -1};
    bool full = run->full.known && run->full.v && run->phases.wall_ns.known;
    if (!full && !(run->projection.wall_s.known && run->projection.wall_s.v > 0))
        return false;
    add_part(out, "boot", boot_ns >= 0 ? boot_ns : known(run->phases.boot_ns));
    if (full) {
        add_measured(out, &run->phases);
        out->basis = run->source ? "published" : "measured";
    } else {
        add_projected(out, &run->projection);
        out->basis = "projected";
    }
    return out->total_ns > 0;
}

// ---- the bill

struct making {
    const struct bill_context *context;
    const struct offer *offer;
    const struct rates_row *own; // (optional) what the user pays instead
    const char *currency;
    struct rule rule;
    struct charge_use use;
    struct charge charge;
    struct bill *bill;
    int64_t sum; // of the items so far, nano-USD
};

static int set_amount(char **member, int64_t nano, struct err *err)
{
    char text[MONEY_BYTES];
    money_text(nano, text);
    return text_set(member, text, err);
}

static int in_usd(const struct making *m, int64_t amount, int64_t *usd, struct err *err)
{
    return currency_to_usd(m->context->currencies, m->currency, m->context->day, amount, usd, NULL,
                           NULL, err);
}

static int add_usd(struct making *m, const char *what, const char *how, int64_t usd,
                   struct err *err)
{
    struct bill_item *item = LIST_ADD(&m->bill->items, err);
    int rc = item ? text_set(&item->what, what, err) : ERR_MEMORY;
    if (rc == 0)
        rc = set_amount(&item->amount, usd, err);
    if (rc == 0)
        rc = text_set(&item->how, how, err);
    return rc == 0 ? money_add(m->sum, usd, &m->sum, err) : rc;
}

// Nothing is added for nothing.
static int add_item(struct making *m, const char *what, const char *how, int64_t amount,
                    struct err *err)
{
    int64_t usd = 0;
    if (amount == 0)
        return 0;
    int rc = in_usd(m, amount, &usd, err);
    return rc == 0 ? add_usd(m, what, how, usd, err) : rc;
}

static int add_times(struct making *m, const struct bill_time *time, int64_t gpus_used,
                     struct err *err)
{
    int64_t lengths[BILL_PARTS_MAX], prices[BILL_PARTS_MAX + 1], unused = 0;
    int64_t gpus = (m->offer->gpus_milli + 999) / 1000;
    for (size_t i = 0; i < time->count; i++)
        lengths[i] = time->parts[i].ns;
    int64_t used = gpus_used > 0 ? gpus_used : gpus; // a CPU run uses what it got
    int rc = charge_parts(&m->charge, gpus, used < gpus ? used : gpus, lengths, time->count, prices,
                          &unused, err);
    char how[64];
    for (size_t i = 0; rc == 0 && i < time->count; i++) {
        clock_words(time->parts[i].ns, how, sizeof how);
        rc = add_item(m, time->parts[i].what, how, prices[i], err);
    }
    if (rc == 0) {
        clock_words(m->charge.charged_ns - time->total_ns, how, sizeof how);
        rc = add_item(m, "idle to the end of the billing unit", how, prices[time->count], err);
    }
    if (rc == 0) {
        snprintf(how, sizeof how, "%lld of %lld", (long long)(gpus - used), (long long)gpus);
        rc = add_item(m, "unused GPUs", how, unused, err);
    }
    return rc;
}

static int add_rest(struct making *m, struct err *err)
{
    char storage[64], discount[64];
    struct units_text egress = units_bytes(m->use.egress_bytes);
    struct units_text ingress = units_bytes(m->use.ingress_bytes);
    snprintf(storage, sizeof storage, "%lld GB", (long long)m->use.storage_gb);
    snprintf(discount, sizeof discount, "%lld.%lld %%", (long long)(m->use.discount_permille / 10),
             (long long)(m->use.discount_permille % 10));
    const struct charge *c = &m->charge;
    int rc = add_item(m, "monthly fee", NULL, c->monthly_fee, err);
    if (rc == 0)
        rc = add_item(m, "set-up fee", NULL, c->setup_fee, err);
    if (rc == 0)
        rc = add_item(m, "storage", storage, c->storage, err);
    if (rc == 0)
        rc = add_item(m, "egress", egress.s, c->egress, err);
    if (rc == 0)
        rc = add_item(m, "ingress", ingress.s, c->ingress, err);
    if (rc == 0)
        rc = add_item(m, "discount", discount, -c->discount, err);
    return rc;
}

// In USD; what converting and rounding the lines one by one left over is a line of its own.
static int add_total(struct making *m, struct err *err)
{
    int64_t usd = 0, rest = 0;
    int rc = in_usd(m, m->charge.total, &usd, err);
    if (rc == 0)
        rc = money_sub(usd, m->sum, &rest, err);
    if (rc == 0 && rest != 0)
        rc = add_usd(m, "rounding", NULL, rest, err);
    return rc == 0 ? set_amount(&m->bill->total, usd, err) : rc;
}

static int total_at(const struct making *m, int64_t length_ns, char **member, struct err *err)
{
    struct charge_use use = m->use;
    struct charge charge;
    int64_t usd = 0;
    if (use.storage_ns == use.length_ns)
        use.storage_ns = length_ns;
    use.length_ns = length_ns;
    int rc = charge_use(&m->rule, &use, &charge, err);
    if (rc == 0)
        rc = in_usd(m, charge.total, &usd, err);
    return rc == 0 ? set_amount(member, usd, err) : rc;
}

static int add_interval(struct making *m, const struct bill_time *time, struct err *err)
{
    struct bill *bill = m->bill;
    bill->time_s = some_real((double)time->total_ns / 1e9);
    bill->charged_s = some_real((double)m->charge.charged_ns / 1e9);
    if (time->low_ns < 0 || time->high_ns < 0)
        return 0;
    bill->low_s = some_real((double)time->low_ns / 1e9);
    bill->high_s = some_real((double)time->high_ns / 1e9);
    int rc = total_at(m, time->low_ns, &bill->low, err);
    return rc == 0 ? total_at(m, time->high_ns, &bill->high, err) : rc;
}

static int set_date(char **member, int day, struct err *err)
{
    char text[CLOCK_ISO_BYTES];
    clock_iso((int64_t)day * DAY_S, text);
    text[10] = '\0';
    return text_set(member, text, err);
}

// A price that was seen again after the date of the bill held on it.
static int seen_day(const struct making *m)
{
    int day = m->context->day;
    return day > 0 && m->offer->day > day ? day : m->offer->day;
}

static int describe(struct making *m, const char *name, const struct tariff *tariff, bool assumed,
                    struct err *err)
{
    struct bill *b = m->bill;
    const struct offer *o = m->offer;
    struct buf words = {0};
    char rate[MONEY_BYTES];
    money_text(o->rate, rate);
    tariff_words(tariff, &words);
    const struct {
        char **to;
        const char *from;
    } texts[] = {
        {&b->offer, name},
        {&b->provider, o->provider},
        {&b->name, o->name},
        {&b->region, o->zone[0] ? o->zone : o->region},
        {&b->kind, offer_kind_word(o->kind)},
        {&b->gpu, o->gpu},
        {&b->rate, rate},
        {&b->currency, o->currency},
        {&b->price_source, o->source},
        {&b->rule, m->use.prorated ? "prorated" : "paid"},
        {&b->tariff, tariff->id},
        {&b->words, buf_str(&words)},
    };
    int rc = buf_check(&words, err);
    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof *texts; i++)
        rc = text_set(texts[i].to, texts[i].from, err);
    buf_release(&words);
    if (rc == 0)
        rc = set_date(&b->price_date, seen_day(m), err);
    b->per_s = some_int(o->per_s);
    if (o->gpus_milli > 0)
        b->gpus = some_real(o->gpus_milli / 1000.0);
    if (o->vcpus_milli > 0)
        b->vcpus = some_real(o->vcpus_milli / 1000.0);
    if (assumed)
        b->tariff_assumed = some_bool(true);
    return rc;
}

static int note_exchange(struct making *m, struct err *err)
{
    const char *source = "";
    int64_t usd;
    if (strcmp(m->currency, "USD") == 0)
        return 0;
    int rc = currency_to_usd(m->context->currencies, m->currency, m->context->day, MONEY_UNIT, &usd,
                             NULL, &source, err);
    return rc == 0 ? text_set(&m->bill->exchange, source, err) : rc;
}

// An hourly price that the same machine's price by the month caps.
static int cap_by_month(struct making *m, const struct tariff *tariff, struct err *err)
{
    if (!tariff->capped_by_month.known || !tariff->capped_by_month.v || !m->context->book ||
        m->offer->kind != OFFER_ON_DEMAND)
        return 0;
    struct offer month, wanted = *m->offer;
    struct buf name = {0};
    wanted.kind = OFFER_MONTHLY;
    book_name(&wanted, &name);
    int rc = buf_check(&name, err);
    if (rc == 0 &&
        book_find(m->context->book, buf_str(&name), m->context->day, &month, NULL) == 0 &&
        strcmp(month.currency, m->offer->currency) == 0)
        m->rule.monthly_cap = month.rate;
    buf_release(&name);
    return rc;
}

// The rule of the offer's tariff at the offer's rate, or at what the user pays instead.
static int read_rule(struct making *m, const struct tariff *tariff, struct err *err)
{
    struct tariff priced = *tariff; // its texts stay the tariff's
    char rate[MONEY_BYTES];
    int64_t nano = m->offer->rate;
    priced.per_s = some_int(m->offer->per_s);
    m->currency = m->offer->currency;
    if (m->own && m->own->rate >= 0) {
        nano = m->own->rate;
        priced.per_s = some_int(3600);
        m->currency = m->own->currency;
    }
    money_text(nano, rate);
    int rc = rule_read(&m->rule, &priced, rate, err);
    return rc == 0 ? cap_by_month(m, tariff, err) : rc;
}

// What the user asked for and the tariff has no price for is not free: it is unknown.
static int note_unpriced(struct making *m, const struct tariff *tariff, struct err *err)
{
    const struct {
        bool asked;
        const char *rate, *what;
    } parts[] = {{m->use.storage_gb > 0, tariff->storage_rate, "storage"},
                 {m->use.egress_bytes > 0, tariff->egress_rate, "traffic out"},
                 {m->use.ingress_bytes > 0, tariff->ingress_rate, "traffic in"}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
        char text[120];
        snprintf(text, sizeof text, "%s: the tariff has no price for it; it is not in the total",
                 parts[i].what);
        if (parts[i].asked && !parts[i].rate)
            rc = texts_add(&m->bill->notes, text, err);
    }
    return rc;
}

static int take_credit(struct making *m, struct err *err)
{
    int64_t credit = 0, total = bill_total(m->bill);
    if (!m->own || m->own->credit <= 0)
        return 0;
    int rc = currency_to_usd(m->context->currencies, m->own->currency, m->context->day,
                             m->own->credit, &credit, NULL, NULL, err);
    if (rc != 0)
        return rc;
    // Credits are for all bills together: the total stays, and the note says what is there.
    char have[MONEY_BYTES], text[120];
    money_short(credit, have);
    snprintf(text, sizeof text, "a credit of %s USD with %s pays %s of it", have,
             m->offer->provider, credit >= total ? "all" : "a part");
    return texts_add(&m->bill->notes, text, err);
}

static int count_waiting(struct making *m, const struct bill_time *time, struct err *err)
{
    int64_t waiting = 0;
    if (m->context->hour_of_mine <= 0)
        return 0;
    int rc = money_scale(m->context->hour_of_mine, time->total_ns, 3600 * NS_PER_S, MONEY_HALF_EVEN,
                         &waiting, err);
    return rc == 0 ? set_amount(&m->bill->waiting, waiting, err) : rc;
}

int bill_make(const struct bill_context *context, const struct offer *offer, const char *name,
              const struct bill_time *time, int64_t gpus_used, struct bill *bill, struct err *err)
{
    bool assumed = false;
    const struct tariff *tariff = tariff_for(context->tariffs, offer, context->day, &assumed);
    struct making m = {.context = context, .offer = offer, .bill = bill};
    if (context->rates)
        m.own = rates_find(context->rates, offer->provider, offer->name, context->day);
    int64_t start_s = context->day > 0 ? context->day * DAY_S : clock_date_s();
    m.use = (struct charge_use){
        .start_s = start_s,
        .length_ns = time->total_ns,
        .interrupted = context->interrupted,
        .prorated = context->prorated,
        .storage_gb = context->storage_gb,
        .storage_ns = context->storage_ns > 0 ? context->storage_ns : time->total_ns,
        .egress_bytes = context->egress_bytes,
        .ingress_bytes = context->ingress_bytes,
        .discount_permille = m.own ? m.own->discount_permille : 0,
    };
    int rc = read_rule(&m, tariff, err);
    if (rc == 0)
        rc = charge_use(&m.rule, &m.use, &m.charge, err);
    if (rc == 0)
        rc = describe(&m, name, tariff, assumed, err);
    if (rc == 0)
        rc = note_exchange(&m, err);
    if (rc == 0)
        rc = text_set(&bill->basis, time->basis, err);
    if (rc == 0)
        rc = add_times(&m, time, gpus_used, err);
    if (rc == 0)
        rc = add_rest(&m, err);
    if (rc == 0)
        rc = add_total(&m, err);
    if (rc == 0)
        rc = add_interval(&m, time, err);
    if (rc == 0)
        rc = note_unpriced(&m, tariff, err);
    if (rc == 0)
        rc = take_credit(&m, err);
    if (rc == 0)
        rc = count_waiting(&m, time, err);
    return rc == 0 ? 0 : err_context(err, "%s", name);
}

static int total_of(const struct bill_context *context, const struct offer *offer, int64_t ns,
                    int64_t *total, struct err *err)
{
    struct bill bill = {0};
    struct bill_time time = {.count = 1, .total_ns = ns, .low_ns = -1, .high_ns = -1};
    time.parts[0] = (struct bill_part){"run", ns};
    int rc = bill_make(context, offer, offer->name, &time, 0, &bill, err);
    *total = rc == 0 ? bill_total(&bill) : 0;
    record_release(bill_fields, &bill);
    return rc;
}

int bill_longest(const struct bill_context *context, const struct offer *offer, int64_t budget,
                 int64_t most_ns, int64_t *longest_ns, struct err *err)
{
    int64_t low = 0, high = most_ns, total = 0; // low is affordable, or nothing is
    *longest_ns = 0;
    int rc = total_of(context, offer, 1, &total, err);
    if (rc != 0 || total > budget)
        return rc;
    while (rc == 0 && low < high) { // bills do not fall with time
        int64_t middle = low + (high - low + 1) / 2;
        rc = total_of(context, offer, middle, &total, err);
        if (total <= budget)
            low = middle;
        else
            high = middle - 1;
    }
    *longest_ns = low;
    return rc;
}

int64_t bill_total(const struct bill *bill)
{
    int64_t nano = 0;
    if (!bill->total || money_parse(bill->total, &nano, NULL) != 0)
        return INT64_MAX;
    return nano;
}
