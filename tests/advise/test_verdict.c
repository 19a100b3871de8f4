// SPDX-License-Identifier: Apache-2.0
// Who leads, what equals it and why nobody does, by hand: the rules are those of verdict.h.
#include "test.h"

#include <stdlib.h>

#include "advise/verdict_words.h"

#define USD(cents) some_money((int64_t)(cents)*10000000)

// ---- bills, as quote_make() sorted them

static struct bill bill(const char *offer, int cents, double time_s, int place)
{
    return (struct bill){.offer = (char *)(uintptr_t)offer,
                         .total = USD(cents),
                         .time_s = some_real(time_s),
                         .place = some_int(place)};
}

TEST(bills)
{
    static char certainty[] = "estimated ±20 %", trial[] = "trial"; // as standing_judge() says
    struct bill measured[] = {bill("a/spot", 10, 100, 1),    bill("a/cheap", 50, 100, 3),
                              bill("a/near", 55, 99.5, 4),   bill("a/fast", 90, 50, 5),
                              bill("a/assumed", 20, 200, 6), bill("a/wrong", 20, 10, 8)};
    struct bill estimates[] = {bill("b/first", 40, 80, 2), bill("b/wide", 45, 30, 7)};
    measured[0].spot.lower_bound = some_bool(true);
    measured[0].standing = trial;
    measured[1].high = USD(60);
    measured[5].price_impossible = some_bool(true);
    for (size_t i = 0; i < 2; i++) {
        estimates[i].certainty = certainty;
        estimates[i].high_s = some_real(estimates[i].time_s.v * 2);
    }
    struct quote quote = {.bills = {measured, 6, true}, .estimates = {estimates, 2, true}};
    struct verdict_quote q = verdict_of_quote(&quote);
    const struct verdict *cost = &q.with_run[VERDICT_COST];
    assert_ptr_equal(q.cheapest, &measured[1]);
    assert_ptr_equal(q.fastest, &measured[3]);
    assert_ptr_equal(cost->bound.bill, &measured[0]);
    assert_int_equal(cost->of, 4);
    assert_int_equal(cost->bounds, 1);
    assert_int_equal(cost->doubtful, 1); // lower, and ranked behind it, as under an assumed rule
    assert_int_equal(cost->nears, 1);
    assert_int_equal(cost->equals, 0);
    assert_ptr_equal(q.guess, &estimates[0]);
    assert_ptr_equal(q.leader, &estimates[0]);
    assert_ptr_equal(q.soonest, &measured[3]); // 50 s; the estimates may take 60
    assert_string_equal(verdict_called(q.leader, VERDICT_COST), "cheapest by estimate");
    estimates[0].place = some_int(8);
    q = verdict_of_quote(&quote);
    assert_null(q.guess);
    assert_ptr_equal(q.leader, &measured[1]);
    quote.estimates.count = 0;
    quote.bills.count = 1; // the lower bound alone
    q = verdict_of_quote(&quote);
    assert_null(q.leader);
    assert_null(q.soonest);
    assert_ptr_equal(q.lowest, &measured[0]);
    assert_string_equal(verdict_called(q.lowest, VERDICT_COST), "the lowest bound");
}

TEST(limits)
{
    struct bill measured[] = {bill("a/slow", 10, 100, 1), bill("a/sure", 50, 60, 2),
                              bill("a/fast", 90, 20, 3)};
    measured[1].high_s = some_real(70);
    measured[2].high = USD(95);
    const struct quote quote = {.bills = {measured, 3, true}};
    struct verdict_limit k = verdict_of_deadline(&quote, 75);
    assert_ptr_equal(k.sure.bill, &measured[1]);
    assert_null(k.perhaps.bill);
    k = verdict_of_deadline(&quote, 65);
    assert_ptr_equal(k.sure.bill, &measured[2]);
    assert_ptr_equal(k.perhaps.bill, &measured[1]);
    k = verdict_of_budget(&quote, USD(92).nano);
    assert_ptr_equal(k.sure.bill, &measured[1]);
    assert_ptr_equal(k.perhaps.bill, &measured[2]); // faster, and perhaps 95 cents
    assert_false(verdict_of_budget(&quote, USD(9).nano).any);
}

// ---- rows

static struct compare_row row(const char *machine, double time_s, double low, double high)
{
    static char none[] = "-", measured[] = "measured";
    return (struct compare_row){.machine = (char *)(uintptr_t)machine,
                                .framework = none,
                                .kind = measured,
                                .time_s = {some_real(time_s), some_real(low), some_real(high)}};
}

TEST(rows)
{
    struct compare_row all[] = {row("base", 11, 10, 12), row("best", 10, 9, 10.5),
                                row("near", 10.4, 9.5, 11), row("noisy", 5, 4, 6)};
    struct buf text = {0};
    all[0].base = some_bool(true);
    all[1].time = (struct compare_against){
        .ratio = some_real(0.9), .low = some_real(0.85), .high = some_real(0.95)};
    all[3].noisy = some_bool(true);
    struct verdict v = verdict_of_rows(all, 4, VERDICT_TIME);
    assert_ptr_equal(v.winner.row, &all[1]);
    assert_ptr_equal(v.next.row, &all[2]);
    assert_ptr_equal(v.unsure.row, &all[3]);
    assert_int_equal(v.of, 3);
    assert_int_equal(v.unsures, 1);
    // The base's interval overlaps, but that of their ratio says that they differ.
    assert_int_equal(v.nears, 1);
    assert_ptr_equal(v.near.row, &all[2]);
    verdict_say_rows(&v, "", &text);
    verdict_say_unsure(&v, &text);
    assert_string_equal(buf_str(&text),
                        "Fastest: best, 10.0 s, 0.9000 of the time of base. The time "
                        "cannot be told from that of near: the 95 % intervals "
                        "overlap. 1 more is noisy or stopped.");
    buf_release(&text);
    assert_null(verdict_of_rows(all, 4, VERDICT_COST).winner.row);
    for (size_t i = 0; i < 2; i++) {
        all[i].cost.nano_usd = some_int(1000 * (int64_t)(i + 1));
        all[i].cost.lower_bound = some_bool(i == 0);
    }
    v = verdict_of_rows(all, 4, VERDICT_COST);
    assert_ptr_equal(v.winner.row, &all[1]); // a lower bound wins nothing
    assert_ptr_equal(v.bound.row, &all[0]);
}
