// SPDX-License-Identifier: Apache-2.0
// The comparison in sentences: its verdict, the parts of l1, and one GPU against another.
#include "advise/compare_parts.h"

#include <string.h>

#include "advise/verdict_words.h"

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

int compare_sentences(struct compare_workload *workload, struct err *err)
{
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

int compare_summary(struct compare *compare, struct err *err)
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
