// SPDX-License-Identifier: Apache-2.0
// room: where in a drawing a name can stand without touching what is there; for the files of this
// room. All in pixels.
#ifndef FARE_REPORT_ROOM_H
#define FARE_REPORT_ROOM_H

#include <stdbool.h>
#include <stddef.h>

struct box { // or a stroke, from (x1, y1) to (x2, y2)
    double x1, y1, x2, y2;
};

struct room {
    struct box within;   // a name leaves it nowhere
    struct box *boxes;   // points, then names that are there already
    struct box *strokes; // whiskers and lines
    size_t points, box_count, stroke_count;
};

// Room for so many; null pointers in it where there is no memory. Released with room_release().
bool room_init(struct room *room, size_t boxes, size_t strokes);
void room_release(struct room *room);

void room_add_point(struct room *room, double x, double y); // before any name
void room_add_name(struct room *room, const struct box *name);
void room_add_stroke(struct room *room, double x1, double y1, double x2, double y2);

bool room_is_free(const struct room *room, const struct box *name);

// Whether a stroke would go through a name.
bool room_crosses_names(const struct room *room, const struct box *stroke);

#endif
