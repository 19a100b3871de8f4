// SPDX-License-Identifier: Apache-2.0
// From a bill back to its offer, and times of runs on offers.
#include <string.h>

#include "advise/evidence.h"

struct exact {
    const struct bill *bill;
    struct offer *offer;
    bool found;
};

static bool equal(const char *text, const char *offers)
{
    return strcmp(text ? text : "", offers) == 0;
}

static int match_exact(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct exact *e = arg;
    if (!equal(e->bill->provider, offer->provider) || !equal(e->bill->name, offer->name) ||
        !equal(e->bill->region, offer->region) || !equal(e->bill->zone, offer->zone) ||
        !equal(e->bill->kind, offer_kind_word(offer->kind)))
        return 0;
    *e->offer = *offer;
    e->found = true;
    return 1;
}

int quote_offer(const struct quote_ask *ask, const struct bill *bill, struct offer *offer,
                struct err *err)
{
    if (ask->own && equal(bill->provider, "own"))
        return own_offer(ask->own, bill->name, offer, err);
    int day = wishes_day(&ask->wishes);
    struct exact exact = {.bill = bill, .offer = offer};
    const struct book_filter filter = {.provider = bill->provider,
                                       .name = bill->name,
                                       .spelled = true,
                                       .day = day ? day : book_today()};
    const struct book *book;
    int rc = market_book(ask->market, &book, err);
    if (rc == 0)
        rc = book_each(book, &filter, match_exact, &exact, err);
    if (rc < 0 || exact.found)
        return rc < 0 ? rc : 0;
    return err_set(err, ERR_MISSING, "'%s' is no longer in the book", bill->offer);
}

int quote_time(const struct quote_ask *ask, const struct run *run, const struct offer *offer,
               struct bill_time *time, bool *known, struct err *err)
{
    return bill_time_on(ask->market, run, evidence_measured_on(run, offer), offer, &ask->startup,
                        time, known, err);
}

bool quote_base(const struct quote_ask *ask, struct bill_time *time)
{
    return ask->evidence_count > 0 && bill_time_of(ask->evidence[0].run, time);
}
