// SPDX-License-Identifier: Apache-2.0
// svg: the strokes of which plots are made; for the files of this room.
//
// Colours are classes, so that one drawing is right on light and on dark paper (plot_style). No
// series is told by its colour alone: each has a marker and a dash, or bars a pattern, of its own.
#ifndef FARE_REPORT_SVG_H
#define FARE_REPORT_SVG_H

#include "base/buf.h"
#include "report/plot.h"
#include "report/scale.h"

#define SVG_TEXT    12 // pixels: names
#define SVG_SMALL   11 // numbers on axes and at bars
#define SVG_COLOURS 6

void svg_text(struct buf *out, double x, double y, const char *class, const char *text);
void svg_line(struct buf *out, double x1, double y1, double x2, double y2, const char *class);

// A bar or an area; `tip` (optional) is shown when a pointer rests on it.
void svg_rect(struct buf *out, double x, double y, double width, double height, const char *class,
              const char *tip);

// The fill of the second and further series of bars, as an attribute of their own; `id` the
// drawing's. Defined once per drawing.
void svg_hatch_define(struct buf *out, const char *id, size_t series);
void svg_bar(struct buf *out, double x, double y, double width, double height, const char *id,
             size_t series, const char *tip);

// A point of a series: circle, square, triangle, diamond, cross, star; hollow where it is not
// `filled`.
void svg_marker(struct buf *out, double x, double y, size_t series, bool filled, const char *tip);

// A whisker between two values: along x, or upright.
void svg_whisker(struct buf *out, double x1, double y1, double x2, double y2);

// An axis below: ticks, labels that do not touch, and its name with its unit. `top` and `bottom`
// are the ends of the lines. Returns the y of what may follow.
double svg_axis_below(struct buf *out, const struct scale *scale, const char *name, double top,
                      double bottom, double width);

// The drawings; each returns its height.
double svg_bars(struct buf *out, const struct plot_panel *panel, double width, const char *id);
double svg_points(struct buf *out, const struct plot_panel *panel, double width, const char *id);

#endif
