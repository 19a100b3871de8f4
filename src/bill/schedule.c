// SPDX-License-Identifier: Apache-2.0
#include "bill/schedule.h"

#include <string.h>

#include "base/clock.h"
#include "bill/charge.h"

#define DAY_S      INT64_C(86400)
#define MONTH_S    (30 * DAY_S)
#define MOST_TASKS INT64_C(1000000)
#define JUNE_S     INT64_C(1527811200) // 2018-06-01: a month of 30 days

// ---- the month

static int month_length_s(const struct schedule *s, int64_t *length_s, struct err *err)
{
    int64_t next_s;
    *length_s = MONTH_S;
    if (s->month_s < 0)
        return 0;
    if (!clock_month(s->month_s, 1, &next_s))
        return err_set(err, ERR_FORMAT, "the month is not in the years 1 to 9999");
    *length_s = next_s - s->month_s;
    return 0;
}

static int count_starts(const struct schedule *s, struct schedule_bill *bill, struct err *err)
{
    int64_t length_s, gap_s = crontab_gap_s(&s->tab);
    int rc = month_length_s(s, &length_s, err);
    if (rc != 0)
        return rc;
    if (s->month_s >= 0) {
        int64_t day = s->month_s / DAY_S;
        bill->starts = crontab_count(&s->tab, day, day + length_s / DAY_S);
        bill->starts_in = 1;
    } else {
        bill->starts = crontab_cycle(&s->tab) * 30;
        bill->starts_in = CRONTAB_CYCLE_DAYS;
        if (bill->starts % bill->starts_in == 0) {
            bill->starts /= bill->starts_in;
            bill->starts_in = 1;
        }
    }
    if (gap_s > 0 && s->up_ns > gap_s * NS_PER_S) {
        char up[32], gap[32];
        clock_words(s->up_ns, up, sizeof up);
        clock_words(gap_s * NS_PER_S, gap, sizeof gap);
        err_set(err, ERR_USAGE, "it starts again after %s, when it is up for %s", gap, up);
        return err_hint(err, "such a machine is hardly ever off: price one that is always up");
    }
    return 0;
}

// ---- the machine

// `used_ns` matters where a month's time is not all the same price.
static int one_start(const struct schedule *s, int64_t used_ns, struct charge *charge,
                     struct err *err)
{
    const int64_t most_ns = 62 * DAY_S * NS_PER_S;
    const struct charge_use use = {
        .start_s = s->month_s >= 0 ? s->month_s : JUNE_S,
        .length_ns = s->up_ns,
        .used_ns = used_ns < most_ns ? used_ns : most_ns,
    };
    return charge_use(&s->rule, &use, charge, err);
}

static int machine_price(const struct schedule *s, struct schedule_bill *bill, int64_t *price,
                         struct err *err)
{
    struct charge charge;
    int rc = one_start(s, 0, &charge, err);
    if (rc != 0)
        return rc;
    bill->up_ns = charge.charged_ns;
    if (s->rule.tier_count == 0 && s->rule.monthly_cap < 0)
        return money_scale(charge.time, bill->starts, bill->starts_in, MONEY_HALF_EVEN, price, err);
    // One after the other: a month has at most 44640 starts.
    int64_t whole = bill->starts / bill->starts_in, rest = bill->starts % bill->starts_in, part;
    int64_t used_ns = 0, used_most = 62 * DAY_S * NS_PER_S;
    *price = 0;
    for (int64_t i = 0; i < whole && rc == 0; i++) {
        rc = one_start(s, used_ns, &charge, err);
        if (rc == 0)
            rc = money_add(*price, charge.time, price, err);
        used_ns = used_ns + charge.charged_ns < used_most ? used_ns + charge.charged_ns : used_most;
    }
    if (rc == 0)
        rc = one_start(s, used_ns, &charge, err);
    if (rc == 0)
        rc = money_scale(charge.time, rest, bill->starts_in, MONEY_HALF_EVEN, &part, err);
    return rc == 0 ? money_add(*price, part, price, err) : rc;
}

// ---- beside it

static int64_t above_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

// The disks of so many machines, and what of it is free.
static int disks(const struct schedule *s, int64_t machines, struct schedule_line *line,
                 struct err *err)
{
    int64_t length_s, free_price = 0;
    struct charge charge;
    struct rule rule = s->rule;
    line->known = s->disk_gb == 0 || s->beside.disk_rate >= 0;
    if (!line->known || s->disk_gb == 0)
        return 0;
    rule.storage_rate = s->beside.disk_rate;
    int rc = month_length_s(s, &length_s, err);
    const struct charge_use use = {.start_s = s->month_s >= 0 ? s->month_s : JUNE_S,
                                   .storage_gb = s->disk_gb,
                                   .storage_ns = length_s * NS_PER_S};
    int64_t priced_s = rule.storage_calendar_month ? length_s : rule.storage_month_ns / NS_PER_S;
    if (rc == 0)
        rc = charge_use(&rule, &use, &charge, err);
    if (rc == 0)
        rc = money_scale(charge.storage, machines, 1, MONEY_DOWN, &line->price, err);
    if (rc == 0)
        rc = money_scale(s->beside.disk_rate, above_zero(s->beside.free_disk_gb) * length_s,
                         priced_s, MONEY_HALF_EVEN, &free_price, err);
    line->free_price = above_zero(line->price - free_price);
    return rc;
}

static int rules(const struct schedule *s, int64_t tasks, struct schedule_line *line,
                 struct err *err)
{
    const struct scheduling *b = &s->beside;
    line->known = b->rules == 0 || (b->rules > 0 && b->rule_rate >= 0);
    if (!line->known)
        return 0;
    int64_t count = tasks * b->rules, paid = above_zero(count - above_zero(b->free_rules));
    int rc = money_scale(b->rule_rate, count, 1, MONEY_DOWN, &line->price, err);
    return rc == 0 ? money_scale(b->rule_rate, paid, 1, MONEY_DOWN, &line->free_price, err) : rc;
}

// One call starts the machine and one stops it; each is charged in whole units.
static int functions(const struct schedule *s, int64_t tasks, const struct schedule_bill *bill,
                     struct schedule_line *line, struct err *err)
{
    const struct scheduling *b = &s->beside;
    line->known = b->function_ms == 0 || (b->function_ms > 0 && b->function_rate >= 0);
    if (!line->known || b->function_ms == 0)
        return 0;
    int64_t unit_ms = b->function_unit_ms > 0 ? b->function_unit_ms : 100;
    int64_t units = (b->function_ms + unit_ms - 1) / unit_ms * 2 * tasks, all, paid;
    // In units of all starts' `starts_in`, so that nothing is rounded before the price is.
    if (__builtin_mul_overflow(units, bill->starts, &all))
        return err_set(err, ERR_OVERFLOW, "functions that run for too long");
    paid = above_zero(all - above_zero(b->free_function_ms) / unit_ms * bill->starts_in);
    int rc =
        money_scale(b->function_rate, all, bill->starts_in, MONEY_HALF_EVEN, &line->price, err);
    return rc == 0 ? money_scale(b->function_rate, paid, bill->starts_in, MONEY_HALF_EVEN,
                                 &line->free_price, err)
                   : rc;
}

// ---- together

static int add_line(struct schedule_line *total, const struct schedule_line *line, struct err *err)
{
    if (!line->known)
        return 0;
    int rc = money_add(total->price, line->price, &total->price, err);
    return rc == 0 ? money_add(total->free_price, line->free_price, &total->free_price, err) : rc;
}

static int add_up(int64_t discount_permille, struct schedule_line *const *lines, size_t count,
                  struct schedule_line *discount, struct schedule_line *total, struct err *err)
{
    int rc = 0;
    *total = (struct schedule_line){.known = true};
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_line(total, lines[i], err);
    discount->known = discount_permille > 0;
    if (rc == 0 && discount->known)
        rc = money_scale(-total->price, discount_permille, 1000, MONEY_HALF_EVEN, &discount->price,
                         err);
    if (rc == 0 && discount->known)
        rc = money_scale(-total->free_price, discount_permille, 1000, MONEY_HALF_EVEN,
                         &discount->free_price, err);
    return rc == 0 ? add_line(total, discount, err) : rc;
}

// The parts that do not depend on how many tasks there are: starts, and one machine's price.
static int first_part(const struct schedule *s, struct schedule_bill *bill, int64_t *one,
                      struct err *err)
{
    memset(bill, 0, sizeof *bill);
    *one = 0;
    int rc = count_starts(s, bill, err);
    return rc == 0 ? machine_price(s, bill, one, err) : rc;
}

static int second_part(const struct schedule *s, int64_t tasks, int64_t one,
                       struct schedule_bill *bill, struct err *err)
{
    int rc = money_scale(one, tasks, 1, MONEY_DOWN, &bill->machine.price, err);
    bill->machine.known = true;
    bill->machine.free_price = bill->machine.price;
    if (rc == 0)
        rc = money_scale(s->rule.monthly_fee, tasks, 1, MONEY_DOWN, &bill->fees.price, err);
    bill->fees.known = s->rule.monthly_fee > 0;
    bill->fees.free_price = bill->fees.price;
    if (rc == 0)
        rc = disks(s, tasks, &bill->disk, err);
    if (rc == 0)
        rc = rules(s, tasks, &bill->rules, err);
    if (rc == 0)
        rc = functions(s, tasks, bill, &bill->functions, err);
    struct schedule_line *const lines[] = {&bill->machine, &bill->fees, &bill->disk, &bill->rules,
                                           &bill->functions};
    return rc == 0 ? add_up(s->discount_permille, lines, 5, &bill->discount, &bill->total, err)
                   : rc;
}

int schedule_bill(const struct schedule *s, int64_t tasks, struct schedule_bill *bill,
                  struct err *err)
{
    int64_t one;
    int rc = first_part(s, bill, &one, err);
    if (rc == 0 && (tasks < 1 || tasks > MOST_TASKS))
        rc = err_set(err, ERR_USAGE, "there are 1 to a million tasks");
    return rc == 0 ? second_part(s, tasks, one, bill, err) : rc;
}

int schedule_always(const struct schedule *s, struct schedule_line *line, struct err *err)
{
    struct schedule_line machine = {.known = true}, disk = {0}, discount = {0};
    struct schedule_line *const lines[] = {&machine, &disk};
    struct charge charge;
    int64_t length_s;
    int rc = month_length_s(s, &length_s, err);
    const struct charge_use use = {.start_s = s->month_s >= 0 ? s->month_s : JUNE_S,
                                   .length_ns = length_s * NS_PER_S};
    if (rc == 0)
        rc = charge_use(&s->rule, &use, &charge, err);
    machine.price = rc == 0 ? charge.time : 0;
    if (rc == 0 && s->month_s < 0)
        rc = money_scale(charge.time, SCHEDULE_MONTH_H, 720, MONEY_HALF_EVEN, &machine.price, err);
    if (s->rule.monthly_cap >= 0 && machine.price > s->rule.monthly_cap)
        machine.price = s->rule.monthly_cap;
    if (rc == 0)
        rc = money_add(machine.price, s->rule.monthly_fee, &machine.price, err);
    machine.free_price = machine.price;
    if (rc == 0)
        rc = disks(s, 1, &disk, err);
    return rc == 0 ? add_up(s->discount_permille, lines, 2, &discount, line, err) : rc;
}

int schedule_break_even(const struct schedule *s, int64_t price, bool with_free, int64_t *tasks,
                        struct err *err)
{
    struct schedule_bill bill;
    int64_t low = 1, high = MOST_TASKS, one; // the answer is from low to high, or there is none
    int rc = first_part(s, &bill, &one, err);
    *tasks = -1;
    while (rc == 0 && low <= high) {
        int64_t middle = low + (high - low) / 2;
        // Too much to be added up is more than any price.
        bool more = second_part(s, middle, one, &bill, NULL) != 0 ||
                    (with_free ? bill.total.free_price : bill.total.price) > price;
        *tasks = more ? middle : *tasks;
        high = more ? middle - 1 : high;
        low = more ? low : middle + 1;
    }
    return rc;
}
