// SPDX-License-Identifier: Apache-2.0
// Ten classes: disc, square, triangle, ring and cross, each striped or chequered. Colours tell
// something about the class, as in photos, but no more: a few steps of training show in the
// accuracy, and form and texture must be learned for the rest.
#include <math.h>

#include "data/synth.h"

enum { SIDE = 32, SHAPES = 5 };

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
struct row {
    float y;
    int32_t in[SIDE], light[SIDE];
    uint32_t noise[SIDE]; // a byte for each colour
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

static inline void find_inside(const struct scene *s, int shape, struct row *row)
{
    float dy = row->y - s->y;
    for (int x = 0; x < SIDE; x++) {
        float dx = (float)x - s->x;
        float u = (dx * s->cosine + dy * s->sine) / s->size;
        float v = (dy * s->cosine - dx * s->sine) / s->size;
        row->in[x] = -(int32_t)inside(shape, u, v);
    }
}

// One loop for each shape.
static void find_shape(const struct scene *s, struct row *row)
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

static void find_light(const struct scene *s, struct row *row)
{
    float dy = row->y - s->y;
    int32_t both = -(int32_t)s->chequered;
    for (int x = 0; x < SIDE; x++) {
        float dx = (float)x - s->x;
        int32_t a = whole_below((dx * s->stripe_cosine + dy * s->stripe_sine) / s->period);
        int32_t b = whole_below((dy * s->stripe_cosine - dx * s->stripe_sine) / s->period);
        row->light[x] = -((a + (b & both)) & 1);
    }
}

static void colour(const struct scene *s, const struct row *row, int k, uint8_t *pixels)
{
    float dy = row->y - s->y, light = s->light[k], dark = s->dark[k];
    for (int x = 0; x < SIDE; x++) {
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
    struct row row;
    synth_rng(&rng, "shapes", seed, test, i);
    draw_scene(&rng, &s, label);
    for (int y = 0; y < SIDE; y++) {
        row.y = (float)y;
        for (int x = 0; x < SIDE; x++)
            row.noise[x] = rng_u32(&rng);
        find_shape(&s, &row);
        find_light(&s, &row);
        for (int k = 0; k < 3; k++)
            colour(&s, &row, k, pixels + (k * SIDE + y) * SIDE);
    }
}
