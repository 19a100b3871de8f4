// SPDX-License-Identifier: Apache-2.0
// cron: what a task on a schedule costs, on a machine that is up only while it works.
#include "cmd/cron.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"
#include "base/units.h"
#include "bill/price_rule.h"
#include "bill/schedule.h"
#include "cmd/values.h"
#include "price/book.h"
#include "price/currency.h"
#include "price/rates.h"
#include "price/tariffs.h"

#define DAY_S INT64_C(86400)
#define GB    INT64_C(1000000000)

struct cron_options {
    struct cmd_common common;
    int64_t up_ns;
    const char *offer, *rate, *date, *month;
    int64_t tasks;
    const char *disk, *disk_rate, *rules, *rule_rate, *function_ms, *function_rate, *always_up;
};

static const struct cron_options defaults = {.up_ns = -1, .tasks = 1};

#define AT(member) offsetof(struct cron_options, member)
static const struct opt options[] = {
    {"up", 0, OPT_DURATION, "TIME", NULL, AT(up_ns), NULL,
     "how long the machine is up each time, from its start until it is off (2m)"},
    {"offer", 0, OPT_TEXT, "OFFER", NULL, AT(offer), NULL,
     "the machine: PROVIDER/NAME, with :spot behind it for spot"},
    {"rate", 0, OPT_TEXT, "USD", NULL, AT(rate), NULL,
     "its price an hour, instead of the one that is known"},
    {"date", 0, OPT_TEXT, "DATE", NULL, AT(date), NULL,
     "prices and rules of this date instead of today's"},
    {"month", 0, OPT_TEXT, "YYYY-MM", NULL, AT(month), NULL,
     "this calendar month (UTC) instead of one of 30 days"},
    {"tasks", 0, OPT_COUNT, "N", NULL, AT(tasks), NULL,
     "so many such tasks, each with a machine of its own (default 1)", .least = 1},
    {"disk", 0, OPT_TEXT, "SIZE", NULL, AT(disk), "Beside the machine",
     "its disk, which stays while it is off (default 10GB)"},
    {"disk-rate", 0, OPT_TEXT, "USD", NULL, AT(disk_rate), "Beside the machine", "a GB and month"},
    {"rules", 0, OPT_TEXT, "N", NULL, AT(rules), "Beside the machine",
     "rules of the provider's scheduler for a task: one to start, one to stop it"},
    {"rule-rate", 0, OPT_TEXT, "USD", NULL, AT(rule_rate), "Beside the machine",
     "a rule and month"},
    {"function-ms", 0, OPT_TEXT, "N", NULL, AT(function_ms), "Beside the machine",
     "how long the function runs that starts the machine, and again the one that stops it"},
    {"function-rate", 0, OPT_TEXT, "USD", NULL, AT(function_rate), "Beside the machine",
     "a unit of a function's time (100 ms)"},
    {"always-up", 0, OPT_TEXT, "USD", NULL, AT(always_up), "Beside the machine",
     "the month of a small server that is always up, to hold against it"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare cron '0 */4 * * *' --up 2m --offer gcp/n1-standard-1:spot --date 2018-11-01",
     "a published case: 0.76 USD a month, 0.06 with the free allowances"},
    {"fare cron @hourly --up 5m --offer aws/t3.small --rate 0.0208 --tasks 12",
     "twelve tasks, with a price of your own"},
    {"fare cron '30 6 * * mon-fri' --up 20m --offer aws/g5.xlarge --month 2026-02",
     "the working days of one month"},
    {NULL, NULL},
};

// What is gathered before anything is computed.
struct job {
    const struct cron_options *options;
    struct schedule schedule;
    char *provider, *name;
    enum offer_kind kind;
    int day;
    struct book *book;
    struct tariff_book *tariffs;
    struct currencies *currencies;
    struct rates *rates;
    struct schedule_record record;
};

// ---- options

static int take_count(const char *option, const char *text, int64_t *count, struct err *err)
{
    if (text && (!text_int(text, count) || *count < 0 || *count > 1000000000))
        return value_bad(option, text, "a whole number", err);
    return 0;
}

static int take_disk(const char *text, int64_t *gb, struct err *err)
{
    int64_t bytes = 10 * GB;
    if (text && (!units_parse_bytes(text, &bytes) || bytes > GB * 1000000))
        return value_bad("disk", text, "a size such as 10GB", err);
    *gb = bytes / GB + (bytes % GB > 0);
    return 0;
}

// "gcp/n1-standard-1@us-east1:spot" into its parts.
static int take_offer(struct job *job, const char *text, struct err *err)
{
    const char *slash = text ? strchr(text, '/') : NULL, *colon = text ? strrchr(text, ':') : NULL;
    if (!text)
        err_set(err, ERR_USAGE, "which machine? there is no --offer");
    else if (!slash || slash == text || slash[1] == '\0')
        err_set(err, ERR_USAGE, "'%s' is not an offer", text);
    if (!text || !slash || slash == text || slash[1] == '\0')
        return err_hint(err, "name it as PROVIDER/NAME, such as gcp/n1-standard-1:spot");
    if (colon && !offer_kind_parse(colon + 1, &job->kind))
        return err_set(err, ERR_USAGE, "'%s': a kind of offer is on-demand, spot or monthly", text);
    job->provider = strndup(text, (size_t)(slash - text));
    job->name = strndup(slash + 1, strcspn(slash + 1, "@:"));
    return job->provider && job->name ? 0 : err_memory(err);
}

static int take_dates(struct job *job, struct err *err)
{
    const struct cron_options *o = job->options;
    struct schedule *s = &job->schedule;
    int64_t date_s = clock_date_s();
    char first[16];
    s->month_s = -1;
    if (o->month) {
        snprintf(first, sizeof first, "%.7s-01", o->month);
        if (strlen(o->month) != 7 || !clock_parse(first, &s->month_s) || s->month_s < 0)
            return value_bad("month", o->month, "a month such as 2026-02", err);
        date_s = s->month_s;
    }
    job->day = (int)(date_s / DAY_S);
    return value_day(o->date, &job->day, err);
}

static int take_beside(struct job *job, struct err *err)
{
    const struct cron_options *o = job->options;
    struct scheduling *b = &job->schedule.beside;
    int rc = take_disk(o->disk, &job->schedule.disk_gb, err);
    if (rc == 0)
        rc = scheduling_find(b, NULL, NULL, job->provider, job->day, err);
    if (rc == 0)
        rc = value_amount("disk-rate", o->disk_rate, &b->disk_rate, err);
    if (rc == 0)
        rc = take_count("rules", o->rules, &b->rules, err);
    if (rc == 0)
        rc = value_amount("rule-rate", o->rule_rate, &b->rule_rate, err);
    if (rc == 0)
        rc = take_count("function-ms", o->function_ms, &b->function_ms, err);
    if (rc == 0)
        rc = value_amount("function-rate", o->function_rate, &b->function_rate, err);
    if (rc == 0)
        rc = value_amount("always-up", o->always_up, &b->fixed_server, err);
    return rc;
}

// ---- price and rule

static int note(struct job *job, struct err *err, const char *format, ...) PRINTF_LIKE(3, 4);
static int note(struct job *job, struct err *err, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (size_t i = 0; i < job->record.notes.count; i++)
        if (strcmp(job->record.notes.items[i], text) == 0)
            return 0; // once is enough
    return texts_add(&job->record.notes, text, err);
}

// The rate as it is listed: the option's, or the user's own, or the book's.
static int find_rate(struct job *job, const struct rates_row *own, struct offer *offer,
                     struct err *err)
{
    const struct cron_options *o = job->options;
    offer->per_s = 3600;
    offer->currency = "USD";
    offer->source = "from --rate";
    if (o->rate)
        return value_amount("rate", o->rate, &offer->rate, err);
    if (own && own->rate >= 0) {
        offer->rate = own->rate;
        offer->currency = own->currency;
        offer->source = "from your rates.csv";
        return 0;
    }
    int rc = book_open(&job->book, NULL, err);
    if (rc == 0)
        rc = book_find(job->book, o->offer, job->day, offer, err);
    if (rc == ERR_MISSING)
        err_hint(err, "say what an hour costs: --rate 0.01");
    if (rc == 0 && offer_old(offer, job->day))
        rc = note(job, err, "OLD: the price was last seen %s before.",
                  units_count(offer_age(offer, job->day), "day").s);
    return rc;
}

// Amounts in USD. Those of the tariff may be in another currency than the offer's price.
static int to_usd(struct job *job, const char *currency, int64_t *const *amounts, size_t count,
                  struct err *err)
{
    const char *source = "";
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (*amounts[i] > 0)
            rc = currency_to_usd(job->currencies, currency, job->day, *amounts[i], amounts[i], NULL,
                                 &source, err);
    if (rc == 0 && *source)
        rc = note(job, err, "%s: %s.", currency, source);
    return rc;
}

// The cap that is the offer's own price by the month, where the book has one.
static int find_cap(struct job *job, const struct tariff *tariff, struct err *err)
{
    struct rule *rule = &job->schedule.rule;
    struct offer monthly;
    struct buf name = {0};
    if (!tariff->capped_by_month.known || !tariff->capped_by_month.v)
        return 0;
    buf_printf(&name, "%s/%s:monthly", job->provider, job->name);
    int rc = buf_check(&name, err);
    if (rc == 0 && !job->book)
        rc = book_open(&job->book, NULL, err);
    int found = rc == 0 ? book_find(job->book, buf_str(&name), job->day, &monthly, NULL) : rc;
    buf_release(&name);
    if (rc != 0)
        return rc;
    if (found == ERR_MISSING)
        return note(job, err, "Its price by the month, the most that a month costs, is not known.");
    if (found != 0)
        return err_set(err, found, "cannot look up its price by the month");
    rule->monthly_cap = monthly.rate;
    return to_usd(job, monthly.currency, (int64_t *const[]){&rule->monthly_cap}, 1, err);
}

static int make_rule(struct job *job, const struct tariff *tariff, const struct offer *offer,
                     struct err *err)
{
    struct rule *rule = &job->schedule.rule;
    int64_t *const theirs[] = {&rule->monthly_cap, &rule->monthly_fee, &rule->setup_fee,
                               &rule->storage_rate};
    char rate[MONEY_BYTES];
    money_text(offer->rate, rate);
    int rc = rule_read(rule, tariff, rate, err);
    if (rc == 0)
        rc = money_scale(rule->rate, 3600, offer->per_s, MONEY_HALF_EVEN, &rule->rate, err);
    rule->per_ns = 3600 * NS_PER_S;
    if (rc == 0)
        rc = to_usd(job, offer->currency, (int64_t *const[]){&rule->rate}, 1, err);
    if (rc == 0)
        rc = to_usd(job, tariff->currency ? tariff->currency : "USD", theirs, 4, err);
    if (rc == 0)
        rc = find_cap(job, tariff, err);
    if (rc == 0 && job->schedule.beside.disk_rate < 0 && tariff->storage_rate)
        job->schedule.beside.disk_rate = rule->storage_rate;
    money_text(rule->rate, rate);
    if (rc == 0)
        rc = text_set(&job->record.rate_per_hour, rate, err);
    if (rc == 0)
        rc = text_set(&job->record.rate_source, offer->source, err);
    return rc;
}

static int own_rates(struct job *job, const struct rates_row **own, struct err *err)
{
    const struct offer offer = {.name = job->name, .kind = job->kind};
    char name[256];
    int rc = 0;
    price_rule_name(&offer, name, sizeof name);
    *own = rates_find(job->rates, job->provider, name, job->day);
    if (*own)
        job->schedule.discount_permille = (*own)->discount_permille;
    const struct rates_row *credited =
        rates_credit(job->rates, job->provider, name, job->day, NULL);
    if (credited) {
        char credit[MONEY_BYTES];
        money_short(credited->credit, credit);
        rc = note(job, err, "Your credit of %s %s is not taken off: it is not for every month.",
                  credit, credited->currency);
    }
    return rc;
}

static int find_rule(struct job *job, struct err *err)
{
    struct offer offer = {.provider = job->provider, .name = job->name, .kind = job->kind};
    const struct rates_row *own = NULL;
    bool assumed = false;
    int rc = tariff_book_open(&job->tariffs, err);
    if (rc == 0)
        rc = currencies_open(&job->currencies, err);
    if (rc == 0)
        rc = rates_open(&job->rates, NULL, err);
    if (rc == 0)
        rc = own_rates(job, &own, err);
    if (rc == 0)
        rc = find_rate(job, own, &offer, err);
    if (rc != 0)
        return rc;
    const struct tariff *tariff = tariff_for(job->tariffs, &offer, job->day, &assumed);
    struct buf words = {0};
    tariff_words(tariff, &words);
    rc = buf_check(&words, err);
    if (rc == 0)
        rc = text_set(&job->record.rule, buf_str(&words), err);
    if (rc == 0)
        rc = text_set(&job->record.tariff, tariff->id, err);
    job->record.rule_assumed = some_bool(assumed);
    buf_release(&words);
    return rc == 0 ? make_rule(job, tariff, &offer, err) : rc;
}

// ---- the record

static int set_amount(char **member, int64_t nano, struct err *err)
{
    char text[MONEY_BYTES];
    money_text(nano, text);
    return text_set(member, text, err);
}

static int add_item(struct job *job, const char *name, const struct schedule_line *line,
                    struct err *err, const char *format, ...) PRINTF_LIKE(5, 6);
static int add_item(struct job *job, const char *name, const struct schedule_line *line,
                    struct err *err, const char *format, ...)
{
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    struct schedule_item *item = LIST_ADD(&job->record.items, err);
    int rc = item ? text_set(&item->name, name, err) : ERR_MEMORY;
    if (rc == 0)
        rc = text_set(&item->what, line->known ? what : "price not known, left out", err);
    if (rc == 0 && line->known)
        rc = set_amount(&item->amount, line->price, err);
    if (rc == 0 && line->known)
        rc = set_amount(&item->with_allowances, line->free_price, err);
    return rc;
}

static const char *plain(int64_t nano, char text[MONEY_BYTES])
{
    money_text(nano, text);
    return text;
}

static int add_items(struct job *job, const struct schedule_bill *bill, struct err *err)
{
    const struct schedule *s = &job->schedule;
    const struct scheduling *b = &s->beside;
    char text[MONEY_BYTES], charged[32];
    double starts = (double)bill->starts / (double)bill->starts_in;
    long long tasks = (long long)job->record.tasks.v;
    clock_words(bill->up_ns, charged, sizeof charged);
    int rc = add_item(job, "machine", &bill->machine, err, "%.6g × %s at %s an hour",
                      starts * (double)tasks, charged, plain(s->rule.rate, text));
    if (rc == 0 && bill->fees.known)
        rc = add_item(job, "fees", &bill->fees, err, "%lld × %s a month", tasks,
                      plain(s->rule.monthly_fee, text));
    if (rc == 0 && s->disk_gb > 0)
        rc = add_item(job, "disk", &bill->disk, err, "%lld GB at %s a GB",
                      (long long)s->disk_gb * tasks, plain(b->disk_rate, text));
    if (rc == 0 && b->rules != 0)
        rc = add_item(job, "rules", &bill->rules, err, "%lld of the scheduler at %s",
                      (long long)b->rules * tasks, plain(b->rule_rate, text));
    if (rc == 0 && b->function_ms != 0)
        rc = add_item(job, "functions", &bill->functions, err, "%.6g × %g s at %s per %lld ms",
                      starts * 2 * (double)tasks, (double)b->function_ms / 1000,
                      plain(b->function_rate, text), (long long)b->function_unit_ms);
    if (rc == 0 && bill->discount.known)
        rc = add_item(job, "discount", &bill->discount, err, "%g %%, from your rates.csv",
                      (double)s->discount_permille / 10);
    if (rc == 0)
        rc = set_amount(&job->record.total, bill->total.price, err);
    if (rc == 0)
        rc = set_amount(&job->record.total_with_allowances, bill->total.free_price, err);
    return rc;
}

static int add_alternative(struct job *job, const char *name, const struct schedule_line *line,
                           struct err *err)
{
    int64_t tasks = -1, with = -1;
    struct schedule_alternative *a = LIST_ADD(&job->record.always_up, err);
    int rc = a ? text_set(&a->name, name, err) : ERR_MEMORY;
    if (rc == 0)
        rc = set_amount(&a->amount, line->price, err);
    if (rc == 0)
        rc = set_amount(&a->with_allowances, line->free_price, err);
    if (rc == 0)
        rc = schedule_break_even(&job->schedule, line->price, false, &tasks, err);
    if (rc == 0)
        rc = schedule_break_even(&job->schedule, line->free_price, true, &with, err);
    if (rc == 0 && tasks > 0)
        a->cheaper_from_tasks = some_int(tasks);
    if (rc == 0 && with > 0)
        a->cheaper_from_tasks_with_allowances = some_int(with);
    return rc;
}

static int add_alternatives(struct job *job, struct err *err)
{
    const struct schedule *s = &job->schedule;
    struct schedule_line machine, disk;
    struct schedule bare = *s;
    bare.disk_gb = 0; // the machine alone, as price lists have it
    int rc = schedule_always(&bare, &machine, err);
    if (rc == 0)
        rc = add_alternative(job,
                             s->month_s < 0 ? "the same machine for 730 h, no disk"
                                            : "the same machine all month, no disk",
                             &machine, err);
    if (rc == 0 && s->disk_gb > 0 && s->beside.disk_rate >= 0) {
        rc = schedule_always(s, &disk, err);
        if (rc == 0)
            rc = add_alternative(job, "the same machine with its disk", &disk, err);
    }
    if (rc == 0 && s->beside.fixed_server >= 0) {
        const struct schedule_line fixed = {true, s->beside.fixed_server, s->beside.fixed_server};
        rc = add_alternative(job, "a small fixed server", &fixed, err);
    }
    return rc;
}

static int add_notes(struct job *job, const struct schedule_bill *bill, struct err *err)
{
    const struct schedule *s = &job->schedule;
    int rc = 0;
    if (bill->starts == 0)
        rc = note(job, err, "It does not start in %s: what is left is what stands beside it.",
                  job->record.month);
    if (rc == 0 && s->beside.source)
        rc = note(job, err, "Disk, scheduler, functions and what of them is free: %s.",
                  s->beside.source);
    if (rc == 0 && (!bill->disk.known || !bill->rules.known || !bill->functions.known))
        rc = note(job, err,
                  "What is not known is left out of the total: --disk-rate, --rules, "
                  "--rule-rate, --function-ms and --function-rate say it.");
    if (rc == 0)
        rc = note(job, err, "Tax is left out.");
    return rc;
}

static int fill(struct job *job, const char *expression, struct err *err)
{
    const struct cron_options *o = job->options;
    struct schedule_record *r = &job->record;
    struct schedule_bill bill;
    char date[CLOCK_ISO_BYTES];
    r->tasks = some_int(o->tasks);
    int rc = schedule_bill(&job->schedule, r->tasks.v, &bill, err);
    if (rc != 0)
        return rc;
    clock_iso(job->day * DAY_S, date);
    date[10] = '\0';
    const struct {
        char **member;
        const char *text;
    } texts[] = {{&r->schema, SCHEDULE_SCHEMA},
                 {&r->schedule, expression},
                 {&r->month, o->month ? o->month : "30 days"},
                 {&r->time_zone, "UTC"},
                 {&r->offer, o->offer},
                 {&r->date, date}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts && rc == 0; i++)
        rc = text_set(texts[i].member, texts[i].text, err);
    r->starts = some_real((double)bill.starts / (double)bill.starts_in);
    r->up_s = some_real((double)o->up_ns / 1e9);
    r->charged_s = some_real((double)bill.up_ns / 1e9);
    if (rc == 0)
        rc = add_items(job, &bill, err);
    if (rc == 0)
        rc = add_alternatives(job, err);
    return rc == 0 ? add_notes(job, &bill, err) : rc;
}

static void release(struct job *job)
{
    free(job->provider);
    free(job->name);
    book_close(job->book);
    tariff_book_close(job->tariffs);
    currencies_close(job->currencies);
    rates_close(job->rates);
    scheduling_release(&job->schedule.beside);
    record_release(schedule_fields, &job->record);
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct cron_options *o = call->options;
    struct job job = {.options = o};
    const char *expression = call->rest->count > 0 ? call->rest->args[0] : NULL;
    if (!expression) {
        err_set(err, ERR_USAGE, "when does it start? there is no schedule");
        return err_hint(err, "such as: fare cron '0 */4 * * *' --up 2m --offer PROVIDER/NAME");
    }
    int rc = crontab_parse(&job.schedule.tab, expression, err);
    rc = rc == ERR_FORMAT ? ERR_USAGE : rc;
    if (rc == 0 && crontab_cycle(&job.schedule.tab) == 0) {
        err_set(err, ERR_USAGE, "'%.60s' never starts: no month that it names has such a day",
                expression);
        rc = err_hint(err, "fields: minute hour day month weekday; '0 0 29 2 *' is every leap day");
    }
    if (rc == 0 && o->up_ns < 0) {
        err_set(err, ERR_USAGE, "how long is it up each time? there is no --up");
        rc = err_hint(err, "such as --up 2m");
    }
    job.schedule.up_ns = o->up_ns;
    if (rc == 0)
        rc = take_offer(&job, o->offer, err);
    if (rc == 0)
        rc = take_dates(&job, err);
    if (rc == 0)
        rc = take_beside(&job, err);
    if (rc == 0)
        rc = find_rule(&job, err);
    if (rc == 0)
        rc = fill(&job, expression, err);
    if (rc == 0 && o->common.json)
        rc = out_record(call->out, schedule_fields, &job.record, err);
    else if (rc == 0)
        cron_text(call->out, &job.record);
    release(&job);
    return rc;
}

const struct command cmd_cron = {
    .name = "cron",
    .group = "Price",
    .summary = "what a task on a schedule costs a month",
    .arguments = "SCHEDULE --up TIME --offer OFFER",
    .about =
        "A task that starts by the clock, on a machine that is started and stopped for it: what "
        "that "
        "costs a month, item by item, with and without the provider's free allowances, and from "
        "how "
        "many tasks on a machine that is always up is cheaper. The schedule has cron's five fields "
        "(minute hour day month weekday, in UTC), or is @hourly, @daily, @weekly, @monthly or "
        "@yearly. A month has 30 days, in which a task starts as often as it does on average, "
        "unless "
        "--month names one.",
    .options = options,
    .options_size = sizeof(struct cron_options),
    .defaults = &defaults,
    .max_args = 1,
    .too_many = "quote the schedule: fare cron '0 */4 * * *' --up 2m --offer OFFER",
    .examples = examples,
    .run = run,
};
