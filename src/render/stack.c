// SPDX-License-Identifier: Apache-2.0
// One bar whose parts add up to a whole: a series of one point per part, named below the bar.
#include <math.h>

#include <string.h>

#include "render/glyphs.h"
#include "render/svg.h"

enum { BAR = 30, ROW = 19, SWATCH = 14, BETWEEN = 18 };

static double value_of(const struct plot_panel *panel, size_t s)
{
    const struct plot_series *series = &panel->series.items[s];
    return series->points.count > 0 && series->points.items[0].y.known ? series->points.items[0].y.v
                                                                       : 0;
}

static void words_of(const struct plot_panel *panel, size_t s, struct buf *out)
{
    const char *name = panel->series.items[s].name;
    char value[SCALE_LABEL];
    scale_words(panel->y.unit ? panel->y.unit : "", value_of(panel, s), value);
    buf_printf(out, "%s %s", name ? name : "", value);
}

// The phases of a run look the same on all pages, whichever of them it has; other parts by number.
static size_t look_of(const struct plot_panel *panel, size_t s)
{
    static const char *const phases[] = {
        "set-up",      "loading data",    "warm-up steps",         "training steps", "evaluations",
        "checkpoints", "loading kernels", "copying to the device", "other"};
    const char *name = panel->series.items[s].name;
    bool are_phases = false;
    for (size_t i = 0; i < panel->series.count; i++)
        are_phases |= panel->series.items[i].name &&
                      strcmp(panel->series.items[i].name, "training steps") == 0;
    for (size_t i = 0; are_phases && name && i < sizeof phases / sizeof *phases; i++)
        if (strcmp(name, phases[i]) == 0)
            return i;
    return s;
}

double svg_stack(struct buf *out, const struct plot_panel *panel, double width, const char *id)
{
    double total = 0, x = 0, y = BAR + ROW;
    for (size_t s = 0; s < panel->series.count; s++)
        total += value_of(panel, s);
    if (total <= 0)
        return 0;
    for (size_t s = 0; s < panel->series.count; s++)
        if (look_of(panel, s) > 0)
            svg_hatch_define(out, id, look_of(panel, s));
    for (size_t s = 0; s < panel->series.count; s++) {
        struct buf words = {0};
        double part = value_of(panel, s) / total * width;
        words_of(panel, s, &words);
        svg_bar(out, x, 0, fmax(part - 1, 0.5), BAR, id, look_of(panel, s), buf_str(&words));
        x += part;
        buf_drop(out, &words);
    }
    x = 0;
    for (size_t s = 0; s < panel->series.count; s++) {
        struct buf words = {0};
        words_of(panel, s, &words);
        double wide = SWATCH + 5 + glyphs_width(buf_str(&words), SVG_TEXT) + BETWEEN;
        if (x > 0 && x + wide - BETWEEN > width) {
            x = 0;
            y += ROW;
        }
        svg_bar(out, x, y - 10, SWATCH, 11, id, look_of(panel, s), NULL);
        svg_text(out, x + SWATCH + 5, y, "", buf_str(&words));
        x += wide;
        buf_drop(out, &words);
    }
    return y + 8;
}
