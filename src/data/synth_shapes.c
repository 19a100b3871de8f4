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

// u, v: from the shape's middle, in units of its size.
static bool inside(int shape, float u, float v)
{
    float square = u * u + v * v;
    switch (shape) {
    case 0:
        return square < 1;
    case 1:
        return fabsf(u) < 0.85f && fabsf(v) < 0.85f;
    case 2:
        return v < 0.75f && v > 1.9f * fabsf(u) - 1.0f;
    case 3:
        return square < 1.05f && square > 0.25f;
    default:
        return (fabsf(u) < 0.32f && fabsf(v) < 1) || (fabsf(v) < 0.32f && fabsf(u) < 1);
    }
}

// Whether a point of the texture has the light colour.
static bool is_light(const struct scene *s, float x, float y)
{
    int a = (int)floorf((x * s->stripe_cosine + y * s->stripe_sine) / s->period);
    int b = (int)floorf((y * s->stripe_cosine - x * s->stripe_sine) / s->period);
    return (s->chequered ? a + b : a) & 1;
}

static uint8_t to_byte(float value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

void synth_shape(uint64_t seed, bool test, int64_t i, uint8_t *pixels, int32_t *label)
{
    struct rng rng;
    struct scene s;
    synth_rng(&rng, "shapes", seed, test, i);
    draw_scene(&rng, &s, label);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            float dx = (float)x - s.x, dy = (float)y - s.y;
            float u = (dx * s.cosine + dy * s.sine) / s.size;
            float v = (dy * s.cosine - dx * s.sine) / s.size;
            bool in = inside(s.shape, u, v), light = in && is_light(&s, dx, dy);
            uint32_t word = rng_u32(&rng); // a byte of noise for each colour
            for (int k = 0; k < 3; k++, word >>= 8) {
                float value = in ? (light ? s.light[k] : s.dark[k])
                                 : s.back[k] + s.slope_x[k] * dx + s.slope_y[k] * dy;
                float noise = ((float)(word & 255) - 127.5f) / 127.5f * s.noise;
                pixels[(k * SIDE + y) * SIDE + x] = to_byte(value + noise);
            }
        }
}
