// SPDX-License-Identifier: Apache-2.0
// Price plots: price history, and rent or buy.
#include <stdio.h>
#include <string.h>

#include "view/draft.h"

enum { OFFERS_MOST = 6, RENTED_MOST = 3, PRICES_MOST = 400 };

// ---- hourly prices

struct price_history {
    struct draft *d;
    const struct quote_job *job;
    const struct offer *chosen;
    size_t count;
};

static bool hour_usd(const struct quote_job *job, const struct offer *offer, double *usd)
{
    const struct currencies *currencies;
    int64_t nano = 0;
    if (market_currencies(job->ask.market, &currencies, NULL) != 0 ||
        currency_to_usd(currencies, offer->currency, offer->day, offer_per_hour(offer), &nano, NULL,
                        NULL) != 0)
        return false;
    *usd = (double)nano / 1e9;
    return true;
}

// A price holds from the day it was first seen to the day it was last seen.
static int add_price(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct price_history *h = arg;
    double usd;
    if (h->count >= PRICES_MOST || !hour_usd(h->job, offer, &usd))
        return 0;
    h->count++;
    bool chosen = offer->since == h->chosen->since && offer->rate == h->chosen->rate;
    if (offer->since < offer->day)
        draft_point(h->d, NULL, offer->since, usd);
    struct plot_point *last = draft_point(h->d, NULL, offer->day, usd);
    if (chosen)
        last->marked = some_bool(true);
    return h->d->rc;
}

static bool has_series(const struct draft *d, const char *name)
{
    for (size_t i = 0; i < d->panel->series.count; i++)
        if (strcmp(d->panel->series.items[i].name, name) == 0)
            return true;
    return false;
}

static void price_series(struct draft *d, const struct quote_job *job, const struct bill *bill)
{
    struct offer offer;
    if (quote_offer(&job->ask, bill, &offer, NULL) != 0 || has_series(d, bill->offer) ||
        strcmp(offer.provider, "own") == 0)
        return;
    struct price_history h = {d, job, &offer, 0};
    draft_series(d, bill->offer);
    const struct book *book;
    int rc = market_book(job->ask.market, &book, d->err);
    if (rc == 0)
        rc = book_history(book, &offer, add_price, &h, d->err);
    if (d->rc == 0)
        d->rc = rc;
}

// Measured and estimated ones, the cheapest is 0; null: there are fewer.
static const struct bill *bill_of_rank(const struct quote *quote, size_t rank)
{
    for (size_t i = 0; i < quote->bills.count; i++)
        if (quote->bills.items[i].place.v == (int64_t)rank + 1)
            return &quote->bills.items[i];
    for (size_t i = 0; i < quote->estimates.count; i++)
        if (quote->estimates.items[i].place.v == (int64_t)rank + 1)
            return &quote->estimates.items[i];
    return NULL;
}

static void plot_prices(struct draft *d, const struct quote_job *jobs)
{
    const struct page *page = d->page;
    draft_plot(d, "prices", "Hourly prices",
               "Known hourly prices of the offers with the lowest bills. Filled points "
               "are the prices used in the bills, on the day they were last seen.");
    draft_panel(d, "Lowest bills", "steps", AXIS("date", "day"), AXIS("price per hour", "USD"));
    draft_set(d, &d->panel->marks, "the price used");
    // The cheapest of each workload, then the second of each.
    for (size_t rank = 0; rank < OFFERS_MOST; rank++)
        for (size_t i = 0; i < page->quotes.count && d->rc == 0; i++) {
            const struct bill *bill = bill_of_rank(&page->quotes.items[i], rank);
            if (bill && d->panel->series.count < OFFERS_MOST)
                price_series(d, &jobs[i], bill);
        }
    draft_end(d);
}

// ---- rent or buy

// The cost of an owned machine by month, from the purchase on.
static bool own_line(struct draft *d, const struct own_machine *own)
{
    struct own_hour hour;
    if (own_hour(own, &hour, NULL) != 0)
        return false;
    double hours = (double)own->use_s_a_month / 3600;
    double month = (double)(hour.power + hour.idle) / 1e9 * hours;
    double start = (double)(own->purchase - own->resale) / 1e9;
    draft_series(d, hour.power_known ? "bought, with power" : "bought, without power");
    draft_point(d, NULL, 0, start);
    draft_point(d, NULL, (double)own->life_months, start + month * (double)own->life_months);
    return true;
}

// The same work on a rented machine, which may need more or less time.
static void rent_line(struct draft *d, const struct quote_job *job, const struct bill *bill,
                      const struct own_machine *own, double own_s)
{
    struct offer offer;
    struct priced price;
    int64_t hour = 0;
    char name[200];
    if (quote_offer(&job->ask, bill, &offer, NULL) != 0 ||
        market_price(job->ask.market, &offer, &job->ask.wishes, &price, NULL) != 0 ||
        priced_average_hour(&price, own->use_s_a_month, &hour, NULL) != 0)
        return;
    double hours = (double)own->use_s_a_month / 3600 * bill_training_s(bill) / own_s;
    double month = (double)hour / 1e9 * hours;
    page_offer(bill, name, sizeof name);
    draft_series(d, name);
    draft_point(d, NULL, 0, 0);
    draft_point(d, NULL, (double)own->life_months, month * (double)own->life_months);
}

static void buy_panel(struct draft *d, const struct quote *quote, const struct quote_job *job,
                      const struct own_machine *own, double own_s)
{
    size_t rented = 0;
    int64_t use_s = -1, tenths = 0;
    draft_panel(d, NULL, "lines", AXIS("months since the purchase", ""), AXIS("total cost", "USD"));
    if (!own_line(d, own))
        return;
    const struct bill *rent = advice_rent(quote);
    if (rent) {
        rent_line(d, job, rent, own, own_s);
        if (advice_break_even(&job->ask, own, rent, own_s, &use_s, &tenths, NULL) != 0)
            use_s = -1;
    }
    for (size_t i = 0; i < quote->bills.count && rented + 1 < RENTED_MOST; i++) {
        const struct bill *b = &quote->bills.items[i];
        if (b == rent || (b->provider && strcmp(b->provider, "own") == 0))
            continue;
        rent_line(d, job, b, own, own_s);
        rented++;
    }
    if (use_s >= 0 && tenths <= own->life_months * 300) {
        char words[64];
        snprintf(words, sizeof words, "break-even after %.1f months", (double)tenths / 300);
        draft_line(d, words, some_real((double)tenths / 300), (struct maybe_real){0});
        draft_print(d, &d->panel->title, "Rent or buy, %.80s: %s", quote->workload, words);
    } else {
        draft_print(d, &d->panel->title, "Rent or buy, %.80s: no break-even within %lld months",
                    quote->workload, (long long)own->life_months);
    }
}

static void plot_buy(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs)
{
    if (!ask->wishes.buy)
        return;
    draft_plot(d, "buy", "Rent or buy", NULL);
    draft_print(d, &d->plot->says,
                "The same work (%lld hours a month on the measured machine) on a bought machine "
                "(purchase minus resale, plus power) and on rented ones, without billing "
                "increments and minimums.",
                (long long)(ask->wishes.own.use_s_a_month / 3600));
    for (size_t i = 0; i < d->page->quotes.count; i++) {
        const struct quote *quote = &d->page->quotes.items[i];
        struct bill_time time; // of the measurement
        if (quote->bills.count > 0 && quote_base(&jobs[i].ask, &time) && time.total_ns > 0)
            buy_panel(d, quote, &jobs[i], &jobs[i].wishes.own, (double)time.total_ns / 1e9);
    }
    draft_end(d);
}

void plots_money(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs)
{
    if (d->page->quotes.count == 0)
        return;
    plots_offers(d, ask, jobs);
    plot_prices(d, jobs);
    plots_spot(d, jobs);
    plot_buy(d, ask, jobs);
}
