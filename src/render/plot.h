// SPDX-License-Identifier: Apache-2.0
// plot: a figure as data: panels with axes, series of points with intervals, reference lines and
// bands. The SVG and the table of figures are made from it.
//
// A record like those in src/record, part of a report's JSON. Absent values are not drawn.
#ifndef FARE_RENDER_PLOT_H
#define FARE_RENDER_PLOT_H

#include "record/field.h"

#define PLOT_SCHEMA "fare.plot/1"

#include "render/plot.def"

// One panel as an SVG element, `width` pixels wide. `id` is unique in a page.
void plot_panel_svg(struct buf *out, const struct plot_panel *panel, double width, const char *id);

// The whole plot as an SVG document.
void plot_svg(struct buf *out, const struct plot *plot);

// Whether some of its points are estimates. The legend names them.
bool plot_estimates(const struct plot_panel *panel);
#define PLOT_ESTIMATE "estimate, 90 % interval"

// Whether it has too many points, estimates aside, to draw the intervals of unmarked ones.
bool plot_crowded(const struct plot_panel *panel);

#define PLOT_NARROW 336 // pixels: on a phone
#define PLOT_ONLY   340 // on all screens, where a page has no room for two drawings
#define PLOT_MEDIUM 460 // beside others
#define PLOT_WIDE   720 // alone

// The table of the figures: a row per point. plot_cell() fills the cells.
enum plot_column {
    PLOT_PANEL,
    PLOT_GROUP,
    PLOT_SERIES,
    PLOT_LABEL,
    PLOT_X,
    PLOT_Y,
    PLOT_Y_LOW,
    PLOT_Y_HIGH,
    PLOT_NOTE,
    PLOT_COLUMNS
};
bool plot_has(const struct plot *plot, enum plot_column column);
void plot_head(const struct plot *plot, enum plot_column column, struct buf *out);
// For people, with units; empty if unknown. Numbers are right-aligned.
void plot_cell(const struct plot_panel *panel, const struct plot_series *series,
               const struct plot_point *point, enum plot_column column, struct buf *out);

#endif
