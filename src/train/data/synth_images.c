// SPDX-License-Identifier: Apache-2.0
// Digits as strokes of a pen: each is a line through a few points, which are moved a little, bent,
// slanted, turned and scaled together before a pen of some width draws them.
#include <math.h>
#include <string.h>

#include "train/data/images.h"
#include "train/data/synth.h"

enum { DIGIT_SIDE = 28, PART = 8, POINTS_MAX = 16, STROKES_MAX = 3 };

struct pen_point {
    float x, y; // 0 ... 1, y downwards
};

struct pen_stroke {
    int count;
    struct pen_point points[POINTS_MAX];
};

struct glyph {
    int digit;
    struct pen_stroke stroke[STROKES_MAX]; // the last is empty
};

#define STROKE(...)                                                                                \
    {                                                                                              \
        .count = (int)(sizeof((struct pen_point[]){__VA_ARGS__}) / sizeof(struct pen_point)),      \
        .points = {                                                                                \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

// Some digits are written in two ways.
static const struct glyph glyphs[] = {
    {0,
     {STROKE({.5f, 0}, {.25f, .1f}, {.1f, .35f}, {.1f, .65f}, {.25f, .9f}, {.5f, 1}, {.75f, .9f},
             {.9f, .65f}, {.9f, .35f}, {.75f, .1f}, {.5f, 0})}},
    {1, {STROKE({.5f, 0}, {.5f, .5f}, {.5f, 1})}},
    {1, {STROKE({.25f, .25f}, {.55f, 0}, {.55f, .5f}, {.55f, 1})}},
    {2,
     {STROKE({.12f, .25f}, {.25f, .06f}, {.5f, 0}, {.78f, .08f}, {.85f, .28f}, {.7f, .5f},
             {.4f, .75f}, {.1f, 1}, {.5f, .98f}, {.92f, 1})}},
    {2,
     {STROKE({.15f, .2f}, {.4f, 0}, {.75f, .05f}, {.82f, .3f}, {.6f, .65f}, {.3f, .95f},
             {.12f, .9f}, {.25f, .78f}, {.55f, .92f}, {.9f, 1})}},
    {3,
     {STROKE({.15f, .12f}, {.4f, 0}, {.72f, .06f}, {.8f, .25f}, {.65f, .43f}, {.4f, .48f},
             {.7f, .54f}, {.85f, .72f}, {.72f, .93f}, {.4f, 1}, {.12f, .88f})}},
    {4,
     {STROKE({.6f, 0}, {.35f, .35f}, {.1f, .68f}, {.5f, .68f}, {.95f, .66f}),
      STROKE({.68f, .3f}, {.68f, .65f}, {.68f, 1})}},
    {4,
     {STROKE({.2f, 0}, {.17f, .3f}, {.2f, .5f}, {.5f, .53f}, {.85f, .48f}),
      STROKE({.8f, 0}, {.76f, .5f}, {.72f, 1})}},
    {5,
     {STROKE({.25f, 0}, {.22f, .22f}, {.2f, .44f}, {.5f, .38f}, {.78f, .5f}, {.85f, .72f},
             {.7f, .93f}, {.4f, 1}, {.12f, .88f}),
      STROKE({.25f, 0}, {.55f, .02f}, {.85f, 0})}},
    {6,
     {STROKE({.72f, 0}, {.42f, .15f}, {.2f, .42f}, {.12f, .7f}, {.22f, .92f}, {.48f, 1},
             {.75f, .9f}, {.82f, .7f}, {.68f, .53f}, {.42f, .52f}, {.18f, .68f})}},
    {7, {STROKE({.1f, .03f}, {.5f, .02f}, {.9f, 0}, {.68f, .35f}, {.5f, .68f}, {.42f, 1})}},
    {7,
     {STROKE({.1f, .06f}, {.5f, 0}, {.88f, .03f}, {.62f, .45f}, {.4f, 1}),
      STROKE({.3f, .5f}, {.55f, .48f}, {.8f, .5f})}},
    {8,
     {STROKE({.5f, .48f}, {.22f, .34f}, {.22f, .12f}, {.5f, 0}, {.78f, .12f}, {.76f, .33f},
             {.5f, .48f}, {.18f, .65f}, {.15f, .88f}, {.5f, 1}, {.85f, .88f}, {.82f, .65f},
             {.5f, .48f})}},
    {9,
     {STROKE({.82f, .3f}, {.6f, .48f}, {.32f, .48f}, {.17f, .3f}, {.25f, .08f}, {.52f, 0},
             {.78f, .1f}, {.83f, .35f}, {.78f, .65f}, {.7f, 1})}},
    {9,
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

static struct pen_point place(struct rng *rng, const struct hand *h, struct pen_point p)
{
    double x = (double)p.x - 0.5 + synth_between(rng, -h->wobble, h->wobble);
    double y = (double)p.y - 0.5 + synth_between(rng, -h->wobble, h->wobble);
    return (struct pen_point){
        (float)(h->x + h->xx * x + h->xy * y + h->bend_x * (y * y - 0.1)),
        (float)(h->y + h->yx * x + h->yy * y + h->bend_y * (x * x - 0.1)),
    };
}

// The ink of PART pixels of a row from x on, which the compiler makes of them together: no
// branches.
static inline void ink_part(const struct hand *h, struct pen_point a, struct pen_point b, int x,
                            int y, int32_t ink[PART])
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
static void draw_line(uint8_t *pixels, const struct hand *h, struct pen_point a, struct pen_point b)
{
    float reach = (float)h->pen + 0.5f;
    int left = (int)floorf(fminf(a.x, b.x) - reach), right = (int)ceilf(fmaxf(a.x, b.x) + reach);
    int top = (int)floorf(fminf(a.y, b.y) - reach), bottom = (int)ceilf(fmaxf(a.y, b.y) + reach);
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right >= DIGIT_SIDE ? DIGIT_SIDE - 1 : right;
    bottom = bottom >= DIGIT_SIDE ? DIGIT_SIDE - 1 : bottom;
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x += PART) {
            int32_t ink[PART];
            ink_part(h, a, b, x, y, ink);
            for (int k = 0; k < PART && x + k <= right; k++) {
                uint8_t *pixel = &pixels[y * DIGIT_SIDE + x + k];
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
    memset(pixels, 0, DIGIT_SIDE * DIGIT_SIDE);
    for (const struct pen_stroke *stroke = glyph->stroke; stroke->count > 0; stroke++) {
        struct pen_point last = place(&rng, &hand, stroke->points[0]);
        for (int k = 1; k < stroke->count; k++) {
            struct pen_point next = place(&rng, &hand, stroke->points[k]);
            draw_line(pixels, &hand, last, next);
            last = next;
        }
    }
}

// ==== synth_shapes ====
// Ten classes: disc, square, triangle, ring and cross, each striped or chequered. Colours tell
// something about the class, as in photos, but no more: a few steps of training show in the
// accuracy, and form and texture must be learned for the rest.

enum { SHAPE_SIDE = 32, SHAPES = 5 };

// Each class's own colour, which makes up half of what is drawn.
static const uint8_t hues[2 * SHAPES][3] = {
    {200, 60, 60},  {60, 200, 60}, {60, 60, 200},   {200, 200, 60}, {200, 60, 200},
    {60, 200, 200}, {60, 60, 60},  {200, 200, 200}, {200, 130, 60}, {130, 60, 200},
};

struct scene {
    int shape;
    bool chequered;
    float x, y, size;   // of the shape, in pixels
    float cosine, sine; // its turn
    float stripe_cosine, stripe_sine, period;
    float back[3], slope_x[3], slope_y[3]; // the background's colour and how it changes
    float light[3], dark[3];               // the texture's colours
    float noise;
};

static void draw_scene(struct rng *rng, struct scene *s, int32_t *label)
{
    double c, sn;
    *label = (int32_t)rng_below(rng, 2 * SHAPES);
    s->shape = *label % SHAPES;
    s->chequered = *label >= SHAPES;
    s->size = (float)synth_between(rng, 8, 13);
    s->x = 15.5f + (float)synth_between(rng, -3, 3);
    s->y = 15.5f + (float)synth_between(rng, -3, 3);
    synth_turn(synth_between(rng, -0.3, 0.3), &c, &sn);
    s->cosine = (float)c;
    s->sine = (float)sn;
    synth_turn(synth_between(rng, -1, 1), &c, &sn);
    s->stripe_cosine = (float)c;
    s->stripe_sine = (float)sn;
    s->period = (float)synth_between(rng, 2.5, 3.5);
    for (int k = 0; k < 3; k++) {
        s->back[k] = (float)synth_between(rng, 30, 225);
        s->slope_x[k] = (float)synth_between(rng, -2, 2);
        s->slope_y[k] = (float)synth_between(rng, -2, 2);
        double middle = synth_between(rng, 60, 195), swing = synth_between(rng, 30, 60);
        middle = 0.5 * (middle + hues[*label][k]);
        s->light[k] = (float)(middle + swing);
        s->dark[k] = (float)(middle - swing);
    }
    s->noise = (float)synth_between(rng, 4, 20);
}

// What a row of pixels shows: all bits of `in` where the shape is, and of `light` where its texture
// has the light colour. Rows are made by loops without branches, many pixels at a time.
struct shape_row {
    float y;
    int32_t in[SHAPE_SIDE], light[SHAPE_SIDE];
    uint32_t noise[SHAPE_SIDE]; // a byte for each colour
};

// u, v: from the shape's middle, in units of its size.
static inline bool inside(int shape, float u, float v)
{
    float square = u * u + v * v, wide = fabsf(u), high = fabsf(v);
    switch (shape) {
    case 0:
        return square < 1;
    case 1:
        return (wide < 0.85f) & (high < 0.85f);
    case 2:
        return (v < 0.75f) & (v > 1.9f * wide - 1.0f);
    case 3:
        return (square < 1.05f) & (square > 0.25f);
    default:
        return ((wide < 0.32f) & (high < 1)) | ((high < 0.32f) & (wide < 1));
    }
}

static inline void find_inside(const struct scene *s, int shape, struct shape_row *row)
{
    float dy = row->y - s->y;
    for (int x = 0; x < SHAPE_SIDE; x++) {
        float dx = (float)x - s->x;
        float u = (dx * s->cosine + dy * s->sine) / s->size;
        float v = (dy * s->cosine - dx * s->sine) / s->size;
        row->in[x] = -(int32_t)inside(shape, u, v);
    }
}

// One loop for each shape.
static void find_shape(const struct scene *s, struct shape_row *row)
{
    switch (s->shape) {
    case 0:
        find_inside(s, 0, row);
        break;
    case 1:
        find_inside(s, 1, row);
        break;
    case 2:
        find_inside(s, 2, row);
        break;
    case 3:
        find_inside(s, 3, row);
        break;
    default:
        find_inside(s, 4, row);
        break;
    }
}

static inline int32_t whole_below(float value)
{
    int32_t whole = (int32_t)value;
    return whole - (value < (float)whole);
}

static void find_light(const struct scene *s, struct shape_row *row)
{
    float dy = row->y - s->y;
    int32_t both = -(int32_t)s->chequered;
    for (int x = 0; x < SHAPE_SIDE; x++) {
        float dx = (float)x - s->x;
        int32_t a = whole_below((dx * s->stripe_cosine + dy * s->stripe_sine) / s->period);
        int32_t b = whole_below((dy * s->stripe_cosine - dx * s->stripe_sine) / s->period);
        row->light[x] = -((a + (b & both)) & 1);
    }
}

static void colour(const struct scene *s, const struct shape_row *row, int k, uint8_t *pixels)
{
    float dy = row->y - s->y, light = s->light[k], dark = s->dark[k];
    for (int x = 0; x < SHAPE_SIDE; x++) {
        float dx = (float)x - s->x;
        float texture = row->light[x] ? light : dark;
        float behind = s->back[k] + s->slope_x[k] * dx + s->slope_y[k] * dy;
        float byte = (float)(int32_t)(row->noise[x] >> 8 * k & 255);
        float value = (row->in[x] ? texture : behind) + (byte - 127.5f) / 127.5f * s->noise;
        value = value < 0 ? 0 : value;
        value = value > 255 ? 255 : value;
        pixels[x] = (uint8_t)(int32_t)value;
    }
}

void synth_shape(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label)
{
    struct rng rng;
    struct scene s;
    struct shape_row row;
    synth_rng(&rng, "shapes", seed, test, i);
    draw_scene(&rng, &s, label);
    for (int y = 0; y < SHAPE_SIDE; y++) {
        row.y = (float)y;
        for (int x = 0; x < SHAPE_SIDE; x++)
            row.noise[x] = rng_u32(&rng);
        find_shape(&s, &row);
        find_light(&s, &row);
        for (int k = 0; k < 3; k++)
            colour(&s, &row, k, pixels + (k * SHAPE_SIDE + y) * SHAPE_SIDE);
    }
}

// ==== synth_flowers ====
// Five kinds of flowers over a meadow: ellipses around a middle, drawn one over the other. Kinds
// differ in the number, form and colour of their petals; sizes, places, turns and light vary.

enum { FLOWER_SIDE = IMAGES_SIZE, KINDS = 5 };

struct flower_kind {
    int petals;
    bool cup;     // only upwards, as a tulip
    double reach; // from the middle to the petals', in radii of the flower
    double half_long, half_wide;
    double centre;           // radius of the middle; 0: none
    uint8_t low[3], high[3]; // the petals' colours lie between
    uint8_t middle[3];
};

static const struct flower_kind kinds[KINDS] = {
    {10, false, .62, .40, .13, .28, {215, 215, 215}, {255, 255, 255}, {235, 190, 40}},
    {16, false, .52, .48, .06, 0, {225, 180, 20}, {255, 225, 70}, {0}},
    {5, false, .30, .52, .42, .16, {150, 20, 40}, {245, 120, 150}, {110, 10, 30}},
    {13, false, .72, .30, .12, .50, {225, 150, 0}, {255, 205, 40}, {85, 50, 25}},
    {3, true, .35, .70, .30, 0, {130, 30, 60}, {255, 160, 170}, {0}},
};

struct picture {
    uint8_t *pixels; // (3, FLOWER_SIDE, FLOWER_SIDE)
    uint32_t noise;  // a generator of its own: quick, and good enough for grain
};

static uint32_t grain(struct picture *p)
{
    p->noise = p->noise * 1664525 + 1013904223;
    return p->noise >> 24;
}

static uint8_t shade(double value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void meadow(struct picture *p, struct rng *rng)
{
    double base[3] = {synth_between(rng, 30, 110), synth_between(rng, 70, 150),
                      synth_between(rng, 20, 100)};
    double slope[3];
    for (int k = 0; k < 3; k++)
        slope[k] = synth_between(rng, -60, 60);
    for (int k = 0; k < 3; k++)
        for (int y = 0; y < FLOWER_SIDE; y++) {
            double line = base[k] + slope[k] * (y - FLOWER_SIDE / 2) / FLOWER_SIDE - 16;
            uint8_t *row = p->pixels + ((size_t)k * FLOWER_SIDE + (size_t)y) * FLOWER_SIDE;
            for (int x = 0; x < FLOWER_SIDE; x++)
                row[x] = shade(line + grain(p) / 8);
        }
}

struct ellipse {
    double x, y, cosine, sine, half_long,
        half_wide; // in pixels; the long side along (cosine, sine)
    double colour[3];
};

static void draw_ellipse(struct picture *p, const struct ellipse *e)
{
    double reach = e->half_long > e->half_wide ? e->half_long : e->half_wide;
    int left = (int)(e->x - reach), right = (int)(e->x + reach) + 1;
    int top = (int)(e->y - reach), bottom = (int)(e->y + reach) + 1;
    left = left < 0 ? 0 : left;
    top = top < 0 ? 0 : top;
    right = right > FLOWER_SIDE ? FLOWER_SIDE : right;
    bottom = bottom > FLOWER_SIDE ? FLOWER_SIDE : bottom;
    for (int y = top; y < bottom; y++)
        for (int x = left; x < right; x++) {
            double dx = x - e->x, dy = y - e->y;
            double u = (dx * e->cosine + dy * e->sine) / e->half_long;
            double v = (dy * e->cosine - dx * e->sine) / e->half_wide;
            double out = u * u + v * v;
            if (out >= 1)
                continue;
            double light = 1 - 0.35 * out + 0.1 * u; // darker at the rim
            for (int k = 0; k < 3; k++)
                p->pixels[((size_t)k * FLOWER_SIDE + (size_t)y) * FLOWER_SIDE + (size_t)x] =
                    shade(e->colour[k] * light + grain(p) / 16);
        }
}

static void draw_flower(struct picture *p, struct rng *rng, const struct flower_kind *kind)
{
    double radius = synth_between(rng, 55, 115);
    double x = synth_between(rng, 90, 209), y = synth_between(rng, 90, 209);
    double mix = synth_between(rng, 0, 1), light = synth_between(rng, 0.75, 1);
    struct ellipse e = {.half_long = kind->half_long * radius,
                        .half_wide = kind->half_wide * radius};
    for (int k = 0; k < 3; k++)
        e.colour[k] = light * (kind->low[k] + mix * (kind->high[k] - kind->low[k]));
    double c, s, step_c, step_s;
    if (kind->cup)
        synth_turn(-1 + synth_between(rng, -0.3, 0.3) - 0.3, &c, &s);
    else
        synth_turn(synth_between(rng, -1, 1), &c, &s);
    synth_turn(kind->cup ? 0.3 : 4.0 / kind->petals, &step_c, &step_s);
    for (int n = 0; n < kind->petals; n++) {
        e.cosine = c;
        e.sine = s;
        e.x = x + c * kind->reach * radius;
        e.y = y + s * kind->reach * radius;
        draw_ellipse(p, &e);
        double next = c * step_c - s * step_s;
        s = c * step_s + s * step_c;
        c = next;
    }
    struct ellipse middle = {
        x,
        y,
        1,
        0,
        kind->centre * radius,
        kind->centre * radius,
        {kind->middle[0] * light, kind->middle[1] * light, kind->middle[2] * light}};
    if (kind->centre > 0)
        draw_ellipse(p, &middle);
}

int32_t synth_flower_label(uint64_t seed, bool test, int64_t i)
{
    struct rng rng;
    synth_rng(&rng, "flowers", seed, test, i);
    return (int32_t)rng_below(&rng, KINDS);
}

void synth_flower(uint64_t seed, bool test, int64_t i, uint8_t *pixels)
{
    struct rng rng;
    struct picture p = {.pixels = pixels};
    synth_rng(&rng, "flowers", seed, test, i);
    const struct flower_kind *kind = &kinds[rng_below(&rng, KINDS)];
    p.noise = rng_u32(&rng);
    meadow(&p, &rng);
    for (int flowers = 1 + (int)rng_below(&rng, 2); flowers > 0; flowers--)
        draw_flower(&p, &rng, kind);
}
