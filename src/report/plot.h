// SPDX-License-Identifier: Apache-2.0
// plot: a figure as data, before it is drawn: panels with axes, series of points with intervals,
// lines and bands to compare them with. From it come the SVG, and the table beside it.
//
// A record like those of src/record: the JSON of a report is made from the same table. Values that
// are not known are absent and not drawn.
#ifndef FARE_REPORT_PLOT_H
#define FARE_REPORT_PLOT_H

#include "record/field.h"

struct plot_axis {
    char *name;            // "cost of one training"
    char *unit;            // see report/scale.h
    struct maybe_bool cut; // it begins at the least value, not at zero
};

struct plot_point {
    char *label; // of a bar: what it stands for; of a point: what is written beside it
    char *group; // bars: those of one group stand together, below its name
    struct maybe_real x, x_low, x_high;
    struct maybe_real y, y_low, y_high; // bars: their length is y
    struct maybe_bool marked;           // the base, on the frontier, the price that was chosen
    char *note;
};

struct plot_series {
    char *name;
    LIST_OF(struct plot_point) points;
};

struct plot_line { // a value to hold the others against
    char *name;
    struct maybe_real x, y; // one of them: an upright or a level line
};

struct plot_band { // a part of the x axis
    char *name;
    struct maybe_real from, to;
};

struct plot_panel {
    char *title;
    char *form;     // "bars", "lines", "steps" or "points"
    char *marks;    // what marked points are; absent: none is
    char *unmarked; // and the others
    struct plot_axis x, y;
    LIST_OF(struct plot_series) series;
    LIST_OF(struct plot_line) lines;
    LIST_OF(struct plot_band) bands;
};

struct plot {
    char *kind;  // "cost"
    char *title; // "What one training costs"
    char *says;  // how to read it, and what it does not show
    LIST_OF(struct plot_panel) panels;
};

extern const struct field plot_fields[], plot_panel_fields[];

// One panel as an SVG element, `width` pixels wide. `id` is different for each in a page.
void plot_panel_svg(struct buf *out, const struct plot_panel *panel, double width, const char *id);

// All of it as a document of its own.
void plot_svg(struct buf *out, const struct plot *plot);

// The rules of style that the elements need, for pages that hold them.
extern const char plot_style[];

#define PLOT_NARROW 336 // pixels: on a phone
#define PLOT_MEDIUM 460 // beside others
#define PLOT_WIDE   720 // alone

// The table behind it: a row for each point. Cells of rows are filled by plot_cell().
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
// For people, with units; empty where it is not known. Numbers are aligned to the right.
void plot_cell(const struct plot_panel *panel, const struct plot_series *series,
               const struct plot_point *point, enum plot_column column, struct buf *out);

#endif
