// SPDX-License-Identifier: Apache-2.0
// cron: the cost of a scheduled task on a machine that is up only while it works.
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/tree.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/cron_emit.h"
#include "cmd/out.h"
#include "cmd/values.h"
#include "ledger/ledger.h"
#include "bill/bill.h"
#include "bill/cron.h"
#include "bill/market.h"
#include "record/read.h"
#include "record/schedule.h"

// ---- for people
static void short_amount(struct maybe_money amount, const char *currency, char out[MONEY_BYTES])
{
    if (amount.known)
        money_short_in(amount.nano, currency, out);
    else
        snprintf(out, MONEY_BYTES, "unknown");
}

static void add_cost(struct table *table, enum out_style style, const char *name, const char *what,
                     const char *currency, struct maybe_money amount, struct maybe_money with_free,
                     const char *from)
{
    char paid[MONEY_BYTES], with[MONEY_BYTES];
    short_amount(amount, currency, paid);
    short_amount(with_free, currency, with);
    const char *const cells[] = {name, what ? what : "", paid, with, from};
    table_row(table, style, cells, NULL);
}

// What is left out of the total makes it a lower bound.
static bool is_whole(const struct schedule_record *r)
{
    for (size_t i = 0; i < r->items.count; i++)
        if (!r->items.items[i].amount.known)
            return false;
    return true;
}

// "0.76 USD a month (0.06 with allowances): 180 starts of 2 min 00 s in 30 days."
static void say_cost(struct out *out, const struct schedule_record *r)
{
    struct buf text = {0};
    char up[32];
    clock_words((int64_t)(r->up_s.v * 1e9), up, sizeof up);
    buf_printf(&text, "%s%s USD a month", is_whole(r) ? "" : "At least ", money_brief(r->total).s);
    if (r->total_with_allowances.known && r->total_with_allowances.nano != r->total.nano)
        buf_printf(&text, " (%s with allowances)", money_brief(r->total_with_allowances).s);
    buf_adds(&text, ": ");
    if (r->tasks.v > 1)
        buf_printf(&text, "%lld tasks, each ", (long long)r->tasks.v);
    buf_printf(&text, "%.6g start%s of %s in %s.", r->starts.v, r->starts.v == 1 ? "" : "s", up,
               r->month);
    out_wrap_take(out, 0, &text);
}

// The first of the machines that are always up is the same one. It pays for no more tasks than it
// can run.
static void say_always_up(struct out *out, const struct schedule_record *r)
{
    const struct schedule_alternative *a = r->always_up.items;
    int64_t tasks = r->tasks.v, most = r->machine_tasks.v;
    struct buf text = {0};
    if (r->always_up.count == 0)
        return;
    buf_printf(&text, "A machine that is always up costs %s and ", money_brief(a->amount).s);
    if (a->cheaper_from_tasks.known)
        buf_printf(&text, "pays from %s on", units_count(a->cheaper_from_tasks.v, "task").s);
    else if (a->cheaper_from_tasks_with_allowances.known)
        buf_printf(&text, "pays only with allowances, from %s on",
                   units_count(a->cheaper_from_tasks_with_allowances.v, "task").s);
    else
        buf_adds(&text, "never pays");
    buf_printf(&text, " (room for %lld", (long long)most);
    if (tasks > most)
        buf_printf(&text, "; %lld need %lld machines", (long long)tasks,
                   (long long)((tasks + most - 1) / most));
    buf_adds(&text, ").");
    out_wrap_take(out, 0, &text);
}

// "10", "10; with free 14", "never".
static struct short_text pays_from(const struct schedule_alternative *a)
{
    struct maybe_int paid = a->cheaper_from_tasks, with = a->cheaper_from_tasks_with_allowances;
    struct short_text text =
        paid.known ? short_text("%lld", (long long)paid.v) : short_text("never");
    if (with.known && (!paid.known || with.v != paid.v))
        return short_text("%s; with free %lld", text.s, (long long)with.v);
    return paid.known && !with.known ? short_text("%s; with free never", text.s) : text;
}

static void cost_table(struct out *out, const struct schedule_record *r)
{
    const struct units_text tasks = units_count(r->tasks.v, "task");
    const struct table_column columns[] = {{"USD a month", TABLE_LEFT},
                                           {tasks.s, TABLE_LEFT, 1, 0, ""},
                                           {"paid", TABLE_POINT},
                                           {"with free", TABLE_POINT},
                                           {"pays from", TABLE_LEFT}};
    struct table table = TABLE(columns);
    for (size_t i = 0; i < r->items.count; i++) {
        const struct schedule_item *item = &r->items.items[i];
        add_cost(&table, OUT_PLAIN, item->name, item->what, "USD", item->amount,
                 item->with_allowances, "");
    }
    add_cost(&table, OUT_BOLD, "total", "", "USD", r->total, r->total_with_allowances, "");
    if (r->local_currency)
        add_cost(&table, OUT_PLAIN, r->local_currency, "the total in this currency",
                 r->local_currency, r->local_total, r->local_total_with_allowances, "");
    for (size_t i = 0; i < r->always_up.count; i++) {
        const struct schedule_alternative *a = &r->always_up.items[i];
        add_cost(&table, OUT_PLAIN, i == 0 ? "always up" : "", a->name, "USD", a->amount,
                 a->with_allowances, pays_from(a).s);
    }
    out_printf(out, "\n");
    table_print(&table, out);
    out_printf(out, "\n");
}

// The machine, the part of its rule that counts its time, and what else there is to know.
static void say_notes(struct out *out, const struct schedule_record *r)
{
    int of_time = (int)strcspn(r->rule, ";");
    out_row(out, "Offer", "%s, %s USD an hour (%s)", r->offer, money_exact(r->rate_per_hour).s,
            r->rate_source);
    out_row(out, "Rule", "%s%.*s%s; starts in %s; without tax",
            r->rule_assumed.v ? "ASSUMED: " : "", of_time, r->rule,
            r->rule[of_time] ? " (the rest: --json)" : "", r->time_zone);
    if (r->up_source)
        out_row(out, "Up", "%s", r->up_source);
    if (r->own_power.known)
        out_wrapf(out, 0, "On a machine of your own: %s USD of electricity a month (%s).",
                  money_brief(r->own_power).s, r->own_power_how);
    for (size_t i = 0; i < r->notes.count; i++)
        out_wrap(out, 0, r->notes.items[i]);
}

// The answer in the first two sentences, then the table, then the notes.
static void cron_text(struct out *out, const struct schedule_record *r)
{
    say_cost(out, r);
    say_always_up(out, r);
    cost_table(out, r);
    say_notes(out, r);
}

// ---- the command

#define DAY_S INT64_C(86400)
#define GB    INT64_C(1000000000)

struct cron_options {
    struct cmd_common common;
    int64_t up_ns;
    const char *run, *ledger;
    const char *offer, *rate, *date, *month, *currency;
    int64_t tasks;
    const char *disk, *disk_rate, *rules, *rule_rate, *function_ms, *function_rate, *always_up;
    struct power_options power;
    int64_t idle_watts;
    struct emit_options emit;
};

static const struct cron_options defaults = {
    .up_ns = -1, .tasks = 1, .power = POWER_DEFAULTS, .idle_watts = -1, .emit = {.limit_ns = -1}};

#define AT(member) offsetof(struct cron_options, member)
static const struct opt options[] = {
    {"up", 0, OPT_DURATION, "TIME", NULL, AT(up_ns), NULL,
     "how long the machine is up each time, from its start until it is off (2m)"},
    {"run", 0, OPT_TEXT, "RUN", NULL, AT(run), NULL,
     "take that time from a run instead: the run's own, and a boot"},
    LEDGER_ROW,
    {"offer", 0, OPT_TEXT, "OFFER", NULL, AT(offer), NULL,
     "the machine: PROVIDER/NAME, or PROVIDER/NAME:spot"},
    {"rate", 0, OPT_TEXT, "USD", NULL, AT(rate), NULL,
     "its price an hour, instead of the one in the book"},
    {"date", 0, OPT_TEXT, "DATE", NULL, AT(date), NULL,
     "prices and rules of this date instead of today's"},
    {"month", 0, OPT_TEXT, "YYYY-MM", NULL, AT(month), NULL,
     "this calendar month (UTC) instead of one of 30 days"},
    CURRENCY_ROW(AT(currency), NULL),
    {"tasks", 0, OPT_COUNT, "N", NULL, AT(tasks), NULL,
     "number of such tasks, each on its own machine (default 1)", .least = 1},
    {"disk", 0, OPT_TEXT, "SIZE", NULL, AT(disk), "Other costs",
     "its disk, which is kept while it is off (default 10GB)"},
    {"disk-rate", 0, OPT_TEXT, "USD", NULL, AT(disk_rate), "Other costs", "price per GB and month"},
    {"rules", 0, OPT_TEXT, "N", NULL, AT(rules), "Other costs",
     "scheduler rules per task: one to start the machine, one to stop it"},
    {"rule-rate", 0, OPT_TEXT, "USD", NULL, AT(rule_rate), "Other costs",
     "price per rule and month"},
    {"function-ms", 0, OPT_TEXT, "N", NULL, AT(function_ms), "Other costs",
     "run time of the function that starts the machine, and of the one that stops it"},
    {"function-rate", 0, OPT_TEXT, "USD", NULL, AT(function_rate), "Other costs",
     "price per 100 ms of a function"},
    {"always-up", 0, OPT_TEXT, "USD", NULL, AT(always_up), "Other costs",
     "monthly price of a small server that is always up, for comparison"},
    {"watts", 0, OPT_COUNT, "W", NULL, AT(power.watts), "Your own machine",
     "power under load of a machine of your own, for its electricity"},
    {"idle-watts", 0, OPT_COUNT, "W", NULL, AT(idle_watts), "Your own machine",
     "its power between the tasks (default: it is off)"},
    {"kwh", 0, OPT_TEXT, "USD", NULL, AT(power.kwh), "Your own machine",
     "price of a kilowatt-hour"},
    EMIT_ROWS,
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare cron '0 */4 * * *' --up 2m --offer gcp/n1-standard-1:spot --date 2018-11-01",
     "a published case: 0.76 USD a month, 0.06 with the free allowances"},
    {"fare cron @hourly --up 5m --offer aws/t3.small --rate 0.0208 --tasks 12",
     "twelve tasks, at your own price"},
    {"fare cron '30 6 * * mon-fri' --up 20m --offer aws/g5.xlarge --month 2027-02",
     "the working days of one month"},
    {"fare cron '0 3 * * *' --run last --offer gcp/c3d-standard-8@us-central1:spot "
     "--emit gcloud -o nightly -- python3 train.py",
     "the files that set it up, with the time of your last run"},
    {"fare cron '0 3 * * *' --limit 2h --emit systemd -o nightly -- python3 train.py",
     "on a machine of your own, which stays up"},
    {NULL, NULL},
};

// ---- options

static int read_count(const char *option, const char *text, int64_t *count, struct err *err)
{
    if (text && (!text_int(text, count) || *count < 0 || *count > 1000000000))
        return word_bad(option, text, "a whole number", err);
    return 0;
}

static int read_disk(const char *text, int64_t *gb, struct err *err)
{
    int64_t bytes = 10 * GB;
    if (text && (!units_parse_bytes(text, &bytes) || bytes > GB * 1000000))
        return word_bad("--disk", text, "a size such as 10GB", err);
    *gb = bytes / GB + (bytes % GB > 0);
    return 0;
}

static int read_dates(const struct cron_options *o, struct cron_ask *ask, struct err *err)
{
    int64_t date_s = clock_date_s();
    char first[16];
    ask->month_s = -1;
    ask->month = o->month;
    if (o->month) {
        snprintf(first, sizeof first, "%.7s-01", o->month);
        if (strlen(o->month) != 7 || !clock_parse(first, &ask->month_s) || ask->month_s < 0)
            return word_bad("--month", o->month, "a month such as 2026-02", err);
        date_s = ask->month_s;
    }
    ask->day = (int)(date_s / DAY_S);
    return value_day(o->date, &ask->day, err);
}

static int read_extras(const struct cron_options *o, struct cron_ask *ask, struct err *err)
{
    struct scheduling *b = &ask->extras;
    *b = SCHEDULING_UNKNOWN;
    ask->rate = -1;
    TRY(read_disk(o->disk, &ask->disk_gb, err));
    TRY(word_amount("--rate", o->rate, &ask->rate, err));
    TRY(word_amount("--disk-rate", o->disk_rate, &b->disk_rate, err));
    TRY(read_count("--rules", o->rules, &b->rules, err));
    TRY(word_amount("--rule-rate", o->rule_rate, &b->rule_rate, err));
    TRY(read_count("--function-ms", o->function_ms, &b->function_ms, err));
    TRY(word_amount("--function-rate", o->function_rate, &b->function_rate, err));
    return word_amount("--always-up", o->always_up, &b->fixed_server, err);
}

// Whether the cost may stay unknown: systemd and Slurm start no machine that is paid for.
static bool own_machine(const struct cron_options *o)
{
    return o->emit.emit && !emitter_find(o->emit.emit)->provider && !o->offer;
}

// The errors for a missing schedule, time or machine show what to type.
static int read_task(const struct cron_options *o, struct cron_ask *ask, struct err *err)
{
    if (!ask->schedule) {
        err_set(err, ERR_USAGE, "the schedule is missing: when does the task start?");
        return err_hint(err, "such as: fare cron '0 */4 * * *' --up 2m --offer PROVIDER/NAME");
    }
    int rc = crontab_parse(&ask->tab, ask->schedule, err);
    if (rc != 0)
        return rc == ERR_FORMAT ? ERR_USAGE : rc;
    if (crontab_cycle(&ask->tab) == 0) {
        err_set(err, ERR_USAGE, "'%.60s' never starts: none of its months has such a day",
                ask->schedule);
        return err_hint(err,
                        "fields: minute hour day month weekday; '0 0 29 2 *' is every leap day");
    }
    ask->up_ns = o->up_ns;
    ask->offer = o->offer;
    ask->tasks = o->tasks;
    if (o->up_ns >= 0 && o->run)
        return err_set(err, ERR_USAGE, "'--up' and '--run' both say how long it is up: use one");
    if (own_machine(o))
        return 0;
    if (o->up_ns < 0 && !o->run) {
        err_set(err, ERR_USAGE, "--up is missing: how long is the machine up each time?");
        return err_hint(err, "such as --up 2m, or --run RUN for the time of a run");
    }
    if (!o->offer) {
        err_set(err, ERR_USAGE, "--offer is missing: which machine?");
        return err_hint(err, "name it as PROVIDER/NAME, such as gcp/n1-standard-1:spot");
    }
    return 0;
}

static int read_power(const struct cron_options *o, struct cron_ask *ask, struct err *err)
{
    TRY(value_power(&o->power, &ask->power, err));
    if ((o->power.watts >= 0) != (o->power.kwh != NULL) ||
        (o->idle_watts >= 0 && o->power.watts < 0))
        return err_set(err, ERR_USAGE, "electricity needs both --watts and --kwh");
    if (o->idle_watts >= 1000000)
        return err_set(err, ERR_USAGE, "'--idle-watts' takes less than a million");
    ask->idle_mw = o->idle_watts >= 0 ? o->idle_watts * 1000 : -1;
    return 0;
}

static int read_emit(const struct cron_options *o, char **command, struct err *err)
{
    TRY(emit_options_check(&o->emit, command, err));
    if (o->emit.emit && o->common.json && !o->emit.output)
        return err_set(err, ERR_USAGE, "'--emit' with '--json' needs '-o DIR' for the files");
    return 0;
}

// The run that gives the time.
static int read_run(struct desk *desk, const char *word, struct run *run, struct err *err)
{
    struct ledger *ledger;
    SCOPED(buf_release) struct buf text = {0};
    TRY(desk_ledger(desk, &ledger, err));
    TRY(ledger_find(ledger, word, &text, err));
    return record_from_text(run_fields, buf_str(&text), text.len, run, err);
}

// In the region; if the book has the offer without any, at that price.
static int make_bill(const struct cron_options *o, struct market *market, struct cron_ask *ask,
                     struct schedule_record *record, struct err *err)
{
    struct err why = {0};
    int rc = cron_make(market, ask, record, &why);
    if (rc == ERR_MISSING && o->offer && strcmp(ask->offer, o->offer) != 0) {
        record_release(schedule_fields, record);
        *record = (struct schedule_record){0};
        ask->offer = o->offer;
        if (cron_make(market, ask, record, NULL) == 0)
            return 0;
    }
    if (rc != 0)
        *err = why;
    return rc;
}

// With GPUs, an image that has drivers, and a disk that holds it.
static int make_for_gpus(const struct cron_options *o, struct market *market, struct cron_ask *ask,
                         struct schedule_record *record, const char **image, struct err *err)
{
    int64_t disk_gb;
    if (!o->emit.emit || !record->gpus.known)
        return 0;
    TRY(emit_gpus(&o->emit, market, image, &disk_gb, err));
    if (o->disk || ask->disk_gb >= disk_gb)
        return 0;
    ask->disk_gb = disk_gb;
    record_release(schedule_fields, record);
    *record = (struct schedule_record){0};
    return make_bill(o, market, ask, record, err);
}

// The bill. On a machine of the user's own, only the run's time.
static int make_record(const struct cron_options *o, struct market *market, struct cron_ask *ask,
                       struct schedule_record *record, const char **image, struct err *err)
{
    struct bill_time time;
    if (own_machine(o)) {
        if (ask->run && bill_time_of(ask->run, &time))
            ask->up_ns = time.total_ns;
        return 0;
    }
    TRY(local_check(market, o->currency, err));
    TRY(make_bill(o, market, ask, record, err));
    return make_for_gpus(o, market, ask, record, image, err);
}

static int print(const struct cmd_call *call, const struct cron_ask *ask, const char *image,
                 const struct schedule_record *record, struct err *err)
{
    const struct cron_options *o = call->options;
    bool page = !o->emit.emit || (o->emit.output && !own_machine(o));
    if (page && o->common.json)
        TRY(out_record(call->out, schedule_fields, record, err));
    else if (page)
        cron_text(call->out, record);
    return o->emit.emit ? emit_write(&o->emit, ask, call->rest->command, image,
                                     own_machine(o) ? NULL : record, call->out, err)
                        : 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct cron_options *o = call->options;
    struct cron_ask ask = {.schedule = call->rest->count > 0 ? call->rest->args[0] : NULL,
                           .time_zone = o->emit.time_zone,
                           .currency = o->currency};
    SCOPED(schedule_release) struct schedule_record record = {0};
    SCOPED(run_release) struct run measured = {0};
    SCOPED(buf_release) struct buf offer = {0};
    const char *image = NULL;
    TRY(read_emit(o, call->rest->command, err));
    if (o->emit.remove) // needs nothing else
        return emit_write(&o->emit, &ask, NULL, NULL, NULL, call->out, err);
    TRY(read_task(o, &ask, err));
    TRY(read_dates(o, &ask, err));
    TRY(read_extras(o, &ask, err));
    TRY(read_power(o, &ask, err));
    if (o->emit.emit)
        TRY(emit_ask(&o->emit, o->disk, &ask, &offer, err));
    if (o->run)
        TRY(read_run(call->desk, o->run, &measured, err));
    ask.run = o->run ? &measured : NULL;
    TRY(make_record(o, call->desk->market, &ask, &record, &image, err));
    return print(call, &ask, image, &record, err);
}

const struct command cmd_cron = {
    .name = "cron",
    .group = "Price",
    .summary = "the monthly cost of a scheduled task",
    .arguments = "SCHEDULE --up TIME --offer OFFER [--emit WHAT -- CMD]",
    .about =
        "Shows the monthly cost of a scheduled task on a machine that is started and stopped for "
        "it, item by item, with and without the provider's free allowances, and the number of "
        "tasks from which a machine that is always up is cheaper. The schedule has cron's five "
        "fields (minute hour day month weekday, in UTC), or is @hourly, @daily, @weekly, @monthly "
        "or @yearly. Without --month, a month has 30 days and the average number of starts. With "
        "--emit, writes "
        "the files that start a machine at those times, run the command once, keep its log and "
        "power the machine off, with a time limit; or a systemd timer, an entry for Slurm's "
        "scrontab, or a CronJob for Kubernetes. fare itself starts nothing.",
    .options = options,
    .options_size = sizeof(struct cron_options),
    .defaults = &defaults,
    .max_args = 1,
    .takes_command = true,
    .too_many = "quote the schedule: fare cron '0 */4 * * *' --up 2m --offer OFFER",
    .examples = examples,
    .run = run,
};
