// SPDX-License-Identifier: Apache-2.0
// The figures of a row.
#include "advise/compare_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/money.h"

static int set_money(char **to, int64_t nano, struct err *err)
{
    char text[MONEY_BYTES];
    money_text(nano, text);
    return text_set(to, text, err);
}

static int fill_price(const struct group *g, struct compare_row *row, struct err *err)
{
    const struct run_price *price = &g->price;
    struct compare_price *to = &row->price;
    int rc = 0;
    if (!price->known)
        return texts_add(&row->notes, price->from[0] ? price->from : COMPARE_UNPRICED, err);
    if (g->least == g->most) {
        rc = set_money(&to->usd_per_hour, price->hour, err);
        if (rc == 0)
            rc = text_set(&to->from, price->from, err);
    } else {
        char least[MONEY_BYTES], most[MONEY_BYTES], from[80];
        money_short(g->least, least);
        money_short(g->most, most);
        snprintf(from, sizeof from, "several prices, $%s to $%s an hour", least, most);
        rc = text_set(&to->from, from, err);
    }
    struct buf words = {0};
    priced_words(&price->priced, price->wishes.prorated, &words);
    if (rc == 0)
        rc = buf_check(&words, err);
    if (rc == 0)
        rc = text_set(&to->rule, buf_str(&words), err);
    buf_release(&words);
    to->assumed = some_bool(price->priced.assumed && !price->wishes.prorated);
    if (rc == 0 && price->note[0])
        rc = texts_add(&row->notes, price->note, err);
    if (rc == 0 && to->assumed.v) {
        char note[160];
        const char *provider = price->provider[0] ? price->provider : NULL;
        snprintf(note, sizeof note, "%s%.60s%s: whole seconds are assumed",
                 provider ? "how " : "who rents it out is not known, nor how they charge",
                 provider ? provider : "", provider ? " charges is not known" : "");
        rc = texts_add(&row->notes, note, err);
    }
    return rc;
}

// Rounded once, half to even.
static int64_t mean_cost(const struct group *g)
{
    __int128 sum = 0, n = (__int128)g->parts.count;
    for (size_t i = 0; i < g->parts.count; i++)
        sum += g->parts.items[i].cost;
    __int128 whole = sum / n, rest = sum % n;
    whole += rest * 2 > n || (rest * 2 == n && whole % 2 != 0);
    return (int64_t)whole;
}

// The interval's ends, as shares of the mean, in integers.
static int spread_cost(const struct group *g, struct compare_row *row, struct err *err)
{
    struct stats_interval interval = estimate_interval(&g->cost);
    double low = interval.low / g->cost.value, high = interval.high / g->cost.value;
    int64_t nano, mean = row->cost.nano_usd.v;
    if (!(high < 1e9))
        return 0;
    int rc = money_scale(mean, llround(low * 1e9), MONEY_UNIT, MONEY_HALF_EVEN, &nano, NULL);
    if (rc == 0)
        rc = set_money(&row->cost.low_usd, nano, err);
    if (rc == 0)
        rc = money_scale(mean, llround(high * 1e9), MONEY_UNIT, MONEY_HALF_EVEN, &nano, NULL);
    if (rc == 0)
        rc = set_money(&row->cost.high_usd, nano, err);
    return rc == ERR_OVERFLOW ? 0 : rc;
}

static int fill_cost(const struct group *g, struct compare_row *row, struct err *err)
{
    if (!g->costed)
        return 0;
    const struct part *only = g->parts.count == 1 ? &g->parts.items[0] : NULL;
    row->cost.nano_usd = some_int(mean_cost(g));
    int rc = set_money(&row->cost.usd, row->cost.nano_usd.v, err);
    if (rc == 0 && only && only->time_high > 0) {
        rc = set_money(&row->cost.low_usd, only->cost_low, err);
        if (rc == 0)
            rc = set_money(&row->cost.high_usd, only->cost_high, err);
    } else if (rc == 0 && g->cost.judged) {
        rc = spread_cost(g, row, err);
    }
    if (!g->cost.positive)
        return rc;
    struct compare_figure *work = &row->trainings_per_usd;
    work->value = some_real(1e9 / g->cost.value);
    if (g->cost.judged) {
        struct stats_interval interval = estimate_interval(&g->cost);
        work->low = some_real(1e9 / interval.high);
        work->high = some_real(1e9 / interval.low);
    }
    return rc;
}

static void fill_time(const struct group *g, struct compare_row *row)
{
    const struct part *only = g->parts.count == 1 ? &g->parts.items[0] : NULL;
    row->time_s.value = some_real(g->time.value);
    if (only && only->time_high > 0) {
        row->time_s.low = some_real(only->time_low);
        row->time_s.high = some_real(only->time_high);
    } else if (g->time.judged) {
        struct stats_interval interval = estimate_interval(&g->time);
        row->time_s.low = some_real(interval.low);
        row->time_s.high = some_real(interval.high);
    }
}

// The mean of those that have it, and Student's interval of it, between 0 and `most`.
static void fill_mean(const struct group *g, size_t at, double most, struct compare_figure *out)
{
    double sum = 0, squares = 0;
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        double mean = n > 0 ? sum / (double)n : 0;
        for (size_t i = 0; i < g->parts.count; i++) {
            const char *part = (const char *)&g->parts.items[i];
            const struct maybe_real *x = (const struct maybe_real *)(const void *)(part + at);
            if (!x->known)
                continue;
            if (pass == 0)
                sum += x->v, n++;
            else
                squares += (x->v - mean) * (x->v - mean);
        }
    }
    if (n == 0)
        return;
    double mean = sum / (double)n;
    out->value = some_real(mean);
    if (n < 2)
        return;
    double half =
        stats_t_quantile(0.975, (double)(n - 1)) * sqrt(squares / (double)(n - 1) / (double)n);
    out->low = some_real(fmax(mean - half, 0));
    out->high = some_real(fmin(mean + half, most));
}

// Neither its time nor its cost can be said, and no provider's rule be applied.
static int fill_relative(const struct group *g, struct compare_row *row, struct err *err)
{
    int rc = text_set(&row->kind, "relative", err);
    if (rc == 0)
        rc = texts_add(&row->notes,
                       "only speeds relative to each other are known, not times: cost ÷ base is of "
                       "price × time, without units and minimums",
                       err);
    if (rc == 0 && !g->price.known)
        return fill_price(g, row, err); // which says so
    if (rc == 0)
        rc = set_money(&row->price.usd_per_hour, g->price.hour, err);
    return rc == 0 ? text_set(&row->price.from, g->price.from, err) : rc;
}

static bool any_early(const struct group *g)
{
    for (size_t i = 0; i < g->parts.count; i++)
        if (g->parts.items[i].early)
            return true;
    return false;
}

int compare_row_fill(const struct group *g, struct compare_row *row, struct err *err)
{
    struct buf detail = {0};
    compare_detail(g, &detail);
    int rc = buf_check(&detail, err);
    if (rc == 0)
        rc = text_set(&row->machine, g->machine, err);
    if (rc == 0)
        rc = text_set(&row->framework, group_framework(g), err);
    if (rc == 0 && detail.len > 0)
        rc = text_set(&row->detail, buf_str(&detail), err);
    buf_release(&detail);
    row->runs = some_int((int64_t)g->parts.count);
    for (size_t i = 0; i < g->ids.count && rc == 0; i++)
        rc = texts_add(&row->ids, g->ids.items[i], err);
    fill_mean(g, offsetof(struct part, accuracy), 1, &row->accuracy);
    fill_mean(g, offsetof(struct part, gpu_percent), 100, &row->gpu_percent);
    fill_mean(g, offsetof(struct part, share_of_peak), 1, &row->share_of_peak);
    if (rc != 0 || !g->timed)
        return rc;
    if (g->relative)
        return fill_relative(g, row, err);
    bool full = g->run.full.known && g->run.full.v;
    rc = text_set(&row->kind, full ? "measured" : "projected", err);
    fill_time(g, row);
    if (rc == 0 && any_early(g))
        rc = texts_add(&row->notes, "accuracy after the sample, not after the whole training", err);
    if (rc == 0)
        rc = fill_price(g, row, err);
    return rc == 0 ? fill_cost(g, row, err) : rc;
}

void compare_verdict(const struct difference *d, const char *less, const char *more, char *out,
                     size_t size)
{
    if (!d->judged)
        snprintf(out, size, "cannot be judged");
    else if (d->confidence < DIFFERENCE_SHOWN)
        snprintf(out, size, "no difference shown");
    else if (d->confidence >= 0.995)
        snprintf(out, size, "%s with over 99 %% confidence", d->ratio < 1 ? less : more);
    else
        snprintf(out, size, "%s with %d %% confidence", d->ratio < 1 ? less : more,
                 (int)(d->confidence * 100));
}

static int fill_against(const struct estimate *mine, const struct estimate *base, bool is_base,
                        const char *less, const char *more, struct compare_against *out,
                        struct err *err)
{
    struct difference d;
    char verdict[64];
    difference_of(mine, base, &d);
    if (!d.known)
        return 0;
    out->ratio = some_real(d.ratio);
    if (is_base)
        return 0;
    if (d.judged) {
        out->low = some_real(d.low);
        out->high = some_real(d.high);
        out->confidence = some_real(d.confidence);
    }
    compare_verdict(&d, less, more, verdict, sizeof verdict);
    return text_set(&out->verdict, verdict, err);
}

int compare_row_against(const struct group *g, const struct group *base, struct compare_row *row,
                        struct err *err)
{
    bool is_base = g == base;
    int rc = fill_against(&g->time, &base->time, is_base, "faster", "slower", &row->time, err);
    if (rc == 0 && g->costed && base->costed)
        rc = fill_against(&g->cost, &base->cost, is_base, "cheaper", "dearer", &row->money, err);
    return rc;
}
