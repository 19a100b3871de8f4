// SPDX-License-Identifier: Apache-2.0
#include "bill/schedule.h"

#include <string.h>

#include "base/clock.h"

#define DAY_S        INT64_C(86400)
#define MONTH_S      (30 * DAY_S)
#define MOST_TASKS   INT64_C(1000000)
#define MONTHS_CYCLE INT64_C(4800) // calendar months in CRONTAB_CYCLE_DAYS
#define DAY_MINUTES  1440

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

// Where the starts lie on the calendar.
static int64_t first_s(const struct schedule *s)
{
    return s->month_s >= 0 ? s->month_s : PRICED_MONTH_S;
}

static int count_starts(const struct schedule *s, struct schedule_bill *bill, struct err *err)
{
    int64_t length_s, gap_s = crontab_gap_s(&s->tab);
    TRY(month_length_s(s, &length_s, err));
    if (s->month_s >= 0) {
        int64_t day = s->month_s / DAY_S;
        bill->starts = crontab_count(&s->tab, day, day + length_s / DAY_S);
        bill->starts_in = 1;
    } else {
        // "The first of the month" comes once a month, however long the month is.
        bool by_day = s->tab.any_day;
        bill->starts = crontab_cycle(&s->tab) * (by_day ? 30 : 1);
        bill->starts_in = by_day ? CRONTAB_CYCLE_DAYS : MONTHS_CYCLE;
        if (bill->starts % bill->starts_in == 0) {
            bill->starts /= bill->starts_in;
            bill->starts_in = 1;
        }
    }
    if (gap_s > 0 && s->up_ns > gap_s * NS_PER_S) {
        char up[32], gap[32];
        clock_words(s->up_ns, up, sizeof up);
        clock_words(gap_s * NS_PER_S, gap, sizeof gap);
        err_set(err, ERR_USAGE, "it is up for %s, but starts again after %s", up, gap);
        return err_hint(err, "such a machine is hardly ever off; price one that is always up");
    }
    return 0;
}

// ---- the machine

struct start {               // the cost of one start, or of several
    int64_t total, discount; // after and of the discount
    int64_t charged_ns;
};

// The spot prices of a calendar month count as they change in it, unless those of another date
// were asked for.
static bool follows_prices(const struct schedule *s)
{
    return s->priced.offer.kind == OFFER_SPOT && s->month_s >= 0 &&
           s->priced.day == s->month_s / DAY_S;
}

// `used_ns` matters if the price changes within a month. Set-up fees are paid once, not
// every month; the month's fee is a separate line.
static int one_start(const struct schedule *s, int64_t start_s, int64_t used_ns, struct start *out,
                     struct err *err)
{
    const int64_t most_ns = 62 * DAY_S * NS_PER_S;
    const struct wishes wishes = {.used_ns = used_ns < most_ns ? used_ns : most_ns,
                                  .without_history = !follows_prices(s)};
    struct priced priced = s->priced;
    struct charge charge = {0};
    priced.start_s = start_s;
    priced.rule.monthly_fee = priced.rule.setup_fee = 0;
    TRY(priced_charge(&priced, &wishes, s->up_ns, &charge, err));
    TRY(priced_usd(&priced, charge.total, &out->total, err));
    TRY(priced_usd(&priced, charge.discount, &out->discount, err));
    out->charged_ns = charge.charged_ns;
    return 0;
}

static int add_start(struct start *sum, const struct start *start, int64_t times, int64_t in,
                     struct err *err)
{
    int64_t total = 0, discount = 0;
    TRY(money_scale(start->total, times, in, MONEY_HALF_EVEN, &total, err));
    TRY(money_scale(start->discount, times, in, MONEY_HALF_EVEN, &discount, err));
    TRY(money_add(sum->total, total, &sum->total, err));
    return money_add(sum->discount, discount, &sum->discount, err);
}

// In which minutes of a day it starts.
static size_t starts_of_day(const struct crontab *tab, int minutes[DAY_MINUTES])
{
    size_t count = 0;
    for (int m = 0; m < DAY_MINUTES; m++)
        if ((tab->hours >> (m / 60) & 1) && (tab->minutes >> (m % 60) & 1))
            minutes[count++] = m;
    return count;
}

// All starts of a day, each at its own time.
static int day_price(const struct schedule *s, int64_t day_s, struct start *sum, struct err *err)
{
    int minutes[DAY_MINUTES], rc = 0;
    size_t count = starts_of_day(&s->tab, minutes);
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct start start;
        rc = one_start(s, day_s + INT64_C(60) * minutes[i], 0, &start, err);
        if (rc == 0)
            rc = add_start(sum, &start, 1, 1, err);
        sum->charged_ns += rc == 0 ? start.charged_ns : 0;
    }
    return rc;
}

// A machine that is paid by the month costs each month in which it starts.
static int by_month(const struct schedule *s, const struct schedule_bill *bill,
                    const struct start *start, struct start *sum, struct err *err)
{
    int64_t months = 0, at_s, next_s;
    if (s->month_s >= 0)
        return add_start(sum, start, bill->starts > 0, 1, err);
    for (int i = 0; i < MONTHS_CYCLE; i++)
        if (clock_month(0, i, &at_s) && clock_month(0, i + 1, &next_s))
            months += crontab_count(&s->tab, at_s / DAY_S, next_s / DAY_S) > 0;
    return add_start(sum, start, months, MONTHS_CYCLE, err);
}

// Each start of the calendar month at the price of its day.
static int by_history(const struct schedule *s, const struct start *first,
                      struct schedule_bill *bill, struct start *sum, struct err *err)
{
    int64_t length_s, from = s->month_s / DAY_S, even = 0;
    TRY(month_length_s(s, &length_s, err));
    for (int64_t day = from; day < from + length_s / DAY_S; day++)
        if (crontab_count(&s->tab, day, day + 1) > 0)
            TRY(day_price(s, day * DAY_S, sum, err));
    TRY(money_scale(first->total, bill->starts, 1, MONEY_DOWN, &even, err));
    bill->by_day = sum->total != even;
    return 0;
}

// Where units begin on the clock, starts at different times touch more or fewer of them.
static int by_clock(const struct schedule *s, struct schedule_bill *bill, struct start *sum,
                    struct err *err)
{
    struct start day = {0};
    int64_t count = __builtin_popcount(s->tab.hours) * __builtin_popcountll(s->tab.minutes);
    TRY(day_price(s, first_s(s), &day, err));
    if (count > 0)
        TRY(add_start(sum, &day, bill->starts, bill->starts_in * count, err));
    bill->up_ns = count > 0 ? day.charged_ns / count : bill->up_ns;
    return 0;
}

// One after the other, as the time before counts for tiers and caps: a month has at most 44640
// starts.
static int in_turn(const struct schedule *s, const struct schedule_bill *bill, struct start *sum,
                   struct err *err)
{
    int minutes[DAY_MINUTES] = {0};
    size_t count = starts_of_day(&s->tab, minutes);
    int64_t whole = bill->starts / bill->starts_in, rest = bill->starts % bill->starts_in;
    int64_t used_ns = 0, used_most = 62 * DAY_S * NS_PER_S;
    struct start start;
    for (int64_t i = 0; i <= whole; i++) {
        int minute = count > 0 ? minutes[(size_t)i % count] : 0;
        TRY(one_start(s, first_s(s) + INT64_C(60) * minute, used_ns, &start, err));
        TRY(add_start(sum, &start, i < whole ? 1 : rest, i < whole ? 1 : bill->starts_in, err));
        used_ns = used_ns + start.charged_ns < used_most ? used_ns + start.charged_ns : used_most;
    }
    return 0;
}

// All starts of a month on one machine.
static int machine_price(const struct schedule *s, struct schedule_bill *bill, struct start *sum,
                         struct err *err)
{
    struct start start;
    const struct rule *rule = &s->priced.rule;
    int minutes[DAY_MINUTES] = {0};
    starts_of_day(&s->tab, minutes);
    int rc = one_start(s, first_s(s) + INT64_C(60) * minutes[0], 0, &start, err);
    *sum = (struct start){0};
    if (rc != 0)
        return rc;
    bill->up_ns = start.charged_ns;
    if (priced_by_month(&s->priced))
        return by_month(s, bill, &start, sum, err);
    if (rule->tier_count > 0 || rule->monthly_cap >= 0)
        return in_turn(s, bill, sum, err);
    if (follows_prices(s))
        return by_history(s, &start, bill, sum, err);
    return rule->clock_units ? by_clock(s, bill, sum, err)
                             : add_start(sum, &start, bill->starts, bill->starts_in, err);
}

// ---- disk, scheduler, functions

static int64_t above_zero(int64_t n)
{
    return n > 0 ? n : 0;
}

// How long a machine is up in the month; all of it without `starts`.
static int64_t up_in_month(const struct schedule *s, const struct schedule_bill *starts,
                           int64_t month_ns)
{
    if (!starts)
        return month_ns;
    double up_ns = (double)s->up_ns * (double)starts->starts / (double)starts->starts_in;
    return up_ns < (double)month_ns ? (int64_t)up_ns : month_ns;
}

// The disks of that many machines, without and with the free allowance.
static int disks(const struct schedule *s, const struct schedule_bill *starts, int64_t machines,
                 struct schedule_line *line, struct err *err)
{
    int64_t length_s, free_price = 0;
    struct charge charge;
    struct rule rule = s->priced.rule;
    line->known = s->disk_gb == 0 || s->extras.disk_rate >= 0;
    if (!line->known || s->disk_gb == 0)
        return 0;
    int64_t off = s->extras.disk_stopped_rate;
    rule.storage_rate = s->extras.disk_rate;
    rule.storage_stopped_rate = off >= 0 ? off : s->extras.disk_rate;
    rule.billed_while_stopped = false; // the disk alone
    TRY(month_length_s(s, &length_s, err));
    int64_t month_ns = length_s * NS_PER_S, up_ns = up_in_month(s, starts, month_ns);
    const struct charge_use use = {.start_s = first_s(s),
                                   .storage_gb = s->disk_gb,
                                   .storage_ns = up_ns,
                                   .stopped_ns = month_ns - up_ns};
    int64_t priced_s = rule.storage_calendar_month ? length_s : rule.storage_month_ns / NS_PER_S;
    TRY(charge_use(&rule, &use, &charge, err));
    TRY(money_add(charge.storage, charge.storage_stopped, &line->price, err));
    TRY(money_scale(line->price, machines, 1, MONEY_DOWN, &line->price, err));
    TRY(money_scale(s->extras.disk_rate, above_zero(s->extras.free_disk_gb) * length_s, priced_s,
                    MONEY_HALF_EVEN, &free_price, err));
    line->free_price = above_zero(line->price - free_price);
    return 0;
}

static int rules(const struct schedule *s, int64_t tasks, struct schedule_line *line,
                 struct err *err)
{
    const struct scheduling *b = &s->extras;
    line->known = b->rules == 0 || (b->rules > 0 && b->rule_rate >= 0);
    if (!line->known)
        return 0;
    int64_t count = tasks * b->rules, paid = above_zero(count - above_zero(b->free_rules));
    TRY(money_scale(b->rule_rate, count, 1, MONEY_DOWN, &line->price, err));
    return money_scale(b->rule_rate, paid, 1, MONEY_DOWN, &line->free_price, err);
}

// One call starts the machine and one stops it; each is charged in whole units.
static int functions(const struct schedule *s, int64_t tasks, const struct schedule_bill *bill,
                     struct schedule_line *line, struct err *err)
{
    const struct scheduling *b = &s->extras;
    line->known = b->function_ms == 0 || (b->function_ms > 0 && b->function_rate >= 0);
    if (!line->known || b->function_ms == 0)
        return 0;
    int64_t unit_ms = b->function_unit_ms > 0 ? b->function_unit_ms : 100;
    int64_t units = (b->function_ms + unit_ms - 1) / unit_ms * 2 * tasks, all, paid;
    // Multiplied by `starts_in`, so that only the price is rounded.
    if (__builtin_mul_overflow(units, bill->starts, &all))
        return err_set(err, ERR_OVERFLOW, "the functions run for too long");
    paid = above_zero(all - above_zero(b->free_function_ms) / unit_ms * bill->starts_in);
    TRY(money_scale(b->function_rate, all, bill->starts_in, MONEY_HALF_EVEN, &line->price, err));
    return money_scale(b->function_rate, paid, bill->starts_in, MONEY_HALF_EVEN, &line->free_price,
                       err);
}

// ---- together

static int add_line(struct schedule_line *total, const struct schedule_line *line, struct err *err)
{
    if (!line->known)
        return 0;
    TRY(money_add(total->price, line->price, &total->price, err));
    return money_add(total->free_price, line->free_price, &total->free_price, err);
}

static int64_t permille(const struct schedule *s)
{
    return s->priced.own ? s->priced.own->discount_permille : 0;
}

// Adds the user's discount on a line to `discount`.
static int discount_line(const struct schedule *s, const struct schedule_line *line,
                         struct schedule_line *discount, struct err *err)
{
    struct schedule_line off = {.known = true};
    if (!line->known || permille(s) == 0)
        return 0;
    TRY(money_scale(-line->price, permille(s), 1000, MONEY_HALF_EVEN, &off.price, err));
    TRY(money_scale(-line->free_price, permille(s), 1000, MONEY_HALF_EVEN, &off.free_price, err));
    return add_line(discount, &off, err);
}

// The monthly fee of each machine.
static int month_fee(const struct schedule *s, int64_t machines, struct schedule_line *line,
                     struct err *err)
{
    int64_t fee = 0;
    TRY(priced_usd(&s->priced, s->priced.rule.monthly_fee, &fee, err));
    TRY(money_scale(fee, machines, 1, MONEY_DOWN, &line->price, err));
    line->known = fee > 0;
    line->free_price = line->price;
    return 0;
}

// The number of starts and the price of one machine.
static int price_starts(const struct schedule *s, struct schedule_bill *bill, struct start *start,
                        struct err *err)
{
    memset(bill, 0, sizeof *bill);
    TRY(count_starts(s, bill, err));
    return machine_price(s, bill, start, err);
}

static int price_tasks(const struct schedule *s, int64_t tasks, const struct start *start,
                       struct schedule_bill *bill, struct err *err)
{
    struct start all = {0};
    bill->discount = bill->total = (struct schedule_line){.known = true};
    TRY(add_start(&all, start, tasks, 1, err));
    TRY(money_add(all.total, all.discount, &bill->machine.price, err));
    bill->machine.known = true;
    bill->machine.free_price = bill->machine.price;
    bill->discount.price = bill->discount.free_price = -all.discount;
    TRY(month_fee(s, tasks, &bill->fees, err));
    TRY(disks(s, bill, tasks, &bill->disk, err));
    TRY(rules(s, tasks, &bill->rules, err));
    TRY(functions(s, tasks, bill, &bill->functions, err));
    const struct schedule_line *const extras[] = {&bill->fees, &bill->disk, &bill->rules,
                                                  &bill->functions};
    TRY(add_line(&bill->total, &bill->machine, err));
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        TRY(discount_line(s, extras[i], &bill->discount, err));
        TRY(add_line(&bill->total, extras[i], err));
    }
    TRY(add_line(&bill->total, &bill->discount, err));
    bill->discount.known = permille(s) > 0;
    return 0;
}

int schedule_bill(const struct schedule *s, int64_t tasks, struct schedule_bill *bill,
                  struct err *err)
{
    struct start start;
    TRY(price_starts(s, bill, &start, err));
    if (tasks < 1 || tasks > MOST_TASKS)
        return err_set(err, ERR_USAGE, "the number of tasks must be 1 to 1,000,000");
    return price_tasks(s, tasks, &start, bill, err);
}

static int at_most_cap(const struct schedule *s, int64_t *price, struct err *err)
{
    int64_t cap = 0;
    TRY(priced_usd(&s->priced, s->priced.rule.monthly_cap, &cap, err));
    TRY(money_scale(cap, 1000 - permille(s), 1000, MONEY_HALF_EVEN, &cap, err));
    if (*price > cap)
        *price = cap;
    return 0;
}

int schedule_always(const struct schedule *s, struct schedule_line *line, struct err *err)
{
    struct schedule whole = *s;
    struct schedule_line disk = {0}, fee = {0}, discount = {.known = true};
    struct start start;
    int64_t length_s;
    TRY(month_length_s(s, &length_s, err));
    whole.up_ns = priced_by_month(&s->priced) ? 1 : length_s * NS_PER_S; // however long a month
    TRY(one_start(&whole, first_s(s), 0, &start, err));
    *line = (struct schedule_line){.known = true};
    bool hours = s->month_s < 0 && s->priced.offer.kind != OFFER_MONTHLY;
    TRY(money_scale(start.total, hours ? SCHEDULE_MONTH_H : 720, 720, MONEY_HALF_EVEN, &line->price,
                    err));
    if (s->priced.rule.monthly_cap >= 0)
        TRY(at_most_cap(s, &line->price, err));
    line->free_price = line->price;
    TRY(month_fee(s, 1, &fee, err));
    TRY(disks(s, NULL, 1, &disk, err));
    TRY(discount_line(s, &fee, &discount, err));
    TRY(discount_line(s, &disk, &discount, err));
    const struct schedule_line *const lines[] = {&fee, &disk, &discount};
    for (size_t i = 0; i < 3; i++)
        TRY(add_line(line, lines[i], err));
    return 0;
}

int64_t schedule_capacity(const struct schedule *s)
{
    int64_t gap_s = crontab_gap_s(&s->tab);
    int64_t tasks = (gap_s > 0 ? gap_s : MONTH_S) * NS_PER_S / (s->up_ns > 0 ? s->up_ns : 1);
    return tasks < 1 ? 1 : tasks < MOST_TASKS ? tasks : MOST_TASKS;
}

int schedule_break_even(const struct schedule *s, int64_t price, bool with_free, int64_t *tasks,
                        struct err *err)
{
    struct schedule_bill bill;
    struct start start;
    // The answer, if any, is from low to high.
    int64_t low = 1, high = schedule_capacity(s);
    int rc = price_starts(s, &bill, &start, err);
    *tasks = -1;
    while (rc == 0 && low <= high) {
        int64_t middle = low + (high - low) / 2;
        // An overflow is more than any price.
        bool more = price_tasks(s, middle, &start, &bill, NULL) != 0 ||
                    (with_free ? bill.total.free_price : bill.total.price) > price;
        *tasks = more ? middle : *tasks;
        high = more ? middle - 1 : high;
        low = more ? low : middle + 1;
    }
    return rc;
}
