// SPDX-License-Identifier: Apache-2.0
// placement: finds space for labels in a drawing. Internal to report/. All in pixels.
#ifndef FARE_RENDER_PLACEMENT_H
#define FARE_RENDER_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

struct box { // or a stroke, from (x1, y1) to (x2, y2)
    double x1, y1, x2, y2;
};

struct placement {
    struct box within;   // labels must stay inside
    struct box *boxes;   // points, then labels
    struct box *strokes; // whiskers and lines
    size_t points, box_count, stroke_count;
};

// Reserves space for this many. False, with null pointers, if memory runs out.
bool placement_init(struct placement *placement, size_t boxes, size_t strokes);
void placement_release(struct placement *placement);

void placement_add_point(struct placement *placement, double x, double y); // before any label
void placement_add_name(struct placement *placement, const struct box *name);
void placement_add_stroke(struct placement *placement, double x1, double y1, double x2, double y2);

bool placement_is_free(const struct placement *placement, const struct box *name);

// Whether a point other than the one at (x, y) is about as near to the label, or nearer. `led`: a
// line leads from it to the label, which only must not touch another.
bool placement_is_another_s(const struct placement *placement, const struct box *name, double x,
                            double y, bool led);

// Whether a stroke would cross a label.
bool placement_crosses_names(const struct placement *placement, const struct box *stroke);

#endif
