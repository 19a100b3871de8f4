// SPDX-License-Identifier: Apache-2.0
#include "advise/advice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advice_parts.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/run_price.h"

#define RENTS 5 // the same

// ---- rent or buy
// Rent or buy: the use after which a bought machine has cost no more than a rented one. The times
// on the two are measured, estimated, or known only as speeds relative to a third machine.

static void add_assumptions(struct buf *text, const struct own_machine *own)
{
    bool power = own->kwh >= 0 && own->busy_mw >= 0;
    const char *missing = own->kwh >= 0       ? ", and counts no power (--watts)"
                          : own->busy_mw >= 0 ? ", and counts no power (--kwh)"
                                              : ", and counts no power (--watts, --kwh)";
    buf_printf(text, " This assumes that it works %s a month%s",
               units_count(own->use_s_a_month / 3600, "hour").s, power ? "" : missing);
    buf_printf(text, "%s.", own->interest > 0 ? "" : power ? ", without interest" : "");
}

// "Buying a machine like k80 for 2500.00 USD"
static void add_machine(struct buf *text, const struct quote_ask *ask,
                        const struct own_machine *own, const struct bill *bought)
{
    if (bought && ask->own_gpu)
        buf_printf(text, "Buying a machine with %g × %s for ", bought->gpus.v, bought->gpu);
    else
        buf_printf(text, "Buying a machine like %s for ",
                   advice_machine(ask) ? advice_machine(ask) : "the one measured");
    verdict_add_money(text, own->purchase);
}

struct paid { // the use and the tenths of days after which it has paid for itself
    int64_t use_s, tenths;
};

static bool pays(const struct own_machine *own, const struct paid *paid)
{
    return paid->use_s >= 0 && paid->tenths <= own->life_months * 300;
}

// `bound`: the rent is a lower bound.
static void add_paid(struct buf *text, const struct quote_ask *ask, const struct own_machine *own,
                     const struct paid *paid, const char *rent, bool bound)
{
    if (paid->use_s < 0) {
        buf_printf(text, " never pays: renting %s stays cheaper%s", rent,
                   bound ? " if it is never interrupted" : "");
    } else if (!pays(own, paid)) {
        buf_printf(text, " does not pay within its %s: against %s it would take %s%lld.%lld days",
                   units_count(own->life_months, "month").s, rent, bound ? "up to " : "",
                   (long long)(paid->tenths / 10), (long long)(paid->tenths % 10));
    } else {
        char date[CLOCK_ISO_BYTES];
        int64_t start_s = ask->wishes.start_s ? ask->wishes.start_s : clock_date_s();
        clock_iso(start_s + paid->tenths * 8640, date);
        date[10] = '\0';
        buf_printf(text, " has paid for itself against %s after %s", rent, bound ? "at most " : "");
        verdict_add_time(text, (double)paid->use_s);
        buf_printf(text, " of use: %lld.%lld days, on %s", (long long)(paid->tenths / 10),
                   (long long)(paid->tenths % 10), date);
    }
}

static int break_even(const struct own_machine *own, const struct own_rent *rent, struct paid *paid,
                      struct err *err)
{
    paid->tenths = 0;
    TRY(own_break_even(own, rent, &paid->use_s, err));
    return paid->use_s >= 0 ? own_break_even_days(own, paid->use_s, &paid->tenths, err) : 0;
}

int advice_break_even(const struct quote_ask *ask, const struct own_machine *own,
                      const struct bill *rent, double own_s, int64_t *use_s, int64_t *tenths,
                      struct err *err)
{
    struct offer offer;
    struct priced price;
    struct paid paid = {-1, 0};
    int64_t hour = 0;
    TRY(quote_offer(ask, rent, &offer, err));
    TRY(market_price(ask->market, &offer, &ask->wishes, &price, err));
    TRY(priced_average_hour(&price, own->use_s_a_month, &hour, err));
    double rent_s = bill_training_s(rent), unit = 1e9; // nanoseconds, or more for long runs
    while (fmax(rent_s, own_s) * unit > 1e12)
        unit /= 10;
    // A speed is the inverse of a time.
    const struct own_rent against = {.rate = hour,
                                     .own_speed = (int64_t)fmax(rent_s * unit, 1),
                                     .rent_speed = (int64_t)fmax(own_s * unit, 1)};
    int rc = break_even(own, &against, &paid, err);
    *use_s = paid.use_s;
    *tenths = paid.tenths;
    return rc;
}

// ---- power

// The idle hours that each hour of use carries.
static int64_t idle_ns(const struct own_machine *own, int64_t ns)
{
    double share = 30.0 * 86400 / (double)own->use_s_a_month - 1;
    return own->idle_mw > 0 ? (int64_t)fmin((double)ns * share, (double)BILL_LONGEST_NS) : 0;
}

static int say_power(const struct quote_ask *ask, const struct advice_wishes *w,
                     struct quote *quote, struct err *err)
{
    struct buf text = {0};
    struct bill_time time;
    const struct power idle = {.mw = w->own.idle_mw, .how = "while it is idle"};
    if (w->own.kwh < 0)
        return 0;
    if (!ask->asked || !quote_base(ask, &time))
        return w->buy ? 0
                      : texts_add(&quote->advice,
                                  "Rents include the power. --kwh counts for a machine of your "
                                  "own: name its run, or add --buy PRICE.",
                                  err);
    buf_printf(&text, "Power for the whole training on %s: ",
               advice_machine(ask) ? advice_machine(ask) : "the machine measured");
    power_words(&w->power, time.total_ns, w->own.kwh, &text);
    if (idle_ns(&w->own, time.total_ns) > 0) {
        buf_adds(&text, ", and ");
        power_words(&idle, idle_ns(&w->own, time.total_ns), w->own.kwh, &text);
    }
    buf_adds(&text, ".");
    return texts_take(&quote->advice, &text, err);
}

// ---- speeds only

struct speed_rent {
    char name[160];
    struct paid paid;
};

static int by_days(const void *a, const void *b)
{
    const struct paid *x = &((const struct speed_rent *)a)->paid,
                      *y = &((const struct speed_rent *)b)->paid;
    if ((x->use_s < 0) != (y->use_s < 0))
        return x->use_s < 0 ? 1 : -1;
    return (x->tenths > y->tenths) - (x->tenths < y->tenths);
}

// Whether the run's speed is relative to the same machine's as the first run's, and its machine is
// a rented one that was asked for.
static bool on_scale(const struct quote_ask *ask, const struct run *run, const char *name)
{
    const char *to = run_label(ask->evidence[0].run, "relative_to");
    size_t len = strlen(name);
    bool named = !ask->offer || (strncmp(ask->offer, name, len) == 0 &&
                                 strchr("@:", ask->offer[len]) != NULL); // or at its end
    return run != ask->evidence[0].run && run_relative_speed(run) > 0 &&
           strcmp(run_label(run, "relative_to"), to) == 0 && run->machine.provider &&
           run->machine.instance_type && named;
}

static int64_t speed_of(const struct run *run)
{
    return llround(fmin(run_relative_speed(run), 1e6) * 1e6);
}

static int gather_rents(const struct quote_ask *ask, const struct own_machine *own,
                        struct run_prices *prices, struct speed_rent *rents, size_t *count,
                        struct err *err)
{
    for (size_t i = 1; i < ask->evidence_count; i++) {
        const struct run *run = ask->evidence[i].run;
        struct speed_rent *rent = &rents[*count];
        struct run_price price;
        int64_t hour = 0;
        snprintf(rent->name, sizeof rent->name, "%.70s/%.70s",
                 run->machine.provider ? run->machine.provider : "",
                 run->machine.instance_type ? run->machine.instance_type : "");
        if (!on_scale(ask, run, rent->name))
            continue;
        TRY(run_price(prices, run, &(struct run_price_said){0}, &price, err));
        if (!price.known)
            continue;
        TRY(priced_average_hour(&price.priced, own->use_s_a_month, &hour, err));
        const struct own_rent against = {
            .rate = hour, .own_speed = speed_of(ask->evidence[0].run), .rent_speed = speed_of(run)};
        TRY(break_even(own, &against, &rent->paid, err));
        ++*count;
    }
    return 0;
}

static int say_rents(const struct quote_ask *ask, const struct own_machine *own,
                     struct speed_rent *rents, size_t count, struct quote *quote, struct err *err)
{
    struct buf text = {0};
    if (count == 0)
        return 0;
    qsort(rents, count, sizeof *rents, by_days);
    for (size_t i = 0; i < count && i < RENTS; i++) {
        if (i == 0)
            add_machine(&text, ask, own, NULL);
        else
            buf_adds(&text, "; it");
        add_paid(&text, ask, own, &rents[i].paid, rents[i].name, false);
    }
    buf_adds(&text, ". The speeds are relative ones; no times are known.");
    add_assumptions(&text, own);
    return texts_take(&quote->advice, &text, err);
}

static int buy_by_speed(const struct quote_ask *ask, const struct own_machine *own,
                        struct quote *quote, struct err *err)
{
    struct run_prices *prices = NULL;
    size_t count = 0;
    SCOPED(free_pointer) struct speed_rent *rents = calloc(ask->evidence_count, sizeof *rents);
    int rc = rents ? run_prices_new(&prices, ask->market, ask->wishes.prorated,
                                    ask->wishes.start_s != 0, ask->wishes.start_s, err)
                   : err_memory(err);
    if (rc == 0)
        rc = gather_rents(ask, own, prices, rents, &count, err);
    if (rc == 0)
        rc = say_rents(ask, own, rents, count, quote, err);
    run_prices_free(prices);
    return rc;
}

// ---- times

// The cheapest that is bought, or rented; a lower bound (at most so many days) only where all are.
static const struct bill *first_of(const struct bill *bills, size_t count, bool own)
{
    const struct bill *found = NULL;
    for (size_t i = 0; i < count && !(found && verdict_can_lead(found)); i++)
        if (advice_is_own(&bills[i]) == own && !bill_time_is_bound(&bills[i]) &&
            (!found || verdict_can_lead(&bills[i])))
            found = &bills[i];
    return found;
}

const struct bill *advice_rent(const struct quote *quote)
{
    return first_of(quote->bills.items, quote->bills.count, false);
}

static const struct bill *find_bill(const struct quote *quote, bool own)
{
    const struct bill *bill = first_of(quote->bills.items, quote->bills.count, own);
    return bill ? bill : first_of(quote->estimates.items, quote->estimates.count, own);
}

void advice_spread(const struct bill *bill, double *low, double *high)
{
    double training = bill ? bill_training_s(bill) : 0;
    bool known = bill && bill->training_low_s.known && training > 0;
    *low = known ? bill->training_low_s.v / training : 1;
    *high = known ? bill->training_high_s.v / training : 1;
}

static void add_end(struct buf *text, const struct paid *paid)
{
    if (paid->use_s < 0)
        buf_adds(text, "never");
    else
        buf_printf(text, "%lld.%lld", (long long)(paid->tenths / 10),
                   (long long)(paid->tenths % 10));
}

// Which of the two times are estimates, and the days at the ends of their intervals.
static int add_estimated(struct buf *text, const struct quote_ask *ask,
                         const struct own_machine *own, const struct bill *bought,
                         const struct bill *rent, double own_s, struct err *err)
{
    double own_low, own_high, rent_low, rent_high;
    struct paid soon, late;
    bool mine = bought && bought->certainty, theirs = rent->certainty;
    if (!mine && !theirs)
        return 0;
    advice_spread(bought, &own_low, &own_high);
    advice_spread(rent, &rent_low, &rent_high);
    TRY(advice_break_even(ask, own, rent, own_s * own_low / rent_high, &soon.use_s, &soon.tenths,
                          err));
    TRY(advice_break_even(ask, own, rent, own_s * own_high / rent_low, &late.use_s, &late.tenths,
                          err));
    buf_adds(text, " (");
    add_end(text, &soon);
    buf_adds(text, " to ");
    add_end(text, &late);
    buf_printf(text, "). %s not measured but estimated: ",
               mine && theirs ? "Both times are"
               : mine         ? "The time on the machine to buy is"
                              : "The time on the rented one is");
    if (mine)
        buf_adds(text, bought->spread ? bought->spread : bought->certainty);
    if (theirs)
        buf_printf(text, "%s%s", mine ? " and " : "",
                   rent->spread ? rent->spread : rent->certainty);
    return 0;
}

static int say_rent(const struct quote_ask *ask, const struct advice_wishes *w,
                    const struct bill *bought, const struct bill *rent, double own_s,
                    struct quote *quote, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0}, name = {0};
    struct paid paid;
    TRY(advice_break_even(ask, &w->own, rent, own_s, &paid.use_s, &paid.tenths, err));
    verdict_add_offer(&name, rent);
    verdict_add_age(&name, rent, " (", ")");
    add_machine(&text, ask, &w->own, bought);
    add_paid(&text, ask, &w->own, &paid, buf_str(&name), bill_is_bound(rent));
    buf_drop(&text, &name);
    TRY(add_estimated(&text, ask, &w->own, bought, rent, own_s, err));
    buf_adds(&text, ".");
    add_assumptions(&text, &w->own);
    return texts_take(&quote->advice, &text, err);
}

// Against the cheapest measured rent, and an estimated one if that is cheaper.
static int say_buying(const struct quote_ask *ask, const struct advice_wishes *w,
                      struct quote *quote, struct err *err)
{
    struct buf text = {0};
    struct bill_time time;
    if (!ask->own_gpu && !ask->asked &&
        (ask->evidence_count == 0 || ask->evidence[0].run->source)) {
        buf_adds(&text, "Rent or buy: name a run; its machine is the one to buy. Or name a GPU "
                        "with --gpu.");
        return texts_take(&quote->advice, &text, err);
    }
    if (!ask->own_gpu && ask->asked && ask->evidence_count > 0 &&
        run_relative_speed(ask->evidence[0].run) > 0 && !quote_base(ask, &time))
        return buy_by_speed(ask, &w->own, quote, err);
    const struct bill *bought = ask->own_gpu ? find_bill(quote, true) : NULL,
                      *rent = advice_rent(quote),
                      *guess = first_of(quote->estimates.items, quote->estimates.count, false);
    double own_s = bought                                    ? bill_training_s(bought)
                   : !ask->own_gpu && quote_base(ask, &time) ? (double)time.total_ns / 1e9
                                                             : 0;
    if (own_s <= 0 && ask->own_gpu) {
        buf_printf(&text, "Rent or buy: the time on a machine with %.60s is unknown.",
                   ask->own_gpu);
        return texts_take(&quote->advice, &text, err);
    }
    if (own_s <= 0)
        return 0;
    if (rent)
        TRY(say_rent(ask, w, bought, rent, own_s, quote, err));
    if (guess && (!rent || guess->place.v < rent->place.v))
        TRY(say_rent(ask, w, bought, guess, own_s, quote, err));
    return 0;
}

// ---- marks

static int mark(char **member, enum verdict_keeps keeps, struct err *err)
{
    return text_set(member,
                    keeps == VERDICT_KEEPS      ? "met"
                    : keeps == VERDICT_MAY_KEEP ? "met at the middle"
                                                : "missed",
                    err);
}

static int mark_all(const struct advice_wishes *w, struct bill *bills, size_t count,
                    struct err *err)
{
    for (size_t i = 0; i < count; i++) {
        struct bill *b = &bills[i];
        if (w->deadline_ns.known)
            TRY(mark(&b->deadline, verdict_in_time(b, (double)w->deadline_ns.v / 1e9), err));
        if (w->budget.known)
            TRY(mark(&b->budget, verdict_within(b, w->budget.v), err));
    }
    return 0;
}

static int mark_quote(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    TRY(mark_all(w, quote->bills.items, quote->bills.count, err));
    return mark_all(w, quote->estimates.items, quote->estimates.count, err);
}

// ---- sentences

void advice_whose(const struct quote *quote, const struct bill *bill, struct buf *out)
{
    bool other = quote->run && bill->run && strcmp(quote->run, bill->run) != 0;
    buf_printf(out, "%s %s", other ? "another run," : "run", bill->run ? bill->run : "unknown");
    if (bill->batch.known)
        buf_printf(out, " (batch %lld%s%s)", (long long)bill->batch.v, bill->data ? ", " : "",
                   bill->data ? bill->data : "");
    else if (bill->data)
        buf_printf(out, " (%s)", bill->data);
}

const char *advice_machine(const struct quote_ask *ask)
{
    const struct run_machine *m = &ask->evidence[0].run->machine;
    return m->instance_type ? m->instance_type : m->name ? m->name : m->gpu ? m->gpu : m->cpu;
}

static void advice_add_machine(struct buf *out, const struct quote_ask *ask)
{
    const char *name = ask->asked ? advice_machine(ask) : NULL;
    if (run_given(ask->evidence[0].run)) {
        buf_adds(out, advice_machine(ask));
        return;
    }
    buf_adds(out, ask->asked ? "the machine measured" : "the machines measured");
    if (name)
        buf_printf(out, " (%s)", name);
}

static int say_credits(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    bool any = false;
    for (size_t i = 0; i < quote->bills.count && !any; i++)
        any = quote->bills.items[i].before_credit.known;
    if (!any)
        return 0;
    struct buf text = {0};
    buf_printf(&text, "Your credits are taken off each bill%s.",
               w->runs > 1 || w->use_ns_a_month > 0 || w->buy
                   ? ", but not off the cost of several runs, of months or of buying"
                   : "");
    return texts_take(&quote->advice, &text, err);
}

// Without an offer, only the time on the measured machine is known.
static void deadline_without_offers(const struct quote_ask *ask, double deadline_s, struct buf *out)
{
    struct bill_time time;
    buf_adds(out, "Within ");
    verdict_add_time(out, deadline_s);
    if (!quote_base(ask, &time)) {
        buf_adds(out, " nothing can be said: no run's time is known.");
        return;
    }
    buf_adds(out, ": the time is unknown on every offer in the book; on ");
    advice_add_machine(out, ask);
    buf_adds(out, " it takes ");
    verdict_add_time(out, (double)time.total_ns / 1e9);
    buf_adds(out, ".");
}

void advice_deadline(const struct quote_ask *ask, int64_t deadline_ns, const struct quote *quote,
                     struct buf *out)
{
    if (quote_count(quote) == 0)
        deadline_without_offers(ask, (double)deadline_ns / 1e9, out);
    else
        verdict_say_deadline(quote, (double)deadline_ns / 1e9, out);
}

static int say_limits(const struct quote_ask *ask, const struct advice_wishes *w,
                      struct quote *quote, struct err *err)
{
    SCOPED(buf_release) struct buf deadline = {0}, budget = {0};
    if (w->deadline_ns.known)
        advice_deadline(ask, w->deadline_ns.v, quote, &deadline);
    if (w->budget.known && quote_count(quote) > 0)
        verdict_say_budget(quote, w->budget.v, &budget);
    TRY(texts_take(&quote->advice, &deadline, err));
    return texts_take(&quote->advice, &budget, err);
}

// ---- idle hours

static int charged(const struct quote_ask *ask, const struct offer *offer, int64_t length_ns,
                   int64_t kept_ns, struct charge *charge, int64_t *usd, struct err *err)
{
    struct wishes wishes = ask->wishes;
    struct priced price;
    wishes.keep_ns = kept_ns > 0 ? some_int(kept_ns) : (struct maybe_int){0};
    TRY(market_price(ask->market, offer, &wishes, &price, err));
    TRY(priced_charge(&price, &wishes, length_ns, charge, err));
    return priced_total(&price, &wishes, length_ns, usd, err);
}

// What a day of the machine costs with idle hours: it runs on, is stopped for them, or given back
// and ordered again. Of an offer that is named, else of the cheapest.
static int say_idle(const struct quote_ask *ask, const struct advice_wishes *w,
                    const struct quote *quote, struct buf *out, struct err *err)
{
    const int64_t day = 24 * 3600 * NS_PER_S, work = day - w->idle_ns_a_day;
    const struct bill *b =
        ask->offer && quote_count(quote) == 1 ? quote_at(quote, 0) : verdict_of_quote(quote).leader;
    struct offer offer;
    struct charge charge;
    int64_t on, off, stopped, startup;
    if (!b || (b->provider && strcmp(b->provider, "own") == 0) || (b->kind && *b->kind == 'm'))
        return 0;
    TRY(quote_offer(ask, b, &offer, err));
    TRY(charged(ask, &offer, day, 0, &charge, &on, err));
    TRY(charged(ask, &offer, work, 0, &charge, &off, err));
    TRY(charged(ask, &offer, work, day, &charge, &stopped, err));
    const bool paid = charge.stopped > 0; // its provider charges it all the same
    TRY(charged(ask, &offer, work + (int64_t)(b->startup_s.v * 1e9), 0, &charge, &startup, err));
    buf_adds(out, "Idle ");
    verdict_add_time(out, (double)w->idle_ns_a_day / 1e9);
    buf_adds(out, " a day, ");
    verdict_add_offer(out, b);
    buf_adds(out, " costs ");
    verdict_add_money(out, on - off);
    buf_adds(out, " more each day if it runs on, ");
    verdict_add_money(out, stopped - off);
    buf_adds(out, ask->wishes.storage_gb > 0 || paid ? "" : " and its disk (--storage: how large)");
    buf_adds(out, " if it is stopped");
    buf_adds(out, paid ? ", which its provider charges" : "");
    buf_adds(out, ", and ");
    verdict_add_money(out, startup - off);
    buf_adds(out, " if it is given back and another is started, empty.");
    return 0;
}

static int say_hours(const struct quote_ask *ask, const struct advice_wishes *w,
                     struct quote *quote, struct err *err)
{
    SCOPED(buf_release) struct buf text = {0};
    if (w->idle_ns_a_day == 0)
        return 0;
    TRY(say_idle(ask, w, quote, &text, err));
    return texts_take(&quote->advice, &text, err);
}

// Says that there is no offer, and why, if that is known.
static int say_nothing(const struct quote_ask *ask, const struct advice_wishes *w,
                       struct quote *quote, struct err *err)
{
    struct bill_time time;
    struct buf text = {0};
    bool some = ask->gpu || ask->provider || ask->region || ask->kind;
    if (ask->offer || (quote->misfits.count > 0 && quote->not_measured.v == 0)) // it has reasons
        return w->buy ? say_buying(ask, w, quote, err) : say_power(ask, w, quote, err);
    if (quote->outdated) {
        buf_printf(&text, "The price of %s, which %s ", quote->outdated,
                   quote->given ? "has" : "is the same as");
        advice_add_machine(&text, ask);
        buf_printf(&text, ", was last seen %s ago: too old to count.",
                   units_count(quote->outdated_days.v, "day").s);
        TRY(texts_take(&quote->advice, &text, err));
    } else if (quote_base(ask, &time)) {
        buf_printf(&text, "No offer in the book%s %s ", some ? " of those asked for" : "",
                   quote->given ? "has" : "is known to be the same as");
        advice_add_machine(&text, ask);
        buf_adds(&text, ".");
        TRY(texts_take(&quote->advice, &text, err));
    }
    TRY(say_limits(ask, w, quote, err));
    return w->buy ? say_buying(ask, w, quote, err) : say_power(ask, w, quote, err);
}

static int advise(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                  struct err *err)
{
    if (quote->bills.count + quote->estimates.count == 0)
        return say_nothing(ask, w, quote, err);
    TRY(say_limits(ask, w, quote, err));
    TRY(say_hours(ask, w, quote, err));
    if (w->use_ns_a_month > 0 || w->runs > 1)
        TRY(advice_several(ask, w, quote, err));
    if (w->buy)
        TRY(say_buying(ask, w, quote, err));
    else
        TRY(say_power(ask, w, quote, err));
    return say_credits(w, quote, err);
}

// Copies bills whose price can be; their members stay the quote's.
static size_t copy_possible(const struct bill *bills, size_t count, struct bill *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!bill_price_doubtful(&bills[i]))
            out[kept++] = bills[i];
    return kept;
}

static int say_verdict(struct quote *quote, struct err *err)
{
    struct buf bills = {0};
    verdict_say_bills(quote, &bills);
    return texts_take(&quote->advice, &bills, err);
}

static const char *offer_of(const struct bill *bill)
{
    return bill ? bill->offer : NULL;
}

static int set_verdict(const struct advice_wishes *w, struct quote *quote, struct err *err)
{
    const struct verdict_quote q = verdict_of_quote(quote);
    struct verdict_limit in_time = {0}, within = {0};
    struct quote_verdict *v = &quote->verdict;
    if (w->deadline_ns.known)
        in_time = verdict_of_deadline(quote, (double)w->deadline_ns.v / 1e9);
    if (w->budget.known)
        within = verdict_of_budget(quote, w->budget.v);
    quote->measured = some_int((int64_t)quote->bills.count);
    return TEXTS_SET(err, {&v->leader, offer_of(q.leader)}, {&v->cheapest, offer_of(q.cheapest)},
                     {&v->estimate, offer_of(q.guess)}, {&v->fastest, offer_of(q.soonest)},
                     {&v->bound, q.leader ? NULL : offer_of(q.lowest)},
                     {&v->in_time, offer_of(in_time.sure.bill)},
                     {&v->within_budget, offer_of(within.sure.bill)});
}

// No sentence names an offer whose price cannot be.
int advice_make(const struct quote_ask *ask, const struct advice_wishes *w, struct quote *quote,
                struct err *err)
{
    size_t measured = quote->bills.count, all = measured + quote->estimates.count;
    TRY(mark_quote(w, quote, err));
    TRY(say_verdict(quote, err));
    TRY(set_verdict(w, quote, err));
    struct quote view = *quote;
    SCOPED(free_pointer) struct bill *copies = calloc(all + 1, sizeof *copies);
    if (!copies)
        return err_memory(err);
    view.bills.items = copies;
    view.bills.count = copy_possible(quote->bills.items, measured, copies);
    view.estimates.items = copies + view.bills.count;
    view.estimates.count =
        copy_possible(quote->estimates.items, quote->estimates.count, view.estimates.items);
    bool impossible = all > 0 && view.bills.count + view.estimates.count == 0;
    TRY(impossible ? 0 : advise(ask, w, &view, err));
    quote->advice = view.advice;
    return 0;
}
