// SPDX-License-Identifier: Apache-2.0
// compare, for people: sentences, then a table.
#include "cmd/compare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "advise/compare.h"
#include "advise/compare_estimates.h"
#include "advise/difference.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "cmd/table.h"

static const struct table_column columns[] = {
    {"on + with", TABLE_LEFT, 0, 34},
    {"time", TABLE_RIGHT},
    {"time ÷", TABLE_RIGHT},
    {"transfer", TABLE_RIGHT, 6, 0, "transfer"},
    {"calculation", TABLE_RIGHT, 5, 0, "calculation"},
    {"cost $", TABLE_POINT},
    {"", TABLE_POINT},
    {"cost ÷", TABLE_RIGHT},
    {"power $", TABLE_POINT, 5, 0, "USD of power"},
    {"per $", TABLE_RIGHT, 1, 0, "trainings for a dollar"},
    {"right", TABLE_RIGHT, 2, 0, "right"},
    {"GPU", TABLE_RIGHT, 3, 0, "use of the GPUs"},
    {"spec", TABLE_RIGHT, 4, 0, "of the specification"},
    {"", TABLE_LEFT},
};
enum { COLUMNS = sizeof columns / sizeof *columns, LOCAL = 6, QUALITY = 10 };

static void ratio_text(const struct compare_row *row, const struct compare_against *against,
                       char out[COMPARE_CELL])
{
    if (row->base.known && against->ratio.known)
        snprintf(out, COMPARE_CELL, "base");
    else
        compare_ratio_words(against, out);
}

// "290 ms, 4.14 ×"
static void l1_text(const struct compare_row *row, const struct compare_figure *ms,
                    const struct compare_against *against, char out[COMPARE_CELL])
{
    if (!ms->value.known)
        snprintf(out, COMPARE_CELL, "-");
    else if (row->base.known || !against->ratio.known)
        snprintf(out, COMPARE_CELL, "%s", units_step(ms->value.v).s);
    else
        snprintf(out, COMPARE_CELL, "%s, %.3g ×", units_step(ms->value.v).s, against->ratio.v);
}

static void power_text(const struct compare_row *row, char out[COMPARE_CELL])
{
    snprintf(out, COMPARE_CELL, "%s", row->power.usd.known ? money_brief(row->power.usd).s : "-");
}

static void add_part(struct buf *line, const char *text)
{
    buf_printf(line, "%s%s", line->len > 0 ? "; " : "", text);
}

static void add_against(struct buf *line, const char *what, const struct compare_against *against)
{
    if (!against->verdict || !against->low.known)
        return;
    bool shown = against->confidence.v >= DIFFERENCE_SHOWN;
    buf_printf(line, "%s%s%s%s (%.4g to %.4g)", line->len > 0 ? "; " : "", shown ? "" : what,
               shown ? "" : ": ", against->verdict, against->low.v, against->high.v);
}

static void add_interval(struct buf *line, const struct compare_figure *time)
{
    if (!time->low.known || !time->high.known)
        return;
    char low[24], high[24];
    clock_words(llround(time->low.v * 1e9), low, sizeof low);
    clock_words(llround(time->high.v * 1e9), high, sizeof high);
    buf_printf(line, "%s%s to %s", line->len > 0 ? "; " : "", low, high);
}

// Intervals and other facts that have no column.
static void add_below(struct buf *line, const struct compare_row *row)
{
    char text[COMPARE_CELL];
    if (row->detail)
        add_part(line, row->detail);
    if (row->runs.v > 1)
        buf_printf(line, "%s%lld runs", line->len > 0 ? "; " : "", (long long)row->runs.v);
    add_interval(line, &row->time_s);
    if (compare_cost_interval(row, "$", " to ", text))
        add_part(line, text);
    if (row->power.kwh.known)
        buf_printf(line, "%s%.3g kWh (%.0f W, %s)", line->len > 0 ? "; " : "", row->power.kwh.v,
                   row->power.watts.v, row->power.how);
    add_against(line, "time", &row->time);
    add_against(line, "cost", &row->money);
    if (compare_work_interval(row, " to ", text))
        buf_printf(line, "; %s trainings for a dollar", text);
    if (compare_quality_interval(row, " to ", text))
        buf_printf(line, "; %s %s", text, row->metric ? row->metric : "right");
    if (compare_percent_interval(&row->gpu_percent, 1, " to ", text))
        buf_printf(line, "; %s use of the GPUs", text);
    if (compare_percent_interval(&row->share_of_peak, 100, " to ", text))
        buf_printf(line, "; %s of the specification", text);
    if (row->tokens_per_s.known)
        buf_printf(line, "; %.0f tokens/s", row->tokens_per_s.v);
    if (row->mfu.known)
        buf_printf(line, "; MFU %.1f %%", row->mfu.v * 100);
    if (row->joules_per_mtoken.known)
        buf_printf(line, "; %.4g J per million tokens", row->joules_per_mtoken.v);
    if (row->usd_per_mtoken.known)
        buf_printf(line, "; %s$%s per million tokens", compare_cost_mark(row),
                   money_brief(row->usd_per_mtoken).s);
}

static void add_row(struct table *table, struct compare_notes *notes, const struct compare_row *row)
{
    // "k80 + tensorflow"; the details are below.
    const struct compare_row bare = {.machine = row->machine, .framework = row->framework};
    struct buf name = {0}, below = {0};
    char texts[COLUMNS][COMPARE_CELL], numbers[COMPARE_CELL];
    compare_label(&bare, &name);
    compare_time_words(row, texts[1]);
    ratio_text(row, &row->time, texts[2]);
    l1_text(row, &row->transfer_ms, &row->transfer, texts[3]);
    l1_text(row, &row->calculation_ms, &row->calculation, texts[4]);
    compare_cost_words(row, texts[5]);
    compare_local_words(row, texts[LOCAL]);
    ratio_text(row, &row->money, texts[7]);
    power_text(row, texts[8]);
    compare_work_words(row, texts[9]);
    compare_quality_words(row, texts[QUALITY]);
    compare_percent_words(row->gpu_percent.value, 1, texts[11]);
    compare_percent_words(row->share_of_peak.value, 100, texts[12]);
    compare_notes_of(notes, row, numbers);
    snprintf(texts[13], sizeof texts[13], "%s%.*s%s", *numbers ? "[" : "", COMPARE_CELL - 3,
             numbers, *numbers ? "]" : "");
    const char *cells[COLUMNS] = {buf_str(&name)};
    for (size_t c = 1; c < COLUMNS; c++)
        cells[c] = texts[c];
    add_below(&below, row);
    table_row(table, OUT_PLAIN, cells,
              buf_str(&below) + (below.len > 1 && below.data[0] == ';' ? 2 : 0));
    table->rows.failed |= name.failed || below.failed;
    buf_release(&name);
    buf_release(&below);
}

static void put_apart(struct out *out, const struct compare_workload *workload)
{
    if (workload->apart.count == 0)
        return;
    out_wrapf(out, 0, "Not comparable%s%s:", workload->base ? " with " : "",
              workload->base ? workload->base : "");
    for (size_t i = 0; i < workload->apart.count; i++) {
        const struct compare_row *row = &workload->apart.items[i];
        struct buf line = {0};
        char time[COMPARE_CELL], cost[COMPARE_CELL];
        compare_time_words(row, time);
        compare_cost_words(row, cost);
        compare_label(row, &line);
        if (row->runs.v > 1)
            buf_printf(&line, ", %lld runs", (long long)row->runs.v);
        if (row->time_s.value.known)
            buf_printf(&line, ", %s", time);
        if (row->cost.nano_usd.known)
            buf_printf(&line, ", $%s", cost);
        for (size_t j = 0; j < row->reasons.count; j++)
            buf_printf(&line, "%s%s", j ? "; " : ": ", row->reasons.items[j]);
        out->text.failed |= line.failed;
        out_bullet(out, buf_str(&line));
        buf_release(&line);
    }
}

static void put_workload(struct out *out, const struct compare_workload *workload)
{
    struct table_column heads[COLUMNS];
    struct table table = {.columns = heads, .count = COLUMNS};
    memcpy(heads, columns, sizeof heads);
    heads[QUALITY].head = compare_quality_head(workload, heads[QUALITY].head);
    struct compare_notes notes;
    bool good = compare_notes_init(&notes, workload);
    out->text.failed |= !good;
    out_wrapf(out, 0, "%s%s%s", workload->workload,
              workload->base ? ", against " : ": the base has no run of it",
              workload->base ? workload->base : "");
    for (size_t i = 0; i < workload->sentences.count; i++)
        out_wrap(out, 0, workload->sentences.items[i]);
    for (size_t i = 0; good && i < workload->rows.count; i++) {
        add_row(&table, &notes, &workload->rows.items[i]);
        if (workload->rows.items[i].cost.local_currency)
            heads[LOCAL].head = workload->rows.items[i].cost.local_currency;
    }
    if (good && workload->rows.count > 0)
        table_print(&table, out);
    for (size_t i = 0; good && i < notes.numbers.count; i++) {
        out_printf(out, "[%zu] ", i + 1);
        bool unpriced = strcmp(notes.items[i], COMPARE_UNPRICED) == 0;
        out_wrap_here(out, 4,
                      unpriced ? COMPARE_UNPRICED ": --price NAME=USD_PER_HOUR sets it"
                               : notes.items[i]);
    }
    put_apart(out, workload);
    compare_notes_release(&notes);
}

static void put_legend(struct out *out, const struct compare *compare)
{
    bool projected = false, estimated = false, unjudged = false, costed = false;
    for (size_t i = 0; i < compare->workloads.count; i++)
        for (size_t j = 0; j < compare->workloads.items[i].rows.count; j++) {
            const struct compare_row *row = &compare->workloads.items[i].rows.items[j];
            projected |= row->kind && strcmp(row->kind, "projected") == 0;
            estimated |= compare_estimated(row);
            unjudged |= row->time.chance.v;
            costed |= row->cost.nano_usd.known;
        }
    struct buf text = {0};
    if (projected)
        buf_adds(&text, "~ is projected. ");
    if (estimated)
        buf_adds(&text, "≈ is estimated: nobody measured it. ");
    if (costed)
        buf_printf(&text, "Costs are %s, tax left out. ",
                   strcmp(compare->rule, "prorated") == 0
                       ? "rate × time (--rule paid: as the provider charges)"
                       : "as the provider charges (--rule prorated: rate × time)");
    compare_exchange(compare, "", &text);
    if (unjudged)
        buf_adds(&text, "Without a confidence there is only one run: the difference could be "
                        "chance. ");
    buf_trim(&text);
    if (text.len > 0) {
        out_printf(out, "\n");
        out_wrap(out, 0, buf_str(&text));
    }
    out->text.failed |= text.failed;
    buf_release(&text);
}

void compare_table(struct out *out, const struct compare *compare)
{
    for (size_t i = 0; i < compare->sentences.count; i++)
        out_wrap(out, 0, compare->sentences.items[i]);
    for (size_t i = 0; i < compare->workloads.count; i++) {
        if (i > 0 || compare->sentences.count > 0)
            out_printf(out, "\n");
        put_workload(out, &compare->workloads.items[i]);
    }
    put_legend(out, compare);
}
