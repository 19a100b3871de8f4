// SPDX-License-Identifier: Apache-2.0
// Bars from zero, in groups, with intervals and with values at their ends. Ratios start at 1, the
// base, and go to both sides; those that differ much are on a logarithmic scale. Several series
// give one bar each per row. Names stand left of the bars, or above them if long. A few bars that
// would dwarf all others are cut at the end of the axis, with a gap to show it; their values are
// still printed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/glyphs.h"
#include "render/svg.h"

// ==== one bar ====
// One bar whose parts add up to a whole: a series of one point per part, named below the bar.

enum { BAR = 30, ROW = 19, SWATCH = 14, BETWEEN = 18 };

static double value_of(const struct plot_panel *panel, size_t s)
{
    const struct plot_series *series = &panel->series.items[s];
    return series->points.count > 0 && series->points.items[0].y.known ? series->points.items[0].y.v
                                                                       : 0;
}

static void words_of(const struct plot_panel *panel, size_t s, struct buf *out)
{
    const char *name = panel->series.items[s].name;
    char value[SCALE_LABEL];
    scale_words(panel->y.unit ? panel->y.unit : "", value_of(panel, s), value);
    buf_printf(out, "%s %s", name ? name : "", value);
}

// The phases of a run look the same on all pages, whichever of them it has; other parts by number.
static size_t look_of(const struct plot_panel *panel, size_t s)
{
    static const char *const phases[] = {
        "set-up",      "loading data",    "warm-up steps",         "training steps", "evaluations",
        "checkpoints", "loading kernels", "copying to the device", "other"};
    const char *name = panel->series.items[s].name;
    bool are_phases = false;
    for (size_t i = 0; i < panel->series.count; i++)
        are_phases |= panel->series.items[i].name &&
                      strcmp(panel->series.items[i].name, "training steps") == 0;
    for (size_t i = 0; are_phases && name && i < sizeof phases / sizeof *phases; i++)
        if (strcmp(name, phases[i]) == 0)
            return i;
    return s;
}

double svg_stack(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    double total = 0, x = 0, y = BAR + ROW;
    for (size_t s = 0; s < panel->series.count; s++)
        total += value_of(panel, s);
    if (total <= 0)
        return 0;
    for (size_t s = 0; s < panel->series.count; s++)
        if (look_of(panel, s) > 0)
            svg_hatch_define(out, id, look_of(panel, s));
    for (size_t s = 0; s < panel->series.count; s++) {
        struct buf words = {0};
        double part = value_of(panel, s) / total * width;
        words_of(panel, s, &words);
        svg_bar(out, x, 0, fmax(part - 1, 0.5), BAR, id, look_of(panel, s), buf_str(&words));
        x += part;
        buf_drop(out, &words);
    }
    x = 0;
    for (size_t s = 0; s < panel->series.count; s++) {
        struct buf words = {0};
        words_of(panel, s, &words);
        double wide = SWATCH + 5 + glyphs_width(buf_str(&words), SVG_TEXT) + BETWEEN;
        if (x > 0 && x + wide - BETWEEN > width) {
            x = 0;
            y += ROW;
        }
        svg_bar(out, x, y - 10, SWATCH, 11, id, look_of(panel, s), NULL);
        svg_text(out, x + SWATCH + 5, y, "", buf_str(&words));
        x += wide;
        buf_drop(out, &words);
    }
    return y + 8;
}

// ==== bars in rows ====

struct layout {
    const struct plot_panel *panel;
    const struct plot_series *first; // its points name the rows
    double width;
    double names;  // pixels; 0: names above the bars
    double values; // pixels of the longest value
    double bar, row, group;
    struct scale scale;
    double origin; // where bars start: 0, or 1
    double most;   // longer bars are cut
};

#define LOG_FROM 4.0 // ratios: the largest ÷ the smallest

enum { GAP = 8, GROUP = 26, LEGEND = 22, LINES = 18 };

static const struct plot_point *bar_of(const struct plot_series *series, size_t row)
{
    return row < series->points.count ? &series->points.items[row] : NULL;
}

static bool new_group(const struct layout *l, size_t row)
{
    const struct plot_point *points = l->first->points.items;
    if (!points[row].group)
        return false;
    return row == 0 || !points[row - 1].group || strcmp(points[row].group, points[row - 1].group);
}

static void value_words(const struct layout *l, const struct plot_point *point,
                        char out[SCALE_LABEL])
{
    snprintf(out, SCALE_LABEL, "unknown");
    if (point->y.known)
        scale_words(l->panel->y.unit ? l->panel->y.unit : "", point->y.v, out);
}

// Bold letters are wider.
static double boldness(const struct plot_point *p)
{
    return p->marked.v ? 1.15 : 1;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The longest bar that is not cut. If a few are more than four times as long as the next, it is the
// next.
static double longest_whole(const struct plot_panel *panel)
{
    enum { TIMES = 4, FEW = 5 }; // fewer than a fifth
    double values[400], most = HUGE_VAL;
    size_t count = 0;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count && count < 400; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (p->y.known && p->y.v > 0)
                values[count++] = p->y.v;
        }
    qsort(values, count, sizeof *values, by_value);
    for (size_t i = count; i-- > 1 && (count - i) * FEW < count;)
        if (values[i] > TIMES * values[i - 1])
            most = values[i - 1];
    return most;
}

// Of the bars, which reach to `high`, and their intervals. A rough estimate's may be many times as
// long as its bar: it is cut.
static double highest_end(const struct plot_panel *panel, double high)
{
    double most = 2 * high;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (p->y_high.known)
                high = fmax(high, p->estimated.v ? fmin(p->y_high.v, most) : p->y_high.v);
        }
    return high;
}

// From the smallest to the largest ratio, intervals included; false if these are no ratios.
static bool ratio_range(const struct plot_panel *panel, double *low, double *high)
{
    if (!panel->y.unit || strcmp(panel->y.unit, "÷ base") != 0)
        return false;
    *low = *high = 1;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (!p->y.known)
                continue;
            if (!(p->y.v > 0))
                return false;
            *low = fmin(fmin(*low, p->y.v), p->y_low.known && p->y_low.v > 0 ? p->y_low.v : p->y.v);
            *high = fmax(fmax(*high, p->y.v), p->y_high.known ? p->y_high.v : p->y.v);
        }
    return true;
}

static void measure(struct layout *l)
{
    double longest = 0, low = 0, high = 0, ratio_low, ratio_high;
    l->most = longest_whole(l->panel);
    char words[SCALE_LABEL];
    for (size_t s = 0; s < l->panel->series.count; s++)
        for (size_t i = 0; i < l->panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &l->panel->series.items[s].points.items[i];
            if (s == 0)
                longest = fmax(longest, glyphs_width(p->label, SVG_TEXT) * boldness(p));
            value_words(l, p, words);
            l->values = fmax(l->values, glyphs_width(words, SVG_SMALL));
            low = p->y.known ? fmin(low, p->y.v) : low;
            high = p->y.known ? fmax(high, p->y.v) : high;
        }
    high = highest_end(l->panel, high);
    for (size_t i = 0; i < l->panel->lines.count; i++)
        if (l->panel->lines.items[i].y.known)
            high = fmax(high, l->panel->lines.items[i].y.v);
    high = l->most < high ? l->most * 1.1 : high;
    bool ratios = ratio_range(l->panel, &ratio_low, &ratio_high);
    if (ratios) {
        l->origin = 1;
        l->most = HUGE_VAL;
        low = ratio_low;
        high = ratio_high;
    }
    l->names = longest <= l->width * 0.42 ? longest + GAP : 0;
    l->bar = l->panel->series.count > 1 ? 13 : 15;
    l->row = l->bar * (double)l->panel->series.count + (l->names > 0 ? 9 : 27);
    l->values += 6;
    double bars_width = l->width - l->names - l->values;
    enum scale_kind kind = !ratios                 ? SCALE_FROM_ZERO
                           : high > LOG_FROM * low ? SCALE_LOG
                                                   : SCALE_FREE;
    scale_make(&l->scale, low, high, kind, l->panel->y.unit ? l->panel->y.unit : "",
               (int)fmax(bars_width / 64, 2));
    l->scale.from = l->names;
    l->scale.to = l->width - l->values;
}

static bool any_measured(const struct plot_series *series)
{
    for (size_t i = 0; i < series->points.count; i++)
        if (!series->points.items[i].estimated.v)
            return true;
    return false;
}

static double draw_legend(struct buf *out, const struct layout *l, const char *id)
{
    double x = 0;
    if (plot_estimates(l->panel)) {
        if (any_measured(l->first)) {
            svg_bar(out, 0, 3, 14, 11, id, 0, NULL);
            svg_text(out, 19, 13, "", "with a run");
            x = 19 + glyphs_width("with a run", SVG_TEXT) + 18;
        }
        svg_hollow(out, x, 3, 14, 11, NULL);
        svg_text(out, x + 19, 13, "", PLOT_ESTIMATE);
        return LEGEND;
    }
    if (l->panel->series.count < 2)
        return 0;
    double y = 0;
    for (size_t s = 0; s < l->panel->series.count; s++) {
        struct buf name = {0};
        glyphs_cut(&name, l->panel->series.items[s].name, SVG_TEXT, l->width - 19);
        double width = 19 + glyphs_width(buf_str(&name), SVG_TEXT);
        if (x > 0 && x + width > l->width) {
            x = 0;
            y += LEGEND;
        }
        if (s > 0)
            svg_hatch_define(out, id, s);
        svg_bar(out, x, y + 3, 14, 11, id, s, NULL);
        svg_text(out, x + 19, y + 13, "", buf_str(&name));
        x += width + 18;
        buf_drop(out, &name);
    }
    return y + LEGEND;
}

static void tip_of(const struct layout *l, const struct plot_series *series,
                   const struct plot_point *point, struct buf *tip)
{
    static const enum plot_column columns[] = {PLOT_Y, PLOT_Y_LOW, PLOT_Y_HIGH, PLOT_NOTE};
    const char *const before[] = {": ", point->estimated.v ? " (90 %: " : " (95 %: ", " to ", "; "};
    buf_adds(tip, point->label ? point->label : "");
    if (l->panel->series.count > 1 && series->name)
        buf_printf(tip, ", %s", series->name);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct buf cell = {0};
        plot_cell(l->panel, series, point, columns[i], &cell);
        if (cell.len > 0)
            buf_printf(tip, "%s%s%s", before[i], buf_str(&cell), i == 2 ? ")" : "");
        buf_drop(tip, &cell);
    }
}

// The upper end of the interval, cut like bars that are too long.
static double high_of(const struct layout *l, const struct plot_point *p)
{
    return fmin(scale_at(&l->scale, p->y_high.v), l->scale.to);
}

// The right end of the bar and its interval.
static double end_of(const struct layout *l, const struct plot_point *p)
{
    if (!p->y.known)
        return scale_at(&l->scale, l->origin);
    if (p->y.v > l->most)
        return l->scale.to;
    double end = fmax(scale_at(&l->scale, l->origin), scale_at(&l->scale, p->y.v));
    return p->y_low.known && p->y_high.known ? fmax(end, high_of(l, p)) : end;
}

static void draw_bar(struct buf *out, const struct layout *l, size_t s, const struct plot_point *p,
                     double y, const char *id)
{
    struct buf tip = {0};
    bool cut = p->y.v > l->most;
    if (!p->y.known)
        return;
    double zero = scale_at(&l->scale, l->origin),
           to = cut ? l->scale.to : scale_at(&l->scale, p->y.v);
    if (l->width > PLOT_NARROW) // a phone has no pointer
        tip_of(l, &l->panel->series.items[s], p, &tip);
    if (p->estimated.v)
        svg_hollow(out, fmin(zero, to), y, fabs(to - zero), l->bar - 1, buf_str(&tip));
    else
        svg_bar(out, fmin(zero, to), y, fabs(to - zero), l->bar - 1, id, s, buf_str(&tip));
    if (cut) {
        double at = l->scale.to - 22;
        svg_line(out, at, y + l->bar + 1, at + 5, y - 2, "ct");
        svg_line(out, at + 6, y + l->bar + 1, at + 11, y - 2, "ct");
    } else if (p->y_low.known && p->y_high.known) {
        double low = scale_at(&l->scale, p->y_low.v), high = high_of(l, p);
        double middle = y + (l->bar - 1) / 2;
        if (!p->estimated.v && low < fmin(to, high)) // so that it can be seen on the bar
            svg_line(out, low, middle, fmin(to, high), middle, "ct");
        if (p->estimated.v && scale_at(&l->scale, p->y_high.v) > high) { // goes on: no end is drawn
            svg_line(out, low, middle, high, middle, "wh");
            svg_line(out, low, middle - 3, low, middle + 3, "wh");
        } else if (high - low > 1) {
            svg_whisker(out, low, middle, high, middle);
        }
    }
    buf_drop(out, &tip);
}

static void draw_value(struct buf *out, const struct layout *l, const struct plot_point *p,
                       double y)
{
    char words[SCALE_LABEL];
    if (l->origin == 1 && p->marked.v && p->y.known && p->y.v == 1)
        return; // the base: the line at 1 says it
    value_words(l, p, words);
    svg_text(out, end_of(l, p) + 5, y + l->bar / 2 + 3.5, p->y.known ? "sm hl" : "sm mu hl", words);
}

static void draw_name(struct buf *out, const struct layout *l, const struct plot_point *p, double y)
{
    struct buf name = {0};
    glyphs_cut(&name, p->label ? p->label : "", SVG_TEXT * boldness(p),
               l->names > 0 ? l->names - GAP + 1 : l->width);
    if (l->names > 0)
        svg_text(out, l->names - GAP, y + 4 + l->bar * (double)l->panel->series.count / 2 + 4,
                 p->marked.v ? "hd en" : "en", buf_str(&name));
    else
        svg_text(out, 0, y + 16, p->marked.v ? "hd hl" : "hl", buf_str(&name));
    buf_drop(out, &name);
}

// Draws the bars, then the lines, then the texts on top.
static void draw_rows(struct buf *out, const struct layout *l, double y, const char *id, bool words)
{
    for (size_t i = 0; i < l->first->points.count; i++) {
        const struct plot_point *p = &l->first->points.items[i];
        if (new_group(l, i)) {
            if (words)
                svg_text(out, 0, y + 17, "hd mu hl", p->group);
            y += GROUP;
        }
        if (words)
            draw_name(out, l, p, y);
        for (size_t s = 0; s < l->panel->series.count; s++) {
            const struct plot_point *bar = bar_of(&l->panel->series.items[s], i);
            double top = y + (l->names > 0 ? 4 : 21) + l->bar * (double)s;
            if (bar && words)
                draw_value(out, l, bar, top);
            else if (bar)
                draw_bar(out, l, s, bar, top, id);
        }
        y += l->row;
    }
}

static void draw_lines(struct buf *out, const struct layout *l, double top, double bottom)
{
    for (size_t i = 0; i < l->panel->lines.count; i++) {
        const struct plot_line *line = &l->panel->lines.items[i];
        if (!line->y.known)
            continue;
        double x = scale_at(&l->scale, line->y.v);
        struct buf name = {0};
        glyphs_cut(&name, line->name ? line->name : "", SVG_SMALL, l->width);
        double half = glyphs_width(buf_str(&name), SVG_SMALL) / 2;
        svg_line(out, x, top + LINES, x, bottom, "rf");
        svg_text(out, fmin(fmax(x, half), l->width - half), top + 11, "sm mi", buf_str(&name));
        buf_drop(out, &name);
    }
}

double svg_bars(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    struct layout l = {.panel = panel, .width = width};
    if (panel->series.count == 0)
        return 0;
    l.first = &panel->series.items[0];
    measure(&l);
    double top = draw_legend(out, &l, id);
    double lines = panel->lines.count > 0 ? LINES : 0, rows = 4;
    for (size_t i = 0; i < l.first->points.count; i++)
        rows += l.row + (new_group(&l, i) ? GROUP : 0);
    double bottom = top + lines + rows;
    double end = svg_axis_below(out, &l.scale, panel->y.name, top + lines, bottom, width);
    draw_rows(out, &l, top + lines, id, false);
    draw_lines(out, &l, top, bottom);
    draw_rows(out, &l, top + lines, id, true);
    return end;
}
