// SPDX-License-Identifier: Apache-2.0
// A quote, a comparison, a live bill and a schedule charge the same for the same use, to the last
// nano-dollar: on every offer that ships, and on one offer under every tariff that ships, with and
// without the user's own rates and discounts, at the start of a month and in its middle.
#include "test.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/pricing.h"
#include "advise/quote.h"
#include "base/clock.h"
#include "base/money.h"
#include "bill/cron.h"
#include "book/folder.h"
#include "record/read.h"

// A schedule starts on the first of the month; at the other times there is no schedule to compare.
static const char *const dates[] = {
    "2016-05-01",           "2017-11-01",           "2018-02-01",
    "2018-11-01",           "2024-02-01",           "2026-11-01",
    "2016-05-17T10:20:30Z", "2018-02-27T23:59:59Z", "2026-10-31T23:30:00Z"};
// In nanoseconds: a moment, around a minute and an hour, a day and a half, almost a month.
static const int64_t lengths[] = {
    1,
    INT64_C(41500000000),
    INT64_C(72000000000),
    INT64_C(3600000000000),
    INT64_C(3600000000001),
    INT64_C(130000000000000),
    INT64_C(27) * 86400 * INT64_C(1000000000),
};
#define BOOT_NS INT64_C(90000000000)
enum { DATES = sizeof dates / sizeof *dates, LENGTHS = sizeof lengths / sizeof *lengths };

static struct market *market;
static size_t compared;
static int64_t sum;               // of all quotes
static int64_t shipped_sum;       // of those of the shipped offers, at list prices
static int64_t discount_permille; // of the user's rates.csv

static int64_t nano(struct maybe_money amount)
{
    assert_true(amount.known);
    return amount.nano;
}

// A run that was measured on that offer, whole.
static void run_on(const struct offer *offer, const char *date, int64_t length_ns, struct run *run)
{
    struct err err = {0};
    memset(run, 0, sizeof *run);
    assert_ok(text_set(&run->id, "a", &err), &err);
    assert_ok(text_set(&run->workload, "mlp", &err), &err);
    assert_ok(text_set(&run->started, date, &err), &err);
    assert_ok(text_set(&run->machine.provider, offer->provider, &err), &err);
    assert_ok(text_set(&run->machine.instance_type, offer->name, &err), &err);
    run->full = some_bool(true);
    run->phases.wall_ns = run->phases.train_ns = some_int(length_ns);
}

static int64_t quoted(const char *name, const struct run *run, int64_t start_s, int64_t boot_ns,
                      int64_t *set_up)
{
    struct err err = {0};
    struct quote quote = {0};
    const struct quote_evidence evidence[] = {{.run = run}};
    const struct quote_ask ask = {.evidence = evidence,
                                  .evidence_count = 1,
                                  .asked = true,
                                  .market = market,
                                  .wishes = {.start_s = start_s, .without_credit = true},
                                  .startup = {.boot_ns = {boot_ns, true}, .image_ns = {0, true}},
                                  .offer = name,
                                  .max_age = 100000};
    assert_ok(quote_make(&ask, &quote, &err), &err);
    assert_int_equal(quote.bills.count, 1);
    const struct bill *bill = &quote.bills.items[0];
    // Interruptions are the quote's alone.
    int64_t total = nano(bill->spot.uninterrupted.known ? bill->spot.uninterrupted : bill->total);
    *set_up = 0;
    for (size_t i = 0; i < bill->items.count; i++)
        if (strcmp(bill->items.items[i].what, "set-up fee") == 0)
            *set_up = nano(bill->items.items[i].amount);
    record_release(quote_fields, &quote);
    return total;
}

// As `fare compare --offer NAME` and a live bill charge it.
static int64_t priced_run(struct run_prices *prices, const char *name, const struct run *run)
{
    struct err err = {0};
    struct run_price price;
    const struct run_price_said said = {.offer = name};
    int64_t cost = 0;
    assert_ok(run_price(prices, run, &said, &price, &err), &err);
    assert_true(price.known);
    assert_ok(run_price_cost(&price, run_ordered_ns(run), run->phases.wall_ns.v, &cost, &err),
              &err);
    return cost;
}

// Once a month, in the month that begins on the date.
static int64_t scheduled(const char *name, const char *date, int64_t start_s, int64_t length_ns)
{
    struct err err = {0};
    struct schedule_record record = {0};
    char month[8];
    snprintf(month, sizeof month, "%.7s", date);
    struct cron_ask ask = {.schedule = "@monthly",
                           .up_ns = length_ns,
                           .offer = name,
                           .rate = -1,
                           .day = (int)(start_s / 86400),
                           .month = month,
                           .month_s = start_s,
                           .tasks = 1,
                           .extras = {-1, -1, 0, -1, -1, 0, -1, -1, -1, -1, NULL, 0, -1}};
    assert_ok(crontab_parse(&ask.tab, ask.schedule, &err), &err);
    assert_ok(cron_make(market, &ask, &record, &err), &err);
    int64_t total = nano(record.total);
    record_release(schedule_fields, &record);
    return total;
}

// A run for which fare ordered the machine pays for the boot as a quote does that is given it: not
// where boots are free. A boot that nobody ordered costs nothing.
static void check_ordered(const char *name, struct run *run, int64_t start_s,
                          struct run_prices *prices)
{
    struct err err = {0};
    int64_t set_up, alone = priced_run(prices, name, run);
    if (strncmp(name, "own/", 4) == 0) // nobody orders one's own machine
        return;
    run->phases.boot_ns = some_int(BOOT_NS);
    assert_ok(text_set(&run->boot_from, "kernel", &err), &err);
    assert_int_equal(priced_run(prices, name, run), alone);
    assert_ok(text_set(&run->boot_from, "metadata", &err), &err);
    assert_int_equal(priced_run(prices, name, run), alone);
    assert_ok(text_set(&run->boot_from, "fare", &err), &err);
    int64_t charged = priced_run(prices, name, run),
            quote = quoted(name, run, start_s, BOOT_NS, &set_up);
    if (charged != quote)
        fail_msg("%s with a boot: run %lld, quote %lld", name, (long long)charged,
                 (long long)quote);
    run->phases.boot_ns.known = false;
}

// How long the provider lets such a machine run; a spot machine is followed by another.
static int64_t longest_ns(const struct offer *offer, int day)
{
    struct err err = {0};
    const struct tariff_book *tariffs;
    assert_ok(market_tariffs(market, &tariffs, &err), &err);
    const struct tariff *t = tariff_for(tariffs, offer, day, NULL);
    return t->ends_after_s.known && offer->kind != OFFER_SPOT ? t->ends_after_s.v * NS_PER_S
                                                              : INT64_MAX;
}

static void check_offer(const struct offer *offer, const char *date, struct run_prices *prices)
{
    struct buf name = {0};
    int64_t start_s = 0, set_up;
    assert_true(clock_parse(date, &start_s));
    int day = (int)(start_s / 86400);
    if (offer_retired(offer, day)) // a quote has no bill of it
        return;
    book_name(offer, &name);
    for (size_t i = 0; i < LENGTHS; i++) {
        struct run run;
        if (lengths[i] > longest_ns(offer, day))
            continue;
        run_on(offer, date, lengths[i], &run);
        int64_t quote = quoted(buf_str(&name), &run, start_s, 0, &set_up);
        int64_t compare = priced_run(prices, buf_str(&name), &run);
        if (i == 1)
            check_ordered(buf_str(&name), &run, start_s, prices);
        // A discount is rounded in each line of a schedule: machine, fee.
        int64_t most = discount_permille > 0 ? 2 : 0;
        set_up -= set_up * discount_permille / 1000;
        int64_t cron = strlen(date) > 10
                           ? quote
                           : scheduled(buf_str(&name), date, start_s, lengths[i]) + set_up;
        if (quote != compare || llabs(quote - cron) > most)
            fail_msg("%s on %s for %lld ns: quote %lld, compare %lld, cron %lld", buf_str(&name),
                     date, (long long)lengths[i], (long long)quote, (long long)compare,
                     (long long)cron);
        record_release(run_fields, &run);
        compared++;
        sum += quote;
    }
    buf_release(&name);
}

struct walk {
    const char *date;
    struct run_prices *prices;
};

static int visit(void *arg, const struct offer *offer, struct err *err)
{
    const struct walk *walk = arg;
    (void)err;
    check_offer(offer, walk->date, walk->prices);
    return 0;
}

static void each_offer(const char *region)
{
    struct err err = {0};
    const struct book *book;
    assert_ok(market_book(market, &book, &err), &err);
    for (size_t d = 0; d < DATES; d++) {
        struct walk walk = {.date = dates[d]};
        int64_t start_s = 0;
        assert_true(clock_parse(dates[d], &start_s));
        const struct book_filter there = {.day = (int)(start_s / 86400), .region = region};
        assert_ok(run_prices_new(&walk.prices, market, false, false, 0, &err), &err);
        assert_ok(book_each(book, &there, visit, &walk, &err), &err);
        run_prices_free(walk.prices);
    }
}

TEST(shipped_offers)
{
    struct err err = {0};
    assert_ok(market_open(&market, "-", NULL, &err), &err);
    each_offer(NULL);
    market_close(market);
    shipped_sum = sum;
    assert_true(compared > 1000);
}

// The user's own table has a provider of each tariff; others ship that have none.
static int add_discount(void *arg, const struct offer *offer, struct err *err)
{
    struct buf *off = arg, row = {0};
    (void)err;
    buf_printf(&row, "\n%s,*,12.5,,,,,\n", offer->provider);
    if (!strstr(buf_str(off), buf_str(&row)))
        buf_adds(off, buf_str(&row) + 1);
    buf_release(&row);
    return 0;
}

static void put_history(struct buf *table, const char *provider, const char *name,
                        const char *currency)
{
    static const char *const changes[] = {"2016-05-05", "2017-11-20", "2018-02-10",
                                          "2018-11-02", "2024-02-28", "2026-11-03"};
    for (int i = 0; i < 6; i++)
        buf_printf(table, "%s,%s,here,spot,0.%d,%s,%s,test\n", provider, name, 3 + i, currency,
                   changes[i]);
}

// An offer of each tariff's provider and kind in the user's own table, in the tariff's currency and
// in another one, and a price by the month beside the hourly one, which may cap it.
TEST(every_tariff)
{
    struct err err = {0};
    struct buf table = {0}, own = {0}, off = {0};
    struct tariff_book *tariffs;
    const struct tariff *t;
    char dir[600];
    const char *home = folder_new();
    size_t before = compared;
    assert_ok(tariff_book_open(&tariffs, &err), &err);
    buf_adds(&table, "provider,name,region,kind,price,currency,date,source\n");
    buf_adds(&own, "provider,offer,discount_percent,credit,rate,currency,from,to\n");
    buf_adds(&off, buf_str(&own));
    for (size_t i = 0; (t = tariff_at(tariffs, i)); i++) {
        char name[120], other[130];
        const char *kind = t->kind ? t->kind : "on-demand";
        snprintf(name, sizeof name, "%.60s-%zu", t->offers.count ? t->offers.items[0] : "any", i);
        for (char *c = name; *c; c++)
            *c = *c == '*' || *c == '?' || *c == '[' || *c == ']' ? 'x' : *c;
        const char *currency = t->currency ? t->currency : "USD";
        buf_printf(&table, "%s,%s,here,%s,1.2345,%s,2015-01-01,test\n", t->provider, name, kind,
                   currency);
        buf_printf(&table, "%s,%s-other,here,%s,0.9876,%s,2015-01-01,test\n", t->provider, name,
                   kind, strcmp(currency, "USD") == 0 ? "EUR" : "USD");
        if (strcmp(kind, "on-demand") == 0)
            buf_printf(&table, "%s,%s,here,monthly,33.21,EUR,2015-01-01,test\n", t->provider, name);
        if (strcmp(kind, "spot") == 0) { // that changes in the months of the dates
            put_history(&table, t->provider, name, currency);
            snprintf(other, sizeof other, "%s-other", name);
            put_history(&table, t->provider, other, strcmp(currency, "USD") == 0 ? "EUR" : "USD");
        }
        const char *plain = strcmp(kind, "on-demand") == 0 ? "" : ":";
        const char *said = *plain ? kind : "";
        buf_printf(&own, "%s,%s%s%s,,,0.4321,EUR,,\n", t->provider, name, plain, said);
        add_discount(&off, &(struct offer){.provider = t->provider}, NULL);
    }
    tariff_book_close(tariffs);
    const struct book *book;
    assert_ok(market_open(&market, "-", NULL, &err), &err);
    assert_ok(market_book(market, &book, &err), &err);
    const struct book_filter any = {.day = INT_MAX};
    assert_ok(book_each(book, &any, add_discount, &off, &err), &err);
    market_close(market);
    snprintf(dir, sizeof dir, "%s/fare", home);
    assert_int_equal(mkdir(dir, 0700), 0);
    snprintf(dir, sizeof dir, "%s/fare/offers", home);
    assert_int_equal(mkdir(dir, 0700), 0);
    folder_put(dir, "all.csv", buf_str(&table));
    buf_release(&table);
    assert_int_equal(setenv("XDG_CONFIG_HOME", home, 1), 0);
    snprintf(dir, sizeof dir, "%s/fare", home);
    int64_t sums[3];
    const char *const rates[] = {NULL, buf_str(&own), buf_str(&off)};
    for (size_t i = 0; i < 3; i++) {
        if (rates[i])
            folder_put(dir, "rates.csv", rates[i]);
        discount_permille = i == 2 ? 125 : 0;
        sum = i == 2 ? 0 : shipped_sum; // as they were: own rates are for own offers alone
        assert_ok(market_open(&market, "-", NULL, &err), &err);
        each_offer(i == 2 ? NULL : "here");
        market_close(market);
        sums[i] = sum;
    }
    // Own rates replace one price of two; seven eighths of all, but for rounding, are left after
    // the discount.
    assert_true(sums[1] < sums[0]);
    assert_true(llabs(sums[2] - sums[0] / 8 * 7) < sums[0] / 1000);
    buf_release(&own);
    buf_release(&off);
    assert_true(compared - before > 3000);
}
