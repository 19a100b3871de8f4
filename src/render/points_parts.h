// SPDX-License-Identifier: Apache-2.0
// points_parts: what points.c and points_names.c share. Internal to report/.
#ifndef FARE_RENDER_POINTS_PARTS_H
#define FARE_RENDER_POINTS_PARTS_H

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

#endif
