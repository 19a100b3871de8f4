// SPDX-License-Identifier: Apache-2.0
#include "render/placement.h"

#include <math.h>
#include <stdlib.h>

enum { POINT = 6, APART = 2 }; // half a point's size; gap between a label and a stroke

bool placement_init(struct placement *placement, size_t boxes, size_t strokes)
{
    placement->boxes = calloc(boxes + 1, sizeof *placement->boxes);
    placement->strokes = calloc(strokes + 1, sizeof *placement->strokes);
    return placement->boxes && placement->strokes;
}

void placement_release(struct placement *placement)
{
    free(placement->boxes);
    free(placement->strokes);
}

void placement_add_point(struct placement *placement, double x, double y)
{
    placement->boxes[placement->points++] =
        (struct box){x - POINT, y - POINT, x + POINT, y + POINT};
    placement->box_count = placement->points;
}

void placement_add_name(struct placement *placement, const struct box *name)
{
    placement->boxes[placement->box_count++] = *name;
}

void placement_add_stroke(struct placement *placement, double x1, double y1, double x2, double y2)
{
    placement->strokes[placement->stroke_count++] = (struct box){x1, y1, x2, y2};
}

// Whether the stroke meets the box: clips it at the four sides (Liang and Barsky) and checks the
// rest.
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

bool placement_is_free(const struct placement *placement, const struct box *name)
{
    const struct box *in = &placement->within;
    if (name->x1 < in->x1 || name->x2 > in->x2 || name->y1 < in->y1 || name->y2 > in->y2)
        return false;
    for (size_t i = 0; i < placement->box_count; i++) {
        const struct box *o = &placement->boxes[i];
        if (name->x1 < o->x2 && name->x2 > o->x1 && name->y1 < o->y2 && name->y2 > o->y1)
            return false;
    }
    struct box wider = {name->x1 - APART, name->y1 - APART, name->x2 + APART, name->y2 + APART};
    for (size_t i = 0; i < placement->stroke_count; i++)
        if (crosses(&placement->strokes[i], &wider))
            return false;
    return true;
}

static double apart(const struct box *name, double x, double y)
{
    double dx = fmax(fmax(name->x1 - x, x - name->x2), 0);
    double dy = fmax(fmax(name->y1 - y, y - name->y2), 0);
    return hypot(dx, dy);
}

bool placement_is_another_s(const struct placement *placement, const struct box *name, double x,
                            double y, bool led)
{
    enum { CLEARLY = 8 };
    double own = (led ? 0 : apart(name, x, y)) + CLEARLY;
    for (size_t i = 0; i < placement->points; i++) {
        double px = (placement->boxes[i].x1 + placement->boxes[i].x2) / 2;
        double py = (placement->boxes[i].y1 + placement->boxes[i].y2) / 2;
        if (hypot(px - x, py - y) > 1 && apart(name, px, py) <= own)
            return true;
    }
    return false;
}

bool placement_crosses_names(const struct placement *placement, const struct box *stroke)
{
    for (size_t i = placement->points; i < placement->box_count; i++)
        if (crosses(stroke, &placement->boxes[i]))
            return true;
    return false;
}
