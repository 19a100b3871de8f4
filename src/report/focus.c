// SPDX-License-Identifier: Apache-2.0
// A bill as rows of FOCUS, the open specification for cost data (version 1.2).
//
// A discount is no row: it is the difference between a row's ListCost, at list price, and its
// BilledCost. ContractedCost includes a negotiated rate, but no discount.
#include "report/focus.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"

static const char *const columns[] = {"BilledCost",
                                      "EffectiveCost",
                                      "ListCost",
                                      "ContractedCost",
                                      "BillingCurrency",
                                      "BillingPeriodStart",
                                      "BillingPeriodEnd",
                                      "ChargePeriodStart",
                                      "ChargePeriodEnd",
                                      "ChargeCategory",
                                      "ChargeDescription",
                                      "PricingCategory",
                                      "ProviderName",
                                      "ServiceCategory",
                                      "ServiceName",
                                      "RegionId",
                                      "ResourceId",
                                      "SkuId",
                                      NULL};

// The specification's category for each kind of line; all others are machine time.
static const struct kind {
    const char *what, *charge, *service;
} kinds[] = {{"storage", "Usage", "Storage"},     {"egress", "Usage", "Networking"},
             {"ingress", "Usage", "Networking"},  {"monthly fee", "Purchase", "Other"},
             {"set-up fee", "Purchase", "Other"}, {"rounding", "Adjustment", "Other"},
             {"credit", "Credit", "Other"}},
  compute = {"", "Usage", "Compute"};

static const struct kind *kind_of(const char *what)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].what, what) == 0)
            return &kinds[i];
    return &compute;
}

static int64_t amount_of(const struct bill *b, const char *what)
{
    int64_t nano = 0;
    for (size_t i = 0; i < b->items.count; i++)
        if (strcmp(b->items.items[i].what, what) == 0 &&
            money_parse(b->items.items[i].amount, &nano, NULL) == 0)
            return nano;
    return 0;
}

static bool is_discounted(const struct bill_item *item)
{
    const struct kind *kind = kind_of(item->what);
    return strcmp(item->what, "discount") != 0 && strcmp(kind->charge, "Credit") != 0 &&
           strcmp(kind->charge, "Adjustment") != 0;
}

// The bill at list prices: without the user's own rates, discounts, commitments and credits.
static int list_bill(const struct quote_job *job, const struct bill *b, struct bill *list,
                     struct err *err)
{
    struct wishes wishes = job->ask.wishes;
    struct bill_time time = {.count = 0};
    struct offer offer;
    const struct run *run = NULL;
    bool known = false;
    wishes.list_price = true;
    wishes.commit_months = 0;
    for (size_t i = 0; i < job->evidence_count && !run; i++)
        if (b->run && strcmp(job->evidence[i].run->id, b->run) == 0)
            run = job->evidence[i].run;
    TRY(quote_offer(&job->ask, b, &offer, err));
    if (run)
        TRY(quote_time(&job->ask, run, &offer, &time, &known, err));
    if (!known)
        return err_set(err, ERR_MISSING, "the run of '%s' no longer exists", b->offer);
    return bill_make(job->ask.market, &wishes, &offer, b->offer, &time, b->gpus_used.v, list, err);
}

// The calendar months that contain the charges.
static void billing_period(int64_t start_s, int64_t end_s, char start[CLOCK_ISO_BYTES],
                           char end[CLOCK_ISO_BYTES])
{
    int year = 0, month = 0;
    char last[CLOCK_ISO_BYTES];
    clock_iso(start_s, start);
    memcpy(start + 8, "01T00:00:00Z", 13);
    clock_iso(end_s > start_s ? end_s - 1 : start_s, last);
    sscanf(last, "%d-%d", &year, &month);
    snprintf(end, CLOCK_ISO_BYTES, "%04d-%02d-01T00:00:00Z", month == 12 ? year + 1 : year,
             month % 12 + 1);
}

static const char *pricing_of(const struct quote_job *job, const struct bill *b,
                              const struct kind *kind)
{
    if (kind != &compute)
        return strcmp(kind->charge, "Usage") == 0 ? "Standard" : "";
    if (b->kind && strcmp(b->kind, "spot") == 0)
        return "Dynamic";
    return job->ask.wishes.commit_months > 0 ? "Committed" : "Standard";
}

static int put_bill(struct csv_writer *w, const struct quote_job *job, const struct bill *b,
                    const struct bill *list, struct err *err)
{
    char start[CLOCK_ISO_BYTES], end[CLOCK_ISO_BYTES], from[CLOCK_ISO_BYTES], to[CLOCK_ISO_BYTES];
    int64_t start_s = job->ask.wishes.start_s ? job->ask.wishes.start_s : clock_date_s();
    int64_t end_s = start_s + (int64_t)(b->charged_s.v + 0.999999);
    int64_t whole = 0, before = 0, taken = 0, discount = amount_of(b, "discount");
    clock_iso(start_s, start);
    clock_iso(end_s, end);
    billing_period(start_s, end_s, from, to);
    for (size_t i = 0; i < b->items.count; i++)
        whole += is_discounted(&b->items.items[i]) ? amount_of(b, b->items.items[i].what) : 0;
    for (size_t i = 0; i < b->items.count; i++) {
        const struct bill_item *item = &b->items.items[i];
        const struct kind *kind = kind_of(item->what);
        char billed[MONEY_BYTES], listed[MONEY_BYTES], contracted[MONEY_BYTES];
        int64_t amount = amount_of(b, item->what), share = 0;
        if (strcmp(item->what, "discount") == 0)
            continue;
        bool discounted = is_discounted(item);
        if (discounted && whole > 0) { // its share, so that the parts add up
            before += amount;
            int rc = money_scale(discount, before, whole, MONEY_HALF_EVEN, &share, err);
            if (rc != 0)
                return rc;
            share -= taken;
            taken += share;
        }
        money_text(amount + share, billed);
        money_text(amount, contracted);
        money_text(discounted ? amount_of(list, item->what) : amount, listed);
        const char *const row[] = {
            billed,      billed,        listed,  contracted,   "USD",      from,
            to,          start,         end,     kind->charge, item->what, pricing_of(job, b, kind),
            b->provider, kind->service, b->name, b->region,    b->run,     b->offer};
        for (size_t c = 0; c < sizeof row / sizeof *row; c++)
            csv_put(w, row[c]);
        csv_end(w);
    }
    return 0;
}

void focus_head(struct buf *out)
{
    struct csv_writer w = {.out = out};
    for (size_t i = 0; columns[i]; i++)
        csv_put(&w, columns[i]);
    csv_end(&w);
}

int focus_bill(struct buf *out, const struct quote_job *job, struct err *err)
{
    struct csv_writer w = {.out = out};
    struct bill list = {0};
    int rc = 0;
    if (job->quote.bills.count > 0) {
        const struct bill *b = &job->quote.bills.items[0];
        rc = list_bill(job, b, &list, err);
        if (rc == 0)
            rc = put_bill(&w, job, b, &list, err);
        record_release(bill_fields, &list);
    }
    return rc == 0 ? buf_check(out, err) : rc;
}
