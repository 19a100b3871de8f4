// SPDX-License-Identifier: Apache-2.0
// cron: the cost of a scheduled task on a machine that is up only while it works.
#include "cmd/cron.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"
#include "base/units.h"

#include "cmd/values.h"
#include "market/cron.h"
#include "market/local.h"

#define DAY_S INT64_C(86400)
#define GB    INT64_C(1000000000)

struct cron_options {
    struct cmd_common common;
    int64_t up_ns;
    const char *offer, *rate, *date, *month, *currency;
    int64_t tasks;
    const char *disk, *disk_rate, *rules, *rule_rate, *function_ms, *function_rate, *always_up;
    struct power_options power;
    int64_t idle_watts;
};

static const struct cron_options defaults = {
    .up_ns = -1, .tasks = 1, .power = POWER_DEFAULTS, .idle_watts = -1};

#define AT(member) offsetof(struct cron_options, member)
static const struct opt options[] = {
    {"up", 0, OPT_DURATION, "TIME", NULL, AT(up_ns), NULL,
     "how long the machine is up each time, from its start until it is off (2m)"},
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
    {NULL, NULL},
};

// ---- options

static int read_count(const char *option, const char *text, int64_t *count, struct err *err)
{
    if (text && (!text_int(text, count) || *count < 0 || *count > 1000000000))
        return value_bad(option, text, "a whole number", err);
    return 0;
}

static int read_disk(const char *text, int64_t *gb, struct err *err)
{
    int64_t bytes = 10 * GB;
    if (text && (!units_parse_bytes(text, &bytes) || bytes > GB * 1000000))
        return value_bad("disk", text, "a size such as 10GB", err);
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
            return value_bad("month", o->month, "a month such as 2026-02", err);
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
    TRY(value_amount("rate", o->rate, &ask->rate, err));
    TRY(value_amount("disk-rate", o->disk_rate, &b->disk_rate, err));
    TRY(read_count("rules", o->rules, &b->rules, err));
    TRY(value_amount("rule-rate", o->rule_rate, &b->rule_rate, err));
    TRY(read_count("function-ms", o->function_ms, &b->function_ms, err));
    TRY(value_amount("function-rate", o->function_rate, &b->function_rate, err));
    return value_amount("always-up", o->always_up, &b->fixed_server, err);
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
    if (o->up_ns < 0) {
        err_set(err, ERR_USAGE, "--up is missing: how long is the machine up each time?");
        return err_hint(err, "such as --up 2m");
    }
    if (!o->offer) {
        err_set(err, ERR_USAGE, "--offer is missing: which machine?");
        return err_hint(err, "name it as PROVIDER/NAME, such as gcp/n1-standard-1:spot");
    }
    ask->up_ns = o->up_ns;
    ask->offer = o->offer;
    ask->tasks = o->tasks;
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

static int run(const struct cmd_call *call, struct err *err)
{
    const struct cron_options *o = call->options;
    struct cron_ask ask = {.schedule = call->rest->count > 0 ? call->rest->args[0] : NULL,
                           .currency = o->currency};
    struct market *market = NULL;
    struct schedule_record record = {0};
    int rc = read_task(o, &ask, err);
    if (rc == 0)
        rc = read_dates(o, &ask, err);
    if (rc == 0)
        rc = read_extras(o, &ask, err);
    if (rc == 0)
        rc = read_power(o, &ask, err);
    if (rc == 0)
        rc = market_open(&market, NULL, NULL, err);
    if (rc == 0)
        rc = local_check(market, o->currency, err);
    if (rc == 0)
        rc = cron_make(market, &ask, &record, err);
    if (rc == 0 && o->common.json)
        rc = out_record(call->out, schedule_fields, &record, err);
    else if (rc == 0)
        cron_text(call->out, &record);
    record_release(schedule_fields, &record);
    market_close(market);
    return rc;
}

const struct command cmd_cron = {
    .name = "cron",
    .group = "Price",
    .summary = "the monthly cost of a scheduled task",
    .arguments = "SCHEDULE --up TIME --offer OFFER",
    .about =
        "Shows the monthly cost of a scheduled task on a machine that is started and stopped for "
        "it, item by item, with and without the provider's free allowances, and the number of "
        "tasks from which a machine that is always up is cheaper. The schedule has cron's five "
        "fields (minute hour day month weekday, in UTC), or is @hourly, @daily, @weekly, @monthly "
        "or @yearly. Without --month, a month has 30 days and the average number of starts.",
    .options = options,
    .options_size = sizeof(struct cron_options),
    .defaults = &defaults,
    .max_args = 1,
    .too_many = "quote the schedule: fare cron '0 */4 * * *' --up 2m --offer OFFER",
    .examples = examples,
    .run = run,
};
