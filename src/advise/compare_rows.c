// SPDX-License-Identifier: Apache-2.0
// A group of runs as a row: its name, its differences from others of that name, and its figures.
#include "advise/compare_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "base/money.h"

static const char *group_framework(const struct group *group)
{
    return group->run.framework ? group->run.framework : "-";
}

const char *group_relative_to(const struct group *group)
{
    return group->relative ? run_label(&group->run, "relative_to") : NULL;
}

void compare_label(const struct compare_row *row, struct buf *out)
{
    buf_adds(out, row->machine);
    if (strcmp(row->framework, "-") != 0)
        buf_printf(out, " + %s", row->framework);
    if (row->detail)
        buf_printf(out, " (%s)", row->detail);
}

int compare_by_name(const struct group *a, const struct group *b)
{
    int order = strcmp(a->machine, b->machine);
    return order != 0 ? order : strcmp(group_framework(a), group_framework(b));
}

struct attribute { // a text, or a number before a noun in the singular; neither: absent
    const char *text;
    int most; // bytes of the text
    const char *before, *noun;
    struct maybe_int number;
    bool internal; // a hash, or a text that is mostly cut
};
enum { NAMED = 0, DATA = 16, ATTRIBUTES = 26 };

#define TEXT(before, text, most)                                                                   \
    (struct attribute)                                                                             \
    {                                                                                              \
        text, most, before, "",                                                                    \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define INTERNAL(what, hash, bytes)                                                                \
    (struct attribute)                                                                             \
    {                                                                                              \
        .text = hash, .most = bytes, .before = what, .noun = "", .internal = true                  \
    }
#define COUNT(before, count, noun)                                                                 \
    (struct attribute)                                                                             \
    {                                                                                              \
        NULL, 0, before, noun, count                                                               \
    }

// Attributes that tell rows of one name apart, in the order in which they are shown.
static void list_attributes(const struct group *g, struct attribute out[ATTRIBUTES])
{
    const struct run *run = &g->run;
    const struct run_machine *m = &run->machine;
    bool full = run->full.known && run->full.v, made = run->data.made.known && run->data.made.v;
    const struct attribute all[ATTRIBUTES] = {
        [NAMED] = TEXT("", g->named, 60),
        TEXT("",
             g->relative ? "relative"
             : full      ? "measured"
                         : "projected",
             20),
        TEXT("", run->taints.count > 0 ? "noisy" : NULL, 20),
        TEXT("",
             g->failed          ? "failed"
             : run_stopped(run) ? "stopped"
                                : NULL,
             20),
        TEXT("", g->timed ? NULL : "without a time", 20),
        TEXT("", run->engine, 20),
        TEXT("", run->variant, 40),
        TEXT("", run->precision, 20),
        COUNT("batch ", run->batch, ""),
        COUNT("", run->threads, " thread"),
        COUNT("", run->ranks, " rank"),
        COUNT("", run->nodes, " node"),
        COUNT("", run->use.gpus.known ? run->use.gpus : m->gpus, " GPU"),
        TEXT("gates ", run_label(run, "gates"), 40),
        COUNT("", run->epochs, " epoch"),
        COUNT("", run->total_steps, " step"),
        [DATA] = TEXT("", made ? "generated data" : run->data.name, 40),
        INTERNAL("data ", made ? NULL : run->data.identity, 8),
        TEXT("", m->provider, 20),
        TEXT("", m->instance_type, 40),
        TEXT("", m->region, 20),
        TEXT("$", run_label(run, "price_per_hour_usd"), 20),
        INTERNAL("machine ", m->fingerprint, 8),
        INTERNAL("net ", run->net, 24),
        COUNT("", run->parameters, " parameter"),
        TEXT("", run->recipe, 40),
    };
    memcpy(out, all, sizeof all);
}

static bool is_equal(const struct attribute *a, const struct attribute *b)
{
    bool texts =
        a->text && b->text ? strncmp(a->text, b->text, (size_t)a->most) == 0 : a->text == b->text;
    return texts && a->number.known == b->number.known && a->number.v == b->number.v;
}

static int by_name(const void *a, const void *b, void *arg)
{
    const struct comparing *c = arg;
    size_t first = *(const size_t *)a, second = *(const size_t *)b;
    int order = compare_by_name(&c->groups[first], &c->groups[second]);
    return order != 0 ? order : first < second ? -1 : 1;
}

void compare_details(struct comparing *c, struct section *section)
{
    qsort_r(section->groups, section->count, sizeof *section->groups, by_name, c);
    for (size_t from = 0, to; from < section->count; from = to) {
        struct group *first = &c->groups[section->groups[from]];
        struct attribute mine[ATTRIBUTES], other[ATTRIBUTES];
        unsigned differs = 0;
        list_attributes(first, mine);
        for (to = from + 1; to < section->count; to++) {
            const struct group *next = &c->groups[section->groups[to]];
            if (compare_by_name(first, next) != 0)
                break;
            list_attributes(next, other);
            for (int a = 0; a < ATTRIBUTES; a++)
                if (!is_equal(&mine[a], &other[a]) &&
                    !(a == DATA && comparable_data(&first->run, &next->run)))
                    differs |= 1u << a;
        }
        for (size_t i = from; i < to; i++)
            c->groups[section->groups[i]].differs = differs;
    }
}

static void add_detail(const struct group *group, bool plain, struct buf *out)
{
    struct attribute all[ATTRIBUTES];
    list_attributes(group, all);
    for (int i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *a = &all[i];
        bool shown = group->differs & 1u << i || i == NAMED; // the user's own name always
        if (!shown || !(a->text || a->number.known) || (plain && a->internal))
            continue;
        buf_printf(out, "%s%s", out->len > 0 ? ", " : "", a->before);
        if (a->text)
            buf_printf(out, "%.*s", a->most, a->text);
        else
            buf_printf(out, "%lld%s%s", (long long)a->number.v, a->noun,
                       *a->noun && a->number.v != 1 ? "s" : "");
    }
}

// ---- figures

static int fill_price(const struct group *g, struct compare_row *row, struct err *err)
{
    const struct run_price *price = &g->price;
    struct compare_price *to = &row->price;
    if (!price->known)
        return texts_add(&row->notes, price->from[0] ? price->from : COMPARE_UNPRICED, err);
    if (g->least == g->most) {
        to->usd_per_hour = some_money(price->hour);
        TRY(text_set(&to->from, price->from, err));
    } else {
        char least[MONEY_BYTES], most[MONEY_BYTES], from[80];
        money_short(g->least, least);
        money_short(g->most, most);
        snprintf(from, sizeof from, "several prices, $%s to $%s an hour", least, most);
        TRY(text_set(&to->from, from, err));
    }
    SCOPED(buf_release) struct buf words = {0};
    priced_words(&price->priced, price->wishes.prorated, &words);
    TRY(text_take(&to->rule, &words, err));
    if (priced_by_month(&price->priced))
        to->monthly = some_bool(true);
    to->assumed = some_bool(price->priced.assumed && !price->wishes.prorated);
    if (price->note[0])
        TRY(texts_add(&row->notes, price->note, err));
    if (to->assumed.v) {
        char note[160];
        const char *provider = price->provider[0] ? price->provider : NULL;
        snprintf(note, sizeof note, "the %s%.60s is unknown: whole %s are assumed",
                 provider ? "billing rule of " : "provider", provider ? provider : "",
                 priced_by_month(&price->priced) ? "months" : "seconds");
        TRY(texts_add(&row->notes, note, err));
    }
    return 0;
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

// The interval's ends, as shares of the mean, in integers; one that does not fit is unknown.
static void spread_cost(const struct group *g, struct compare_row *row)
{
    struct stats_interval interval = figure_interval(&g->cost);
    double low = interval.low / g->cost.value, high = interval.high / g->cost.value;
    int64_t nano, mean = row->cost.nano_usd.v;
    if (!(high < 1e9) ||
        money_scale(mean, llround(low * 1e9), MONEY_UNIT, MONEY_HALF_EVEN, &nano, NULL) != 0)
        return;
    row->cost.low_usd = some_money(nano);
    if (money_scale(mean, llround(high * 1e9), MONEY_UNIT, MONEY_HALF_EVEN, &nano, NULL) == 0)
        row->cost.high_usd = some_money(nano);
}

static int fill_cost(const struct group *g, struct compare_row *row, struct err *err)
{
    if (!g->costed)
        return 0;
    const struct part *only = g->parts.count == 1 ? &g->parts.items[0] : NULL;
    row->cost.nano_usd = some_int(mean_cost(g));
    if (g->bound) {
        row->cost.lower_bound = some_bool(true);
        TRY(texts_add(&row->notes, COMPARE_BOUND, err));
    }
    int64_t each;
    row->cost.usd = some_money(row->cost.nano_usd.v);
    if (run_million_tokens(&g->run, row->cost.nano_usd.v, &each))
        row->usd_per_mtoken = some_money(each);
    if (g->bound) // it has no end
        return 0;
    if (only && only->time_high > 0) {
        row->cost.low_usd = some_money(only->cost_low);
        row->cost.high_usd = some_money(only->cost_high);
    } else if (g->cost.judged) {
        spread_cost(g, row);
    }
    if (!g->cost.positive)
        return 0;
    struct compare_figure *work = &row->trainings_per_usd;
    work->value = some_real(1e9 / g->cost.value);
    if (g->cost.judged) {
        struct stats_interval interval = figure_interval(&g->cost);
        work->low = some_real(1e9 / interval.high);
        work->high = some_real(1e9 / interval.low);
    }
    return 0;
}

static void fill_time(const struct group *g, struct compare_row *row)
{
    const struct part *only = g->parts.count == 1 ? &g->parts.items[0] : NULL;
    row->time_s.value = some_real(g->time.value);
    if (only && only->time_high > 0) {
        row->time_s.low = some_real(only->time_low);
        row->time_s.high = some_real(only->time_high);
    } else if (g->time.judged) {
        struct stats_interval interval = figure_interval(&g->time);
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

// Time and cost are unknown, and no provider's rule applies.
static int fill_relative(const struct group *g, struct compare_row *row, struct err *err)
{
    TRY(text_set(&row->kind, "relative", err));
    row->relative_speed = some_real(run_relative_speed(&g->run));
    TRY(texts_add(&row->notes,
                  "only relative speeds are known, not times: cost ÷ base is price × time, "
                  "without units and minimums",
                  err));
    if (!g->price.known)
        return fill_price(g, row, err); // with the reason
    row->price.usd_per_hour = some_money(g->price.hour);
    return text_set(&row->price.from, g->price.from, err);
}

static bool any_early(const struct group *g)
{
    for (size_t i = 0; i < g->parts.count; i++)
        if (g->parts.items[i].early)
            return true;
    return false;
}

// At the mean of the runs' watts.
static int fill_power(const struct group *g, const struct power_given *given,
                      struct compare_row *row, struct err *err)
{
    struct compare_figure watts = {0};
    int64_t cost = 0, ns = llround(g->time.value * 1e9);
    fill_mean(g, offsetof(struct part, watts), HUGE_VAL, &watts);
    if (!watts.value.known)
        return 0;
    int64_t mw = llround(watts.value.v * 1000);
    row->power.watts = watts.value;
    row->power.kwh = some_real(power_kwh(mw, ns));
    TRY(text_set(&row->power.how, g->power.how, err));
    if (given->kwh >= 0 && power_cost(mw, ns, given->kwh, &cost, NULL) == 0)
        row->power.usd = some_money(cost);
    return 0;
}

static struct maybe_real mean_of(const struct group *g, size_t offset)
{
    struct compare_figure figure = {0};
    fill_mean(g, offset, HUGE_VAL, &figure);
    return figure.value;
}

int compare_row_fill(const struct group *g, const struct power_given *power,
                     struct compare_row *row, struct err *err)
{
    struct buf detail = {0}, plain = {0};
    add_detail(g, false, &detail);
    add_detail(g, true, &plain);
    int rc = text_take(&row->detail, &detail, err);
    int plain_rc = text_take(&row->plain, &plain, err);
    rc = rc == 0 ? plain_rc : rc;
    if (rc == 0)
        rc = TEXTS_SET(err, {&row->machine, g->machine}, {&row->framework, group_framework(g)});
    row->runs = some_int((int64_t)g->parts.count);
    if (g->run.taints.count > 0)
        row->noisy = some_bool(true);
    if (run_stopped(&g->run))
        row->stopped = some_bool(true);
    for (size_t i = 0; i < g->ids.count && rc == 0; i++)
        rc = texts_add(&row->ids, g->ids.items[i], err);
    fill_mean(g, offsetof(struct part, accuracy), 1, &row->accuracy);
    if (rc == 0 && run_score(&g->run)) {
        fill_mean(g, offsetof(struct part, score), HUGE_VAL, &row->quality);
        rc = text_set(&row->metric, run_score(&g->run)->metric, err);
    }
    fill_mean(g, offsetof(struct part, gpu_percent), 100, &row->gpu_percent);
    fill_mean(g, offsetof(struct part, share_of_peak), 1, &row->share_of_peak);
    row->tokens_per_s = mean_of(g, offsetof(struct part, tokens_per_s));
    row->mfu = mean_of(g, offsetof(struct part, mfu));
    row->joules_per_mtoken = mean_of(g, offsetof(struct part, joules_per_mtoken));
    fill_mean(g, offsetof(struct part, l1_ms[L1_TRANSFER]), HUGE_VAL, &row->transfer_ms);
    fill_mean(g, offsetof(struct part, l1_ms[L1_CALCULATION]), HUGE_VAL, &row->calculation_ms);
    if (rc != 0 || !g->timed)
        return rc;
    if (g->relative)
        return fill_relative(g, row, err);
    bool full = g->run.full.known && g->run.full.v;
    rc = text_set(&row->kind, full ? "measured" : "projected", err);
    fill_time(g, row);
    const bool early = any_early(g), made = row->accuracy.value.known && g->run.data.made.v;
    if (rc == 0 && (early || made))
        rc = texts_add(&row->notes,
                       !made   ? "accuracy after the sample, not after the whole training"
                       : early ? "accuracy on generated data, after the sample"
                               : "accuracy on generated data",
                       err);
    if (rc == 0)
        rc = fill_price(g, row, err);
    if (rc == 0 && power)
        rc = fill_power(g, power, row, err);
    return rc == 0 ? fill_cost(g, row, err) : rc;
}

static void add_verdict(const struct figure *mine, const struct figure *base,
                        const struct difference *d, const char *less, const char *more, char *out,
                        size_t size)
{
    if (!d->judged)
        snprintf(out, size, "%s: could be chance",
                 mine->judged || base->judged ? "only one run" : "one run each");
    else if (d->confidence < DIFFERENCE_SHOWN)
        snprintf(out, size, "no difference shown");
    else if (d->confidence >= 0.995)
        snprintf(out, size, "%s with over 99 %% confidence", d->ratio < 1 ? less : more);
    else
        snprintf(out, size, "%s with %d %% confidence", d->ratio < 1 ? less : more,
                 (int)(d->confidence * 100));
}

// `unsure` (optional): why there is no verdict.
static int fill_against(const struct figure *mine, const struct figure *base, const char *unsure,
                        const char *less, const char *more, struct compare_against *out,
                        struct err *err)
{
    struct difference d;
    char verdict[64];
    difference_of(mine, base, &d);
    if (!d.known)
        return 0;
    out->ratio = some_real(d.ratio);
    if (mine == base)
        return 0;
    if (!d.judged && !unsure)
        out->chance = some_bool(true);
    if (d.judged && !unsure) {
        out->low = some_real(d.low);
        out->high = some_real(d.high);
        out->confidence = some_real(d.confidence);
    }
    if (unsure)
        snprintf(verdict, sizeof verdict, "no verdict: %s", unsure);
    else
        add_verdict(mine, base, &d, less, more, verdict, sizeof verdict);
    return text_set(&out->verdict, verdict, err);
}

int compare_row_against(const struct group *g, const struct group *base, struct compare_row *row,
                        struct err *err)
{
    const char *noisy = g->run.taints.count + base->run.taints.count > 0 ? "noisy" : NULL;
    struct compare_against *const l1[L1_PARTS] = {&row->transfer, &row->calculation};
    for (int of = 0; of < L1_PARTS; of++)
        if (g->l1_known[of] && base->l1_known[of])
            TRY(fill_against(&g->l1[of], &base->l1[of], noisy, "faster", "slower", l1[of], err));
    TRY(fill_against(&g->time, &base->time, noisy, "faster", "slower", &row->time, err));
    if (g->costed && base->costed && g->bound == base->bound)
        TRY(fill_against(&g->cost, &base->cost, g->bound ? "lower bounds" : noisy, "cheaper",
                         "dearer", &row->money, err));
    return 0;
}
