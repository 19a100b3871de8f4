// SPDX-License-Identifier: Apache-2.0
#include "render/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "render/glyphs.h"
#include "render/markup.h"

static void attribute(struct buf *out, const char *name, double value)
{
    buf_printf(out, " %s=\"", name);
    markup_number(out, value);
    buf_addc(out, '"');
}

static void add_tip(struct buf *out, const char *element, const char *tip)
{
    if (!tip || !*tip) {
        buf_adds(out, "/>\n");
        return;
    }
    buf_adds(out, "><title>");
    markup_text(out, tip);
    buf_printf(out, "</title></%s>\n", element);
}

void svg_text(struct buf *out, double x, double y, const char *class, const char *text)
{
    buf_adds(out, "<text");
    attribute(out, "x", x);
    attribute(out, "y", y);
    if (*class)
        buf_printf(out, " class=\"%s\"", class);
    buf_addc(out, '>');
    markup_text(out, text);
    buf_adds(out, "</text>\n");
}

void svg_line(struct buf *out, double x1, double y1, double x2, double y2, const char *class)
{
    buf_adds(out, "<line");
    attribute(out, "x1", x1);
    attribute(out, "y1", y1);
    attribute(out, "x2", x2);
    attribute(out, "y2", y2);
    buf_printf(out, " class=\"%s\"/>\n", class);
}

void svg_strokes_begin(struct buf *out, const char *class)
{
    buf_printf(out, "<path class=\"%s\" d=\"", class);
}

void svg_stroke(struct buf *out, double x1, double y1, double x2, double y2)
{
    buf_addc(out, 'M');
    markup_number(out, x1);
    buf_addc(out, ' ');
    markup_number(out, y1);
    buf_addc(out, x1 == x2 ? 'V' : y1 == y2 ? 'H' : 'L');
    if (x1 != x2) {
        markup_number(out, x2);
        buf_adds(out, y1 != y2 ? " " : "");
    }
    if (x1 == x2 || y1 != y2)
        markup_number(out, y2);
}

void svg_strokes_end(struct buf *out)
{
    buf_adds(out, "\"/>\n");
}

void svg_labels_begin(struct buf *out, const char *class, double x, double y)
{
    buf_printf(out, "<g class=\"%s\" transform=\"translate(", class);
    markup_number(out, x);
    buf_addc(out, ' ');
    markup_number(out, y);
    buf_adds(out, ")\">");
}

void svg_label(struct buf *out, const char *direction, double at, const char *text)
{
    buf_adds(out, "<text");
    attribute(out, direction, at);
    markup_in(out, ">", text, "</text>");
}

void svg_labels_end(struct buf *out)
{
    buf_adds(out, "</g>\n");
}

static long tenths(double pixels)
{
    return lround(fmin(fmax(pixels, -1e6), 1e6) * 10);
}

// "12", "12.3", "-.3"; `between`: a number stands before it.
static void add_tenths(struct buf *out, long value, bool between)
{
    long whole = labs(value) / 10, rest = labs(value) % 10;
    if (between && value >= 0)
        buf_addc(out, ' ');
    if (value < 0)
        buf_addc(out, '-');
    if (whole > 0 || rest == 0)
        buf_printf(out, "%ld", whole);
    if (rest > 0)
        buf_printf(out, ".%ld", rest);
}

void svg_pen_move(struct svg_pen *pen, double x, double y)
{
    pen->x = tenths(x);
    pen->y = tenths(y);
    buf_addc(pen->out, 'M');
    add_tenths(pen->out, pen->x, false);
    add_tenths(pen->out, pen->y, true);
    pen->letter = 'M';
}

void svg_pen_to(struct svg_pen *pen, double x, double y)
{
    long dx = tenths(x) - pen->x, dy = tenths(y) - pen->y;
    char letter = dy == 0 ? 'h' : dx == 0 ? 'v' : 'l';
    if (dx == 0 && dy == 0)
        return;
    if (letter != pen->letter)
        buf_addc(pen->out, letter);
    bool between = letter == pen->letter;
    if (letter != 'v')
        add_tenths(pen->out, dx, between);
    if (letter != 'h')
        add_tenths(pen->out, dy, between || letter == 'l');
    pen->x += dx;
    pen->y += dy;
    pen->letter = letter;
}

void svg_rect(struct buf *out, double x, double y, double width, double height, const char *class,
              const char *tip)
{
    buf_adds(out, "<rect");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", fmax(width, 0));
    attribute(out, "height", fmax(height, 0));
    buf_printf(out, " class=\"%s\"", class);
    add_tip(out, "rect", tip);
}

void svg_hatch_define(struct buf *out, const char *id, size_t series)
{
    buf_printf(out,
               "<defs><pattern id=\"%s-h%zu\" width=\"6\" height=\"6\" "
               "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(%zu)\">"
               "<path d=\"M0 0V6\" class=\"s%zu\" stroke-width=\"5\"/></pattern></defs>\n",
               id, series, 45 * (2 * series - 1 + series / SVG_COLOURS), series % SVG_COLOURS);
}

void svg_bar(struct buf *out, double x, double y, double width, double height, const char *id,
             size_t series, const char *tip)
{
    char class[32];
    if (series == 0) {
        svg_rect(out, x, y, width, height, "bar c0", tip);
        return;
    }
    snprintf(class, sizeof class, "bar hx s%zu", series % SVG_COLOURS);
    buf_adds(out, "<rect");
    attribute(out, "x", x);
    attribute(out, "y", y);
    attribute(out, "width", fmax(width, 0));
    attribute(out, "height", height);
    buf_printf(out, " class=\"%s\" fill=\"url(#%s-h%zu)\"", class, id, series);
    add_tip(out, "rect", tip);
}

void svg_hollow(struct buf *out, double x, double y, double width, double height, const char *tip)
{
    svg_rect(out, x + 0.75, y + 0.75, fmax(width - 1.5, 0.5), height - 1.5, "bar ho s0 wo", tip);
}

void svg_marker(struct buf *out, double x, double y, size_t series, bool filled, const char *tip)
{
    static const char *const shapes[SVG_COLOURS] = {
        NULL, // a circle
        "m-3.8 -3.8h7.6v7.6h-7.6z",
        "m0 -4.8l4.6 8h-9.2z",
        "m0 -5.4l5.4 5.4l-5.4 5.4l-5.4 -5.4z",
        "m0 4.8l4.6 -8h-9.2z",
        "m-1.6 -4.8h3.2v3.2h3.2v3.2h-3.2v3.2h-3.2v-3.2h-3.2v-3.2h3.2z"};
    size_t colour = series % SVG_COLOURS;
    // After six series the shapes shift, so that no two share colour and shape.
    const char *shape = shapes[(series + series / SVG_COLOURS) % SVG_COLOURS];
    buf_adds(out, shape ? "<path d=\"M" : "<circle cx=\"");
    markup_number(out, x);
    buf_adds(out, shape ? " " : "\" cy=\"");
    markup_number(out, y);
    buf_printf(out, "%s\" class=\"mk s%zu ", shape ? shape : "\" r=\"4.2", colour);
    if (filled)
        buf_printf(out, "c%zu\"", colour);
    else
        buf_adds(out, "ho\"");
    add_tip(out, shape ? "path" : "circle", tip);
}

void svg_whisker(struct buf *out, double x1, double y1, double x2, double y2)
{
    double along = y1 == y2 ? 0 : 3, across = y1 == y2 ? 3 : 0;
    struct svg_pen pen = {.out = out};
    buf_adds(out, "<path class=\"wh\" d=\"");
    svg_pen_move(&pen, x1, y1);
    svg_pen_to(&pen, x2, y2);
    svg_pen_move(&pen, x1 - along, y1 - across);
    svg_pen_to(&pen, x1 + along, y1 + across);
    svg_pen_move(&pen, x2 - along, y2 - across);
    svg_pen_to(&pen, x2 + along, y2 + across);
    svg_strokes_end(out);
}

struct tick {
    double x, label_at;
    char label[SCALE_LABEL]; // "": no space
};

// Draws the lines first, so that everything else lies on top.
double svg_axis_below(struct buf *out, const struct scale *scale, const char *name, double top,
                      double bottom, double width)
{
    char title[200];
    struct tick ticks[SCALE_TICKS];
    double free_from = -1;
    svg_strokes_begin(out, "gr");
    for (size_t i = 0; i < scale->count; i++) {
        struct tick *t = &ticks[i];
        t->x = scale_at(scale, scale->ticks[i]);
        svg_stroke(out, t->x, top, t->x, bottom);
        scale_label(scale, scale->ticks[i], t->label);
        double half = glyphs_width(t->label, SVG_SMALL) / 2;
        t->label_at = fmin(fmax(t->x, half), width - half);
        if (t->label_at - half < free_from)
            t->label[0] = '\0';
        else
            free_from = t->label_at + half + 6;
    }
    svg_strokes_end(out);
    svg_strokes_begin(out, "ax");
    svg_stroke(out, scale->from, bottom, scale->to, bottom);
    for (size_t i = 0; i < scale->count; i++)
        if (ticks[i].label[0])
            svg_stroke(out, ticks[i].x, bottom, ticks[i].x, bottom + 4);
    svg_strokes_end(out);
    svg_labels_begin(out, "sm mu mi", 0, bottom + 16);
    for (size_t i = 0; i < scale->count; i++)
        if (ticks[i].label[0])
            svg_label(out, "x", ticks[i].label_at, ticks[i].label);
    svg_labels_end(out);
    if (!name)
        return bottom + 22;
    snprintf(title, sizeof title, "%.150s%s%s%s", name, *name && *scale->shown ? ", " : "",
             scale->shown, scale->log ? ", logarithmic" : "");
    struct buf cut = {0};
    glyphs_cut(&cut, title, SVG_SMALL, width);
    double half = glyphs_width(buf_str(&cut), SVG_SMALL) / 2;
    double middle = fmin(fmax((scale->from + scale->to) / 2, half), width - half);
    svg_text(out, middle, bottom + 32, "sm mu mi", buf_str(&cut));
    buf_drop(out, &cut);
    return bottom + 38;
}

// ---- a panel, and a document of them

static double draw(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    const char *form = panel->form ? panel->form : "";
    return strcmp(form, "bars") == 0    ? svg_bars(out, panel, width, id)
           : strcmp(form, "stack") == 0 ? svg_stack(out, panel, width, id)
           : strcmp(form, "strip") == 0 ? svg_strip(out, panel, width, id)
                                        : svg_points(out, panel, width, id);
}

// `space`: its namespace, which a drawing in a page does not need.
static void open_svg(struct buf *out, double width, double height, const char *space)
{
    buf_printf(out, "<svg%s class=\"plot\"", space);
    attribute(out, "width", width);
    attribute(out, "height", height);
    buf_adds(out, " viewBox=\"0 0 ");
    markup_number(out, width);
    buf_addc(out, ' ');
    markup_number(out, height);
    buf_adds(out, "\"");
}

void plot_panel_svg(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    struct buf body = {0};
    double height = draw(&body, panel, width, id);
    open_svg(out, width, height, "");
    buf_adds(out, " role=\"img\" aria-label=\"");
    markup_text(out, panel->title ? panel->title : "plot");
    if (panel->y.name) {
        buf_adds(out, ": ");
        markup_text(out, panel->y.name);
    }
    buf_adds(out, "; the table has the figures\">\n");
    buf_add(out, buf_str(&body), body.len);
    buf_adds(out, "</svg>\n");
    buf_drop(out, &body);
}

// Draws the panels below their titles, in one or two columns. A row is as high as its highest
// panel.
static double draw_panels(struct buf *out, const struct plot *plot, double top)
{
    enum { GAP = 40, MARGIN = 20 };
    size_t columns = plot->panels.count > 1 ? 2 : 1;
    double width = columns > 1 ? PLOT_MEDIUM : PLOT_WIDE, row = 0;
    for (size_t i = 0; i < plot->panels.count; i++) {
        const struct plot_panel *panel = &plot->panels.items[i];
        struct buf title = {0};
        char id[24];
        snprintf(id, sizeof id, "p%zu", i);
        if (i > 0 && i % columns == 0) {
            top += row + GAP;
            row = 0;
        }
        buf_adds(out, "<g transform=\"translate(");
        markup_number(out, MARGIN + (double)(i % columns) * (width + GAP));
        buf_addc(out, ' ');
        markup_number(out, top);
        buf_adds(out, ")\">\n");
        glyphs_cut(&title, panel->title ? panel->title : "", SVG_TEXT * 1.1, width);
        svg_text(out, 0, 12, "hd", buf_str(&title));
        buf_adds(out, "<g transform=\"translate(0 22)\">\n");
        row = fmax(row, 22 + draw(out, panel, width, id));
        buf_adds(out, "</g></g>\n");
        buf_drop(out, &title);
    }
    return top + row + MARGIN;
}

// Wraps a paragraph; returns the y below it.
static double draw_words(struct buf *out, const char *text, double top, double width)
{
    struct buf line = {0};
    while (text && *text) {
        size_t word = strcspn(text, " ");
        size_t before = line.len;
        buf_printf(&line, "%s%.*s", before ? " " : "", (int)word, text);
        if (before > 0 && glyphs_width(buf_str(&line), SVG_TEXT) > width && !line.failed) {
            line.data[before] = '\0';
            svg_text(out, 20, top += 16, "mu", line.data);
            buf_reset(&line);
            continue;
        }
        text += word + strspn(text + word, " ");
    }
    if (line.len > 0)
        svg_text(out, 20, top += 16, "mu", buf_str(&line));
    buf_drop(out, &line);
    return top + 20;
}

void plot_svg(struct buf *out, const struct plot *plot)
{
    struct buf body = {0};
    double width = plot->panels.count > 1 ? 2 * PLOT_MEDIUM + 80 : PLOT_WIDE + 40;
    svg_text(&body, 20, 30, "h1", plot->title ? plot->title : "");
    double top = draw_words(&body, plot->says, 36, width - 40);
    double height = draw_panels(&body, plot, top);
    open_svg(out, width, height, " xmlns=\"http://www.w3.org/2000/svg\"");
    buf_printf(out, " role=\"img\">\n<title>");
    markup_text(out, plot->title);
    buf_adds(out, "</title>\n<desc>");
    markup_text(out, plot->says);
    buf_printf(out, "</desc>\n<style>.plot{max-width:100%%;height:auto}%s</style>\n", plot_style);
    svg_rect(out, 0, 0, width, height, "bg", NULL);
    buf_add(out, buf_str(&body), body.len);
    buf_adds(out, "</svg>\n");
    buf_drop(out, &body);
}
