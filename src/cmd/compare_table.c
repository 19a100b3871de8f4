// SPDX-License-Identifier: Apache-2.0
// compare, for people: sentences, then a table within the terminal's width. What has no room in a
// row stands on a line below it.
#include "cmd/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/compare.h"
#include "base/clock.h"

enum column { NAME, TIME, TIME_RATIO, COST, COST_RATIO, WORK, RIGHT, USE, SPEC, NOTES, COLUMNS };
enum { NAME_MIN = 9, NAME_MAX = 34 };

static const char *const heads[COLUMNS] = {
    [NAME] = "on + with",    [TIME] = "time",  [TIME_RATIO] = "÷ base", [COST] = "cost $",
    [COST_RATIO] = "÷ base", [WORK] = "per $", [RIGHT] = "right",       [USE] = "GPU",
    [SPEC] = "spec",         [NOTES] = "",
};

// Where there is no column for it.
static const char *const below[COLUMNS] = {[WORK] = "trainings for a dollar",
                                           [RIGHT] = "right",
                                           [USE] = "use of the GPUs",
                                           [SPEC] = "of the specification"};

struct table {
    struct out *out;
    const struct compare_workload *workload;
    struct compare_notes notes;
    int widths[COLUMNS]; // 0: not shown
    bool below[COLUMNS]; // shown below the row
    bool stacked;        // the name has a line of its own, above the figures
};

static void ratio_text(const struct compare_row *row, const struct compare_against *against,
                       char out[COMPARE_CELL])
{
    if (row->base.known && against->ratio.known)
        snprintf(out, COMPARE_CELL, "base");
    else
        compare_ratio_words(against, out);
}

static void cell_text(struct table *t, const struct compare_row *row, enum column column,
                      char out[COMPARE_CELL])
{
    out[0] = '\0';
    switch (column) {
    case TIME:
        return compare_time_words(row, out);
    case TIME_RATIO:
        return ratio_text(row, &row->time, out);
    case COST:
        return compare_cost_words(row, out);
    case COST_RATIO:
        return ratio_text(row, &row->money, out);
    case WORK:
        return compare_work_words(row, out);
    case RIGHT:
        return compare_percent_words(row->accuracy.value, 100, out);
    case USE:
        return compare_percent_words(row->gpu_percent.value, 1, out);
    case SPEC:
        return compare_percent_words(row->share_of_peak.value, 100, out);
    case NOTES:
        return compare_notes_of(&t->notes, row, out);
    case NAME:
    case COLUMNS:
        break;
    }
}

// "k80 + tensorflow", without what tells it apart: that stands below.
static void row_name(const struct compare_row *row, struct buf *out)
{
    struct compare_row bare = {.machine = row->machine, .framework = row->framework};
    compare_label(&bare, out);
}

static int name_columns(struct table *t, const struct compare_row *row)
{
    struct buf name = {0};
    row_name(row, &name);
    int count = out_columns(buf_str(&name));
    t->out->text.failed |= name.failed;
    buf_release(&name);
    return count;
}

static int total_width(const struct table *t)
{
    int total = -1;
    for (enum column c = 0; c < COLUMNS; c++)
        total += t->widths[c] > 0 ? t->widths[c] + 1 : 0;
    return total;
}

// As wide as what is in them; a column in which nothing is known is left out.
static void measure_columns(struct table *t)
{
    char text[COMPARE_CELL];
    for (size_t i = 0; i < t->workload->rows.count; i++) {
        const struct compare_row *row = &t->workload->rows.items[i];
        int name = name_columns(t, row);
        t->widths[NAME] = name > t->widths[NAME] ? name : t->widths[NAME];
        for (enum column c = TIME; c < COLUMNS; c++) {
            cell_text(t, row, c, text);
            if (strcmp(text, "-") != 0 && out_columns(text) > t->widths[c])
                t->widths[c] = out_columns(text);
        }
    }
    // A ratio stands behind what it is of, known or not.
    t->widths[TIME] += t->widths[TIME] == 0 && t->widths[TIME_RATIO] > 0;
    t->widths[COST] += t->widths[COST] == 0 && t->widths[COST_RATIO] > 0;
    for (enum column c = 0; c < COLUMNS; c++)
        if (t->widths[c] > 0 && t->widths[c] < out_columns(heads[c]))
            t->widths[c] = out_columns(heads[c]);
    t->widths[NOTES] += t->widths[NOTES] > 0 ? 2 : 0; // brackets
    if (t->widths[NAME] > NAME_MAX)
        t->widths[NAME] = NAME_MAX;
    static const enum column go_first[] = {SPEC, USE, RIGHT, WORK};
    for (size_t i = 0; i < sizeof go_first / sizeof *go_first; i++) {
        int over = total_width(t) - t->out->width;
        if (over <= 0)
            break;
        if (t->widths[go_first[i]] > 0) {
            t->widths[go_first[i]] = 0;
            t->below[go_first[i]] = true;
        }
    }
    int over = total_width(t) - t->out->width;
    t->stacked = over > 0 && t->widths[NAME] - over < NAME_MIN;
    if (t->stacked)
        t->widths[NAME] = 1;
    else if (over > 0)
        t->widths[NAME] -= over;
}

static void put_cell(struct table *t, enum column column, const char *text)
{
    if (column == NOTES) { // the last, and often empty
        if (*text)
            out_printf(t->out, " [%s]", text);
        return;
    }
    if (column != TIME)
        out_printf(t->out, " ");
    out_cell_right(t->out, t->widths[column], text);
}

static void add_part(struct buf *line, const char *text)
{
    buf_printf(line, "%s%s", line->len > 0 ? "; " : "", text);
}

static void add_against(struct buf *line, const char *what, const struct compare_against *against)
{
    if (!against->verdict || !against->low.known)
        return;
    bool shown = strncmp(against->verdict, "no ", 3) != 0;
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

static bool figure_interval(const struct compare_row *row, enum column column,
                            char out[COMPARE_CELL])
{
    switch (column) {
    case WORK:
        return compare_work_interval(row, " to ", out);
    case RIGHT:
        return compare_percent_interval(&row->accuracy, 100, " to ", out);
    case USE:
        return compare_percent_interval(&row->gpu_percent, 1, " to ", out);
    case SPEC:
        return compare_percent_interval(&row->share_of_peak, 100, " to ", out);
    default:
        return false;
    }
}

// Figures that had to give way to others, and intervals of those that did not.
static void add_figures(struct buf *line, struct table *t, const struct compare_row *row)
{
    char text[COMPARE_CELL], interval[COMPARE_CELL];
    for (enum column c = 0; c < COLUMNS; c++) {
        if (!below[c])
            continue;
        bool judged = figure_interval(row, c, interval);
        cell_text(t, row, c, text);
        if (t->below[c] && strcmp(text, "-") != 0)
            buf_printf(line, "%s%s%s%s%s %s", line->len > 0 ? "; " : "", text, judged ? " (" : "",
                       judged ? interval : "", judged ? ")" : "", below[c]);
        else if (!t->below[c] && judged)
            buf_printf(line, "%s%s %s", line->len > 0 ? "; " : "", interval, below[c]);
    }
}

// What has no column of its own.
static void put_below(struct table *t, const struct compare_row *row)
{
    struct buf line = {0};
    char text[COMPARE_CELL];
    if (!t->stacked && name_columns(t, row) > t->widths[NAME]) // cut above
        row_name(row, &line);
    if (row->detail)
        add_part(&line, row->detail);
    if (row->runs.v > 1)
        buf_printf(&line, "%s%lld runs", line.len > 0 ? "; " : "", (long long)row->runs.v);
    add_interval(&line, &row->time_s);
    if (compare_cost_interval(row, "$", " to ", text))
        add_part(&line, text);
    add_against(&line, "time", &row->time);
    add_against(&line, "cost", &row->money);
    add_figures(&line, t, row);
    if (line.len > 0)
        out_wrap(t->out, 2, buf_str(&line));
    t->out->text.failed |= line.failed;
    buf_release(&line);
}

static void put_row(struct table *t, const struct compare_row *row)
{
    struct buf name = {0};
    char text[COMPARE_CELL];
    row_name(row, &name);
    if (t->stacked)
        out_wrap(t->out, 0, buf_str(&name));
    out_cell(t->out, t->widths[NAME], t->stacked ? "" : buf_str(&name));
    t->out->text.failed |= name.failed;
    buf_release(&name);
    for (enum column c = TIME; c < COLUMNS; c++) {
        if (t->widths[c] == 0)
            continue;
        cell_text(t, row, c, text);
        put_cell(t, c, text);
    }
    out_printf(t->out, "\n");
    put_below(t, row);
}

static void put_head(struct table *t)
{
    struct buf line = {0};
    if (t->stacked)
        buf_printf(&line, "%s\n ", heads[NAME]);
    else
        buf_printf(&line, "%s%*s", heads[NAME], t->widths[NAME] - out_columns(heads[NAME]), "");
    for (enum column c = TIME; c < NOTES; c++)
        if (t->widths[c] > 0)
            buf_printf(&line, " %*s%s", t->widths[c] - out_columns(heads[c]), "", heads[c]);
    out_styled(t->out, OUT_BOLD, "%s", buf_str(&line));
    out_printf(t->out, "\n");
    t->out->text.failed |= line.failed;
    buf_release(&line);
}

static void put_apart(struct out *out, const struct compare_workload *workload)
{
    if (workload->apart.count == 0)
        return;
    struct buf head = {0};
    buf_printf(&head, "Not comparable%s%s:", workload->base ? " with " : "",
               workload->base ? workload->base : "");
    out_wrap(out, 0, buf_str(&head));
    out->text.failed |= head.failed;
    buf_release(&head);
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
        out_printf(out, "  - ");
        out_wrap_here(out, 4, buf_str(&line));
        out->text.failed |= line.failed;
        buf_release(&line);
    }
}

static void put_workload(struct out *out, const struct compare_workload *workload)
{
    struct table t = {.out = out, .workload = workload};
    bool good = compare_notes_init(&t.notes, workload);
    out->text.failed |= !good;
    struct buf title = {0};
    buf_printf(&title, "%s%s", workload->base ? ", against " : ": the base has no run of it",
               workload->base ? workload->base : "");
    out_styled(out, OUT_BOLD, "%s", workload->workload);
    out_wrap_here(out, out_columns(workload->workload), buf_str(&title));
    out->text.failed |= title.failed;
    buf_release(&title);
    for (size_t i = 0; i < workload->sentences.count; i++)
        out_wrap(out, 0, workload->sentences.items[i]);
    if (good && workload->rows.count > 0) {
        measure_columns(&t);
        put_head(&t);
        for (size_t i = 0; i < workload->rows.count; i++)
            put_row(&t, &workload->rows.items[i]);
        for (size_t i = 0; i < t.notes.numbers.count; i++) {
            out_printf(out, "[%zu] ", i + 1);
            const char *note = t.notes.items[i];
            out_wrap_here(out, 4,
                          strcmp(note, COMPARE_UNPRICED) != 0 ? note
                                                              : COMPARE_UNPRICED
                              ": --price NAME=USD_PER_HOUR tells");
        }
    }
    put_apart(out, workload);
    compare_notes_release(&t.notes);
}

// What holds for all of it.
static void put_legend(struct out *out, const struct compare *compare)
{
    bool projected = false, unjudged = false, costed = false;
    for (size_t i = 0; i < compare->workloads.count; i++)
        for (size_t j = 0; j < compare->workloads.items[i].rows.count; j++) {
            const struct compare_row *row = &compare->workloads.items[i].rows.items[j];
            const char *verdict = row->time.verdict;
            projected |= row->kind && strcmp(row->kind, "projected") == 0;
            unjudged |= verdict && strstr(verdict, "could be chance");
            costed |= row->cost.nano_usd.known;
        }
    struct buf text = {0};
    if (projected)
        buf_adds(&text, "~ is projected. ");
    if (costed)
        buf_printf(&text, "Costs are %s, tax left out. ",
                   strcmp(compare->rule, "prorated") == 0
                       ? "rate × time (--rule paid: as the provider charges)"
                       : "as the provider charges (--rule prorated: rate × time)");
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
