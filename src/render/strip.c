// SPDX-License-Identifier: Apache-2.0
// Values on a line: a row for each group, a mark for each point, a shape for each series: the first
// above the row's line, the second below it. The rows with the least values come first; that of a
// row stands at its right end, if it is marked.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "render/glyphs.h"
#include "render/svg.h"

enum { ROW = 24, APART = 4, LEGEND = 22, GAP = 10, ROWS_MOST = 64 };
#define LOG_FROM 8.0 // times the least value

struct row {
    const char *group;
    const struct plot_point *least;
};

struct layout {
    const struct plot_panel *panel;
    double width, names, values; // pixels
    struct row rows[ROWS_MOST];
    size_t count;
    struct scale scale;
};

static bool is_drawn(const struct plot_point *p)
{
    return p->group && p->x.known && isfinite(p->x.v);
}

static size_t row_of(const struct layout *l, const char *group)
{
    size_t i = 0;
    while (i < l->count && strcmp(l->rows[i].group, group) != 0)
        i++;
    return i;
}

static int by_least(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    double first = x->least->x.v, second = y->least->x.v;
    return first != second ? (first > second) - (first < second) : strcmp(x->group, y->group);
}

static void value_words(const struct layout *l, const struct plot_point *p, char out[SCALE_LABEL])
{
    scale_words(l->panel->x.unit ? l->panel->x.unit : "", p->x.v, out);
}

static void measure(struct layout *l)
{
    double low = HUGE_VAL, high = -HUGE_VAL, longest = 0;
    char words[SCALE_LABEL];
    for (size_t s = 0; s < l->panel->series.count; s++)
        for (size_t i = 0; i < l->panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &l->panel->series.items[s].points.items[i];
            if (!is_drawn(p))
                continue;
            size_t at = row_of(l, p->group);
            if (at == ROWS_MOST)
                continue;
            if (at == l->count)
                l->rows[l->count++] = (struct row){p->group, p};
            if (p->x.v < l->rows[at].least->x.v)
                l->rows[at].least = p;
            low = fmin(low, p->x.v);
            high = fmax(high, p->x.v);
        }
    qsort(l->rows, l->count, sizeof *l->rows, by_least);
    for (size_t i = 0; i < l->count; i++) {
        longest = fmax(longest, glyphs_width(l->rows[i].group, SVG_TEXT));
        value_words(l, l->rows[i].least, words);
        if (l->panel->marks)
            l->values = fmax(l->values, glyphs_width(words, SVG_SMALL));
    }
    if (l->panel->marks)
        l->values = fmax(l->values, glyphs_width(l->panel->marks, SVG_SMALL));
    if (!(high >= low))
        low = high = 1;
    l->names = fmin(longest, l->width * 0.32) + GAP;
    l->scale.from = l->names;
    double from = l->names + 6, to = l->width - l->values - 2.0 * GAP;
    scale_make(&l->scale, low, high, low > 0 && high > LOG_FROM * low ? SCALE_LOG : SCALE_FROM_ZERO,
               l->panel->x.unit ? l->panel->x.unit : "", (int)fmax((to - from) / 60, 2));
    l->scale.from = from;
    l->scale.to = to;
}

// What the shapes mean, and the head of the column of values.
static double draw_legend(struct buf *out, const struct layout *l)
{
    double x = 0, y = 0, end = l->width - l->values - GAP;
    for (size_t s = 0; s < l->panel->series.count; s++) {
        const char *name = l->panel->series.items[s].name;
        double width = 16 + glyphs_width(name, SVG_TEXT);
        if (l->panel->series.items[s].points.count == 0 || !name)
            continue;
        if (x > 0 && x + width > end) {
            x = 0;
            y += LEGEND;
        }
        svg_marker(out, x + 6, y + 9, s, true, NULL);
        svg_text(out, x + 16, y + 13, "", name);
        x += width + 18;
    }
    if (l->panel->marks)
        svg_text(out, l->width, y + 13, "sm mu en", l->panel->marks);
    return y + LEGEND;
}

static void tip_of(const struct layout *l, const struct plot_series *series,
                   const struct plot_point *p, struct buf *tip)
{
    char words[SCALE_LABEL];
    value_words(l, p, words);
    buf_printf(tip, "%s: %s", p->label ? p->label : p->group, words);
    if (series->name)
        buf_printf(tip, ", %s", series->name);
    if (p->note)
        buf_printf(tip, "; %s", p->note);
}

static void draw_rows(struct buf *out, const struct layout *l, double top)
{
    char words[SCALE_LABEL];
    svg_strokes_begin(out, "gr");
    for (size_t i = 0; i < l->count; i++) {
        double y = top + ROW * ((double)i + 0.5);
        svg_stroke(out, l->scale.from - 6, y, l->scale.to + 6, y);
    }
    svg_strokes_end(out);
    for (size_t i = 0; i < l->count; i++) {
        double y = top + ROW * ((double)i + 0.5);
        struct buf name = {0};
        glyphs_cut(&name, l->rows[i].group, SVG_TEXT, l->names - GAP);
        svg_text(out, l->names - GAP, y + 4, "en", buf_str(&name));
        value_words(l, l->rows[i].least, words);
        if (l->panel->marks && l->rows[i].least->marked.v)
            svg_text(out, l->width, y + 4, "sm en", words);
        buf_drop(out, &name);
    }
}

static double shift_of(const struct plot_panel *panel, size_t series)
{
    size_t drawn = 0;
    for (size_t i = 0; i < panel->series.count; i++)
        drawn += panel->series.items[i].points.count > 0;
    return drawn < 2 || series > 1 ? 0 : series == 0 ? -APART : APART;
}

double svg_strip(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    struct layout l = {.panel = panel, .width = width};
    (void)id;
    measure(&l);
    double top = draw_legend(out, &l), bottom = top + ROW * (double)l.count + 4;
    double end = svg_axis_below(out, &l.scale, panel->x.name, top, bottom, width);
    draw_rows(out, &l, top);
    for (size_t s = panel->series.count; s-- > 0;)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            size_t row = is_drawn(p) ? row_of(&l, p->group) : l.count;
            struct buf tip = {0};
            if (row == l.count)
                continue;
            if (width > PLOT_NARROW) // a phone has no pointer
                tip_of(&l, &panel->series.items[s], p, &tip);
            svg_marker(out, scale_at(&l.scale, p->x.v),
                       top + ROW * ((double)row + 0.5) + shift_of(panel, s), s, !p->estimated.v,
                       buf_str(&tip));
            buf_drop(out, &tip);
        }
    return end;
}
