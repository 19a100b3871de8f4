// SPDX-License-Identifier: Apache-2.0
#include "advise/spend/use.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/run_price.h"

struct visiting {
    struct market *market;
    struct run_prices *prices;
    use_fn *visit;
    void *arg;
};

int use_day(const struct use *use)
{
    return (int)(use->start_s / 86400);
}

// Splits "aws/p3.2xlarge@us-east-1:spot".
struct parts {
    char provider[128], name[256], region[128];
    bool spot;
};

static void take_apart(const char *offer, struct parts *p)
{
    const char *slash = strchr(offer, '/');
    const char *name = slash ? slash + 1 : offer;
    size_t len = strcspn(name, "@:");
    const char *region = name[len] == '@' ? name + len + 1 : "";
    size_t region_len = strcspn(region, ":");
    const char *kind = strrchr(name, ':');
    snprintf(p->provider, sizeof p->provider, "%.*s", slash ? (int)(slash - offer) : 0, offer);
    snprintf(p->name, sizeof p->name, "%.*s", (int)len, name);
    snprintf(p->region, sizeof p->region, "%.*s", (int)region_len, region);
    p->spot = kind && strcmp(kind, ":spot") == 0;
}

// Records' texts are not const; run_price() changes none.
static char *borrow(const char *text)
{
    return *text ? (char *)(uintptr_t)text : NULL;
}

static int price(struct visiting *v, const struct ledger_spend *row, int64_t *nano, struct err *err)
{
    struct parts parts;
    struct run_price price;
    struct run_label labels[2];
    const struct run_price_said said = {0};
    if (!v->prices)
        TRY(run_prices_new(&v->prices, v->market, false, false, 0, err));
    take_apart(row->offer, &parts);
    struct run run = {.labels = {.items = labels}};
    run.machine.provider = borrow(parts.provider);
    run.machine.instance_type = borrow(parts.name);
    run.machine.region = borrow(parts.region);
    run.started = borrow(row->started);
    if (*row->price_per_hour)
        labels[run.labels.count++] =
            (struct run_label){borrow("price_per_hour_usd"), borrow(row->price_per_hour)};
    if (parts.spot)
        labels[run.labels.count++] = (struct run_label){borrow("price_kind"), borrow("spot")};
    TRY(run_price(v->prices, &run, &said, &price, err));
    if (!price.known)
        return 0;
    if (run_price_cost(&price, row->boot_ns, row->wall_ns, nano, NULL) != 0)
        *nano = -1;
    return 0;
}

static int visit_row(void *arg, const struct ledger_spend *row, struct err *err)
{
    struct visiting *v = arg;
    struct use use = {.row = row, .nano_usd = row->nano_usd};
    if (!clock_parse(row->started, &use.start_s))
        use.start_s = 0;
    use.failed = strcmp(row->ended, "failed") == 0 || strcmp(row->ended, "killed") == 0;
    bool priced = use.nano_usd < 0 && row->wall_ns >= 0 && (*row->offer || *row->price_per_hour);
    if (priced)
        TRY(price(v, row, &use.nano_usd, err));
    use.beyond = use.nano_usd > AMOUNT_MOST_USD * MONEY_UNIT ||
                 (priced && amount_too_large(row->price_per_hour));
    if (use.beyond)
        use.nano_usd = -1;
    return v->visit(v->arg, &use, err);
}

int use_each(struct ledger *ledger, struct market *market, const struct ledger_filter *filter,
             use_fn *visit, void *arg, struct err *err)
{
    struct visiting v = {.market = market, .visit = visit, .arg = arg};
    int rc = ledger_spend_each(ledger, filter, visit_row, &v, err);
    run_prices_free(v.prices);
    return rc;
}

// ---- runs to look at

void suspects_note(struct suspects *s, const struct use *use)
{
    int64_t nano = use->beyond ? MONEY_MOST : use->nano_usd;
    s->beyond += use->beyond;
    if (nano <= s->nano)
        return;
    s->nano = nano;
    snprintf(s->run, sizeof s->run, "%s", use->row->run);
}

void suspects_join(struct suspects *to, const struct suspects *more)
{
    to->beyond += more->beyond;
    to->at_least |= more->at_least;
    if (more->nano <= to->nano)
        return;
    to->nano = more->nano;
    memcpy(to->run, more->run, sizeof to->run);
}

int suspects_tell(const struct suspects *s, struct maybe_int *out_of_range,
                  struct maybe_bool *at_least, char **suspect, struct err *err)
{
    if (s->beyond > 0)
        *out_of_range = some_int(s->beyond);
    if (s->at_least)
        *at_least = some_bool(true);
    return s->beyond > 0 || s->at_least ? text_set(suspect, s->run, err) : 0;
}

void suspects_words(struct maybe_int out_of_range, struct maybe_bool at_least, const char *suspect,
                    struct buf *out)
{
    bool beyond = out_of_range.known, full = at_least.known && at_least.v;
    if (!suspect || (!beyond && !full))
        return;
    if (beyond)
        buf_printf(out, "the cost of %s is out of range and not in the sum",
                   units_count(out_of_range.v, "run").s);
    if (full)
        buf_printf(out, "%sthe sum is more than fits", beyond ? ", and " : "");
    buf_printf(out, ": look at run %s", suspect);
}
