// SPDX-License-Identifier: Apache-2.0
// The comparison in sentences: which row is cheapest, which is fastest, with what confidence.
#include "advise/compare_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/money.h"

// Time or cost.
struct measure {
    const char *most, *of; // "Fastest", "of the time of"
    bool (*value)(const struct compare_row *row, double *value);
    void (*words)(const struct compare_row *row, struct buf *out); // with a comma before
    const struct compare_against *(*against)(const struct compare_row *row);
};

static bool time_value(const struct compare_row *row, double *value)
{
    // Where only ratios are known, no row has a time.
    *value = row->time_s.value.known ? row->time_s.value.v : row->time.ratio.v;
    return row->time_s.value.known || row->time.ratio.known;
}

static void time_words(const struct compare_row *row, struct buf *out)
{
    char text[32];
    if (!row->time_s.value.known)
        return;
    buf_adds(out, ", ");
    clock_words(llround(row->time_s.value.v * 1e9), text, sizeof text);
    buf_printf(out, "%s%s", strcmp(row->kind, "projected") == 0 ? "about " : "", text);
    if (row->tokens_per_s.known)
        buf_printf(out, ", %.0f tokens/s", row->tokens_per_s.v);
    if (row->mfu.known)
        buf_printf(out, ", MFU %.1f %%", row->mfu.v * 100);
}

static const struct compare_against *time_against(const struct compare_row *row)
{
    return &row->time;
}

// A lower bound wins nothing.
static bool cost_value(const struct compare_row *row, double *value)
{
    if (row->cost.lower_bound.v)
        return false;
    *value = row->cost.nano_usd.known ? (double)row->cost.nano_usd.v : row->money.ratio.v;
    return row->cost.nano_usd.known || row->money.ratio.known;
}

static void cost_words(const struct compare_row *row, struct buf *out)
{
    char text[MONEY_BYTES];
    if (!row->cost.nano_usd.known)
        return;
    buf_adds(out, ", ");
    const char *mark = row->cost.lower_bound.v ? "≥" : "";
    money_short(row->cost.nano_usd.v, text);
    buf_printf(out, "%s$%s a training", mark, text);
    if (row->usd_per_mtoken.known)
        buf_printf(out, ", %s$%s per million tokens", mark, money_brief(row->usd_per_mtoken).s);
    if (row->joules_per_mtoken.known)
        buf_printf(out, ", %.4g J per million tokens", row->joules_per_mtoken.v);
}

static const struct compare_against *cost_against(const struct compare_row *row)
{
    return &row->money;
}

static const struct measure measures[] = {
    {"Cheapest", "of the cost of", cost_value, cost_words, cost_against},
    {"Fastest", "of the time of", time_value, time_words, time_against},
};
enum { MEASURES = sizeof measures / sizeof *measures };

// The row with the least, of those that can win; of equals the first, which may be the base.
static const struct compare_row *least_of(const struct measure *measure,
                                          const struct compare_workload *workload,
                                          const struct compare_row *but)
{
    const struct compare_row *least = NULL;
    double most = 0, value;
    for (size_t i = 0; i < workload->rows.count; i++) {
        const struct compare_row *row = &workload->rows.items[i];
        if (row == but || !compare_can_win(row) || !measure->value(row, &value))
            continue;
        if (!least || value < most) {
            least = row;
            most = value;
        }
    }
    return least;
}

static void add_verdict(const struct compare_against *against, struct buf *out)
{
    if (against->verdict)
        buf_printf(out, "; %s", against->verdict);
}

static size_t count_winners(const struct compare_workload *workload)
{
    size_t count = 0;
    for (size_t i = 0; i < workload->rows.count; i++)
        count += compare_can_win(&workload->rows.items[i]);
    return count;
}

// The lowest bound of a cost below that of `least`, or of all if that is null; null: none.
static const struct compare_row *bound_below(const struct measure *measure,
                                             const struct compare_workload *workload,
                                             const struct compare_row *least)
{
    const struct compare_row *found = NULL;
    for (size_t i = 0; measure->value == cost_value && i < workload->rows.count; i++) {
        const struct compare_row *row = &workload->rows.items[i], *than = found ? found : least;
        if (row->cost.lower_bound.v && compare_can_win(row) &&
            (!than || row->cost.nano_usd.v < than->cost.nano_usd.v))
            found = row;
    }
    return found;
}

static void write_sentence(const struct measure *measure, const struct compare_workload *workload,
                           struct buf *out)
{
    const struct compare_row *least = least_of(measure, workload, NULL);
    const struct compare_row *bound = bound_below(measure, workload, least);
    if (!least && bound)
        buf_adds(out, "No row is called cheapest: costs at spot prices are lower bounds (≥), since "
                      "how often a machine is taken away is unknown. 'fare quote --mtbi' counts "
                      "that.");
    if (!least)
        return;
    const struct compare_against *against = measure->against(least);
    bool is_base = least->base.known;
    buf_printf(out, "%s: ", measure->most);
    compare_label(least, out);
    buf_adds(out, is_base ? ", the base" : "");
    measure->words(least, out);
    const struct compare_row *next = is_base ? least_of(measure, workload, least) : NULL;
    if (!is_base && against->ratio.known) {
        buf_printf(out, ", %.4f %s %s", against->ratio.v, measure->of, workload->base);
        add_verdict(against, out);
    } else if (next && measure->against(next)->ratio.known) {
        buf_adds(out, "; next is ");
        compare_label(next, out);
        buf_printf(out, " at %.4f of that", measure->against(next)->ratio.v);
        add_verdict(measure->against(next), out);
    }
    if (bound) {
        buf_adds(out, "; may be cheaper: ");
        compare_label(bound, out);
        measure->words(bound, out);
        buf_adds(out, " (its interruptions are unknown)");
    }
    buf_adds(out, ".");
}

// ---- the parts of l1

static const struct compare_against *transfer_against(const struct compare_row *row)
{
    return &row->transfer;
}

static const struct compare_against *calculation_against(const struct compare_row *row)
{
    return &row->calculation;
}

static const struct l1_part {
    const char *name;
    const struct compare_against *(*against)(const struct compare_row *row);
} l1_parts[L1_PARTS] = {[L1_TRANSFER] = {"Transfer", transfer_against},
                        [L1_CALCULATION] = {"Calculation", calculation_against}};

static void add_l1_row(const struct compare_row *row, double ratio, struct buf *out)
{
    compare_label(row, out);
    buf_printf(out, ratio < 1 ? " is %.1f × as fast" : " takes %.1f × the time",
               ratio < 1 ? 1 / ratio : ratio);
}

// "Calculation against k80: p100 is 2.1 × as fast, k520 takes 1.2 × the time": the fastest and the
// slowest.
static void write_l1(const struct l1_part *part, const struct compare_workload *workload,
                     struct buf *out)
{
    const struct compare_row *least = NULL, *most = NULL;
    for (size_t i = 0; i < workload->rows.count; i++) {
        const struct compare_row *row = &workload->rows.items[i];
        struct maybe_real ratio = part->against(row)->ratio;
        if (row->base.known || !ratio.known || !compare_can_win(row))
            continue;
        if (!least || ratio.v < part->against(least)->ratio.v)
            least = row;
        if (!most || ratio.v > part->against(most)->ratio.v)
            most = row;
    }
    if (!least)
        return;
    buf_printf(out, "%s against %s: ", part->name, workload->base);
    add_l1_row(least, part->against(least)->ratio.v, out);
    if (most != least) {
        buf_adds(out, ", ");
        add_l1_row(most, part->against(most)->ratio.v, out);
    }
    buf_adds(out, ".");
}

int compare_sentences(struct compare_workload *workload, struct err *err)
{
    size_t winners = count_winners(workload), measured = 0;
    for (size_t i = 0; i < workload->rows.count; i++)
        measured += !compare_estimated(&workload->rows.items[i]);
    if (measured > 1 && winners < 2)
        return texts_add(&workload->sentences,
                         winners > 0 ? "No verdict: all rows but one are noisy or stopped."
                                     : "No verdict: all rows are noisy or stopped.",
                         err);
    for (size_t i = 0; i < MEASURES && winners > 1; i++) {
        struct buf sentence = {0};
        write_sentence(&measures[i], workload, &sentence);
        TRY(texts_take(&workload->sentences, &sentence, err));
    }
    for (size_t i = 0; i < L1_PARTS; i++) {
        struct buf sentence = {0};
        write_l1(&l1_parts[i], workload, &sentence);
        TRY(texts_take(&workload->sentences, &sentence, err));
    }
    return 0;
}

// ---- one GPU against another

static bool is_timed(const struct group *g)
{
    return g->timed && !g->relative && !g->failed && g->time.positive && run_gpu_name(&g->run);
}

static bool is_beside_the_base(const struct compare_workload *workload, const struct group *g)
{
    for (size_t i = 0; g->run.id && i < workload->rows.count; i++) {
        const struct compare_row *row = &workload->rows.items[i];
        for (size_t j = 0; j < row->ids.count; j++)
            if (strcmp(row->ids.items[j], g->run.id) == 0)
                return compare_can_win(row) && !row->base.known;
    }
    return false;
}

int compare_expectation(struct comparing *c, const struct section *section,
                        struct compare_workload *workload, struct err *err)
{
    const struct group *base = section->base == NO_GROUP ? NULL : &c->groups[section->base];
    const struct group *fastest = NULL;
    struct buf words = {0}, sentence = {0};
    if (!base || !is_timed(base))
        return 0;
    for (size_t i = 0; i < section->count; i++) {
        const struct group *g = &c->groups[section->groups[i]];
        if (is_timed(g) && is_beside_the_base(workload, g) &&
            (!fastest || g->time.value < fastest->time.value))
            fastest = g;
    }
    if (!fastest)
        return 0;
    const struct devices *devices;
    TRY(market_devices(c->market, &devices, err));
    TRY(c->expected ? 0 : expected_open(&c->expected, devices, err));
    expected_words(c->expected, &base->run, &fastest->run, base->time.value / fastest->time.value,
                   &words);
    int rc = buf_check(&words, err);
    if (rc == 0 && words.len > 0) {
        buf_printf(&sentence, "%s against %s: %s.", fastest->machine, base->machine,
                   buf_str(&words));
        rc = texts_take(&workload->sentences, &sentence, err);
    }
    buf_release(&words);
    return rc;
}

// ---- over all workloads

struct winner {
    const struct compare_row *row;
    size_t wins;
    double low, high; // ratios to the base's
    bool rated;
    const struct compare_row *base; // of the workloads that it wins; null if they differ
    bool bounds;                    // in one of them, a lower bound may be cheaper
};

static const struct compare_row *base_of(const struct compare_workload *workload)
{
    for (size_t i = 0; i < workload->rows.count; i++)
        if (workload->rows.items[i].base.v)
            return &workload->rows.items[i];
    return NULL;
}

static bool same_names(const struct compare_row *a, const struct compare_row *b)
{
    return a && b && strcmp(a->machine, b->machine) == 0 && strcmp(a->framework, b->framework) == 0;
}

static void add_names(const struct compare_row *row, struct buf *out)
{
    buf_adds(out, row->machine);
    if (strcmp(row->framework, "-") != 0)
        buf_printf(out, " + %s", row->framework);
}

static int count_wins(const struct measure *measure, const struct compare *compare,
                      struct winner *winners, struct index *names, size_t *of, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < compare->workloads.count && rc == 0; i++) {
        const struct compare_row *row = least_of(measure, &compare->workloads.items[i], NULL);
        if (!row || count_winners(&compare->workloads.items[i]) < 2)
            continue;
        ++*of;
        struct buf name = {0};
        size_t number = 0;
        buf_printf(&name, "%s\x1f%s", row->machine, row->framework);
        rc = buf_check(&name, err);
        if (rc == 0)
            rc = index_number(names, buf_str(&name), name.len, &number, err);
        buf_release(&name);
        if (rc != 0)
            break;
        struct winner *w = &winners[number];
        struct maybe_real ratio = measure->against(row)->ratio;
        w->rated = w->wins == 0 ? ratio.known : w->rated && ratio.known;
        const struct compare_row *base = base_of(&compare->workloads.items[i]);
        w->base = w->wins == 0 || same_names(base, w->base) ? base : NULL;
        w->low = w->wins == 0 || ratio.v < w->low ? ratio.v : w->low;
        w->high = w->wins == 0 || ratio.v > w->high ? ratio.v : w->high;
        w->row = w->wins++ == 0 ? row : w->row;
        w->bounds |= bound_below(measure, &compare->workloads.items[i], row) != NULL;
    }
    return rc;
}

static void write_summary(const struct measure *measure, const struct winner *w, size_t equals,
                          size_t of, struct buf *out)
{
    buf_printf(out, "%s%s: ", measure->most,
               w->wins == of ? ""
               : equals > 0  ? " as often as any"
                             : " most often");
    add_names(w->row, out);
    buf_printf(out, ", in %zu of %zu workloads", w->wins, of);
    if (equals > 0)
        buf_printf(out, " like %zu other%s", equals, equals == 1 ? "" : "s");
    if (w->rated && w->low < w->high) {
        buf_printf(out, ", at %.4f to %.4f %s ", w->low, w->high, measure->of);
        if (w->base)
            add_names(w->base, out);
        else
            buf_adds(out, "the base of each");
    }
    buf_adds(out, w->bounds ? "; lower bounds (≥) may be cheaper." : ".");
}

int compare_summary(struct compare *compare, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < MEASURES && rc == 0 && compare->workloads.count > 1; i++) {
        struct index names = {0};
        struct buf sentence = {0};
        size_t of = 0, best = 0, equals = 0;
        struct winner *winners = calloc(compare->workloads.count, sizeof *winners);
        rc = winners ? count_wins(&measures[i], compare, winners, &names, &of, err)
                     : err_memory(err);
        for (size_t w = 1; rc == 0 && w < names.count; w++)
            best = winners[w].wins > winners[best].wins ? w : best;
        for (size_t w = best + 1; rc == 0 && w < names.count; w++)
            equals += winners[w].wins == winners[best].wins;
        if (rc == 0 && of > 1)
            write_summary(&measures[i], &winners[best], equals, of, &sentence);
        if (rc == 0)
            rc = texts_take(&compare->sentences, &sentence, err);
        buf_release(&sentence);
        index_release(&names);
        free(winners);
    }
    return rc;
}
