// SPDX-License-Identifier: Apache-2.0
// Five kinds of flowers over a meadow: ellipses around a middle, drawn one over the other. Kinds
// differ in the number, form and colour of their petals; sizes, places, turns and light vary.

#include "data/images.h"
#include "data/synth.h"

enum { SIDE = IMAGES_SIZE, KINDS = 5 };

struct kind {
    int petals;
    bool cup;     // only upwards, as a tulip
    double reach; // from the middle to the petals', in radii of the flower
    double half_long, half_wide;
    double centre;           // radius of the middle; 0: none
    uint8_t low[3], high[3]; // the petals' colours lie between
    uint8_t middle[3];
};

static const struct kind kinds[KINDS] = {
    {10, false, .62, .40, .13, .28, {215, 215, 215}, {255, 255, 255}, {235, 190, 40}},
    {16, false, .52, .48, .06, 0, {225, 180, 20}, {255, 225, 70}, {0}},
    {5, false, .30, .52, .42, .16, {150, 20, 40}, {245, 120, 150}, {110, 10, 30}},
    {13, false, .72, .30, .12, .50, {225, 150, 0}, {255, 205, 40}, {85, 50, 25}},
    {3, true, .35, .70, .30, 0, {130, 30, 60}, {255, 160, 170}, {0}},
};

struct picture {
    uint8_t *pixels; // (3, SIDE, SIDE)
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
        for (int y = 0; y < SIDE; y++) {
            double line = base[k] + slope[k] * (y - SIDE / 2) / SIDE - 16;
            uint8_t *row = p->pixels + ((size_t)k * SIDE + (size_t)y) * SIDE;
            for (int x = 0; x < SIDE; x++)
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
    right = right > SIDE ? SIDE : right;
    bottom = bottom > SIDE ? SIDE : bottom;
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
                p->pixels[((size_t)k * SIDE + (size_t)y) * SIDE + (size_t)x] =
                    shade(e->colour[k] * light + grain(p) / 16);
        }
}

static void draw_flower(struct picture *p, struct rng *rng, const struct kind *kind)
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
    const struct kind *kind = &kinds[rng_below(&rng, KINDS)];
    p.noise = rng_u32(&rng);
    meadow(&p, &rng);
    for (int flowers = 1 + (int)rng_below(&rng, 2); flowers > 0; flowers--)
        draw_flower(&p, &rng, kind);
}
