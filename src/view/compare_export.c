// SPDX-License-Identifier: Apache-2.0
// compare as Markdown and CSV. Records are untrusted: names are quoted so that they stay text in a
// page and in a spreadsheet.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare.h"
#include "advise/compare_estimates.h"
#include "base/clock.h"
#include "base/csv.h"
#include "base/money.h"
#include "view/compare.h"
#include "view/tables.h"

// ---- Markdown

static void add_figure(struct buf *out, const char *text, const struct maybe_real *low,
                       const struct maybe_real *high, const char *unit)
{
    if (low->known && high->known)
        buf_printf(out, " %s (%.4g–%.4g%s) |", text, low->v, high->v, unit);
    else
        buf_printf(out, " %s |", text);
}

static void markdown_percent(struct buf *out, const struct compare_figure *share, double scale)
{
    char text[COMPARE_CELL];
    compare_percent_words(share->value, scale, text);
    buf_printf(out, " %s", text);
    if (compare_percent_interval(share, scale, "–", text))
        buf_printf(out, " (%s)", text);
    buf_adds(out, " |");
}

static void markdown_row(struct buf *out, struct compare_notes *notes,
                         const struct compare_row *row)
{
    struct buf name = {0};
    char text[COMPARE_CELL];
    compare_label(row, &name);
    if (row->base.known)
        buf_adds(&name, ", the base");
    buf_addc(out, '|');
    buf_addc(out, ' ');
    table_markdown_text(out, buf_str(&name));
    buf_adds(out, " |");
    buf_drop(out, &name);
    buf_printf(out, " %lld |", (long long)row->runs.v);
    compare_time_words(row, text);
    add_figure(out, text, &row->time_s.low, &row->time_s.high, " s");
    compare_ratio_words(&row->time, text);
    add_figure(out, text, &row->time.low, &row->time.high, "");
    buf_addc(out, ' ');
    compare_cost_cell(row, out);
    buf_adds(out, " |");
    compare_ratio_words(&row->money, text);
    add_figure(out, text, &row->money.low, &row->money.high, "");
    compare_work_words(row, text);
    buf_printf(out, " %s", text);
    if (compare_work_interval(row, "–", text))
        buf_printf(out, " (%s)", text);
    buf_adds(out, " |");
    compare_quality_words(row, text);
    buf_printf(out, " %s", text);
    if (compare_quality_interval(row, "–", text))
        buf_printf(out, " (%s)", text);
    buf_adds(out, " |");
    markdown_percent(out, &row->gpu_percent, 1);
    markdown_percent(out, &row->share_of_peak, 100);
    compare_notes_of(notes, row, text);
    buf_printf(out, " %s |\n", text);
}

static void markdown_workload(struct buf *out, const struct compare_workload *workload, bool said)
{
    struct compare_notes notes;
    out->failed |= !compare_notes_init(&notes, workload);
    buf_adds(out, "\n## ");
    table_markdown_text(out, workload->workload);
    buf_adds(out, "\n\n");
    for (size_t i = 0; !said && i < workload->sentences.count; i++) {
        table_markdown_text(out, workload->sentences.items[i]);
        buf_adds(out, i + 1 < workload->sentences.count ? " " : "\n\n");
    }
    buf_printf(out,
               "| on + with | runs | time | time ÷ base | cost, $ | cost ÷ base | per $ | %s "
               "| GPU use | of specification | notes |\n"
               "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
               compare_quality_head(workload, "right"));
    for (size_t i = 0; i < workload->rows.count && !out->failed; i++)
        markdown_row(out, &notes, &workload->rows.items[i]);
    for (size_t i = 0; i < notes.numbers.count; i++) {
        buf_printf(out, "\n%zu. ", i + 1);
        table_markdown_text(out, notes.items[i]);
    }
    buf_adds(out, notes.numbers.count > 0 ? "\n" : "");
    if (workload->apart.count > 0)
        buf_adds(out, "\nNot comparable:\n\n");
    for (size_t i = 0; i < workload->apart.count; i++) {
        const struct compare_row *row = &workload->apart.items[i];
        struct buf name = {0};
        compare_label(row, &name);
        buf_adds(out, "- ");
        table_markdown_text(out, buf_str(&name));
        for (size_t j = 0; j < row->reasons.count; j++) {
            buf_adds(out, j ? "; " : ": ");
            table_markdown_text(out, row->reasons.items[j]);
        }
        buf_adds(out, "\n");
        buf_drop(out, &name);
    }
    compare_notes_release(&notes);
}

void compare_markdown(struct buf *text, const struct compare *compare)
{
    for (size_t i = 0; i < compare->sentences.count; i++) {
        table_markdown_text(text, compare->sentences.items[i]);
        buf_adds(text, i + 1 < compare->sentences.count ? " " : "\n");
    }
    compare_markdown_tables(text, compare, false);
}

void compare_markdown_tables(struct buf *text, const struct compare *compare, bool said)
{
    for (size_t i = 0; i < compare->workloads.count; i++)
        markdown_workload(text, &compare->workloads.items[i], said);
    struct buf rates = {0};
    compare_exchange(compare, "\n", &rates);
    buf_trim(&rates);
    buf_printf(text, "%s%s", buf_str(&rates), rates.len > 0 ? "\n" : "");
    buf_drop(text, &rates);
}

// ---- CSV

static void put_real(struct csv_writer *w, struct maybe_real number)
{
    char text[40] = "";
    if (number.known && isfinite(number.v))
        snprintf(text, sizeof text, "%.*g", DBL_DIG, number.v);
    csv_put(w, text);
}

static void put_texts(struct csv_writer *w, char *const *items, size_t count)
{
    struct buf joined = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&joined, "%s%s", i ? "; " : "", items[i]);
    table_csv_text(w, buf_str(&joined));
    buf_drop(w->out, &joined);
}

static void csv_row(struct csv_writer *w, const struct compare_workload *workload,
                    const struct compare_row *row, bool apart)
{
    char runs[24];
    snprintf(runs, sizeof runs, "%lld", (long long)row->runs.v);
    table_csv_text(w, workload->workload);
    csv_put(w, row->base.known ? "base" : apart ? "apart" : "row");
    table_csv_text(w, row->machine);
    table_csv_text(w, row->framework);
    table_csv_text(w, row->detail);
    csv_put(w, runs);
    csv_put(w, row->kind);
    const struct maybe_real times[] = {row->time_s.value,   row->time_s.low, row->time_s.high,
                                       row->time.ratio,     row->time.low,   row->time.high,
                                       row->time.confidence};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        put_real(w, times[i]);
    csv_put(w, row->time.verdict);
    csv_put(w, money_exact(row->price.usd_per_hour).s);
    table_csv_text(w, row->price.from);
    table_csv_text(w, row->price.rule);
    csv_put(w, money_exact(row->cost.usd).s);
    csv_put(w, money_exact(row->cost.low_usd).s);
    csv_put(w, money_exact(row->cost.high_usd).s);
    const struct maybe_real costs[] = {row->money.ratio, row->money.low, row->money.high,
                                       row->money.confidence};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++)
        put_real(w, costs[i]);
    csv_put(w, row->money.verdict);
    const struct compare_figure *const rest[] = {&row->trainings_per_usd, &row->accuracy,
                                                 &row->gpu_percent, &row->share_of_peak};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        put_real(w, rest[i]->value);
        put_real(w, rest[i]->low);
        put_real(w, rest[i]->high);
    }
    put_texts(w, row->notes.items, row->notes.count);
    put_texts(w, row->reasons.items, row->reasons.count);
    table_csv_text(w, row->metric);
    put_real(w, row->quality.value);
    put_real(w, row->quality.low);
    put_real(w, row->quality.high);
    const struct maybe_real l1[] = {row->transfer_ms.value, row->transfer.ratio,
                                    row->calculation_ms.value, row->calculation.ratio};
    for (size_t i = 0; i < sizeof l1 / sizeof *l1; i++)
        put_real(w, l1[i]);
    put_real(w, row->power.kwh);
    csv_put(w, money_exact(row->power.usd).s);
    csv_put(w, row->cost.local_currency);
    csv_put(w, money_exact(row->cost.local).s);
    csv_put(w, money_exact(row->cost.local_low).s);
    csv_put(w, money_exact(row->cost.local_high).s);
    csv_end(w);
}

void compare_csv(struct buf *out, const struct compare *compare)
{
    struct csv_writer w = {.out = out};
    buf_adds(out, "workload,role,machine,framework,detail,runs,kind,time_s,time_low_s,time_high_s,"
                  "time_ratio,time_ratio_low,time_ratio_high,time_confidence,time_verdict,"
                  "usd_per_hour,price_from,price_rule,cost_usd,cost_low_usd,cost_high_usd,"
                  "cost_ratio,cost_ratio_low,cost_ratio_high,cost_confidence,cost_verdict,"
                  "trainings_per_usd,trainings_per_usd_low,trainings_per_usd_high,"
                  "accuracy,accuracy_low,accuracy_high,gpu_percent,gpu_percent_low,"
                  "gpu_percent_high,share_of_peak,share_of_peak_low,share_of_peak_high,"
                  "notes,reasons,metric,quality,quality_low,quality_high,"
                  "transfer_ms,transfer_ratio,calculation_ms,calculation_ratio,power_kwh,power_usd,"
                  "local_currency,cost_local,cost_low_local,cost_high_local\n");
    for (size_t i = 0; i < compare->workloads.count; i++) {
        const struct compare_workload *workload = &compare->workloads.items[i];
        for (size_t j = 0; j < workload->rows.count; j++)
            csv_row(&w, workload, &workload->rows.items[j], false);
        for (size_t j = 0; j < workload->apart.count; j++)
            csv_row(&w, workload, &workload->apart.items[j], true);
    }
}

// The figures of a comparison as the cells of a table.

void compare_time_words(const struct compare_row *row, char out[COMPARE_CELL])
{
    char words[24];
    if (!row->time_s.value.known) {
        snprintf(out, COMPARE_CELL, "-");
        return;
    }
    clock_words(llround(row->time_s.value.v * 1e9), words, sizeof words);
    bool projected = row->kind && strcmp(row->kind, "projected") == 0;
    snprintf(out, COMPARE_CELL, "%s%s", projected ? "~" : compare_estimated(row) ? "≈" : "", words);
}

// As money_interval(); false: the cost is not known.
static bool cost_of(const struct compare_row *row, char amount[MONEY_BYTES],
                    char interval[MONEY_INTERVAL_BYTES])
{
    const int64_t nano = row->cost.nano_usd.v;
    const bool ends = row->cost.low_usd.known && row->cost.high_usd.known;
    if (!row->cost.nano_usd.known)
        return false;
    money_interval(nano, ends ? row->cost.low_usd.nano : nano,
                   ends ? row->cost.high_usd.nano : nano, amount, interval);
    return true;
}

const char *compare_cost_mark(const struct compare_row *row)
{
    return row->cost.lower_bound.v ? "≥" : "";
}

void compare_cost_words(const struct compare_row *row, char out[COMPARE_CELL])
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    snprintf(out, COMPARE_CELL, "%s%s", compare_cost_mark(row),
             cost_of(row, amount, interval) ? amount : "-");
}

void compare_local_words(const struct compare_row *row, char out[COMPARE_CELL])
{
    char amount[MONEY_BYTES] = "";
    if (row->cost.local.known)
        money_short_in(row->cost.local.nano, row->cost.local_currency, amount);
    else if (row->cost.exchange)
        snprintf(amount, sizeof amount, "unknown");
    snprintf(out, COMPARE_CELL, "%s%s", row->cost.local.known ? compare_cost_mark(row) : "",
             amount);
}

void compare_cost_cell(const struct compare_row *row, struct buf *out)
{
    char text[COMPARE_CELL];
    compare_cost_words(row, text);
    buf_adds(out, text);
    if (compare_cost_interval(row, "", "–", text))
        buf_printf(out, " (%s)", text);
    compare_local_words(row, text);
    if (*text)
        buf_printf(out, ", %s %s", text, row->cost.local_currency);
}

void compare_exchange(const struct compare *compare, const char *before, struct buf *out)
{
    enum { MOST = 6 };
    size_t said = 0;
    for (size_t i = 0; i < compare->workloads.count; i++)
        for (size_t j = 0; j < compare->workloads.items[i].rows.count; j++) {
            const char *text = compare->workloads.items[i].rows.items[j].cost.exchange;
            if (!text || strstr(buf_str(out), text) || ++said > MOST)
                continue;
            buf_printf(out, "%s%s", said > 1 ? "; " : before, text);
        }
    if (said > 0)
        buf_adds(out, said > MOST ? "; and more. " : ". ");
}

bool compare_cost_interval(const struct compare_row *row, const char *before, const char *between,
                           char out[COMPARE_CELL])
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    if (!cost_of(row, amount, interval) || !*interval)
        return false;
    int low = (int)strcspn(interval, "-"); // no cost is negative
    snprintf(out, COMPARE_CELL, "%s%.*s%s%s%s", before, low, interval, between, before,
             interval + low + 1);
    return true;
}

// Four decimals, and fewer where a ratio is large.
void compare_ratio_words(const struct compare_against *against, char out[COMPARE_CELL])
{
    double ratio = against->ratio.v;
    if (!against->ratio.known)
        snprintf(out, COMPARE_CELL, "-");
    else if (ratio < 1000)
        snprintf(out, COMPARE_CELL, "%.*f", ratio < 10 ? 4 : ratio < 100 ? 3 : 2, ratio);
    else
        snprintf(out, COMPARE_CELL, "%.3g", ratio);
}

static void work_text(double work, char out[COMPARE_CELL])
{
    if (work >= 99.95 && work < 1e6)
        snprintf(out, COMPARE_CELL, "%.0f", work);
    else
        snprintf(out, COMPARE_CELL, work < 99.95 ? "%#.3g" : "%.3g", work);
}

void compare_work_words(const struct compare_row *row, char out[COMPARE_CELL])
{
    if (row->trainings_per_usd.value.known)
        work_text(row->trainings_per_usd.value.v, out);
    else
        snprintf(out, COMPARE_CELL, "-");
}

bool compare_work_interval(const struct compare_row *row, const char *between,
                           char out[COMPARE_CELL])
{
    const struct compare_figure *work = &row->trainings_per_usd;
    char low[COMPARE_CELL], high[COMPARE_CELL];
    if (!work->low.known || !work->high.known)
        return false;
    work_text(work->low.v, low);
    work_text(work->high.v, high);
    snprintf(out, COMPARE_CELL, "%.20s%s%.20s", low, between, high);
    return strcmp(low, high) != 0;
}

void compare_percent_words(struct maybe_real share, double scale, char out[COMPARE_CELL])
{
    if (share.known)
        snprintf(out, COMPARE_CELL, "%.*f%%", scale > 1 ? 2 : 0, share.v * scale);
    else
        snprintf(out, COMPARE_CELL, "-");
}

bool compare_percent_interval(const struct compare_figure *share, double scale, const char *between,
                              char out[COMPARE_CELL])
{
    char low[COMPARE_CELL], high[COMPARE_CELL];
    if (!share->low.known || !share->high.known)
        return false;
    compare_percent_words(share->low, scale, low);
    compare_percent_words(share->high, scale, high);
    snprintf(out, COMPARE_CELL, "%.*s%s%.20s", (int)strlen(low) - 1, low, between, high);
    return strcmp(low, high) != 0;
}

const char *compare_quality_head(const struct compare_workload *workload, const char *accuracy)
{
    for (size_t i = 0; i < workload->rows.count; i++)
        if (workload->rows.items[i].metric)
            return "quality";
    return accuracy;
}

void compare_quality_words(const struct compare_row *row, char out[COMPARE_CELL])
{
    if (!row->accuracy.value.known && row->metric && row->quality.value.known)
        snprintf(out, COMPARE_CELL, "%.40s %.4g", row->metric, row->quality.value.v);
    else
        compare_percent_words(row->accuracy.value, 100, out);
}

bool compare_quality_interval(const struct compare_row *row, const char *between,
                              char out[COMPARE_CELL])
{
    char low[COMPARE_CELL], high[COMPARE_CELL];
    const struct compare_figure *q = &row->quality;
    if (row->accuracy.value.known || !row->metric || !q->low.known || !q->high.known)
        return compare_percent_interval(&row->accuracy, 100, between, out);
    snprintf(low, sizeof low, "%.4g", q->low.v);
    snprintf(high, sizeof high, "%.4g", q->high.v);
    snprintf(out, COMPARE_CELL, "%.12s%s%.12s", low, between, high);
    return strcmp(low, high) != 0;
}

bool compare_notes_init(struct compare_notes *notes, const struct compare_workload *workload)
{
    size_t most = 0, number;
    memset(notes, 0, sizeof *notes);
    for (size_t i = 0; i < workload->rows.count; i++)
        most += workload->rows.items[i].notes.count;
    notes->items = calloc(most + 1, sizeof *notes->items);
    if (!notes->items)
        return false;
    for (size_t i = 0; i < workload->rows.count; i++)
        for (size_t j = 0; j < workload->rows.items[i].notes.count; j++) {
            const char *text = workload->rows.items[i].notes.items[j];
            if (index_number(&notes->numbers, text, strlen(text), &number, NULL) != 0)
                return false;
            notes->items[number] = text;
        }
    return true;
}

void compare_notes_release(struct compare_notes *notes)
{
    index_release(&notes->numbers);
    free(notes->items);
}

void compare_notes_of(struct compare_notes *notes, const struct compare_row *row,
                      char out[COMPARE_CELL])
{
    size_t number, at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < row->notes.count && at + 12 < COMPARE_CELL; i++) {
        const char *text = row->notes.items[i];
        if (index_number(&notes->numbers, text, strlen(text), &number, NULL) == 0)
            at += (size_t)snprintf(out + at, COMPARE_CELL - at, "%s%zu", i ? "," : "", number + 1);
    }
}
