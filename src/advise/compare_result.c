// SPDX-License-Identifier: Apache-2.0
// Makes the record of a comparison from the groups of runs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "advise/compare_parts.h"
#include "advise/verdict_words.h"

static void estimate_l1(struct group *g, int of, struct measured *measured)
{
    g->l1_known[of] = true;
    for (size_t i = 0; i < g->parts.count; i++) {
        struct maybe_real ms = g->parts.items[i].l1_ms[of];
        g->l1_known[of] &= ms.known;
        measured[i] = (struct measured){ms.v, 0, 0};
    }
    if (g->l1_known[of])
        figure_of(measured, g->parts.count, &g->l1[of]);
}

static void estimate_group(struct group *g, struct measured *measured)
{
    size_t n = g->parts.count;
    g->costed = g->timed;
    for (int of = 0; of < L1_PARTS; of++)
        estimate_l1(g, of, measured);
    for (size_t i = 0; i < n; i++) {
        const struct part *part = &g->parts.items[i];
        measured[i] = (struct measured){part->time_s, part->time_low, part->time_high};
        g->costed &= part->costed;
        g->bound |= part->bound;
    }
    if (g->timed)
        figure_of(measured, n, &g->time);
    for (size_t i = 0; i < n; i++) {
        const struct part *part = &g->parts.items[i];
        measured[i] = part->relative ? (struct measured){part->relative_cost, 0, 0}
                                     : (struct measured){(double)part->cost, (double)part->cost_low,
                                                         (double)part->cost_high};
    }
    if (g->costed)
        figure_of(measured, n, &g->cost);
}

static int estimate_all(struct comparing *c, struct err *err)
{
    size_t most = 1;
    for (size_t i = 0; i < c->group_count; i++)
        most = c->groups[i].parts.count > most ? c->groups[i].parts.count : most;
    SCOPED(free_pointer) struct measured *measured = calloc(most, sizeof *measured);
    if (!measured)
        return err_memory(err);
    for (size_t i = 0; i < c->group_count; i++)
        estimate_group(&c->groups[i], measured);
    return 0;
}

static int by_title(const void *a, const void *b)
{
    return strcmp(((const struct section *)a)->title, ((const struct section *)b)->title);
}

// By cost, lower bounds last; or by time where the cost is unknown.
static int by_cost(const void *a, const void *b)
{
    const struct compare_row *x = a, *y = b;
    if (x->cost.nano_usd.known != y->cost.nano_usd.known)
        return x->cost.nano_usd.known ? -1 : 1;
    if (x->cost.lower_bound.v != y->cost.lower_bound.v)
        return x->cost.lower_bound.v ? 1 : -1;
    if (x->cost.nano_usd.v != y->cost.nano_usd.v)
        return x->cost.nano_usd.v < y->cost.nano_usd.v ? -1 : 1;
    // Where only speeds are known, by their ratio to the base.
    bool relative =
        x->kind && y->kind && strcmp(x->kind, "relative") == 0 && strcmp(y->kind, "relative") == 0;
    if (relative && x->money.ratio.known != y->money.ratio.known)
        return x->money.ratio.known ? -1 : 1;
    if (!relative && x->time_s.value.known != y->time_s.value.known)
        return x->time_s.value.known ? -1 : 1;
    double first = relative ? x->money.ratio.v : 0, second = relative ? y->money.ratio.v : 0;
    if (first == second) {
        first = relative ? x->time.ratio.v : x->time_s.value.v;
        second = relative ? y->time.ratio.v : y->time_s.value.v;
    }
    if (first < second || second < first)
        return first < second ? -1 : 1;
    int order = strcmp(x->machine, y->machine);
    if (order == 0)
        order = strcmp(x->framework, y->framework);
    return order != 0 ? order : strcmp(x->detail ? x->detail : "", y->detail ? y->detail : "");
}

static int base_first(const void *a, const void *b)
{
    const struct compare_row *x = a, *y = b;
    if (x->base.known != y->base.known)
        return x->base.known ? -1 : 1;
    return by_cost(a, b);
}

static int add_reasons(struct compare_row *row, const struct comparison *verdict, bool apart,
                       struct err *err)
{
    for (size_t i = 0; i < verdict->reasons.count; i++)
        TRY(apart ? texts_add(&row->reasons, verdict->reasons.items[i], err)
                  : texts_add(&row->notes, verdict->reasons.items[i], err));
    return 0;
}

// A time and a relative speed cannot be compared.
static const char *not_on_one_scale(const struct group *base, const struct group *group)
{
    const char *to = group_relative_to(group), *base_to = group_relative_to(base);
    if (!group->timed || !base->timed || (!to && !base_to))
        return NULL;
    if (!base_to)
        return "only its relative speed is known, not its time";
    if (!to)
        return "only the base's relative speed is known, not its time";
    return strcmp(to, base_to) == 0 ? NULL : "its speed is relative to another machine's";
}

static int fill_row(const struct comparing *c, const struct group *group, struct compare_row *row,
                    struct err *err)
{
    TRY(compare_row_fill(group, c->power, row, err));
    TRY(compare_local_group(c->market, c->currency, group, row, err));
    TRY(compare_row_machine(c, group, row, err));
    return c->published ? compare_row_printed(group, row, err) : 0;
}

// Of a run whose calculation alone is known: what that costs, a lower bound.
static int add_calculation(const struct group *g, struct compare_row *row, struct err *err)
{
    const struct run_price *price = &g->price;
    int64_t cost;
    if (!price->known || g->parts.count != 1)
        return texts_add(&row->notes, "only its calculation is known, not the time of the run",
                         err);
    TRY(run_price_cost(price, 0, llround(row->calculation_ms.value.v * 1e6), &cost, err));
    row->price.usd_per_hour = some_money(price->hour);
    row->cost.nano_usd = some_int(cost);
    row->cost.usd = some_money(cost);
    row->cost.lower_bound = some_bool(true);
    TRY(text_set(&row->price.from, price->from, err));
    return texts_add(&row->notes,
                     "only its calculation is known, not the time of the run: ≥ is what that costs",
                     err);
}

// One row of a section: beside the base, or apart from it.
static int add_row(const struct comparing *c, const struct section *section, size_t number,
                   size_t reference, struct compare_workload *to, struct err *err)
{
    const struct group *group = &c->groups[number], *against = &c->groups[reference];
    bool is_base = number == section->base;
    struct comparison verdict;
    // Notes about the base alone are in the base's own row.
    const struct comparison_names names = {NULL, "it"};
    int rc = comparison_make(&against->run, &group->run, names, &verdict, err);
    bool alone = number == reference; // against itself there are notes only
    const char *scale = not_on_one_scale(against, group);
    // Calculations can be compared even if the time of the whole run is unknown.
    bool part_alone =
        !group->timed && group->l1_known[L1_CALCULATION] && against->l1_known[L1_CALCULATION];
    bool apart = (!group->timed && !part_alone) || group->failed || scale ||
                 (!alone && verdict.verdict == COMPARABLE_NOT) ||
                 !comparable_length(&against->run, &group->run);
    struct compare_row *row = NULL;
    if (rc == 0) {
        row = apart ? LIST_ADD(&to->apart, err) : LIST_ADD(&to->rows, err);
        rc = row ? fill_row(c, group, row, err) : ERR_MEMORY;
    }
    if (rc == 0 && is_base)
        row->base = some_bool(true);
    if (rc == 0 && !apart && section->base != NO_GROUP)
        rc = compare_row_against(group, &c->groups[section->base], row, err);
    if (rc == 0 && !(alone && verdict.verdict == COMPARABLE_NOT && !apart))
        rc = add_reasons(row, &verdict, apart, err);
    if (rc == 0 && !apart && part_alone)
        rc = add_calculation(group, row, err);
    if (rc == 0 && apart && !group->failed && !group->timed)
        rc = texts_add(&row->reasons,
                       "its time is not known: it was neither trained to the end nor projected",
                       err);
    if (rc == 0 && scale && !group->failed)
        rc = texts_add(&row->reasons, scale, err);
    comparison_release(&verdict);
    return rc;
}

// Estimates from the runs that have a row.
static int add_estimates(const struct comparing *c, const struct section *section,
                         const bool *compared, struct compare_workload *to, struct err *err)
{
    size_t count = 0;
    SCOPED(free_pointer) const struct run **runs = calloc(section->count, sizeof *runs);
    if (!runs)
        return err_memory(err);
    for (size_t i = 0; i < section->count; i++)
        if (compared[i])
            runs[count++] = &c->groups[section->groups[i]].run;
    return compare_targets_add(c->targets, runs, count, to, err);
}

static int add_rows(const struct comparing *c, const struct section *section, size_t reference,
                    struct compare_workload *to, struct err *err)
{
    SCOPED(free_pointer) bool *compared = calloc(section->count + 1, sizeof *compared);
    if (!compared)
        return err_memory(err);
    for (size_t i = 0; i < section->count; i++) {
        size_t before = to->rows.count;
        TRY(add_row(c, section, section->groups[i], reference, to, err));
        compared[i] = to->rows.count > before;
    }
    return c->targets ? add_estimates(c, section, compared, to, err) : 0;
}

// ---- the comparison in sentences: its verdict, the parts of l1, and one GPU against another.

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
        if (row->base.known || !ratio.known || !verdict_can_win(row))
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

// The sentences of a workload, and of all (compare_sentences.c).
static int compare_sentences(const struct comparing *c, struct compare_workload *workload,
                             struct err *err)
{
    if (compare_rented(workload))
        return compare_say_providers(workload, c->prorated || c->published, err);
    for (int m = 0; m < VERDICT_MEASURES; m++) {
        const struct verdict v = verdict_of_rows(workload->rows.items, workload->rows.count, m);
        struct buf sentence = {0};
        if (m == 0 && v.of < 2)
            verdict_say_unsure(&v, &sentence);
        else if (v.of > 1)
            verdict_say_rows(&v, "", &sentence);
        if (m == VERDICT_MEASURES - 1 && v.of > 1)
            verdict_say_unsure(&v, &sentence);
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
                return verdict_can_win(row) && !row->base.known;
    }
    return false;
}

// The fastest GPU of a section against the base's, by their data sheets.
static int compare_expectation(struct comparing *c, const struct section *section,
                               struct compare_workload *workload, struct err *err)
{
    const struct group *base = section->base == NO_GROUP ? NULL : &c->groups[section->base];
    const struct group *fastest = NULL;
    SCOPED(buf_release) struct buf words = {0}, sentence = {0};
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
    TRY(c->tables ? 0 : estimate_tables_open(&c->tables, err));
    expected_words(c->tables, devices, &base->run, &fastest->run,
                   base->time.value / fastest->time.value, &words);
    TRY(buf_check(&words, err));
    if (words.len > 0) {
        buf_printf(&sentence, "%s against %s: %s.", fastest->machine, base->machine,
                   buf_str(&words));
        TRY(texts_take(&workload->sentences, &sentence, err));
    }
    return 0;
}

static int compare_summary(struct compare *compare, struct err *err)
{
    for (int m = 0; m < VERDICT_MEASURES && compare->workloads.count > 1; m++) {
        struct verdict_most most;
        struct buf sentence = {0};
        TRY(verdict_of_workloads(compare, m, &most, err));
        verdict_say_most(&most, &sentence);
        TRY(texts_take(&compare->sentences, &sentence, err));
    }
    return 0;
}

// ---- a section

static int add_section(struct comparing *c, struct section *section, struct compare *out,
                       struct err *err)
{
    struct compare_workload *to = LIST_ADD(&out->workloads, err);
    TRY(to ? TEXTS_SET(err, {&to->workload, section->title}, {&to->name, section->name})
           : ERR_MEMORY);
    to->rows.known = to->apart.known = true;
    compare_details(c, section);
    // Without a base, rows are judged against the first.
    size_t reference = section->base;
    for (size_t i = 0; i < section->count && reference == NO_GROUP; i++)
        if (c->groups[section->groups[i]].timed && !c->groups[section->groups[i]].failed)
            reference = section->groups[i];
    if (reference == NO_GROUP)
        reference = section->groups[0];
    TRY(add_rows(c, section, reference, to, err));
    if (to->rows.count > 0)
        qsort(to->rows.items, to->rows.count, sizeof *to->rows.items, base_first);
    if (to->apart.count > 0)
        qsort(to->apart.items, to->apart.count, sizeof *to->apart.items, by_cost);
    if (section->base != NO_GROUP && to->rows.count > 0) {
        struct buf label = {0};
        compare_label(&to->rows.items[0], &label);
        TRY(text_take(&to->base, &label, err));
    }
    TRY(compare_types(to, err));
    if (compare_rented(to))
        qsort(to->rows.items, to->rows.count, sizeof *to->rows.items, by_cost);
    TRY(compare_sentences(c, to, err));
    return compare_expectation(c, section, to, err);
}

static int check_words(const struct comparing *c, struct err *err)
{
    for (size_t i = 0; i < c->pick_count; i++)
        if (!c->picks[i].used) {
            err_set(err, ERR_MISSING, "no run fits '%s'", c->picks[i].selector.text);
            return err_hint(err, "a run's id, a label key=value, a machine, GPU or framework; "
                                 "'fare runs' lists them");
        }
    return pricing_check(c->pricing, err);
}

int comparing_finish(struct comparing *c, struct compare *out, struct err *err)
{
    out->workloads.known = true;
    out->runs = some_int(c->runs);
    TRY(check_words(c, err));
    TRY(TEXTS_SET(err, {&out->schema, COMPARE_SCHEMA},
                  {&out->rule, c->published  ? "published"
                               : c->prorated ? "prorated"
                                             : "paid"}));
    if (c->date)
        TRY(text_set(&out->date, c->date, err));
    TRY(estimate_all(c, err));
    if (c->group_count > 0)
        TRY(compare_choose(c, out, err));
    if (c->section_count > 0)
        qsort(c->sections, c->section_count, sizeof *c->sections, by_title);
    for (size_t i = 0; i < c->section_count; i++)
        TRY(add_section(c, &c->sections[i], out, err));
    return compare_summary(out, err);
}
