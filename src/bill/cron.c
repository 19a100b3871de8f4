// SPDX-License-Identifier: Apache-2.0
#include "bill/cron.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/bill.h"
#include "bill/market.h"
#include "bill/schedule.h"
#include "book/listing.h"

#define DAY_S          INT64_C(86400)
#define SERVER_AGE_MAX 730 // days: older prices of small servers are not used

struct cron_job {
    const struct cron_ask *ask;
    struct market *market;
    struct schedule schedule;
    char *provider, *name; // of an offer that is not in the book
    struct schedule_record *record;
};

static int note(struct cron_job *job, struct err *err, const char *format, ...) PRINTF_LIKE(3, 4);
static int note(struct cron_job *job, struct err *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < job->record->notes.count; i++)
        if (strcmp(job->record->notes.items[i], text) == 0)
            return 0; // already noted
    return texts_add(&job->record->notes, text, err);
}

// ---- the offer and its rule

// Splits "gcp/n1-standard-1@us-east1:spot" into its parts, for an offer that is not in the book.
static int split_offer(struct cron_job *job, struct offer *offer, struct err *err)
{
    const char *text = job->ask->offer, *slash = strchr(text, '/'), *colon = strrchr(text, ':');
    *offer = (struct offer){.region = "",
                            .zone = "",
                            .gpu = "",
                            .cpu = "",
                            .currency = "USD",
                            .source = "from --rate",
                            .rate = job->ask->rate,
                            .per_s = 3600};
    if (!slash || slash == text || slash[1] == '\0') {
        err_set(err, ERR_USAGE, "'%s' is not an offer", text);
        return err_hint(err, "name it as PROVIDER/NAME, such as gcp/n1-standard-1:spot");
    }
    if (colon && !offer_kind_parse(colon + 1, &offer->kind))
        return err_set(err, ERR_USAGE, "'%s': a kind of offer is on-demand, spot or monthly", text);
    job->provider = strndup(text, (size_t)(slash - text));
    job->name = strndup(slash + 1, strcspn(slash + 1, "@:"));
    offer->provider = job->provider;
    offer->name = job->name;
    return job->provider && job->name ? 0 : err_memory(err);
}

// Whether the user's rates.csv has a rate for an offer that is not in the book.
static int has_own_rate(struct cron_job *job, const struct offer *offer, bool *has, struct err *err)
{
    const struct rates *rates;
    char name[256];
    int rc = market_rates(job->market, &rates, err);
    rates_name(offer, name, sizeof name);
    const struct rates_row *own =
        rc == 0 ? rates_find(rates, offer->provider, name, job->ask->day) : NULL;
    *has = own && own->rate >= 0;
    return rc;
}

// The offer from the book, or one made of --rate or the user's rates.csv.
static int find_offer(struct cron_job *job, struct offer *offer, struct err *err)
{
    const struct cron_ask *ask = job->ask;
    struct offer said;
    struct err why = {0};
    bool own = false;
    int rc = split_offer(job, &said, err);
    if (rc != 0)
        return rc;
    rc = market_find(job->market, ask->offer, ask->day, offer, &why);
    if (rc == 0 && ask->rate < 0 && offer->kind == OFFER_SPOT && said.kind != OFFER_SPOT) {
        err_set(err, ERR_USAGE, "the book has only a spot price for '%s'", ask->offer);
        return err_hint(err, "use it with --offer %s:spot, or give a price on demand with --rate",
                        ask->offer);
    }
    if (rc == 0 && ask->rate >= 0) {
        offer->rate = ask->rate;
        offer->per_s = 3600;
        offer->currency = "USD";
        offer->kind = said.kind;
        offer->day = 0; // no price of the book's
        offer->source = said.source;
    }
    if (rc == 0)
        return 0;
    *offer = said;
    if (rc == ERR_MISSING && ask->rate >= 0)
        return 0;
    if (rc == ERR_MISSING && has_own_rate(job, &said, &own, err) != 0)
        return ERR_MEMORY;
    if (rc == ERR_MISSING && own)
        return 0;
    if (err)
        *err = why;
    if (rc == ERR_MISSING)
        err_hint(err, "give the price of an hour: --rate 0.01");
    return rc;
}

static int note_credit(struct cron_job *job, struct err *err)
{
    const struct priced *p = &job->schedule.priced;
    const struct rates *rates;
    char name[256], credit[MONEY_BYTES];
    int rc = market_rates(job->market, &rates, err);
    rates_name(&p->offer, name, sizeof name);
    const struct rates_row *row =
        rc == 0 && rates ? rates_credit(rates, p->offer.provider, name, p->day, NULL) : NULL;
    if (!row)
        return rc;
    money_short(row->credit, credit);
    return note(job, err,
                "Your credit of %s %s is not taken off, since it does not renew every month.",
                credit, row->currency);
}

// Why the price is not to be believed, and that the machine is gone.
static int note_doubt(struct cron_job *job, struct err *err)
{
    const struct priced *p = &job->schedule.priced;
    const struct devices *devices;
    int64_t hour = 0;
    char end[12];
    TRY(market_devices(job->market, &devices, err));
    TRY(priced_hour(p, &hour, err));
    const char *doubt = doubt_of(devices, &p->offer, hour);
    if (doubt)
        TRY(note(job, err, "The price is %s.", doubt));
    if (!offer_retired(&p->offer, p->day))
        return 0;
    offer_date(p->offer.valid_to, end);
    return note(job, err, "The provider ended it on %s.", end);
}

static int note_price(struct cron_job *job, struct err *err)
{
    const struct priced *p = &job->schedule.priced;
    const struct currencies *currencies;
    const char *const used[] = {p->paid_in, p->fees_in};
    bool own = p->own_rate, capped = p->tariff->capped_by_month.v;
    struct currency_rate rate;
    int64_t ignored;
    TRY(market_currencies(job->market, &currencies, err));
    if (!own && p->offer.day > 0 && offer_old(&p->offer, p->day))
        TRY(note(job, err, "OLD: the price was last seen %s before.",
                 units_count(offer_age(&p->offer, p->day), "day").s));
    TRY(own || p->offer.day <= 0 ? 0 : note_doubt(job, err));
    for (size_t i = 0; i < 2; i++) {
        if (!used[i])
            continue;
        TRY(currency_to_usd(currencies, used[i], p->day, 0, &ignored, &rate, err));
        if (!*rate.source)
            continue;
        SCOPED(buf_release) struct buf words = {0};
        currency_words(&rate, true, &words);
        TRY(buf_check(&words, err));
        TRY(note(job, err, "%s: %s.", used[i], buf_str(&words)));
    }
    if (capped && p->rule.monthly_cap < 0 && p->offer.kind == OFFER_ON_DEMAND)
        TRY(note(job, err, "Its monthly price, which would cap a month's hours, is unknown."));
    if (p->rule.billed_while_stopped)
        TRY(note(job, err, "A stopped machine is charged too: delete it after each task."));
    if (p->rule.setup_fee > 0)
        TRY(note(job, err, "The set-up fee, paid once, is left out."));
    return note_credit(job, err);
}

// The machine is up for its boot and the run. It was set up before: no image is pulled.
static int up_by_run(struct cron_job *job, const struct offer *offer, struct err *err)
{
    const struct run *run = job->ask->run;
    const struct startup_given given = {.image_ns = some_int(0)};
    struct bill_time time;
    bool known = false;
    char boot[32], own[32], text[160];
    TRY(bill_time_on(job->market, run, false, offer, &given, &time, &known, err));
    if (!known) {
        err_set(err, ERR_USAGE, "run %s has no time of a whole training", run->id);
        return err_hint(err, "give the time with --up");
    }
    job->schedule.up_ns = time.total_ns;
    clock_words(time.startup_ns, boot, sizeof boot);
    clock_words(time.total_ns - time.startup_ns, own, sizeof own);
    snprintf(text, sizeof text, "boot %s by default, %s %s by run %.40s", boot, own, time.basis,
             run->id);
    return text_set(&job->record->up_source, text, err);
}

static int find_rule(struct cron_job *job, struct err *err)
{
    const struct cron_ask *ask = job->ask;
    const struct wishes wishes = {.start_s = ask->day * DAY_S, .rate_given = ask->rate >= 0};
    struct schedule_record *r = job->record;
    struct priced *p = &job->schedule.priced;
    struct offer offer;
    SCOPED(buf_release) struct buf text = {0};
    int64_t hour = 0;
    TRY(find_offer(job, &offer, err));
    if (job->ask->run)
        TRY(up_by_run(job, &offer, err));
    TRY(market_price(job->market, &offer, &wishes, p, err));
    if (offer.gpus_milli > 0)
        r->gpus = some_real(offer.gpus_milli / 1000.0);
    book_name(&offer, &text);
    TRY(buf_check(&text, err)); // as the user wrote it, unless the book chose a region
    TRY(text_set(&r->offer, offer.day > 0 ? buf_str(&text) : ask->offer, err));
    buf_reset(&text);
    priced_words(p, false, &text);
    TRY(text_take(&r->rule, &text, err));
    TRY(text_set(&r->tariff, p->tariff->id, err));
    r->rule_assumed = some_bool(p->assumed);
    r->machine_tasks = some_int(schedule_capacity(&job->schedule));
    TRY(priced_hour(p, &hour, err));
    r->rate_per_hour = some_money(hour);
    TRY(text_set(&r->rate_source, p->own_rate ? "from your rates.csv" : offer.source, err));
    return note_price(job, err);
}

// Prices of disk, scheduler and functions: the user's, else the provider's.
static int find_extras(struct cron_job *job, struct err *err)
{
    const struct scheduling *given = &job->ask->extras;
    struct scheduling *b = &job->schedule.extras;
    struct priced *p = &job->schedule.priced;
    const struct schedulings *schedulings;
    TRY(market_schedulings(job->market, &schedulings, err));
    *b = scheduling_find(schedulings, p->offer.provider, job->ask->day);
    const struct {
        int64_t *to, from;
    } members[] = {
        {&b->disk_rate, given->disk_rate},         {&b->rules, given->rules},
        {&b->rule_rate, given->rule_rate},         {&b->function_ms, given->function_ms},
        {&b->function_rate, given->function_rate}, {&b->fixed_server, given->fixed_server}};
    // A small server replaces no GPU and no larger machine, and a price from years ago is no offer.
    int vcpus = p->offer.vcpus_milli;
    if (*p->offer.gpu || vcpus == 0 || vcpus > 1000 || job->ask->day - b->since > SERVER_AGE_MAX)
        b->fixed_server = -1;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].from >= 0)
            *members[i].to = members[i].from;
    if (given->disk_rate >= 0) // for the whole month
        p->rule.disk_included = false;
    if (b->disk_rate >= 0 || !p->tariff->storage_rate)
        return 0;
    TRY(priced_usd(p, p->rule.storage_rate, &b->disk_rate, err));
    return priced_usd(p, p->rule.storage_stopped_rate, &b->disk_stopped_rate, err);
}

// ---- the record

static int add_item(struct cron_job *job, const char *name, const struct schedule_line *line,
                    struct err *err, const char *format, ...) PRINTF_LIKE(5, 6);
static int add_item(struct cron_job *job, const char *name, const struct schedule_line *line,
                    struct err *err, const char *format, ...)
{
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    struct schedule_item *item = LIST_ADD(&job->record->items, err);
    TRY(item ? text_set(&item->name, name, err) : ERR_MEMORY);
    TRY(text_set(&item->what, line->known ? what : "price unknown, left out", err));
    if (line->known) {
        item->amount = some_money(line->price);
        item->with_allowances = some_money(line->free_price);
    }
    return 0;
}

static const char *plain(int64_t nano, char text[MONEY_BYTES])
{
    money_text(nano, text);
    return text;
}

// The totals in the currency asked for; its rate is a note.
static int add_local(struct cron_job *job, struct err *err)
{
    struct schedule_record *r = job->record;
    const char *currency = job->ask->currency;
    int day = job->ask->day;
    SCOPED(buf_release) struct buf words = {0};
    if (!currency)
        return 0;
    TRY(text_set(&r->local_currency, currency, err));
    TRY(local_money(job->market, currency, day, r->total, &r->local_total, err));
    TRY(local_money(job->market, currency, day, r->total_with_allowances,
                    &r->local_total_with_allowances, err));
    TRY(local_words(job->market, currency, day, &words, err));
    return note(job, err, "%s", buf_str(&words));
}

static int add_items(struct cron_job *job, const struct schedule_bill *bill, struct err *err)
{
    const struct schedule *s = &job->schedule;
    const struct scheduling *b = &s->extras;
    char text[MONEY_BYTES], charged[32];
    double starts = (double)bill->starts / (double)bill->starts_in;
    long long tasks = (long long)job->record->tasks.v;
    clock_words(bill->up_ns, charged, sizeof charged);
    char rate[64];
    snprintf(rate, sizeof rate, "%s an hour", money_exact(job->record->rate_per_hour).s);
    TRY(priced_by_month(&s->priced) ? add_item(job, "machine", &bill->machine, err,
                                               "%lld × each month in which it starts", tasks)
                                    : add_item(job, "machine", &bill->machine, err,
                                               "%.6g × %s at %s", starts * (double)tasks, charged,
                                               bill->by_day ? "the spot price of each day" : rate));
    if (bill->fees.known)
        TRY(add_item(job, "fees", &bill->fees, err, "%lld × %s a month", tasks,
                     plain(s->priced.rule.monthly_fee, text)));
    if (s->disk_gb > 0)
        TRY(add_item(job, "disk", &bill->disk, err, "%lld GB at %s a GB",
                     (long long)s->disk_gb * tasks, plain(b->disk_rate, text)));
    if (b->rules != 0)
        TRY(add_item(job, "rules", &bill->rules, err, "%lld of the scheduler at %s",
                     (long long)b->rules * tasks, plain(b->rule_rate, text)));
    if (b->function_ms != 0)
        TRY(add_item(job, "functions", &bill->functions, err, "%.6g × %g s at %s per %lld ms",
                     starts * 2 * (double)tasks, (double)b->function_ms / 1000,
                     plain(b->function_rate, text), (long long)b->function_unit_ms));
    if (bill->discount.known)
        TRY(add_item(job, "discount", &bill->discount, err, "%g %%, from your rates.csv",
                     (double)s->priced.own->discount_permille / 10));
    job->record->total = some_money(bill->total.price);
    job->record->total_with_allowances = some_money(bill->total.free_price);
    return add_local(job, err);
}

static int add_alternative(struct cron_job *job, const char *name, const struct schedule_line *line,
                           struct err *err)
{
    int64_t tasks = -1, with = -1;
    struct schedule_alternative *a = LIST_ADD(&job->record->always_up, err);
    TRY(a ? text_set(&a->name, name, err) : ERR_MEMORY);
    a->amount = some_money(line->price);
    a->with_allowances = some_money(line->free_price);
    TRY(schedule_break_even(&job->schedule, line->price, false, &tasks, err));
    TRY(schedule_break_even(&job->schedule, line->free_price, true, &with, err));
    if (tasks > 0)
        a->cheaper_from_tasks = some_int(tasks);
    if (with > 0)
        a->cheaper_from_tasks_with_allowances = some_int(with);
    return 0;
}

static int add_alternatives(struct cron_job *job, struct err *err)
{
    const struct schedule *s = &job->schedule;
    struct schedule_line machine, disk;
    struct schedule bare = *s;
    bare.disk_gb = 0; // the machine alone, as in price lists
    TRY(schedule_always(&bare, &machine, err));
    TRY(add_alternative(job,
                        s->month_s < 0 ? "the same machine for 730 h, no disk"
                                       : "the same machine all month, no disk",
                        &machine, err));
    if (s->disk_gb > 0 && s->extras.disk_rate >= 0) {
        TRY(schedule_always(s, &disk, err));
        TRY(add_alternative(job, "the same machine with its disk", &disk, err));
    }
    if (s->extras.fixed_server >= 0) {
        const struct schedule_line fixed = {true, s->extras.fixed_server, s->extras.fixed_server};
        TRY(add_alternative(job, "a small fixed server", &fixed, err));
    }
    return 0;
}

// All tasks on one machine of the user's own, which is busy for them and idle or off otherwise.
static int add_own_power(struct cron_job *job, const struct schedule_bill *bill, struct err *err)
{
    const struct cron_ask *ask = job->ask;
    int64_t end_s, busy = 0, idle = 0, sum = 0, month_ns = 30 * DAY_S * NS_PER_S;
    char busy_words[48], idle_words[48], rate[MONEY_BYTES];
    struct buf how = {0};
    if (ask->power.busy_mw < 0 || ask->power.kwh < 0)
        return 0;
    if (ask->month_s >= 0 && clock_month(ask->month_s, 1, &end_s))
        month_ns = (end_s - ask->month_s) * NS_PER_S;
    double starts = (double)bill->starts / (double)bill->starts_in * (double)ask->tasks;
    double wanted = starts * (double)job->schedule.up_ns;
    int64_t busy_ns = wanted < (double)month_ns ? (int64_t)wanted : month_ns;
    TRY(power_cost(ask->power.busy_mw, busy_ns, ask->power.kwh, &busy, err));
    if (ask->idle_mw > 0)
        TRY(power_cost(ask->idle_mw, month_ns - busy_ns, ask->power.kwh, &idle, err));
    TRY(money_add(busy, idle, &sum, err));
    clock_words(busy_ns, busy_words, sizeof busy_words);
    clock_words(month_ns - busy_ns, idle_words, sizeof idle_words);
    money_short(ask->power.kwh, rate);
    buf_printf(&how, "%g W for %s", (double)ask->power.busy_mw / 1000, busy_words);
    if (ask->idle_mw > 0)
        buf_printf(&how, ", %g W for %s idle", (double)ask->idle_mw / 1000, idle_words);
    buf_printf(&how, ", at %s USD a kWh", rate);
    job->record->own_power = some_money(sum);
    return text_take(&job->record->own_power_how, &how, err);
}

static int add_notes(struct cron_job *job, const struct schedule_bill *bill, struct err *err)
{
    const struct schedule *s = &job->schedule;
    if (bill->starts == 0)
        TRY(note(job, err, "It does not start in %s: only the fixed costs remain.",
                 job->record->month));
    if (s->extras.source)
        TRY(note(job, err, "Prices and free allowances of disk, scheduler and functions: %s.",
                 s->extras.source));
    if (!bill->disk.known || !bill->rules.known || !bill->functions.known)
        TRY(note(job, err,
                 "Unknown prices are left out: give them with --disk-rate, --rules, --rule-rate, "
                 "--function-ms and --function-rate."));
    return 0;
}

static void job_release(struct cron_job *job)
{
    free(job->provider);
    free(job->name);
}

int cron_make(struct market *market, const struct cron_ask *ask, struct schedule_record *r,
              struct err *err)
{
    SCOPED(job_release) struct cron_job job = {.ask = ask, .market = market, .record = r};
    struct schedule_bill bill;
    char date[CLOCK_ISO_BYTES];
    job.schedule.tab = ask->tab;
    job.schedule.up_ns = ask->up_ns;
    job.schedule.month_s = ask->month_s;
    job.schedule.disk_gb = ask->disk_gb;
    r->tasks = some_int(ask->tasks);
    TRY(find_rule(&job, err));
    TRY(find_extras(&job, err));
    TRY(schedule_bill(&job.schedule, ask->tasks, &bill, err));
    clock_iso(ask->day * DAY_S, date);
    date[10] = '\0';
    const char *average = ask->tab.any_day ? "30 days" : "a calendar month, on average";
    TRY(TEXTS_SET(err, {&r->schema, SCHEDULE_SCHEMA}, {&r->schedule, ask->schedule},
                  {&r->month, ask->month ? ask->month : average},
                  {&r->time_zone, ask->time_zone ? ask->time_zone : "UTC"}, {&r->date, date}));
    r->starts = some_real((double)bill.starts / (double)bill.starts_in);
    r->up_s = some_real((double)job.schedule.up_ns / 1e9);
    r->charged_s = some_real((double)bill.up_ns / 1e9);
    TRY(add_items(&job, &bill, err));
    TRY(add_alternatives(&job, err));
    TRY(add_own_power(&job, &bill, err));
    return add_notes(&job, &bill, err);
}
