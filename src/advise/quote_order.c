// SPDX-License-Identifier: Apache-2.0
// The order of bills, cheapest first, and one order for measured and estimated ones.
//
// Rows are sorted by the expected bill. An estimate whose interval overlaps that of a measured bill
// goes behind it: its key is the larger of its own amount and the largest amount of a measured bill
// that it overlaps. So an estimate is first only if it is cheaper than all measured bills with its
// whole interval. Times that are lower bounds come behind all others.
#include <stdlib.h>
#include <string.h>

#include "advise/quote_parts.h"

struct place {            // of a bill in the order, with its amounts
    int64_t rank, before; // `before` credits breaks ties among bills that credits pay
    int64_t key;          // `rank`, or that of the measured bill it goes behind
    struct bill *bill;
    bool estimate;
};

static int64_t at_least(int64_t amount, struct maybe_money other)
{
    return other.known && other.nano > amount ? other.nano : amount;
}

// Under an assumed rule, started hours decide: an assumption alone makes nothing cheapest.
static int64_t with_hours(const struct bill *bill)
{
    return at_least(bill_total(bill), bill->by_hours);
}

// The amount to pay, all of a commitment, plus the cost of waiting if it is counted.
static int64_t rank(const struct bill *bill)
{
    int64_t total = at_least(with_hours(bill), bill->owed);
    if (total < INT64_MAX - bill->waiting.nano)
        total += bill->waiting.nano;
    return total;
}

// An end of the interval, with all that is in the rank.
static int64_t end_of(const struct place *p, struct maybe_money end)
{
    int64_t amount = 0, more = p->rank - bill_total(p->bill);
    return end.known && money_add(end.nano, more, &amount, NULL) == 0 ? amount : p->rank;
}

static int by_key(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    bool half = bill_doubtful(p->bill);
    if (half != bill_doubtful(q->bill))
        return half ? 1 : -1;
    bool bound = bill_time_is_bound(p->bill); // it never leads
    if (bound != bill_time_is_bound(q->bill))
        return bound ? 1 : -1;
    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    if (p->estimate != q->estimate)
        return p->estimate ? 1 : -1;
    if (p->rank != q->rank)
        return p->rank < q->rank ? -1 : 1;
    if (p->before != q->before)
        return p->before < q->before ? -1 : 1;
    return p->bill->offer && q->bill->offer ? strcmp(p->bill->offer, q->bill->offer) : 0;
}

static void find_places(struct place *places, struct bill *bills, size_t count, bool estimates)
{
    for (size_t i = 0; i < count; i++) {
        int64_t amount = rank(&bills[i]);
        places[i] =
            (struct place){amount, bill_before_credit(&bills[i]), amount, &bills[i], estimates};
    }
}

static int sort_bills(struct bill *bills, size_t count, bool estimates, struct err *err)
{
    if (count < 2)
        return 0;
    struct place *places = calloc(count, sizeof *places);
    struct bill *sorted = calloc(count, sizeof *sorted);
    int rc = places && sorted ? 0 : err_memory(err);
    if (rc == 0) {
        find_places(places, bills, count, estimates);
        qsort(places, count, sizeof *places, by_key);
        for (size_t i = 0; i < count; i++)
            sorted[i] = *places[i].bill;
        memcpy(bills, sorted, count * sizeof *sorted);
    }
    free(places);
    free(sorted);
    return rc;
}

// ---- measured and estimated ones

// Of sorted measured bills from each on: where the lowest of their intervals begins. Doubtful
// ones, at the end, count among themselves.
static void find_lows(const struct place *measured, size_t count, int64_t *lows)
{
    for (size_t i = count; i-- > 0;) {
        lows[i] = end_of(&measured[i], measured[i].bill->low);
        bool last = i + 1 == count ||
                    bill_doubtful(measured[i].bill) != bill_doubtful(measured[i + 1].bill);
        if (!last && lows[i + 1] < lows[i])
            lows[i] = lows[i + 1];
    }
}

// The last measured bill from `from` to before `to` whose interval begins within that of the
// estimate, which lies in front of it otherwise. Dearer ones that overlap it do so at that end.
static void go_behind(struct place *estimate, const struct place *measured, const int64_t *lows,
                      size_t from, size_t to)
{
    int64_t high = end_of(estimate, estimate->bill->high);
    size_t first = from;
    while (from < to) { // `lows` never falls within the range
        size_t middle = from + (to - from) / 2;
        if (lows[middle] <= high)
            from = middle + 1;
        else
            to = middle;
    }
    if (from > first && measured[from - 1].rank > estimate->key)
        estimate->key = measured[from - 1].rank;
}

static int set_places(struct quote *quote, struct err *err)
{
    size_t m = quote->bills.count, e = quote->estimates.count, complete = 0;
    struct place *all = calloc(m + e + 1, sizeof *all);
    int64_t *lows = calloc(m + 1, sizeof *lows);
    int rc = all && lows ? 0 : err_memory(err);
    if (rc == 0) {
        find_places(all, quote->bills.items, m, false);
        find_places(all + m, quote->estimates.items, e, true);
        find_lows(all, m, lows);
        while (complete < m && !bill_doubtful(&quote->bills.items[complete]))
            complete++;
        for (size_t i = m; i < m + e; i++) {
            bool half = bill_doubtful(all[i].bill);
            go_behind(&all[i], all, lows, half ? complete : 0, half ? m : complete);
        }
        qsort(all, m + e, sizeof *all, by_key);
        for (size_t i = 0; i < m + e; i++)
            all[i].bill->place = some_int((int64_t)i + 1);
    }
    free(all);
    free(lows);
    return rc;
}

int quote_sort(struct quote *quote, struct err *err)
{
    TRY(sort_bills(quote->bills.items, quote->bills.count, false, err));
    TRY(sort_bills(quote->others.items, quote->others.count, false, err));
    TRY(sort_bills(quote->estimates.items, quote->estimates.count, true, err));
    return set_places(quote, err);
}

int64_t quote_least(const struct bill *bill)
{
    return at_least(bill_total(bill), bill->owed);
}

int64_t quote_dearest(const struct bill *bill)
{
    return at_least(at_least(with_hours(bill), bill->high), bill->owed);
}

const char *quote_doubt(const struct bill *bill)
{
    return bill_price_doubtful(bill)             ? "price doubtful"
           : bill->incomplete.v                  ? "bill incomplete"
           : with_hours(bill) > bill_total(bill) ? "rule assumed"
                                                 : NULL;
}

const struct bill *quote_at(const struct quote *quote, size_t i)
{
    size_t measured = quote->bills.count;
    return i < measured ? &quote->bills.items[i] : &quote->estimates.items[i - measured];
}

size_t quote_count(const struct quote *quote)
{
    return quote->bills.count + quote->estimates.count;
}

static int by_place(const void *a, const void *b)
{
    const struct bill *x = *(const struct bill *const *)a, *y = *(const struct bill *const *)b;
    if (x->place.v != y->place.v)
        return x->place.v < y->place.v ? -1 : 1;
    return x < y ? -1 : x > y;
}

const struct bill **quote_rows(const struct quote *quote, struct err *err)
{
    size_t count = quote_count(quote);
    const struct bill **rows = calloc(count + 1, sizeof *rows);
    if (!rows) {
        err_memory(err);
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        rows[i] = quote_at(quote, i);
    if (count > 1)
        qsort(rows, count, sizeof *rows, by_place);
    return rows;
}
