// SPDX-License-Identifier: Apache-2.0
#include "report/room.h"

#include <math.h>
#include <stdlib.h>

enum { POINT = 6, APART = 2 }; // half a point's size; between a name and a stroke

bool room_init(struct room *room, size_t boxes, size_t strokes)
{
    room->boxes = calloc(boxes + 1, sizeof *room->boxes);
    room->strokes = calloc(strokes + 1, sizeof *room->strokes);
    return room->boxes && room->strokes;
}

void room_release(struct room *room)
{
    free(room->boxes);
    free(room->strokes);
}

void room_add_point(struct room *room, double x, double y)
{
    room->boxes[room->points++] = (struct box){x - POINT, y - POINT, x + POINT, y + POINT};
    room->box_count = room->points;
}

void room_add_name(struct room *room, const struct box *name)
{
    room->boxes[room->box_count++] = *name;
}

void room_add_stroke(struct room *room, double x1, double y1, double x2, double y2)
{
    room->strokes[room->stroke_count++] = (struct box){x1, y1, x2, y2};
}

// Whether the stroke meets the box: it is cut where it passes the box's four sides (Liang and
// Barsky), and something must be left.
static bool crosses(const struct box *stroke, const struct box *b)
{
    double dx = stroke->x2 - stroke->x1, dy = stroke->y2 - stroke->y1, from = 0, to = 1;
    const double along[] = {-dx, dx, -dy, dy};
    const double space[] = {stroke->x1 - b->x1, b->x2 - stroke->x1, stroke->y1 - b->y1,
                            b->y2 - stroke->y1};
    for (int side = 0; side < 4; side++) {
        if (along[side] == 0 && space[side] < 0)
            return false;
        if (along[side] < 0)
            from = fmax(from, space[side] / along[side]);
        else if (along[side] > 0)
            to = fmin(to, space[side] / along[side]);
    }
    return from <= to;
}

bool room_is_free(const struct room *room, const struct box *name)
{
    const struct box *in = &room->within;
    if (name->x1 < in->x1 || name->x2 > in->x2 || name->y1 < in->y1 || name->y2 > in->y2)
        return false;
    for (size_t i = 0; i < room->box_count; i++) {
        const struct box *o = &room->boxes[i];
        if (name->x1 < o->x2 && name->x2 > o->x1 && name->y1 < o->y2 && name->y2 > o->y1)
            return false;
    }
    struct box wider = {name->x1 - APART, name->y1 - APART, name->x2 + APART, name->y2 + APART};
    for (size_t i = 0; i < room->stroke_count; i++)
        if (crosses(&room->strokes[i], &wider))
            return false;
    return true;
}

bool room_crosses_names(const struct room *room, const struct box *stroke)
{
    for (size_t i = room->points; i < room->box_count; i++)
        if (crosses(stroke, &room->boxes[i]))
            return true;
    return false;
}
