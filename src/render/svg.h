// SPDX-License-Identifier: Apache-2.0
// svg: drawing primitives of the plots. Internal to report/.
//
// Colours are classes, so that a drawing suits light and dark pages (plot_style). No series relies
// on colour alone: each has its own marker and dash, or pattern.
#ifndef FARE_RENDER_SVG_H
#define FARE_RENDER_SVG_H

#include "base/buf.h"
#include "render/plot.h"
#include "render/scale.h"

#define SVG_TEXT    12 // pixels: labels
#define SVG_SMALL   11 // pixels: numbers on axes and bars
#define SVG_COLOURS 6

void svg_text(struct buf *out, double x, double y, const char *class, const char *text);
void svg_line(struct buf *out, double x1, double y1, double x2, double y2, const char *class);

// Many straight lines of one class as a single element: begin, each line, end.
void svg_strokes_begin(struct buf *out, const char *class);
void svg_stroke(struct buf *out, double x1, double y1, double x2, double y2);
void svg_strokes_end(struct buf *out);

// The labels of an axis, all at one height, or one below the other: begin, each label, end.
void svg_labels_begin(struct buf *out, const char *class, double x, double y);
void svg_label(struct buf *out, const char *direction, double at, const char *text); // "x" or "y"
void svg_labels_end(struct buf *out);

// Draws a path with relative coordinates of tenths of a pixel, in which no error adds up: zeroed
// but for `out`, between `d="` and `"`. svg_pen_to() draws a line from where the pen is.
struct svg_pen {
    struct buf *out;
    long x, y;   // tenths of a pixel
    char letter; // the last command
};
void svg_pen_move(struct svg_pen *pen, double x, double y);
void svg_pen_to(struct svg_pen *pen, double x, double y);

// A bar or an area. `tip` (optional) is shown on hover.
void svg_rect(struct buf *out, double x, double y, double width, double height, const char *class,
              const char *tip);

// The pattern of the second and later series of bars, defined once per drawing `id`.
void svg_hatch_define(struct buf *out, const char *id, size_t series);
void svg_bar(struct buf *out, double x, double y, double width, double height, const char *id,
             size_t series, const char *tip);

// The bar of an estimate.
void svg_hollow(struct buf *out, double x, double y, double width, double height, const char *tip);

// A point of a series: circle, square, triangle, diamond, cross, star; hollow unless `filled`.
void svg_marker(struct buf *out, double x, double y, size_t series, bool filled, const char *tip);

// An interval, horizontal or vertical.
void svg_whisker(struct buf *out, double x1, double y1, double x2, double y2);

// A horizontal axis: ticks, labels that do not overlap, name and unit; with a null name neither.
// Grid lines run from `top` to `bottom`. Returns the y below it.
double svg_axis_below(struct buf *out, const struct scale *scale, const char *name, double top,
                      double bottom, double width);

// The kinds of plots; each returns its height.
double svg_bars(struct buf *out, const struct plot_panel *panel, double width, const char *id);
double svg_stack(struct buf *out, const struct plot_panel *panel, double width, const char *id);
double svg_points(struct buf *out, const struct plot_panel *panel, double width, const char *id);
double svg_strip(struct buf *out, const struct plot_panel *panel, double width, const char *id);

#endif
