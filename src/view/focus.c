// SPDX-License-Identifier: Apache-2.0
// A bill as rows of FOCUS, the open specification for cost data: the columns of version 1.0 and the
// mandatory ones of 1.2. bench/focus.py runs the FinOps Foundation's validator over it.
//
// A discount is no row: it is the difference between a row's ListCost, at list price, and its
// BilledCost. ContractedCost includes a negotiated rate, but no discount and no commitment.
#include "view/page.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"

// A bill belongs to no account of the provider.
#define ACCOUNT "fare"

#define COLUMNS(X)                                                                                 \
    X(AvailabilityZone)                                                                            \
    X(BilledCost)                                                                                  \
    X(BillingAccountId)                                                                            \
    X(BillingAccountName)                                                                          \
    X(BillingCurrency)                                                                             \
    X(BillingPeriodEnd)                                                                            \
    X(BillingPeriodStart)                                                                          \
    X(ChargeCategory)                                                                              \
    X(ChargeClass)                                                                                 \
    X(ChargeDescription)                                                                           \
    X(ChargeFrequency)                                                                             \
    X(ChargePeriodEnd)                                                                             \
    X(ChargePeriodStart)                                                                           \
    X(CommitmentDiscountCategory)                                                                  \
    X(CommitmentDiscountId)                                                                        \
    X(CommitmentDiscountName)                                                                      \
    X(CommitmentDiscountQuantity)                                                                  \
    X(CommitmentDiscountStatus)                                                                    \
    X(CommitmentDiscountType)                                                                      \
    X(CommitmentDiscountUnit)                                                                      \
    X(ConsumedQuantity)                                                                            \
    X(ConsumedUnit)                                                                                \
    X(ContractedCost)                                                                              \
    X(ContractedUnitPrice)                                                                         \
    X(EffectiveCost)                                                                               \
    X(InvoiceId)                                                                                   \
    X(InvoiceIssuerName)                                                                           \
    X(ListCost)                                                                                    \
    X(ListUnitPrice)                                                                               \
    X(PricingCategory)                                                                             \
    X(PricingCurrency)                                                                             \
    X(PricingCurrencyContractedUnitPrice)                                                          \
    X(PricingCurrencyEffectiveCost)                                                                \
    X(PricingCurrencyListUnitPrice)                                                                \
    X(PricingQuantity)                                                                             \
    X(PricingUnit)                                                                                 \
    X(ProviderName)                                                                                \
    X(PublisherName)                                                                               \
    X(RegionId)                                                                                    \
    X(RegionName)                                                                                  \
    X(ResourceId)                                                                                  \
    X(ResourceName)                                                                                \
    X(ResourceType)                                                                                \
    X(ServiceCategory)                                                                             \
    X(ServiceName)                                                                                 \
    X(ServiceSubcategory)                                                                          \
    X(SkuId)                                                                                       \
    X(SkuMeter)                                                                                    \
    X(SkuPriceDetails)                                                                             \
    X(SkuPriceId)                                                                                  \
    X(SubAccountId)                                                                                \
    X(SubAccountName)                                                                              \
    X(Tags)

#define ENUM(name) name,
#define NAME(name) #name,
enum { COLUMNS(ENUM) COLUMN_COUNT };
static const char *const columns[] = {COLUMNS(NAME)};
#undef ENUM
#undef NAME

enum priced_by {
    BY_NOTHING,
    BY_TIME,
    BY_STOPPED_TIME,
    BY_DISK,
    BY_STOPPED_DISK,
    BY_EGRESS,
    BY_INGRESS,
    BY_PIECE
};

// The specification's words for each kind of line; all others are machine time.
static const struct kind {
    const char *what, *charge, *frequency, *category, *subcategory, *service, *unit;
    enum priced_by by;
} kinds[] =
    {{LINE_STORAGE, "Usage", "Usage-Based", "Storage", "Block Storage", "Disks", "GB-Months",
      BY_DISK},
     {LINE_STORAGE_STOPPED, "Usage", "Usage-Based", "Storage", "Block Storage", "Disks",
      "GB-Months", BY_STOPPED_DISK},
     {LINE_STOPPED, "Usage", "Usage-Based", "Compute", "Virtual Machines", "Machines", "Hours",
      BY_STOPPED_TIME},
     {LINE_EGRESS, "Usage", "Usage-Based", "Networking", "Network Connectivity", "Data transfer",
      "GB", BY_EGRESS},
     {LINE_INGRESS, "Usage", "Usage-Based", "Networking", "Network Connectivity", "Data transfer",
      "GB", BY_INGRESS},
     {LINE_MONTHLY_FEE, "Purchase", "Recurring", "Other", "Other (Other)", "Fees", "Months",
      BY_PIECE},
     {LINE_SETUP_FEE, "Purchase", "One-Time", "Other", "Other (Other)", "Fees", "Units", BY_PIECE},
     {LINE_ROUNDING, "Adjustment", "One-Time", "Other", "Other (Other)", "Fees", NULL, BY_NOTHING},
     {LINE_CREDIT, "Credit", "One-Time", "Other", "Other (Other)", "Fees", NULL, BY_NOTHING}},
  compute = {"",         "Usage", "Usage-Based", "Compute", "Virtual Machines",
             "Machines", "Hours", BY_TIME};

static const struct kind *kind_of(const char *what)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].what, what) == 0)
            return &kinds[i];
    return &compute;
}

static bool is_time(const struct kind *kind)
{
    return kind->by == BY_TIME || kind->by == BY_STOPPED_TIME;
}

static bool is_discount(const struct bill_item *item)
{
    return strcmp(item->what, LINE_DISCOUNT) == 0;
}

static int64_t amount_of(const struct bill *b, const char *what)
{
    for (size_t i = 0; i < b->items.count; i++)
        if (strcmp(b->items.items[i].what, what) == 0)
            return b->items.items[i].amount.nano;
    return 0;
}

// The sum of the lines that a discount applies to; `time`: of the machine's time alone.
static int64_t sum_of(const struct bill *b, bool time)
{
    int64_t sum = 0;
    for (size_t i = 0; i < b->items.count; i++) {
        const struct bill_item *item = &b->items.items[i];
        enum priced_by by = kind_of(item->what)->by;
        if (!is_discount(item) && (time ? by == BY_TIME : by != BY_NOTHING))
            sum += amount_of(b, item->what);
    }
    return sum;
}

struct export
{
    const struct quote_job *job;
    const struct bill *bill;
    const char *run;  // null: the time was given
    struct bill list; // at list prices: without own rates, discounts, commitments, credits
    struct priced price, list_price;
    int64_t unit_s;    // an hour; of an offer by the month, the month
    double unit_price; // list price of that time, USD
    bool is_spot, committed;
    char commitment[400];
    char start[CLOCK_ISO_BYTES], end[CLOCK_ISO_BYTES];
    char from[CLOCK_ISO_BYTES], to[CLOCK_ISO_BYTES]; // the billing period
    char *tags, *details;                            // JSON
    int64_t before, taken;                           // of the discount, so far
};

static int list_bill(struct export *x, struct err *err)
{
    const struct quote_job *job = x->job;
    const struct bill *b = x->bill;
    struct wishes wishes = job->ask.wishes;
    struct bill_time time = {.count = 0};
    struct offer offer;
    const struct run *run = NULL;
    bool known = false;
    int64_t nano = 0;
    for (size_t i = 0; i < job->evidence_count && !run; i++)
        if (b->run && strcmp(job->evidence[i].run->id, b->run) == 0)
            run = job->evidence[i].run;
    TRY(quote_offer(&job->ask, b, &offer, err));
    wishes.machines = b->machines.v;
    TRY(market_price(job->ask.market, &offer, &wishes, &x->price, err));
    x->committed = x->price.committed > 0;
    snprintf(x->commitment, sizeof x->commitment, "%s+%lldm", b->offer,
             (long long)x->price.committed);
    x->is_spot = offer.kind == OFFER_SPOT;
    wishes.list_price = true;
    wishes.commit_months = 0;
    if (run)
        TRY(quote_time(&job->ask, run, &offer, &time, &known, err));
    if (!known)
        return err_set(err, ERR_MISSING, "the run of '%s' no longer exists", b->offer);
    TRY(market_price(job->ask.market, &offer, &wishes, &x->list_price, err));
    TRY(money_scale(x->list_price.rule.rate, x->unit_s * NS_PER_S, x->list_price.rule.per_ns,
                    MONEY_HALF_EVEN, &nano, err));
    TRY(priced_usd(&x->list_price, nano, &nano, err));
    x->unit_price = (double)nano / 1e9;
    TRY(bill_make(job->ask.market, &wishes, &offer, b->offer, &time, b->gpus_used.v, &x->list,
                  err));
    struct spot_ask spot = job->ask.spot;
    spot.rows = false;
    return quote_spot(job->ask.market, &wishes, &spot, &offer, run, &time, &x->list, err);
}

// The calendar months that contain the charges.
static void set_periods(struct export *x)
{
    const struct wishes *wishes = &x->job->ask.wishes;
    int64_t start_s = wishes->start_s ? wishes->start_s : clock_date_s();
    const struct bill *b = x->bill; // several spot machines may be charged for less than they ran
    double used_s = b->spot.replays.known ? fmax(b->time_s.v, b->charged_s.v) : b->charged_s.v;
    int64_t used_ns = (int64_t)(used_s * 1e9);
    int64_t kept_ns = used_ns + wishes_stopped_ns(wishes, used_ns);
    int64_t end_s = start_s + (kept_ns + NS_PER_S - 1) / NS_PER_S;
    int year = 0, month = 0;
    char last[CLOCK_ISO_BYTES];
    clock_iso(start_s, x->start);
    clock_iso(end_s, x->end);
    memcpy(x->from, x->start, sizeof x->from);
    memcpy(x->from + 8, "01T00:00:00Z", 13);
    clock_iso(end_s > start_s ? end_s - 1 : start_s, last);
    sscanf(last, "%d-%d", &year, &month);
    snprintf(x->to, sizeof x->to, "%04d-%02d-01T00:00:00Z", month == 12 ? year + 1 : year,
             month % 12 + 1);
}

static int set_json(struct export *x, struct err *err)
{
    const struct bill *b = x->bill;
    json_t *tags = json_pack("{s:s*, s:s*, s:s*}", "workload", x->job->workload, "framework",
                             b->framework, "run", x->run);
    if (tags && !verdict_can_lead(b))
        json_object_set_new(tags, "lower_bound", json_string("true"));
    json_t *details = json_pack("{s:s*}", "InstanceType", b->name);
    if (details && b->vcpus.known)
        json_object_set_new(details, "CoreCount", json_real(b->vcpus.v));
    if (details && b->gpus.known)
        json_object_set_new(details, "GpuCount", json_real(b->gpus.v));
    x->tags = json_dumps(tags, JSON_COMPACT);
    x->details = json_dumps(details, JSON_COMPACT);
    json_decref(tags);
    json_decref(details);
    return x->tags && x->details ? 0 : err_set(err, ERR_MEMORY, "out of memory");
}

// Quantity and unit price of a line, whose product is its list cost. The average price of the time
// is shown as the list price unless they differ by more than rounding.
static void list_terms(const struct export *x, const struct kind *kind, double cost,
                       double *quantity, double *price)
{
    const struct wishes *w = &x->job->ask.wishes;
    const struct rule *rule = &x->list_price.rule;
    double unit_usd = (double)x->list_price.unit_nano_usd / 1e9;
    double bytes = (double)(kind->by == BY_EGRESS ? w->egress_bytes : w->ingress_bytes);
    int64_t disk = kind->by == BY_DISK ? rule->storage_rate : rule->storage_stopped_rate;
    *quantity = 1;
    *price = cost;
    if (cost <= 0)
        return;
    if (kind->by == BY_TIME) {
        const int64_t machines = x->bill->machines.v > 1 ? x->bill->machines.v : 1;
        double units = x->bill->charged_s.v / (double)x->unit_s * (double)machines;
        double average = (double)sum_of(&x->list, true) / 1e9 / units;
        *price = fabs(average - x->unit_price) < 1e-5 * x->unit_price ? x->unit_price : average;
    } else if (kind->by == BY_STOPPED_TIME)
        *price = x->unit_price;
    else if (kind->by == BY_DISK || kind->by == BY_STOPPED_DISK)
        *price = (double)disk / 1e9 * unit_usd;
    else if (kind->by == BY_EGRESS || kind->by == BY_INGRESS)
        *price = cost * (double)rule->gb_bytes / (bytes * (double)(w->runs > 1 ? w->runs : 1));
    if (*price > 0)
        *quantity = cost / *price;
}

#define NUMBER_BYTES 48

struct focus_row {
    const char *cell[COLUMN_COUNT];
    char numbers[COLUMN_COUNT][NUMBER_BYTES]; // texts of cells
    char sku[400];
};

// A decimal without an exponent, a plus sign or trailing zeros.
static void put_number(struct focus_row *row, int column, double v)
{
    char *out = row->numbers[column];
    int len = snprintf(out, NUMBER_BYTES, "%.12f", v);
    while (len > 0 && out[len - 1] == '0')
        out[--len] = '\0';
    if (len > 0 && out[len - 1] == '.')
        out[--len] = '\0';
    row->cell[column] = out;
}

static void put_money(struct focus_row *row, int column, int64_t nano)
{
    _Static_assert(NUMBER_BYTES >= MONEY_BYTES, "an amount fits");
    money_text(nano, row->numbers[column]);
    row->cell[column] = row->numbers[column];
}

static void put_common(const struct export *x, const struct kind *kind, struct focus_row *row)
{
    const struct bill *b = x->bill;
    const char **cell = row->cell;
    cell[AvailabilityZone] = b->zone;
    cell[BillingAccountId] = ACCOUNT;
    cell[BillingCurrency] = "USD";
    cell[BillingPeriodStart] = x->from;
    cell[BillingPeriodEnd] = x->to;
    cell[ChargePeriodStart] = x->start;
    cell[ChargePeriodEnd] = x->end;
    cell[ChargeCategory] = kind->charge;
    cell[ChargeFrequency] = kind->frequency;
    cell[InvoiceIssuerName] = cell[ProviderName] = cell[PublisherName] = b->provider;
    cell[PricingCurrency] = x->list_price.currency;
    cell[RegionId] = cell[RegionName] = b->region;
    cell[ServiceCategory] = kind->category;
    cell[ServiceSubcategory] = kind->subcategory;
    cell[ServiceName] = kind->service;
    cell[Tags] = x->tags;
}

static void put_prices(const struct export *x, const struct kind *kind, int64_t list,
                       int64_t contract, struct focus_row *row)
{
    double unit_usd = (double)x->list_price.unit_nano_usd / 1e9, quantity = 0, price = 0;
    list_terms(x, kind, (double)list / 1e9, &quantity, &price);
    double own = contract == list ? price : (double)contract / 1e9 / quantity;
    put_number(row, PricingQuantity, quantity);
    put_number(row, ListUnitPrice, price);
    put_number(row, ContractedUnitPrice, own);
    put_number(row, PricingCurrencyListUnitPrice, price / unit_usd);
    put_number(row, PricingCurrencyContractedUnitPrice, own / unit_usd);
    row->cell[PricingCategory] = "Standard";
    row->cell[PricingUnit] = row->cell[ConsumedUnit] = kind->unit;
    if (is_time(kind))
        quantity *= (double)x->unit_s / 3600;
    put_number(row, ConsumedQuantity, quantity);
    if (strcmp(kind->charge, "Usage") != 0)
        row->cell[ConsumedQuantity] = row->cell[ConsumedUnit] = NULL;
}

// A product has one SkuId on demand and spot, and a SkuPriceId for each.
static void put_product(const struct export *x, const char *what, struct focus_row *row)
{
    const struct bill *b = x->bill;
    const struct kind *kind = kind_of(what);
    const char **cell = row->cell;
    snprintf(row->sku, sizeof row->sku, "%s/%s%s%s", b->provider, is_time(kind) ? b->name : what,
             b->region ? "@" : "", b->region ? b->region : "");
    cell[SkuId] = cell[SkuPriceId] = row->sku;
    cell[SkuMeter] = kind->service;
    cell[ResourceId] = x->run;
    cell[ResourceType] = x->run ? "Training run" : NULL;
}

static void put_time(const struct export *x, struct focus_row *row)
{
    const char **cell = row->cell;
    bool monthly = x->unit_s > 3600;
    cell[PricingUnit] = monthly ? "Months" : "Hours";
    cell[ConsumedUnit] = "Hours";
    cell[ChargeFrequency] = monthly ? "Recurring" : "Usage-Based";
    cell[PricingCategory] = x->is_spot ? "Dynamic" : "Standard";
    cell[SkuPriceId] = x->bill->offer;
    cell[SkuPriceDetails] = x->details;
    if (!x->committed)
        return;
    // It counts as bought before: the bill has no row for its purchase.
    const char *name = x->price.commitment->name;
    cell[PricingCategory] = "Committed";
    cell[CommitmentDiscountId] = x->commitment;
    cell[CommitmentDiscountCategory] = "Usage";
    cell[CommitmentDiscountName] = cell[CommitmentDiscountType] = name ? name : "commitment";
    cell[CommitmentDiscountStatus] = "Used";
    cell[CommitmentDiscountQuantity] = cell[PricingQuantity];
    cell[CommitmentDiscountUnit] = cell[PricingUnit];
}

// Its share of the discount, so that the shares add up.
static int take_share(struct export *x, int64_t amount, int64_t *share, struct err *err)
{
    int64_t whole = sum_of(x->bill, false);
    *share = 0;
    if (whole <= 0)
        return 0;
    x->before += amount;
    TRY(money_scale(amount_of(x->bill, LINE_DISCOUNT), x->before, whole, MONEY_HALF_EVEN, share,
                    err));
    *share -= x->taken;
    x->taken += *share;
    return 0;
}

static int put_item(struct export *x, struct csv_writer *w, const char *what, struct err *err)
{
    const struct kind *kind = kind_of(what);
    struct focus_row row = {0};
    int64_t amount = amount_of(x->bill, what), list = amount, contract = amount, share = 0;
    put_common(x, kind, &row);
    row.cell[ChargeDescription] = what;
    if (kind->by != BY_NOTHING) {
        TRY(take_share(x, amount, &share, err));
        list = amount_of(&x->list, what);
        contract = is_time(kind) && x->committed ? list : amount;
        put_prices(x, kind, list, contract, &row);
        put_product(x, what, &row);
    }
    if (is_time(kind))
        put_time(x, &row);
    put_money(&row, BilledCost, amount + share);
    put_money(&row, EffectiveCost, amount + share);
    put_money(&row, ListCost, list);
    put_money(&row, ContractedCost, contract);
    put_number(&row, PricingCurrencyEffectiveCost,
               (double)(amount + share) / (double)x->list_price.unit_nano_usd);
    for (size_t c = 0; c < COLUMN_COUNT; c++)
        csv_put(w, row.cell[c]);
    csv_end(w);
    return 0;
}

void focus_head(struct buf *out)
{
    struct csv_writer w = {.out = out};
    for (size_t i = 0; i < COLUMN_COUNT; i++)
        csv_put(&w, columns[i]);
    csv_end(&w);
}

int focus_bill(struct buf *out, const struct quote_job *job, struct err *err)
{
    struct csv_writer w = {.out = out};
    if (job->quote.bills.count == 0)
        return 0;
    const struct bill *b = verdict_of_quote(&job->quote).cheapest;
    b = b ? b : job->quote.bills.items;
    struct export x = {
        .job = job, .bill = b, .unit_s = b->per_s.v >= 28 * 86400 ? b->per_s.v : 3600};
    x.run = b->run && strcmp(b->run, RUN_GIVEN) != 0 ? b->run : NULL;
    set_periods(&x);
    int rc = list_bill(&x, err);
    if (rc == 0)
        rc = set_json(&x, err);
    for (size_t i = 0; rc == 0 && i < b->items.count; i++)
        if (!is_discount(&b->items.items[i]))
            rc = put_item(&x, &w, b->items.items[i].what, err);
    record_release(bill_fields, &x.list);
    free(x.tags);
    free(x.details);
    return rc == 0 ? buf_check(out, err) : rc;
}
