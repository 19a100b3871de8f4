// SPDX-License-Identifier: Apache-2.0
// Titles of panels that say the result. Each is made from the panel's own points, so that it cannot
// differ from what is drawn.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "view/draft.h"
#include "render/scale.h"

// Appends to the panel's title: "cnn" becomes "cnn: $0.061 to $4.10".
static void say(struct draft *d, const char *result)
{
    struct buf title = {0};
    buf_printf(&title, "%s: %s", d->panel->title ? d->panel->title : "", result);
    d->rc = text_take(&d->panel->title, &title, d->err);
}

static const struct plot_point *last_of(const struct plot_series *series)
{
    for (size_t i = series->points.count; i-- > 0;)
        if (series->points.items[i].y.known)
            return &series->points.items[i];
    return NULL;
}

static void words_of(const struct plot_axis *axis, double value, char out[SCALE_LABEL])
{
    scale_words(axis->unit ? axis->unit : "", value, out);
}

void result_range(struct draft *d)
{
    double low = HUGE_VAL, high = -HUGE_VAL;
    char from[SCALE_LABEL], to[SCALE_LABEL], text[2 * SCALE_LABEL + 8];
    if (d->rc != 0 || d->panel->series.count == 0)
        return;
    const struct plot_series *bars = &d->panel->series.items[0];
    for (size_t i = 0; i < bars->points.count; i++)
        if (bars->points.items[i].y.known) {
            low = fmin(low, bars->points.items[i].y.v);
            high = fmax(high, bars->points.items[i].y.v);
        }
    if (!(low <= high))
        return;
    words_of(&d->panel->y, low, from);
    words_of(&d->panel->y, high, to);
    if (strcmp(from, to) == 0)
        snprintf(text, sizeof text, "%s", from);
    else
        snprintf(text, sizeof text, "%s to %s", from, to);
    say(d, text);
}

// Not all that there is may be drawn, so the end of the range is not said.
void result_from(struct draft *d, const char *least, bool bound)
{
    char text[SCALE_LABEL + 16];
    snprintf(text, sizeof text, "%s %s", bound ? "at least" : "from", least);
    if (d->rc == 0)
        say(d, text);
}

// ---- relative to the base

struct ratios {
    size_t count;
    double low, high;
    const struct plot_point *last;
};

static struct ratios ratios_of(const struct plot_series *series)
{
    struct ratios r = {0, HUGE_VAL, -HUGE_VAL, NULL};
    for (size_t i = 0; i < series->points.count; i++) {
        const struct plot_point *p = &series->points.items[i];
        if (!p->y.known || p->marked.v)
            continue;
        r.count++;
        r.low = fmin(r.low, p->y.v);
        r.high = fmax(r.high, p->y.v);
        r.last = p;
    }
    return r;
}

static bool could_be_chance(const struct plot_point *p)
{
    return p->y_low.known && p->y_high.known && p->y_low.v <= 1 && p->y_high.v >= 1;
}

// "2.46 times the time", "0.41 of the time"
static void ratio_words(double ratio, const char *noun, char *out, size_t size)
{
    snprintf(out, size, "%.3g %s the %s", ratio, ratio < 1 ? "of" : "times", noun);
}

static void say_one(struct draft *d, const struct ratios *time, const struct ratios *cost)
{
    char text[320], first[64] = "", second[64] = "";
    bool times = !could_be_chance(time->last);
    bool costs = cost->count == 1 && !could_be_chance(cost->last);
    const char *name = time->last->label ? time->last->label : "the other";
    if (times)
        ratio_words(time->low, "time", first, sizeof first);
    if (costs)
        ratio_words(cost->low, "cost", second, sizeof second);
    if (times || costs)
        snprintf(text, sizeof text, "%.120s takes %s%s%s of the base", name, first,
                 times && costs ? " and " : "", second);
    else
        snprintf(text, sizeof text, "%.120s and the base cannot be told apart", name);
    say(d, text);
}

// "0.5 to 2.1", or "1" where both ends are written alike.
static void range_words(const struct ratios *r, char *out, size_t size)
{
    char low[24], high[24];
    snprintf(low, sizeof low, "%.3g", r->low);
    snprintf(high, sizeof high, "%.3g", r->high);
    if (strcmp(low, high) == 0)
        snprintf(out, size, "%s", low);
    else
        snprintf(out, size, "%s to %s", low, high);
}

void result_relative(struct draft *d)
{
    char text[160];
    if (d->rc != 0 || d->panel->series.count == 0)
        return;
    struct ratios time = ratios_of(&d->panel->series.items[0]), cost = {0};
    if (d->panel->series.count > 1)
        cost = ratios_of(&d->panel->series.items[1]);
    if (time.count == 1) {
        say_one(d, &time, &cost);
    } else if (time.count > 1 && time.low < time.high) {
        range_words(&time, text, sizeof text);
        size_t len = strlen(text);
        len += (size_t)snprintf(text + len, sizeof text - len, " times the base's time");
        if (cost.count > 1) {
            len += (size_t)snprintf(text + len, sizeof text - len, ", ");
            range_words(&cost, text + len, sizeof text - len);
            len = strlen(text);
            snprintf(text + len, sizeof text - len, " times its cost");
        }
        say(d, text);
    }
}

// ---- time against cost

// The points that nothing beats: marked ones, or else estimates.
static size_t unbeaten(const struct plot_panel *panel, bool estimates,
                       const struct plot_point **cheapest, const struct plot_point **fastest)
{
    size_t count = 0;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (!p->x.known || !p->y.known || !(estimates ? p->estimated.v : p->marked.v))
                continue;
            *cheapest = count == 0 ? p : *cheapest; // points stand in their order
            *fastest = count == 0 || p->x.v < (*fastest)->x.v ? p : *fastest;
            count++;
        }
    return count;
}

void result_frontier(struct draft *d)
{
    const struct plot_point *cheap = NULL, *fast = NULL;
    char usd[2][SCALE_LABEL], time[2][SCALE_LABEL], text[240];
    if (d->rc != 0)
        return;
    bool measured = unbeaten(d->panel, false, &cheap, &fast) > 0;
    if (!measured && unbeaten(d->panel, true, &cheap, &fast) == 0)
        return;
    words_of(&d->panel->y, cheap->y.v, usd[0]);
    words_of(&d->panel->x, cheap->x.v, time[0]);
    words_of(&d->panel->y, fast->y.v, usd[1]);
    words_of(&d->panel->x, fast->x.v, time[1]);
    if (cheap->x.v == fast->x.v)
        snprintf(text, sizeof text, "%s in %s%s", usd[0], time[0], measured ? "" : ", by estimate");
    else
        snprintf(text, sizeof text, "%s in %s, or %s in %s%s", usd[0], time[0], usd[1], time[1],
                 measured ? "" : ", by estimate");
    say(d, text);
}

// ---- lines

void result_ends(struct draft *d, bool highest)
{
    const struct plot_series *best = NULL;
    double best_end = 0, other_end = 0;
    size_t count = 0;
    char first[SCALE_LABEL], last[SCALE_LABEL], text[320];
    if (d->rc != 0)
        return;
    for (size_t s = 0; s < d->panel->series.count; s++) {
        const struct plot_point *end = last_of(&d->panel->series.items[s]);
        if (!end)
            continue;
        bool better = count == 0 || (highest ? end->y.v > best_end : end->y.v < best_end);
        bool worse = count == 0 || (highest ? end->y.v < other_end : end->y.v > other_end);
        best = better ? &d->panel->series.items[s] : best;
        best_end = better ? end->y.v : best_end;
        other_end = worse ? end->y.v : other_end;
        count++;
    }
    if (!best)
        return;
    words_of(&d->panel->y, best_end, first);
    words_of(&d->panel->y, other_end, last);
    if (count == 1)
        snprintf(text, sizeof text, "ends at %s", first);
    else if (strcmp(first, last) == 0)
        snprintf(text, sizeof text, "%s end at %s", count == 2 ? "both" : "all", first);
    else
        snprintf(text, sizeof text, "%.120s ends %s, at %s; the %s ends at %s",
                 best->name ? best->name : "one", highest ? "highest" : "lowest", first,
                 highest ? "lowest" : "highest", last);
    say(d, text);
}

// The highest point of all lines.
static const struct plot_point *top_of(const struct plot_panel *panel)
{
    const struct plot_point *top = NULL;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
            const struct plot_point *p = &panel->series.items[s].points.items[i];
            if (p->y.known && (!top || p->y.v > top->y.v))
                top = p;
        }
    return top;
}

void result_batch(struct draft *d)
{
    char rate[SCALE_LABEL], text[120];
    const struct plot_point *top = d->rc == 0 ? top_of(d->panel) : NULL;
    if (!top)
        return;
    words_of(&d->panel->y, top->y.v, rate);
    snprintf(text, sizeof text, "%s at most, with batch %.0f", rate, top->x.v);
    say(d, text);
}

void result_gpus(struct draft *d)
{
    char text[120];
    const struct plot_point *top = d->rc == 0 ? top_of(d->panel) : NULL;
    if (!top)
        return;
    snprintf(text, sizeof text, "%.0f GPUs are %.3g times as fast as one", top->x.v, top->y.v);
    say(d, text);
}
