// SPDX-License-Identifier: Apache-2.0
#include "advise/verdict.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare_estimates.h"
#include "base/array.h"
#include "base/money.h"
#include "bill/bill.h"
#include "book/listing.h"
#include "record/field.h"

static struct maybe_real dollars(struct maybe_money amount)
{
    return amount.known ? some_real((double)amount.nano / MONEY_UNIT) : (struct maybe_real){0};
}

static double high_of(const struct verdict_one *one)
{
    return one->high.known ? one->high.v : one->value.v;
}

static double low_of(const struct verdict_one *one)
{
    return one->low.known ? one->low.v : one->value.v;
}

// ---- bills

// It cannot be had, nobody knows for how much, or newer prices are known.
static bool is_unbelievable(const struct bill *b)
{
    return bill_price_doubtful(b) || b->spot.never_ends.v || !b->time_s.known ||
           standing_of(b) == STANDING_HIDDEN;
}

// A lower bound that may be the answer all the same.
static bool is_open(const struct bill *b)
{
    return bill_is_bound(b) && !is_unbelievable(b);
}

bool verdict_can_lead(const struct bill *bill)
{
    return !is_unbelievable(bill) && !bill_is_bound(bill) && standing_of(bill) == STANDING_LEADS;
}

static struct verdict_one one_bill(const struct bill *b, enum verdict_measure measure)
{
    if (!b)
        return (struct verdict_one){0};
    if (measure == VERDICT_TIME)
        return (struct verdict_one){
            .bill = b, .value = b->time_s, .low = b->low_s, .high = b->high_s};
    return (struct verdict_one){.bill = b,
                                .value = some_real((double)bill_total(b) / MONEY_UNIT),
                                .low = dollars(b->low),
                                .high = dollars(b->high)};
}

static double longest_s(const struct bill *bill)
{
    return bill->high_s.known ? bill->high_s.v : bill->time_s.v;
}

// Whether `a` ends before `b`; both can lead. Of two that are alike the first counts.
static bool is_sooner(const struct bill *a, const struct bill *b)
{
    double x = a->certainty ? longest_s(a) : a->time_s.v,
           y = b->certainty ? longest_s(b) : b->time_s.v;
    return x < y * QUOTE_ALIKE;
}

// Bills that a reader could take for as cheap as the winner, or cheaper.
static void find_bill_ties(struct verdict *v, const struct bill *bills, size_t count)
{
    double value = v->winner.value.v, high = high_of(&v->winner);
    for (size_t i = 0; i < count; i++) {
        const struct verdict_one other = one_bill(&bills[i], VERDICT_COST);
        if (other.bill == v->winner.bill)
            continue;
        if (!verdict_can_lead(other.bill))
            v->bounds += is_open(other.bill) && other.value.v <= high;
        else if (other.value.v < value) // ranked behind it for a reason
            v->doubtful++;
        else if (other.value.v == value)
            v->equals++;
        else if (low_of(&other) <= high)
            v->nears++;
    }
}

struct verdict verdict_of_bills(const struct bill *bills, size_t count,
                                enum verdict_measure measure)
{
    struct verdict v = {.measure = measure};
    const struct bill *best = NULL, *bound = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct bill *b = &bills[i];
        if (!verdict_can_lead(b)) {
            bound = !bound && !best && is_open(b) ? b : bound;
            continue;
        }
        v.of++;
        if (!best || (measure == VERDICT_TIME && is_sooner(b, best)))
            best = b;
    }
    v.winner = one_bill(best, measure);
    v.bound = one_bill(measure == VERDICT_COST ? bound : NULL, measure);
    if (best && measure == VERDICT_COST)
        find_bill_ties(&v, bills, count);
    return v;
}

struct verdict_quote verdict_of_quote(const struct quote *quote)
{
    struct verdict_quote q;
    for (int m = 0; m < VERDICT_MEASURES; m++) {
        q.with_run[m] = verdict_of_bills(quote->bills.items, quote->bills.count, m);
        q.estimated[m] = verdict_of_bills(quote->estimates.items, quote->estimates.count, m);
    }
    const struct bill *guess = q.estimated[VERDICT_COST].winner.bill,
                      *soon = q.estimated[VERDICT_TIME].winner.bill,
                      *bound = q.with_run[VERDICT_COST].bound.bill;
    q.cheapest = q.with_run[VERDICT_COST].winner.bill;
    q.fastest = q.with_run[VERDICT_TIME].winner.bill;
    q.guess = q.cheapest && guess && guess->place.v >= q.cheapest->place.v ? NULL : guess;
    q.soonest = soon && (!q.fastest || is_sooner(soon, q.fastest)) ? soon : q.fastest;
    q.leader = q.guess ? q.guess : q.cheapest;
    q.lowest = q.leader ? q.leader : bound ? bound : q.estimated[VERDICT_COST].bound.bill;
    return q;
}

// ---- a short quote

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

// Whether one of them is a machine of the same provider with fewer of the same GPUs that is as
// fast: paying for GPUs that stay idle is no choice.
static bool is_more_of(const struct bill **rows, size_t count, const struct bill *b)
{
    for (size_t i = 0; i < count; i++) {
        const struct bill *a = rows[i];
        if (same_text(a->gpu, b->gpu) && same_text(a->provider, b->provider) &&
            same_text(a->kind, b->kind) && a->gpus.v < b->gpus.v && a->time_s.v <= b->time_s.v &&
            bill_total(a) <= bill_total(b))
            return true;
    }
    return false;
}

struct verdict_leaders verdict_leaders(const struct quote *quote, const struct bill **rows)
{
    const struct verdict_quote q = verdict_of_quote(quote);
    const struct bill *in_time = NULL, *within = NULL;
    for (; *rows; rows++) {
        if (!verdict_can_lead(*rows))
            continue;
        if (!in_time && same_text((*rows)->deadline, "met"))
            in_time = *rows;
        if (same_text((*rows)->budget, "met") && (!within || is_sooner(*rows, within)))
            within = *rows;
    }
    return (struct verdict_leaders){
        {q.cheapest, q.fastest, q.guess, q.soonest, q.lowest, in_time, within}};
}

static bool leads(const struct verdict_leaders *leaders, const struct bill *bill)
{
    for (size_t i = 0; i < sizeof leaders->bills / sizeof *leaders->bills; i++)
        if (leaders->bills[i] == bill)
            return true;
    return false;
}

const struct bill **verdict_rows(const struct quote *quote, size_t most, struct err *err)
{
    const struct bill **rows = quote_rows(quote, err);
    size_t with = quote->bills.count < most / 2 + 1 ? quote->bills.count : most / 2 + 1;
    size_t kept = 0, left[2]; // with a run, and estimates
    if (!rows || quote_count(quote) <= most)
        return rows;
    if (with + quote->estimates.count < most)
        with = most - quote->estimates.count;
    const struct verdict_leaders leaders = verdict_leaders(quote, rows);
    left[0] = with;
    left[1] = most - with;
    for (size_t i = 0; rows[i]; i++) {
        size_t *more = &left[rows[i]->certainty != NULL];
        bool first = leads(&leaders, rows[i]);
        if (!first && (*more == 0 || is_more_of(rows, kept, rows[i])))
            continue;
        *more -= *more > 0;
        rows[kept++] = rows[i];
    }
    rows[kept] = NULL;
    return rows;
}

int verdict_shorten(const struct quote *quote, size_t most, struct quote *out, struct err *err)
{
    SCOPED(free_pointer) const struct bill **rows = verdict_rows(quote, most, err);
    *out = *quote;
    out->bills.count = out->estimates.count = out->others.count = 0;
    out->bills.items = calloc(quote_count(quote) + 1, sizeof *out->bills.items);
    out->estimates.items = calloc(quote_count(quote) + 1, sizeof *out->estimates.items);
    if (!rows || !out->bills.items || !out->estimates.items)
        return err_memory(err);
    for (size_t i = 0; rows[i]; i++)
        if (rows[i]->certainty)
            out->estimates.items[out->estimates.count++] = *rows[i];
        else
            out->bills.items[out->bills.count++] = *rows[i];
    if (out->misfits.count > QUOTE_MISFITS)
        out->misfits.count = QUOTE_MISFITS;
    return 0;
}

bool verdict_on_frontier(double *best_s, double time_s)
{
    if (*best_s > 0 && time_s >= *best_s * QUOTE_ALIKE)
        return false;
    *best_s = time_s;
    return true;
}

enum verdict_keeps verdict_in_time(const struct bill *bill, double within_s)
{
    if (bill->spot.never_ends.v || bill->time_s.v > within_s)
        return VERDICT_MISSES;
    return bill_is_bound(bill) || longest_s(bill) > within_s ? VERDICT_MAY_KEEP : VERDICT_KEEPS;
}

enum verdict_keeps verdict_within(const struct bill *bill, int64_t nano_usd)
{
    if (bill->spot.never_ends.v || quote_least(bill) > nano_usd)
        return VERDICT_MISSES;
    bool sure = !bill_doubtful(bill) && !bill_is_bound(bill) && quote_dearest(bill) <= nano_usd;
    return sure ? VERDICT_KEEPS : VERDICT_MAY_KEEP;
}

// ---- rows of a comparison

bool verdict_can_win(const struct compare_row *row)
{
    return !row->noisy.v && !row->stopped.v && !compare_estimated(row);
}

static struct verdict_one one_row(const struct compare_row *row, enum verdict_measure measure)
{
    struct verdict_one one = {.row = row};
    if (!row)
        return one;
    const struct compare_against *against = measure == VERDICT_COST ? &row->money : &row->time;
    bool bound = measure == VERDICT_COST && row->cost.lower_bound.v;
    if (measure == VERDICT_COST && row->cost.nano_usd.known) {
        one.value = some_real((double)row->cost.nano_usd.v / MONEY_UNIT);
        one.low = dollars(row->cost.low_usd);
        one.high = dollars(row->cost.high_usd);
    } else if (measure == VERDICT_TIME && row->time_s.value.known) {
        one.value = row->time_s.value;
        one.low = row->time_s.low;
        one.high = row->time_s.high;
    } else if (!bound) { // of relative speeds and means, only ratios are known
        one.value = against->ratio;
        one.low = against->low;
        one.high = against->high;
    }
    if (!bound)
        one.ratio = against->ratio;
    return one;
}

static bool is_bound_in(const struct compare_row *row, enum verdict_measure measure)
{
    return measure == VERDICT_COST && row->cost.lower_bound.v;
}

// The cost of a run's calculation alone: it says nothing of the whole.
static bool is_part_in(const struct compare_row *row, enum verdict_measure measure)
{
    return is_bound_in(row, measure) && !row->time_s.value.known;
}

// Keeps the lower one; of equals the first, which may be the base.
static void take_less(struct verdict_one *best, const struct verdict_one *one)
{
    if (one->value.known && (!best->row || one->value.v < best->value.v))
        *best = *one;
}

// Whether the other one may be as good: by the interval of their ratio where one of them is the
// base, else by their own.
static bool is_near(const struct verdict_one *best, const struct verdict_one *other,
                    enum verdict_measure measure)
{
    const struct compare_row *row = other->row->base.v  ? best->row
                                    : best->row->base.v ? other->row
                                                        : NULL;
    const struct compare_against *against = !row                      ? NULL
                                            : measure == VERDICT_COST ? &row->money
                                                                      : &row->time;
    if (against && against->low.known && against->high.known)
        return against->low.v <= 1 && against->high.v >= 1;
    return best->high.known && low_of(other) <= best->high.v;
}

static void find_row_ties(struct verdict *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const struct verdict_one one = one_row(&v->rows[i], v->measure);
        if (one.row == v->winner.row || !verdict_can_win(one.row) || !one.value.known ||
            is_bound_in(one.row, v->measure))
            continue;
        take_less(&v->next, &one);
        if (one.value.v == v->winner.value.v) {
            v->equal = one;
            v->equals++;
        } else if (is_near(&v->winner, &one, v->measure)) {
            v->near = one;
            v->nears++;
        }
    }
}

struct verdict verdict_of_rows(const struct compare_row *rows, size_t count,
                               enum verdict_measure measure)
{
    struct verdict v = {.measure = measure, .rows = rows, .count = count};
    struct verdict_one bound = {0};
    for (size_t i = 0; i < count; i++) {
        const struct verdict_one one = one_row(&rows[i], measure);
        if (is_part_in(&rows[i], measure))
            continue;
        v.of += verdict_can_win(&rows[i]);
        v.unsures += rows[i].noisy.v || rows[i].stopped.v;
        bool bounded = is_bound_in(&rows[i], measure); // it wins nothing
        if (verdict_can_win(&rows[i]))
            take_less(bounded ? &bound : &v.winner, &one);
        else if (!bounded && !compare_estimated(&rows[i]))
            take_less(&v.unsure, &one);
    }
    if (bound.row && (!v.winner.row || bound.value.v < v.winner.value.v))
        v.bound = bound;
    if (v.winner.row)
        find_row_ties(&v);
    return v;
}

// ---- over all workloads

struct wins { // of the rows of one machine and framework
    struct verdict_most most;
    bool rated;
};

static const struct compare_row *base_of(const struct compare_workload *w)
{
    for (size_t i = 0; i < w->rows.count; i++)
        if (w->rows.items[i].base.v)
            return &w->rows.items[i];
    return NULL;
}

static bool same_names(const struct compare_row *a, const struct compare_row *b)
{
    return a && b && strcmp(a->machine, b->machine) == 0 && strcmp(a->framework, b->framework) == 0;
}

static void add_win(struct wins *w, const struct verdict *v, const struct compare_row *base)
{
    struct verdict_most *most = &w->most;
    struct maybe_real ratio = v->winner.ratio;
    bool first = most->wins++ == 0;
    w->rated = ratio.known && (first || w->rated);
    most->row = first ? v->winner.row : most->row;
    most->base = first || same_names(base, most->base) ? base : NULL;
    most->low = first || ratio.v < most->low.v ? ratio : most->low;
    most->high = first || ratio.v > most->high.v ? ratio : most->high;
    most->bounds |= v->bound.row != NULL;
}

static int count_wins(const struct compare *compare, enum verdict_measure measure,
                      struct wins *wins, struct index *names, size_t *of, struct err *err)
{
    for (size_t i = 0; i < compare->workloads.count; i++) {
        const struct compare_workload *w = &compare->workloads.items[i];
        const struct verdict v = verdict_of_rows(w->rows.items, w->rows.count, measure);
        SCOPED(buf_release) struct buf name = {0};
        size_t number = 0;
        if (!v.winner.row || v.of < 2)
            continue;
        ++*of;
        buf_printf(&name, "%s\x1f%s", v.winner.row->machine, v.winner.row->framework);
        TRY(buf_check(&name, err));
        TRY(index_number(names, buf_str(&name), name.len, &number, err));
        add_win(&wins[number], &v, base_of(w));
    }
    return 0;
}

int verdict_of_workloads(const struct compare *compare, enum verdict_measure measure,
                         struct verdict_most *out, struct err *err)
{
    SCOPED(index_release) struct index names = {0};
    size_t of = 0, best = 0;
    SCOPED(free_pointer) struct wins *wins = calloc(compare->workloads.count + 1, sizeof *wins);
    *out = (struct verdict_most){.measure = measure};
    TRY(wins ? count_wins(compare, measure, wins, &names, &of, err) : err_memory(err));
    for (size_t i = 1; i < names.count; i++)
        best = wins[i].most.wins > wins[best].most.wins ? i : best;
    if (of > 1) {
        *out = wins[best].most;
        out->measure = measure;
        out->of = of;
        out->low.known = out->high.known = wins[best].rated;
        for (size_t i = best + 1; i < names.count; i++)
            out->equals += wins[i].most.wins == out->wins;
    }
    return 0;
}

// ---- a deadline or a budget

static bool goes_before(const struct bill *a, const struct verdict_one *b)
{
    return !b->bill || a->place.v < b->bill->place.v;
}

// A lower bound that may keep it. Of those whose time is one, none is named.
static void add_kept(struct verdict_limit *k, const struct bill *b)
{
    k->any = true;
    if (is_open(b) && !bill_time_is_bound(b) && goes_before(b, &k->bound))
        k->bound = one_bill(b, VERDICT_COST);
}

struct verdict_limit verdict_of_deadline(const struct quote *quote, double deadline_s)
{
    struct verdict_limit k = {0};
    for (size_t i = 0; i < quote_count(quote); i++) {
        const struct bill *b = quote_at(quote, i);
        enum verdict_keeps keeps = verdict_in_time(b, deadline_s);
        bool hidden = standing_of(b) == STANDING_HIDDEN;
        if (bill_price_doubtful(b) || (hidden && keeps != VERDICT_MISSES))
            continue;
        k.possible++;
        if (hidden)
            continue;
        if (keeps != VERDICT_MISSES)
            add_kept(&k, b);
        if (!verdict_can_lead(b))
            continue;
        if (!k.fastest.bill || is_sooner(b, k.fastest.bill))
            k.fastest = one_bill(b, VERDICT_TIME);
        struct verdict_one *best = keeps == VERDICT_KEEPS ? &k.sure : &k.perhaps;
        if (keeps != VERDICT_MISSES && goes_before(b, best))
            *best = one_bill(b, VERDICT_COST);
    }
    return k;
}

struct verdict_limit verdict_of_budget(const struct quote *quote, int64_t nano_usd)
{
    struct verdict_limit k = {0};
    for (size_t i = 0; i < quote_count(quote); i++) {
        const struct bill *b = quote_at(quote, i);
        enum verdict_keeps keeps = verdict_within(b, nano_usd);
        if (keeps == VERDICT_MISSES || is_unbelievable(b))
            continue;
        add_kept(&k, b);
        struct verdict_one *best = keeps == VERDICT_KEEPS ? &k.sure : &k.perhaps;
        if (verdict_can_lead(b) && (!best->bill || is_sooner(b, best->bill)))
            *best = one_bill(b, VERDICT_TIME);
    }
    if (k.perhaps.bill && k.sure.bill && !is_sooner(k.perhaps.bill, k.sure.bill))
        k.perhaps = (struct verdict_one){0};
    return k;
}

// By cost, or by time where no cost is known.
static bool is_cheaper(const struct compare_row *a, const struct compare_row *b)
{
    if (a->cost.nano_usd.known != b->cost.nano_usd.known)
        return a->cost.nano_usd.known;
    return a->cost.nano_usd.known ? a->cost.nano_usd.v < b->cost.nano_usd.v
                                  : a->time_s.value.v < b->time_s.value.v;
}

struct verdict_limit verdict_of_rows_in_time(const struct compare_row *rows, size_t count,
                                             double deadline_s)
{
    struct verdict_limit k = {0};
    for (size_t i = 0; i < count; i++) {
        const struct verdict_one one = one_row(&rows[i], VERDICT_TIME);
        k.bounds |= rows[i].cost.lower_bound.v;
        if (!rows[i].time_s.value.known || rows[i].cost.lower_bound.v)
            continue;
        k.possible++;
        take_less(verdict_can_win(&rows[i]) ? &k.fastest : &k.unsure, &one);
        if (verdict_can_win(&rows[i]) && high_of(&one) <= deadline_s &&
            (!k.sure.row || is_cheaper(&rows[i], k.sure.row)))
            k.sure = one_row(&rows[i], VERDICT_COST);
    }
    k.any = k.fastest.row && k.fastest.value.v <= deadline_s;
    return k;
}

// ==== who may lead ====

enum { OTHERS = 2, LISTS }; // of a quote's lists of bills

static const char *const words[] = {NULL, "trial", "old price", "hidden"};

enum standing standing_of(const struct bill *bill)
{
    for (int i = STANDING_TRIAL; bill->standing && i <= STANDING_HIDDEN; i++)
        if (strcmp(bill->standing, words[i]) == 0)
            return (enum standing)i;
    return STANDING_LEADS;
}

static bool is_untried(const struct bill *bill, const char *how)
{
    return bill->untried && strcmp(bill->untried, how) == 0;
}

// All but the age of the price. `*why` is a constant or a text of the bill's.
static enum standing judge_bill(const struct bill *bill, const char **why)
{
    const struct {
        bool holds;
        enum standing standing;
        const char *why;
    } rules[] = {
        {bill_price_doubtful(bill), STANDING_HIDDEN, bill->price_doubt},
        {bill->spot.never_ends.v, STANDING_HIDDEN, "it is interrupted too often to end"},
        {is_untried(bill, BILL_UNTRIED_PART), STANDING_HIDDEN,
         "a part of a GPU, on which nobody measured"},
        {!bill->time_s.known, STANDING_HIDDEN, "its time is unknown"},
        {bill_time_is_bound(bill), STANDING_TRIAL, "its time is a lower bound"},
        {is_untried(bill, BILL_UNTRIED_VENDOR), STANDING_TRIAL,
         "its GPU is of another vendor than the run's: whether the program runs there is unknown"},
        {bill->gpu_memory && strcmp(bill->gpu_memory, "unsure") == 0, STANDING_TRIAL,
         "its GPU memory may not be enough"},
        {bill->gpu_memory != NULL, STANDING_TRIAL, "the GPU memory needed is unknown"},
        {bill->spot.lower_bound.v, STANDING_TRIAL, "its interruptions are unknown"},
        {bill->incomplete.v, STANDING_TRIAL, "its provider's rule lacks a price"},
        {bill_is_bound(bill), STANDING_TRIAL, "its bill is a lower bound"},
        {bill->may_end_early.v, STANDING_TRIAL, "it may end before the training does"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].holds) {
            *why = rules[i].why;
            return rules[i].standing;
        }
    return STANDING_LEADS;
}

// A price of the book's; the user's own rate and a machine to buy say nothing about that.
static bool has_age(const struct bill *bill)
{
    bool bought = bill->provider && strcmp(bill->provider, "own") == 0;
    return !bill->price_own.v && !bought && bill->price_age_days.known;
}

struct newest {
    int64_t age; // days; INT64_MAX: no price has an age
    const char *date;
};

// The newest price of rows that stand no worse.
static void find_newest(const struct bill *bills, size_t count, enum standing worst,
                        struct newest *newest)
{
    const char *why;
    for (size_t i = 0; i < count; i++) {
        const struct bill *b = &bills[i];
        if (has_age(b) && b->price_age_days.v < newest->age && judge_bill(b, &why) <= worst)
            *newest = (struct newest){b->price_age_days.v, b->price_date};
    }
}

static int set_standing(struct bill *bill, int64_t newest, struct err *err)
{
    char aged[64];
    const char *why = NULL;
    int64_t oldest = newest < INT64_MAX ? price_oldest_age(newest) : INT64_MAX;
    bool aging = has_age(bill);
    enum standing standing = judge_bill(bill, &why);
    if (standing != STANDING_HIDDEN && aging && bill->price_age_days.v > oldest) {
        bool very = bill->price_age_days.v > PRICE_HIDDEN_DAYS;
        snprintf(aged, sizeof aged, "its price is %lld days old",
                 (long long)bill->price_age_days.v);
        standing = very ? STANDING_HIDDEN : standing == STANDING_LEADS ? STANDING_OLD : standing;
        why = very || !why ? aged : why;
    }
    return TEXTS_SET(err, {&bill->standing, words[standing]}, {&bill->standing_why, why});
}

int standing_judge(struct quote *quote, struct err *err)
{
    struct {
        struct bill *items;
        size_t count;
    } lists[LISTS] = {{quote->bills.items, quote->bills.count},
                      {quote->estimates.items, quote->estimates.count},
                      {quote->others.items, quote->others.count}};
    struct newest newest = {INT64_MAX, NULL};
    // Where nothing could lead, lower bounds age each other.
    for (int worst = STANDING_LEADS; worst <= STANDING_TRIAL && newest.age == INT64_MAX; worst++)
        for (int i = 0; i < LISTS; i++)
            if (i != OTHERS || newest.age == INT64_MAX) // another training's do not age this one's
                find_newest(lists[i].items, lists[i].count, (enum standing)worst, &newest);
    for (int i = 0; i < LISTS; i++)
        for (size_t k = 0; k < lists[i].count; k++)
            TRY(set_standing(&lists[i].items[k], newest.age, err));
    bool current = newest.age <= PRICE_CURRENT_DAYS || newest.age == INT64_MAX;
    return current ? 0 : text_set(&quote->prices_of, newest.date, err);
}
