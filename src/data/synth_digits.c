// SPDX-License-Identifier: Apache-2.0
// Digits as strokes of a pen: each is a line through a few points, which are moved a little, bent,
// slanted, turned and scaled together before a pen of some width draws them.
#include <math.h>
#include <string.h>

#include "data/synth.h"

enum { SIDE = 28, PART = 8, POINTS_MAX = 16, STROKES_MAX = 3 };

struct point {
    float x, y; // 0 ... 1, y downwards
};

struct stroke {
    int count;
    struct point points[POINTS_MAX];
};

struct glyph {
    int digit;
    int strokes;
    struct stroke stroke[STROKES_MAX];
};

#define STROKE(...)                                                                                \
    {                                                                                              \
        .count = (int)(sizeof((struct point[]){__VA_ARGS__}) / sizeof(struct point)), .points = {  \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

// Some digits are written in two ways.
static const struct glyph glyphs[] = {
    {0,
     1,
     {STROKE({.5f, 0}, {.25f, .1f}, {.1f, .35f}, {.1f, .65f}, {.25f, .9f}, {.5f, 1}, {.75f, .9f},
             {.9f, .65f}, {.9f, .35f}, {.75f, .1f}, {.5f, 0})}},
    {1, 1, {STROKE({.5f, 0}, {.5f, .5f}, {.5f, 1})}},
    {1, 1, {STROKE({.25f, .25f}, {.55f, 0}, {.55f, .5f}, {.55f, 1})}},
    {2,
     1,
     {STROKE({.12f, .25f}, {.25f, .06f}, {.5f, 0}, {.78f, .08f}, {.85f, .28f}, {.7f, .5f},
             {.4f, .75f}, {.1f, 1}, {.5f, .98f}, {.92f, 1})}},
    {2,
     1,
     {STROKE({.15f, .2f}, {.4f, 0}, {.75f, .05f}, {.82f, .3f}, {.6f, .65f}, {.3f, .95f},
             {.12f, .9f}, {.25f, .78f}, {.55f, .92f}, {.9f, 1})}},
    {3,
     1,
     {STROKE({.15f, .12f}, {.4f, 0}, {.72f, .06f}, {.8f, .25f}, {.65f, .43f}, {.4f, .48f},
             {.7f, .54f}, {.85f, .72f}, {.72f, .93f}, {.4f, 1}, {.12f, .88f})}},
    {4,
     2,
     {STROKE({.6f, 0}, {.35f, .35f}, {.1f, .68f}, {.5f, .68f}, {.95f, .66f}),
      STROKE({.68f, .3f}, {.68f, .65f}, {.68f, 1})}},
    {4,
     2,
     {STROKE({.2f, 0}, {.17f, .3f}, {.2f, .5f}, {.5f, .53f}, {.85f, .48f}),
      STROKE({.8f, 0}, {.76f, .5f}, {.72f, 1})}},
    {5,
     2,
     {STROKE({.25f, 0}, {.22f, .22f}, {.2f, .44f}, {.5f, .38f}, {.78f, .5f}, {.85f, .72f},
             {.7f, .93f}, {.4f, 1}, {.12f, .88f}),
      STROKE({.25f, 0}, {.55f, .02f}, {.85f, 0})}},
    {6,
     1,
     {STROKE({.72f, 0}, {.42f, .15f}, {.2f, .42f}, {.12f, .7f}, {.22f, .92f}, {.48f, 1},
             {.75f, .9f}, {.82f, .7f}, {.68f, .53f}, {.42f, .52f}, {.18f, .68f})}},
    {7, 1, {STROKE({.1f, .03f}, {.5f, .02f}, {.9f, 0}, {.68f, .35f}, {.5f, .68f}, {.42f, 1})}},
    {7,
     2,
     {STROKE({.1f, .06f}, {.5f, 0}, {.88f, .03f}, {.62f, .45f}, {.4f, 1}),
      STROKE({.3f, .5f}, {.55f, .48f}, {.8f, .5f})}},
    {8,
     1,
     {STROKE({.5f, .48f}, {.22f, .34f}, {.22f, .12f}, {.5f, 0}, {.78f, .12f}, {.76f, .33f},
             {.5f, .48f}, {.18f, .65f}, {.15f, .88f}, {.5f, 1}, {.85f, .88f}, {.82f, .65f},
             {.5f, .48f})}},
    {9,
     1,
     {STROKE({.82f, .3f}, {.6f, .48f}, {.32f, .48f}, {.17f, .3f}, {.25f, .08f}, {.52f, 0},
             {.78f, .1f}, {.83f, .35f}, {.78f, .65f}, {.7f, 1})}},
    {9,
     1,
     {STROKE({.8f, .25f}, {.55f, .5f}, {.25f, .42f}, {.2f, .15f}, {.5f, 0}, {.8f, .12f},
             {.82f, .5f}, {.65f, .88f}, {.35f, 1}, {.18f, .92f})}},
};

// How a whole digit is bent, and the pen.
struct hand {
    double xx, xy, yx, yy, x, y; // a linear map from -1/2 ... 1/2 and where the middle goes
    double bend_x, bend_y;
    double wobble;
    double pen; // half the width, in pixels
    double ink; // 0 ... 255
};

static void draw_hand(struct rng *rng, struct hand *h)
{
    double c, s;
    synth_turn(synth_between(rng, -0.25, 0.25), &c, &s);
    double slant = synth_between(rng, -0.25, 0.35);
    double wide = synth_between(rng, 10, 17), high = synth_between(rng, 15, 21);
    h->xx = c * wide;
    h->xy = (-c * slant - s) * high * 0.7;
    h->yx = s * wide;
    h->yy = (c - s * slant) * high;
    h->x = 13.5 + synth_between(rng, -2.5, 2.5);
    h->y = 13.5 + synth_between(rng, -2.5, 2.5);
    h->bend_x = synth_between(rng, -6, 6);
    h->bend_y = synth_between(rng, -6, 6);
    h->wobble = synth_between(rng, 0, 0.12);
    h->pen = synth_between(rng, 0.6, 1.7);
    h->ink = synth_between(rng, 150, 255);
}

static struct point place(struct rng *rng, const struct hand *h, struct point p)
{
    double x = (double)p.x - 0.5 + synth_between(rng, -h->wobble, h->wobble);
    double y = (double)p.y - 0.5 + synth_between(rng, -h->wobble, h->wobble);
    return (struct point){
        (float)(h->x + h->xx * x + h->xy * y + h->bend_x * (y * y - 0.1)),
        (float)(h->y + h->yx * x + h->yy * y + h->bend_y * (x * x - 0.1)),
    };
}

// The ink of PART pixels of a row from x on, which the compiler makes of them together: no
// branches.
static inline void ink_part(const struct hand *h, struct point a, struct point b, int x, int y,
                            int32_t ink[PART])
{
    float reach = (float)h->pen + 0.5f, full = (float)h->ink;
    float dx = b.x - a.x, dy = b.y - a.y, py = (float)y - a.y;
    float length = dx * dx + dy * dy;
    length = length > 0 ? length : 1; // of a point, where `along` is 0
    for (int k = 0; k < PART; k++) {
        float px = (float)(x + k) - a.x;
        float along = (px * dx + py * dy) / length;
        along = along < 0 ? 0 : along;
        along = along > 1 ? 1 : along;
        float ox = px - along * dx, oy = py - along * dy;
        float cover = reach - sqrtf(ox * ox + oy * oy);
        cover = cover < 0 ? 0 : cover;
        cover = cover > 1 ? 1 : cover;
        ink[k] = (int32_t)(cover * full);
    }
}

// Darkens the pixels near the line from a to b; where two lines meet, the darker counts.
static void draw_line(uint8_t *pixels, const struct hand *h, struct point a, struct point b)
{
    float reach = (float)h->pen + 0.5f;
    int left = (int)floorf(fminf(a.x, b.x) - reach), right = (int)ceilf(fmaxf(a.x, b.x) + reach);
    int top = (int)floorf(fminf(a.y, b.y) - reach), bottom = (int)ceilf(fmaxf(a.y, b.y) + reach);
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right >= SIDE ? SIDE - 1 : right;
    bottom = bottom >= SIDE ? SIDE - 1 : bottom;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x += PART) {
            int32_t ink[PART];
            ink_part(h, a, b, x, y, ink);
            for (int k = 0; k < PART && x + k <= right; k++) {
                uint8_t *pixel = &pixels[y * SIDE + x + k];
                *pixel = ink[k] > *pixel ? (uint8_t)ink[k] : *pixel;
            }
        }
}

void synth_digit(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label)
{
    struct rng rng;
    struct hand hand;
    synth_rng(&rng, "digits", seed, test, i);
    *label = (int32_t)rng_below(&rng, 10);
    const struct glyph *ways[2];
    int count = 0;
    for (size_t g = 0; g < sizeof glyphs / sizeof *glyphs; g++)
        if (glyphs[g].digit == *label)
            ways[count++] = &glyphs[g];
    const struct glyph *glyph = ways[rng_below(&rng, (uint64_t)count)];
    draw_hand(&rng, &hand);
    memset(pixels, 0, SIDE * SIDE);
    for (int s = 0; s < glyph->strokes; s++) {
        const struct stroke *stroke = &glyph->stroke[s];
        struct point last = place(&rng, &hand, stroke->points[0]);
        for (int k = 1; k < stroke->count; k++) {
            struct point next = place(&rng, &hand, stroke->points[k]);
            draw_line(pixels, &hand, last, next);
            last = next;
        }
    }
}
