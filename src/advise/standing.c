// SPDX-License-Identifier: Apache-2.0
#include "advise/standing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "bill/bill.h"
#include "book/listing.h"
#include "record/field.h"

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
