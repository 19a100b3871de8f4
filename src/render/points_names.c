// SPDX-License-Identifier: Apache-2.0
// Names in a plot of points or lines. Lines are labelled at their right ends, or below the plot on
// a phone; points beside them if there is space. Names that do not fit are only in the table.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "render/glyphs.h"
#include "render/points_parts.h"

enum { SAMPLE_AT = 16, SAMPLE = 26, LEGEND_ROW = 18, NAMED = 60 };

// A sample of the series' line and marker, for the legend.
static void draw_sample(struct buf *out, size_t s, double x, double y)
{
    char class[64];
    snprintf(class, sizeof class, "ln s%zu d%zu", s % SVG_COLOURS, s / SVG_COLOURS % 4);
    svg_line(out, x, y, x + SAMPLE, y, class);
    svg_marker(out, x + SAMPLE / 2.0, y, s, true, NULL);
}

// ---- names of lines

struct end { // of a line
    double y;
    size_t series;
};

static int by_y(const void *a, const void *b)
{
    double x = ((const struct end *)a)->y, y = ((const struct end *)b)->y;
    return (x > y) - (x < y);
}

// Moves labels apart: downwards first, then back up from the bottom.
static void spread(struct end *ends, size_t count, double top, double bottom)
{
    for (size_t i = 0; i < count; i++)
        ends[i].y = fmax(ends[i].y, i ? ends[i - 1].y + LINE_NAME : top);
    for (size_t i = count; i-- > 0;)
        ends[i].y = fmin(ends[i].y, i + 1 < count ? ends[i + 1].y - LINE_NAME : bottom);
}

void points_name_lines(struct buf *out, const struct layout *l)
{
    size_t count = 0;
    struct end *ends = calloc(l->panel->series.count + 1, sizeof *ends);
    if (!ends) {
        out->failed = true;
        return;
    }
    for (size_t s = 0; s < l->panel->series.count; s++) {
        const struct plot_series *series = &l->panel->series.items[s];
        double x, y, last = -1;
        for (size_t i = 0; i < series->points.count; i++)
            if (points_placed(l, &series->points.items[i], &x, &y))
                last = y;
        if (last >= 0)
            ends[count++] = (struct end){last, s};
    }
    qsort(ends, count, sizeof *ends, by_y);
    spread(ends, count, l->top + 4, l->bottom - 2);
    for (size_t i = 0; i < count; i++) {
        struct buf name = {0};
        const char *text = l->panel->series.items[ends[i].series].name;
        glyphs_cut(&name, text ? text : "", SVG_TEXT, l->width - l->right - NAMES_AT + 1);
        draw_sample(out, ends[i].series, l->right + SAMPLE_AT, ends[i].y);
        svg_text(out, l->right + NAMES_AT, ends[i].y + 4, "", buf_str(&name));
        buf_drop(out, &name);
    }
    free(ends);
}

// Below the plot, for phones.
double points_legend(struct buf *out, const struct layout *l, double y)
{
    const struct plot_panel *panel = l->panel;
    if (l->points && panel->marks) {
        const char *const names[] = {panel->marks, panel->unmarked};
        for (size_t i = 0; i < 2; i++) {
            if (!names[i])
                continue;
            svg_marker(out, l->left + 6, y + 8, 0, i == 0, NULL);
            svg_text(out, l->left + 18, y + 12, "", names[i]);
            y += LEGEND_ROW;
        }
    }
    for (size_t s = 0; s < panel->series.count && l->points; s++) {
        const struct plot_series *series = &panel->series.items[s];
        if (series->points.count == 0 || !series->points.items[0].estimated.v)
            continue;
        svg_marker(out, l->left + 6, y + 8, s, false, NULL);
        svg_text(out, l->left + 18, y + 12, "", PLOT_ESTIMATE);
        y += LEGEND_ROW;
    }
    double x = 0;
    bool lines = !l->points && !l->beside && panel->series.count > 1;
    for (size_t s = 0; s < panel->series.count && lines; s++) {
        struct buf name = {0};
        glyphs_cut(&name, panel->series.items[s].name ? panel->series.items[s].name : "", SVG_TEXT,
                   l->width - 34);
        double wide = 34 + glyphs_width(buf_str(&name), SVG_TEXT);
        if (x > 0 && x + wide > l->width) {
            x = 0;
            y += LEGEND_ROW;
        }
        draw_sample(out, s, x, y + 8);
        svg_text(out, x + 34, y + 12, "", buf_str(&name));
        x += wide + 18;
        buf_drop(out, &name);
    }
    y += lines ? LEGEND_ROW : 0;
    return y;
}

// ---- names of points

// The line from a point to its label, starting outside the point.
static struct box leader(double x, double y, const struct box *name)
{
    double to_x = fmin(fmax(x, name->x1), name->x2);
    double to_y = name->y1 > y ? name->y1 - 1 : name->y2 + 1;
    double part = 6 / hypot(to_x - x, to_y - y);
    return (struct box){x + (to_x - x) * part, y + (to_y - y) * part, to_x, to_y};
}

// Tries right, left, above, below and the diagonals, then the ends of the whisker. A marked point
// may put its label further away, with a line to it.
static bool name_point(struct buf *out, struct placement *placement, const struct layout *l,
                       const struct plot_point *p, double x, double y, double most)
{
    double low = p->x_low.known ? scale_at(&l->x, p->x_low.v) - x : 0;
    double high = p->x_high.known ? scale_at(&l->x, p->x_high.v) - x : 0;
    const struct {
        double x, y, share; // share of the text left of the anchor
    } places[] = {{9, 4, 0},    {-9, 4, 1},   {0, -9, 0.5}, {0, 18, 0.5},     {7, -7, 0},
                  {-7, -7, 1},  {7, 15, 0},   {-7, 15, 1},  {high + 7, 4, 0}, {low - 7, 4, 1},
                  {9, -24, 0},  {-9, -24, 1}, {9, 33, 0},   {-9, 33, 1},      {9, -40, 0},
                  {-9, -40, 1}, {9, 49, 0},   {-9, 49, 1},  {9, -56, 0},      {-9, -56, 1},
                  {9, 65, 0},   {-9, 65, 1},  {9, -72, 0},  {-9, -72, 1}};
    enum { NEAR = 10 };
    size_t count = p->marked.v ? sizeof places / sizeof *places : NEAR;
    bool found = false;
    struct buf text = {0};
    glyphs_cut(&text, p->label, SVG_SMALL, most);
    double width = glyphs_width(buf_str(&text), SVG_SMALL);
    for (size_t i = 0; i < count && !found; i++) {
        double from = x + places[i].x - places[i].share * width, base = y + places[i].y;
        struct box b = {from, base - 10, from + width, base + 3};
        struct box lead = leader(x, y, &b);
        found = placement_is_free(placement, &b) &&
                !placement_is_another_s(placement, &b, x, y, i >= NEAR) &&
                (i < NEAR || !placement_crosses_names(placement, &lead));
        if (!found)
            continue;
        svg_text(out, from, base, p->marked.v ? "sm hl" : "sm mu hl", buf_str(&text));
        if (i >= NEAR) {
            svg_line(out, lead.x1, lead.y1, lead.x2, lead.y2, "ax");
            placement_add_stroke(placement, lead.x1, lead.y1, lead.x2, lead.y2);
        }
        placement_add_name(placement, &b);
    }
    buf_drop(out, &text);
    return found;
}

// Rather a short name than none for a point that matters.
static void name_shorter(struct buf *out, struct placement *placement, const struct layout *l,
                         const struct plot_point *p, double x, double y)
{
    bool done = false;
    for (double most = 0.45; most > 0.2 && !done; most *= 0.75)
        done = name_point(out, placement, l, p, x, y, l->width * most) || !p->marked.v;
}

static void add_point(struct placement *placement, const struct layout *l,
                      const struct plot_point *p, double x, double y)
{
    placement_add_point(placement, x, y);
    if (!points_interval(l->crowded, p))
        return;
    if (p->x_low.known && p->x_high.known)
        placement_add_stroke(placement, scale_at(&l->x, p->x_low.v), y,
                             scale_at(&l->x, p->x_high.v), y);
    if (p->y_low.known && p->y_high.known)
        placement_add_stroke(placement, x, scale_at(&l->y, p->y_low.v), x,
                             scale_at(&l->y, p->y_high.v));
}

bool points_level_name(const struct layout *l, const struct plot_line *line, struct box *at)
{
    double y = scale_at(&l->y, line->y.v), width = glyphs_width(line->name, SVG_SMALL);
    const double starts[] = {l->right - 4 - width, l->left + 4};
    if (!l->points || !line->name || y - 16 < l->top)
        return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        bool taken = false;
        *at = (struct box){starts[i], y - 15, starts[i] + width, y - 1};
        for (size_t s = 0; s < l->panel->series.count; s++)
            for (size_t k = 0; k < l->panel->series.items[s].points.count; k++) {
                const struct plot_point *p = &l->panel->series.items[s].points.items[k];
                double px, py;
                if (!points_placed(l, p, &px, &py))
                    continue;
                bool interval = points_interval(l->crowded, p);
                double low = interval && p->x_low.known ? scale_at(&l->x, p->x_low.v) : px;
                double high = interval && p->x_high.known ? scale_at(&l->x, p->x_high.v) : px;
                double top = interval && p->y_high.known ? scale_at(&l->y, p->y_high.v) : py;
                double end = interval && p->y_low.known ? scale_at(&l->y, p->y_low.v) : py;
                bool across =
                    high + 6 > at->x1 && low - 6 < at->x2 && py + 6 > at->y1 && py - 6 < at->y2;
                bool down =
                    px + 6 > at->x1 && px - 6 < at->x2 && end + 6 > at->y1 && top - 6 < at->y2;
                taken |= across || down;
            }
        if (!taken)
            return true;
    }
    return false;
}

static void add_references(struct placement *placement, const struct layout *l)
{
    for (size_t i = 0; i < l->panel->lines.count; i++) {
        const struct plot_line *line = &l->panel->lines.items[i];
        double x = scale_at(&l->x, line->x.v), y = scale_at(&l->y, line->y.v);
        if (line->x.known)
            placement_add_stroke(placement, x, l->top, x, l->bottom);
        if (line->y.known)
            placement_add_stroke(placement, l->left, y, l->right, y);
        struct box name;
        if (line->y.known && points_level_name(l, line, &name)) // nothing stands above its middle
            placement_add_stroke(placement, name.x1, (name.y1 + name.y2) / 2, name.x2,
                                 (name.y1 + name.y2) / 2);
    }
}

void points_name(struct buf *out, const struct layout *l, struct placement *placement)
{
    size_t total = 0;
    double x, y;
    add_references(placement, l);
    for (int pass = 0; pass < 3;
         pass++) // points first, then labels of marked points, then the others
        for (size_t s = 0; s < l->panel->series.count; s++)
            for (size_t i = 0; i < l->panel->series.items[s].points.count; i++) {
                const struct plot_point *p = &l->panel->series.items[s].points.items[i];
                if (!points_placed(l, p, &x, &y) || (pass == 2 && total > NAMED))
                    continue;
                total += pass == 0;
                if (pass == 0)
                    add_point(placement, l, p, x, y);
                else if (p->label && p->marked.v == (pass == 1))
                    name_shorter(out, placement, l, p, x, y);
            }
}
