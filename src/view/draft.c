// SPDX-License-Identifier: Apache-2.0
#include "view/draft.h"

#include <string.h>

void draft_set(struct draft *d, char **member, const char *text)
{
    if (d->rc == 0)
        d->rc = text_set(member, text, d->err);
}

void draft_plot(struct draft *d, const char *kind, const char *title, const char *says)
{
    d->plot = d->rc == 0 ? LIST_ADD(&d->page->plots, d->err) : NULL;
    d->panel = NULL;
    d->series = NULL;
    if (!d->plot) {
        d->rc = ERR_MEMORY;
        return;
    }
    draft_set(d, &d->plot->kind, kind);
    draft_set(d, &d->plot->title, title);
    draft_set(d, &d->plot->says, says);
}

void draft_panel(struct draft *d, const char *title, const char *form, struct plot_axis x,
                 struct plot_axis y)
{
    d->panel = d->rc == 0 ? LIST_ADD(&d->plot->panels, d->err) : NULL;
    d->series = NULL;
    if (!d->panel) {
        d->rc = ERR_MEMORY;
        return;
    }
    draft_set(d, &d->panel->title, title);
    draft_set(d, &d->panel->form, form);
    draft_set(d, &d->panel->x.name, x.name);
    draft_set(d, &d->panel->x.unit, x.unit);
    draft_set(d, &d->panel->y.name, y.name);
    draft_set(d, &d->panel->y.unit, y.unit);
}

void draft_series(struct draft *d, const char *name)
{
    d->series = d->rc == 0 ? LIST_ADD(&d->panel->series, d->err) : NULL;
    if (!d->series) {
        d->rc = ERR_MEMORY;
        return;
    }
    draft_set(d, &d->series->name, name);
}

static struct plot_point *add_point(struct draft *d)
{
    struct plot_point *point = d->rc == 0 ? LIST_ADD(&d->series->points, d->err) : NULL;
    if (point)
        return point;
    d->rc = ERR_MEMORY;
    return &d->spare;
}

struct plot_point *draft_point(struct draft *d, const char *label, double x, double y)
{
    struct plot_point *point = add_point(d);
    point->x = some_real(x);
    point->y = some_real(y);
    draft_set(d, &point->label, label);
    return point;
}

struct plot_point *draft_bar(struct draft *d, const char *label, struct maybe_real y)
{
    struct plot_point *point = add_point(d);
    point->y = y;
    draft_set(d, &point->label, label);
    return point;
}

void draft_line(struct draft *d, const char *name, struct maybe_real x, struct maybe_real y)
{
    struct plot_line *line = d->rc == 0 ? LIST_ADD(&d->panel->lines, d->err) : NULL;
    if (!line) {
        d->rc = ERR_MEMORY;
        return;
    }
    line->x = x;
    line->y = y;
    draft_set(d, &line->name, name);
}

void draft_band(struct draft *d, const char *name, double from, double to)
{
    struct plot_band *band = d->rc == 0 ? LIST_ADD(&d->panel->bands, d->err) : NULL;
    if (!band) {
        d->rc = ERR_MEMORY;
        return;
    }
    band->from = some_real(from);
    band->to = some_real(to);
    draft_set(d, &band->name, name);
}

void draft_notes(struct draft *d, struct plot_point *point, char *const *notes, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i ? "; " : "", notes[i]);
    if (text.failed)
        d->rc = err_memory(d->err);
    if (text.len > 0)
        draft_set(d, &point->note, buf_str(&text));
    buf_release(&text);
}

void draft_end(struct draft *d)
{
    size_t kept = 0;
    if (!d->plot)
        return;
    for (size_t p = 0; p < d->plot->panels.count; p++) {
        struct plot_panel *panel = &d->plot->panels.items[p];
        size_t points = 0;
        for (size_t s = 0; s < panel->series.count; s++)
            points += panel->series.items[s].points.count;
        if (points > 0)
            d->plot->panels.items[kept++] = *panel;
        else
            record_release(plot_panel_fields, panel);
    }
    d->plot->panels.count = kept;
    if (kept == 0) {
        record_release(plot_fields, d->plot);
        d->page->plots.count--;
    }
    d->plot = NULL;
}
