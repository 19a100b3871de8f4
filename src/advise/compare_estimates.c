// SPDX-License-Identifier: Apache-2.0
#include "advise/compare_estimates.h"

#include <stdlib.h>
#include <string.h>

#include "advise/compare_parts.h"
#include "advise/estimates.h"
#include "bill/market.h"

struct target {
    const char *name;
    struct offer offer; // of a GPU: no more than that
    struct priced price;
    bool priced;
};

struct compare_targets {
    struct market *market;
    struct wishes wishes;
    struct target *items;
    size_t count;
};

static int find_target(struct compare_targets *all, const char *name, struct target *t,
                       struct err *err)
{
    const struct devices *devices;
    t->name = name;
    if (strchr(name, '/')) {
        TRY(market_find(all->market, name, wishes_day(&all->wishes), &t->offer, err));
        if (!*t->offer.gpu || t->offer.gpus_milli < 1000)
            return err_set(err, ERR_USAGE, "--estimate: %s has no whole GPU", name);
        t->priced = true;
        return market_price(all->market, &t->offer, &all->wishes, &t->price, err);
    }
    TRY(market_devices(all->market, &devices, err));
    const struct device *device = device_find(devices, name);
    if (!device || device->vector_bits > 0) {
        err_set(err, ERR_USAGE, "--estimate: '%.60s' is not a GPU that fare knows", name);
        return err_hint(err, "'fare prices devices' lists them; PROVIDER/NAME is an offer");
    }
    t->name = device->name;
    t->offer = (struct offer){.provider = "",
                              .name = "",
                              .region = "",
                              .zone = "",
                              .gpu = device->name,
                              .cpu = "",
                              .currency = "",
                              .source = "",
                              .gpus_milli = 1000};
    return 0;
}

int compare_targets_new(struct compare_targets **out, const char **names, size_t count,
                        struct market *market, const struct wishes *wishes, struct err *err)
{
    struct compare_targets *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all)
        return err_memory(err);
    all->market = market;
    all->wishes = *wishes;
    all->items = calloc(count + 1, sizeof *all->items);
    int rc = all->items ? 0 : err_memory(err);
    for (; rc == 0 && all->count < count; all->count++)
        rc = find_target(all, names[all->count], &all->items[all->count], err);
    if (rc == 0)
        *out = all;
    else
        compare_targets_free(all);
    return rc;
}

void compare_targets_free(struct compare_targets *all)
{
    if (all)
        free(all->items);
    free(all);
}

bool compare_estimated(const struct compare_row *row)
{
    return row->kind && (strcmp(row->kind, "estimated") == 0 || strcmp(row->kind, "rough") == 0);
}

static const struct compare_row *base_of(const struct compare_workload *to)
{
    for (size_t i = 0; i < to->rows.count; i++)
        if (to->rows.items[i].base.known)
            return &to->rows.items[i];
    return NULL;
}

static void set_ratio(double value, double low, double high, double base,
                      struct compare_against *out)
{
    if (base <= 0)
        return;
    out->ratio = some_real(value / base);
    out->low = some_real(low / base);
    out->high = some_real(high / base);
}

// All costs of a row at the rate of one day; a null currency changes nothing.
static int compare_local_row(struct market *market, const char *currency, int day,
                             struct compare_row *row, struct err *err)
{
    struct buf words = {0};
    if (!currency || !row->cost.usd.known)
        return 0;
    TRY(text_set(&row->cost.local_currency, currency, err));
    TRY(local_money(market, currency, day, row->cost.usd, &row->cost.local, err));
    TRY(local_money(market, currency, day, row->cost.low_usd, &row->cost.local_low, err));
    TRY(local_money(market, currency, day, row->cost.high_usd, &row->cost.local_high, err));
    int rc = local_words(market, currency, day, &words, err);
    return rc == 0 ? text_take(&row->cost.exchange, &words, err) : (buf_release(&words), rc);
}

static int fill_cost(const struct compare_targets *all, const struct target *t,
                     const struct bill_time *time, struct compare_row *row, struct err *err)
{
    const int64_t lengths[] = {time->total_ns, time->low_ns, time->high_ns};
    int64_t hour = 0, totals[3];
    if (!t->priced)
        return 0;
    int rc = priced_hour(&t->price, &hour, NULL);
    for (size_t i = 0; i < 3 && rc == 0; i++)
        rc = priced_total(&t->price, &all->wishes, lengths[i], &totals[i], NULL);
    if (rc != 0) // no amount of money is that large
        return rc == ERR_MEMORY ? err_memory(err) : 0;
    int64_t cost = totals[0];
    row->cost.nano_usd = some_int(cost);
    if (t->price.offer.kind == OFFER_SPOT) {
        row->cost.lower_bound = some_bool(true);
        TRY(texts_add(&row->notes, COMPARE_BOUND, err));
    } else if (cost > 0) {
        row->trainings_per_usd.value = some_real(1e9 / (double)cost);
    }
    row->price.assumed = some_bool(t->price.assumed && !all->wishes.prorated);
    row->price.usd_per_hour = some_money(hour);
    TRY(text_set(&row->price.from, "book", err));
    row->cost.usd = some_money(cost);
    if (!row->cost.lower_bound.v) { // else it has no end
        row->cost.low_usd = some_money(totals[1]);
        row->cost.high_usd = some_money(totals[2]);
    }
    return compare_local_row(all->market, all->wishes.currency, t->price.day, row, err);
}

static int fill_row(const struct compare_targets *all, const struct target *t,
                    const struct estimated *e, struct compare_row *row, struct err *err)
{
    const struct run *run = e->proof->run;
    struct bill_time time = e->proof->time;
    SCOPED(buf_release) struct buf class = {0}, note = {0};
    char words[ESTIMATE_WORDS];
    estimated_time(e, &e->proof->time, &time);
    estimate_words(&e->estimate, words);
    estimate_class_words(&e->estimate, &class);
    buf_printf(&note, "%s: 90 %% interval, from run %s", words, run->id ? run->id : "?");
    row->time_s = (struct compare_figure){some_real((double)time.total_ns / 1e9),
                                          some_real((double)time.low_ns / 1e9),
                                          some_real((double)time.high_ns / 1e9)};
    TRY(text_set(&row->kind, time.basis, err));
    TRY(text_take(&row->class, &class, err));
    TRY(texts_take(&row->notes, &note, err));
    TRY(texts_add(&row->ids, run->id, err));
    return fill_cost(all, t, &time, row, err);
}

static void set_ratios(struct compare_row *row, const struct compare_row *base)
{
    if (!base || !row->time_s.value.known)
        return;
    set_ratio(row->time_s.value.v, row->time_s.low.v, row->time_s.high.v, base->time_s.value.v,
              &row->time);
    if (base->cost.nano_usd.v > 0 && !base->cost.lower_bound.v && row->cost.high_usd.known)
        set_ratio((double)row->cost.nano_usd.v, (double)row->cost.low_usd.nano,
                  (double)row->cost.high_usd.nano, (double)base->cost.nano_usd.v, &row->money);
}

static int add_target(const struct compare_targets *all, const struct target *t,
                      struct estimates *estimates, struct compare_workload *to, struct err *err)
{
    const struct estimated *e = NULL;
    TRY(estimates_find(estimates, &t->offer, &e, err));
    if (!e || !e->proof || e->estimate.kind == ESTIMATE_MEASURED)
        return 0;
    const char *framework = e->proof->run->framework;
    bool known = estimated_known(e) && e->estimate.kind != ESTIMATE_BOUND;
    struct compare_row *row = known ? LIST_ADD(&to->rows, err) : LIST_ADD(&to->apart, err);
    TRY(row ? TEXTS_SET(err, {&row->machine, t->name},
                        {&row->framework, framework ? framework : "-"})
            : ERR_MEMORY);
    row->runs = some_int(0);
    if (!known) {
        struct buf why = {0};
        if (e->estimate.kind == ESTIMATE_BOUND)
            estimate_class_words(&e->estimate, &why);
        else
            buf_adds(&why, e->estimate.why);
        return texts_take(&row->reasons, &why, err);
    }
    TRY(fill_row(all, t, e, row, err));
    set_ratios(row, base_of(to));
    return 0;
}

int compare_targets_add(const struct compare_targets *all, const struct run *const *runs,
                        size_t count, struct compare_workload *to, struct err *err)
{
    SCOPED(free_pointer) struct quote_evidence *evidence = calloc(count + 1, sizeof *evidence);
    struct quote_ask ask = {.evidence = evidence, .evidence_count = count, .market = all->market};
    SCOPED(proofs_release) struct proofs proofs = {0};
    struct estimates *estimates = NULL;
    if (!evidence)
        return err_memory(err);
    for (size_t i = 0; i < count; i++)
        evidence[i].run = runs[i];
    TRY(proofs_gather(&proofs, &ask, err));
    int rc = estimates_open(&estimates, &proofs, err);
    for (size_t i = 0; rc == 0 && i < all->count; i++)
        rc = add_target(all, &all->items[i], estimates, to, err);
    estimates_close(estimates);
    return rc;
}

// An amount times mean ÷ usd, both of the whole row.
static int scale(struct maybe_money amount, int64_t mean, int64_t usd, struct maybe_money *out,
                 struct err *err)
{
    if (!amount.known || usd <= 0)
        return 0;
    TRY(money_scale(amount.nano, mean, usd, MONEY_HALF_EVEN, &out->nano, err));
    out->known = true;
    return 0;
}

int compare_local_group(struct market *market, const char *currency, const struct group *g,
                        struct compare_row *row, struct err *err)
{
    int64_t sum = 0, mean;
    bool one_day = true;
    if (!currency || !row->cost.usd.known)
        return 0;
    int first = g->parts.items[0].day;
    TRY(compare_local_row(market, currency, first, row, err));
    for (size_t i = 0; i < g->parts.count; i++) {
        const struct part *part = &g->parts.items[i];
        int64_t local = 0;
        TRY(local_amount(market, currency, part->day, part->cost, &local, err));
        if (local < 0 || !money_sum(&sum, local)) { // before the first rate, or more than fits
            row->cost.local = row->cost.local_low = row->cost.local_high = (struct maybe_money){0};
            return 0;
        }
        one_day &= part->day == first;
    }
    if (one_day)
        return 0;
    TRY(money_scale(sum, 1, (int64_t)g->parts.count, MONEY_HALF_EVEN, &mean, err));
    row->cost.local = some_money(mean);
    TRY(scale(row->cost.low_usd, mean, row->cost.nano_usd.v, &row->cost.local_low, err));
    TRY(scale(row->cost.high_usd, mean, row->cost.nano_usd.v, &row->cost.local_high, err));
    struct buf words = {0};
    buf_printf(&words, "%s; each run at the rate of its own day", row->cost.exchange);
    return text_take(&row->cost.exchange, &words, err);
}
