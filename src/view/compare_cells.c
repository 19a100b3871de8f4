// SPDX-License-Identifier: Apache-2.0
// The figures of a comparison as the cells of a table.
#include "view/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare_estimates.h"
#include "base/clock.h"
#include "base/money.h"

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
