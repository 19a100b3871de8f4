// SPDX-License-Identifier: Apache-2.0
// Points and lines over two axes; points_names.c labels them.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/glyphs.h"
#include "render/placement.h"
#include "render/svg.h"

struct layout {
    const struct plot_panel *panel;
    double width;
    double left, right, top, bottom; // of the plot area
    bool points, steps, crowded;
    bool beside; // label lines at their ends
    struct scale x, y;
};

enum { LINE_NAME = 15, NAMES_AT = 50 }; // pixels: between names of lines; from the area to them

// Where a point lies; false if it has no place.
bool points_placed(const struct layout *l, const struct plot_point *p, double *x, double *y);
// Beside many points, only the intervals of those that matter are drawn.
bool points_interval(bool crowded, const struct plot_point *p);

// Where the name of a level line stands: on it, at the end where there are no points; false if
// there are some at both, or this is no plot of points.
bool points_level_name(const struct layout *l, const struct plot_line *line, struct box *at);

// The names of lines at their right ends; what lines and markers mean, below the plot, which
// returns the y below it; the names of points, around what `placement` has already.
void points_name_lines(struct buf *out, const struct layout *l);
double points_legend(struct buf *out, const struct layout *l, double y);
void points_name(struct buf *out, const struct layout *l, struct placement *placement);
enum { SHARED_LEFT = 56, SHARED_HEIGHT = 96 }; // panels with a common axis

// ---- ranges

struct range {
    double low, high;
};

static void widen(struct range *range, struct maybe_real value)
{
    if (!value.known || !isfinite(value.v))
        return;
    range->low = fmin(range->low, value.v);
    range->high = fmax(range->high, value.v);
}

bool points_interval(bool crowded, const struct plot_point *p)
{
    return !crowded || p->marked.v || p->estimated.v;
}

static void find_ranges(const struct plot_panel *panel, struct range *x, struct range *y)
{
    bool crowded = plot_crowded(panel);
    *x = *y = (struct range){HUGE_VAL, -HUGE_VAL};
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            widen(x, p->x);
            widen(y, p->y);
            if (!points_interval(crowded, p))
                continue;
            widen(x, p->x_low);
            widen(x, p->x_high);
            widen(y, p->y_low);
            widen(y, p->y_high);
        }
    for (size_t i = 0; i < panel->lines.count; i++) {
        widen(x, panel->lines.items[i].x);
        widen(y, panel->lines.items[i].y);
    }
    if (panel->x.to.known) {
        widen(x, some_real(0));
        widen(x, panel->x.to);
    }
    if (!(x->high >= x->low))
        *x = (struct range){0, 1};
    if (!(y->high >= y->low))
        *y = (struct range){0, 1};
}

static const char *unit_of(const struct plot_axis *axis)
{
    return axis->unit ? axis->unit : "";
}

// Points, prices and step times along the axis that span more than 1.5 decades need a logarithmic
// scale; lines keep their shape on a linear one.
static enum scale_kind kind_of(const struct layout *l, struct range r, const struct plot_axis *axis)
{
    const char *unit = unit_of(axis);
    bool times = axis == &l->panel->x && strcmp(unit, "ms") == 0; // of steps, which differ in speed
    bool wide = r.low > 0 && r.high / r.low > 30;
    if (strcmp(unit, "day") == 0 || (axis->cut.v && !(times && wide)))
        return SCALE_FREE;
    if (wide && (l->points || l->steps || times))
        return SCALE_LOG;
    if (strcmp(unit, "batch") == 0)
        return SCALE_LOG;
    // Prices of zones are close together: from zero, their lines would be one.
    return !(l->points || l->steps) || r.low < r.high * 0.6 ? SCALE_FROM_ZERO : SCALE_FREE;
}

// A few distinct values (batch sizes) are better ticks than round numbers.
static void ticks_at_values(struct scale *scale, const struct plot_panel *panel)
{
    double values[SCALE_TICKS];
    size_t count = 0;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            double v = panel->series.items[s].points.items[i].x.v;
            size_t at = 0;
            while (at < count && values[at] != v)
                at++;
            if (at == count && count == SCALE_TICKS)
                return;
            if (at == count)
                values[count++] = v;
        }
    for (size_t i = 1; i < count; i++) // insertion sort: there are few
        for (size_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
            double v = values[k];
            values[k] = values[k - 1];
            values[k - 1] = v;
        }
    memcpy(scale->ticks, values, sizeof values);
    scale->count = count;
}

// The axis ends at the last point, not at the next round number.
static void trim(struct scale *scale, struct range range, bool cut)
{
    size_t kept = 0;
    scale->high = range.high;
    if (scale->low != 0 || cut)
        scale->low = range.low;
    for (size_t i = 0; i < scale->count; i++)
        if (scale->ticks[i] >= scale->low && scale->ticks[i] <= scale->high)
            scale->ticks[kept++] = scale->ticks[i];
    scale->count = kept;
}

// Of a logarithmic axis the parts beyond the points, as far as two ticks are left.
static void trim_log(struct scale *scale, struct range range)
{
    const double margin = 1.2;
    struct scale trimmed = *scale;
    trim(&trimmed,
         (struct range){fmax(range.low / margin, scale->low),
                        fmin(range.high * margin, scale->high)},
         true);
    if (trimmed.count >= 2)
        *scale = trimmed;
}

// ---- layout

static double names_width(const struct layout *l)
{
    double longest = 0;
    for (size_t s = 0; s < l->panel->series.count; s++)
        longest = fmax(longest, glyphs_width(l->panel->series.items[s].name, SVG_TEXT));
    return longest;
}

static void measure(struct layout *l)
{
    const struct plot_panel *panel = l->panel;
    struct range x, y;
    char label[SCALE_LABEL];
    find_ranges(panel, &x, &y);
    // The last point of a step line is a price of that day; a label beside it could be mistaken for
    // another one.
    bool shared = panel->x.to.known; // the areas of the panels must have the same edges
    l->beside = !l->points && !l->steps && !shared && panel->series.count > 1 &&
                l->width >= PLOT_MEDIUM && names_width(l) + NAMES_AT <= l->width * 0.4;
    double height = shared ? SHARED_HEIGHT : l->width >= PLOT_WIDE ? 280 : 200;
    if (l->beside)
        height = fmax(height, LINE_NAME * (double)panel->series.count);
    l->top = 22; // for the y axis' name
    if (panel->bands.count > 0 || panel->lines.count > 0)
        l->top += 16;
    l->bottom = l->top + height;
    enum scale_kind kind = kind_of(l, y, &panel->y);
    if (l->points && kind == SCALE_LOG) // space for a label below the lowest point
        y.low /= pow(y.high / y.low, 20 / height);
    scale_make(&l->y, y.low, y.high, kind, unit_of(&panel->y), (int)(height / 44));
    if (l->points && l->y.log && y.high > y.low)
        trim_log(&l->y, y);
    l->y.from = l->bottom;
    l->y.to = l->top;
    l->left = shared ? SHARED_LEFT : 0;
    for (size_t i = 0; i < l->y.count; i++) {
        scale_label(&l->y, l->y.ticks[i], label);
        l->left = fmax(l->left, glyphs_width(label, SVG_SMALL) + 10);
    }
    double names = l->beside ? names_width(l) + NAMES_AT : 10;
    l->right = l->width - names;
    kind = kind_of(l, x, &panel->x);
    scale_make(&l->x, x.low, x.high, kind, unit_of(&panel->x), (int)((l->right - l->left) / 60));
    if (!l->points && x.high > x.low)
        trim(&l->x, x, panel->x.cut.v);
    if (strcmp(unit_of(&panel->x), "batch") == 0)
        ticks_at_values(&l->x, panel);
    l->x.from = l->left;
    l->x.to = l->right;
}

// ---- frame

struct above { // the intervals taken by labels above the plot area
    struct box taken[8];
    size_t count;
};

// Puts a label as close to `middle` as possible: left or right of the existing ones.
static void name_above(struct buf *out, const struct layout *l, struct above *row, const char *name,
                       double middle)
{
    enum { APART = 10 };
    double half = glyphs_width(name, SVG_SMALL) / 2;
    double least = l->left + 2 * half <= l->width ? l->left + half : half; // not above numbers
    double x = fmin(fmax(middle, least), l->width - half);
    if (!name || row->count == sizeof row->taken / sizeof *row->taken)
        return;
    for (size_t i = 0; i < row->count; i++) {
        const struct box *other = &row->taken[i];
        if (x - half >= other->x2 + APART || x + half <= other->x1 - APART)
            continue;
        double room = other->x1 - APART - 2 * half;
        bool right = other->x2 + APART + 2 * half <= l->width;
        bool left = room >= l->left || (room >= 0 && !right); // rather not above the axis' numbers
        x = left ? other->x1 - APART - half : other->x2 + APART + half;
    }
    row->taken[row->count++] = (struct box){x - half, 0, x + half, 0};
    svg_text(out, x, l->top - 5, "sm mi", name);
}

static void draw_bands(struct buf *out, const struct layout *l, struct above *row)
{
    for (size_t i = 0; i < l->panel->bands.count; i++) {
        const struct plot_band *band = &l->panel->bands.items[i];
        if (!band->from.known || !band->to.known)
            continue;
        double from = fmax(scale_at(&l->x, band->from.v), l->left);
        double to = fmin(scale_at(&l->x, band->to.v), l->right);
        svg_rect(out, from, l->top, to - from, l->bottom - l->top, "bd", band->name);
        name_above(out, l, row, band->name, (from + to) / 2);
    }
}

static void draw_frame(struct buf *out, const struct layout *l)
{
    char label[SCALE_LABEL], title[200];
    svg_strokes_begin(out, "gr");
    for (size_t i = 0; i < l->y.count; i++) {
        double y = scale_at(&l->y, l->y.ticks[i]);
        svg_stroke(out, l->left, y, l->right, y);
    }
    svg_strokes_end(out);
    svg_labels_begin(out, "sm mu en", l->left - 8, 4);
    for (size_t i = 0; i < l->y.count; i++) {
        scale_label(&l->y, l->y.ticks[i], label);
        svg_label(out, "y", scale_at(&l->y, l->y.ticks[i]), label);
    }
    svg_labels_end(out);
    snprintf(title, sizeof title, "%.150s%s%s%s", l->panel->y.name ? l->panel->y.name : "",
             *l->y.shown ? ", " : "", l->y.shown, l->y.log ? ", logarithmic" : "");
    struct buf cut = {0};
    glyphs_cut(&cut, title, SVG_SMALL, l->width);
    svg_text(out, 0, 11, "sm mu", buf_str(&cut));
    buf_drop(out, &cut);
}

static void draw_references(struct buf *out, const struct layout *l, struct above *row)
{
    for (size_t i = 0; i < l->panel->lines.count; i++) {
        const struct plot_line *line = &l->panel->lines.items[i];
        if (line->x.known) {
            double x = scale_at(&l->x, line->x.v);
            svg_line(out, x, l->top, x, l->bottom, "rf");
            name_above(out, l, row, line->name, x);
        }
        if (line->y.known) {
            struct box at;
            double y = scale_at(&l->y, line->y.v);
            svg_line(out, l->left, y, l->right, y, "rf");
            if (points_level_name(l, line, &at))
                svg_text(out, at.x1, at.y2 - 3, "sm hl", line->name);
            else
                name_above(out, l, row, line->name,
                           l->right - 2 - glyphs_width(line->name, SVG_SMALL) / 2);
        }
    }
}

// ---- series

bool points_placed(const struct layout *l, const struct plot_point *p, double *x, double *y)
{
    if (!p->x.known || !p->y.known || !isfinite(p->x.v) || !isfinite(p->y.v))
        return false;
    *x = scale_at(&l->x, p->x.v);
    *y = scale_at(&l->y, p->y.v);
    return true;
}

// A line of many points, most of them without a marker. Points that lie on the straight line
// between their neighbours are dropped: the drawing is the same.
struct stroke {
    struct svg_pen pen;
    bool down; // the pen is at (from_x, from_y)
    bool held; // (x, y) is not drawn yet
    double from_x, from_y;
    double x, y;
    double least, most; // slopes of lines from there that pass all points up to (x, y)
};

#define UNSEEN 0.2 // pixels

static void end_stroke(struct stroke *t)
{
    if (t->held)
        svg_pen_to(&t->pen, t->x, t->y);
    t->held = t->down = false;
}

static void begin_stroke(struct stroke *t, double x, double y)
{
    t->from_x = x;
    t->from_y = y;
    t->least = -HUGE_VAL;
    t->most = HUGE_VAL;
    t->down = true;
    t->held = false;
}

static void add_to_stroke(struct stroke *t, double x, double y)
{
    if (!t->down) {
        svg_pen_move(&t->pen, x, y);
        begin_stroke(t, x, y);
        return;
    }
    if (t->held && x == t->x && y == t->y)
        return;
    double slope = (y - t->from_y) / (x - t->from_x);
    bool straight = t->held && x > t->x && slope >= t->least && slope <= t->most;
    if (t->held && !straight) {
        svg_pen_to(&t->pen, t->x, t->y);
        begin_stroke(t, t->x, t->y);
    }
    if (x > t->from_x) {
        t->least = fmax(t->least, (y - UNSEEN - t->from_y) / (x - t->from_x));
        t->most = fmin(t->most, (y + UNSEEN - t->from_y) / (x - t->from_x));
    } else {
        t->least = HUGE_VAL; // vertical: the next point begins a new line
        t->most = -HUGE_VAL;
    }
    t->x = x;
    t->y = y;
    t->held = true;
}

static void draw_path(struct buf *out, const struct layout *l, size_t s)
{
    enum { MANY = 50 };
    const struct plot_series *series = &l->panel->series.items[s];
    bool many = series->points.count > MANY;
    struct stroke t = {.pen = {.out = out}};
    double x, y, last = 0;
    buf_adds(out, "<path d=\"");
    for (size_t i = 0; i < series->points.count; i++) {
        if (!points_placed(l, &series->points.items[i], &x, &y)) {
            end_stroke(&t);
            continue;
        }
        if (t.down && l->steps)
            add_to_stroke(&t, x, last);
        add_to_stroke(&t, x, y);
        if (!many && t.held) {
            svg_pen_to(&t.pen, x, y);
            begin_stroke(&t, x, y);
        }
        last = y;
    }
    end_stroke(&t);
    buf_printf(out, "\" class=\"ln s%zu d%zu\"/>\n", s % SVG_COLOURS, s / SVG_COLOURS % 4);
}

static void tip_of(const struct layout *l, const struct plot_series *series,
                   const struct plot_point *p, struct buf *tip)
{
    static const enum plot_column columns[] = {PLOT_LABEL, PLOT_X, PLOT_Y, PLOT_NOTE};
    buf_adds(tip, series->name ? series->name : "");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct buf cell = {0};
        plot_cell(l->panel, series, p, columns[i], &cell);
        if (cell.len > 0)
            buf_printf(tip, "%s%s", tip->len ? ", " : "", buf_str(&cell));
        buf_drop(tip, &cell);
    }
}

// Some points of a long line have a marker, different ones on each line, so that lines differ
// without colour; on a short line all have one.
static bool has_marker(const struct layout *l, size_t s, size_t i, size_t count)
{
    const struct plot_point *p = &l->panel->series.items[s].points.items[i];
    if (l->points || (double)count <= (l->right - l->left) / 20 || p->marked.v)
        return true;
    size_t every = count / 6 + 1;
    return l->panel->series.count > 1 && i % every == (s + 1) * every / 7 % every;
}

// Those that are marked lie above the others.
enum which { ALL_POINTS, UNMARKED, MARKED };

static void draw_markers(struct buf *out, const struct layout *l, size_t s, enum which which)
{
    enum { MARKERS_APART = 12 }; // pixels, on a line
    const struct plot_series *series = &l->panel->series.items[s];
    double x, y, last_x = -MARKERS_APART, last_y = -MARKERS_APART;
    for (size_t i = 0; i < series->points.count; i++) {
        const struct plot_point *p = &series->points.items[i];
        if (!points_placed(l, p, &x, &y) ||
            (which != ALL_POINTS && p->marked.v != (which == MARKED)))
            continue;
        if (points_interval(l->crowded, p) && p->y_low.known && p->y_high.known) {
            double low = scale_at(&l->y, p->y_low.v), high = scale_at(&l->y, p->y_high.v);
            if (low - high > 2)
                svg_whisker(out, x, low, x, high);
        }
        if (points_interval(l->crowded, p) && p->x_low.known && p->x_high.known) {
            double low = scale_at(&l->x, p->x_low.v), high = scale_at(&l->x, p->x_high.v);
            if (high - low > 2)
                svg_whisker(out, low, y, high, y);
        }
        bool close = !l->points && !p->marked.v && hypot(x - last_x, y - last_y) < MARKERS_APART;
        if (!has_marker(l, s, i, series->points.count) || close)
            continue;
        last_x = x;
        last_y = y;
        struct buf tip = {0};
        if (l->width > PLOT_NARROW) // a phone has no pointer
            tip_of(l, series, p, &tip);
        bool filled = !p->estimated.v && (!l->panel->marks || p->marked.v);
        svg_marker(out, x, y, s, filled, buf_str(&tip));
        buf_drop(out, &tip);
    }
}

static int by_x(const void *a, const void *b)
{
    double x = ((const struct box *)a)->x1, y = ((const struct box *)b)->x1;
    return (x > y) - (x < y);
}

// The line through the marked points, ordered by x. Returns the number of strokes.
static size_t join_marked(const struct layout *l, struct box *strokes)
{
    size_t count = 0;
    double x, y;
    for (size_t s = 0; s < l->panel->series.count; s++)
        for (size_t i = 0; i < l->panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &l->panel->series.items[s].points.items[i];
            if (p->marked.v && points_placed(l, p, &x, &y))
                strokes[count++] = (struct box){x, y, x, y};
        }
    qsort(strokes, count, sizeof *strokes, by_x);
    for (size_t i = 0; i + 1 < count; i++) {
        strokes[i].x2 = strokes[i + 1].x1;
        strokes[i].y2 = strokes[i + 1].y1;
    }
    return count > 0 ? count - 1 : 0;
}

static void draw_joined(struct buf *out, const struct box *strokes, size_t count)
{
    if (count == 0)
        return;
    struct svg_pen pen = {.out = out};
    buf_adds(out, "<path d=\"");
    svg_pen_move(&pen, strokes[0].x1, strokes[0].y1);
    for (size_t i = 0; i < count; i++)
        svg_pen_to(&pen, strokes[i].x2, strokes[i].y2);
    buf_adds(out, "\" class=\"ln s0 d1\"/>\n");
}

static void draw_points(struct buf *out, const struct layout *l)
{
    SCOPED(placement_release)
    struct placement placement = {.within = {l->left, l->top - 4, l->width, l->bottom}};
    size_t total = 0;
    for (size_t s = 0; s < l->panel->series.count; s++)
        total += l->panel->series.items[s].points.count;
    // Per point: itself and its label; two whiskers, a line segment, a line to its label.
    if (placement_init(&placement, 2 * total, 4 * total + 3 * l->panel->lines.count)) {
        if (l->panel->marks)
            placement.stroke_count = join_marked(l, placement.strokes);
        draw_joined(out, placement.strokes, placement.stroke_count);
        for (enum which which = UNMARKED; which <= MARKED; which++)
            for (size_t s = l->panel->series.count; s-- > 0;) // estimates come last, and lie below
                draw_markers(out, l, s, which);
        points_name(out, l, &placement);
    } else {
        out->failed = true;
    }
}

double svg_points(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    (void)id;
    struct layout l = {.panel = panel, .width = width};
    l.points = panel->form && strcmp(panel->form, "points") == 0;
    l.steps = panel->form && strcmp(panel->form, "steps") == 0;
    l.crowded = plot_crowded(panel);
    measure(&l);
    struct above above = {0};
    draw_bands(out, &l, &above);
    draw_frame(out, &l);
    double end = svg_axis_below(out, &l.x, panel->x.name, l.top, l.bottom, width);
    draw_references(out, &l, &above);
    if (l.points)
        draw_points(out, &l);
    for (size_t s = 0; s < panel->series.count && !l.points; s++) {
        draw_path(out, &l, s);
        draw_markers(out, &l, s, ALL_POINTS);
    }
    if (l.beside)
        points_name_lines(out, &l);
    return points_legend(out, &l, end);
}

// Names in a plot of points or lines. Lines are labelled at their right ends, or below the plot on
// a phone; points beside them if there is space. Names that do not fit are only in the table.

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
    SCOPED(free_pointer) struct end *ends = calloc(l->panel->series.count + 1, sizeof *ends);
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
