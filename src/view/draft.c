// SPDX-License-Identifier: Apache-2.0
#include "view/draft.h"

#include <stdarg.h>

void draft_set(struct draft *d, char **member, const char *text)
{
    if (d->rc == 0)
        d->rc = text_set(member, text, d->err);
}

void draft_print(struct draft *d, char **member, const char *format, ...)
{
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    draft_take(d, member, &text);
}

void draft_take(struct draft *d, char **member, struct buf *text)
{
    if (d->rc == 0)
        d->rc = text_take(member, text, d->err);
    else
        buf_release(text);
}

// A new item of a list, or the spare one.
static void *add_item(struct draft *d, void *list, size_t size, void *spare)
{
    void *item = d->rc == 0 ? list_add(list, size, d->err) : NULL;
    if (!item)
        d->rc = ERR_MEMORY;
    return item ? item : spare;
}
#define ADD(d, list, spare) add_item(d, list, sizeof *(list)->items, spare)

void draft_plot(struct draft *d, const char *kind, const char *title, const char *says)
{
    d->plot = ADD(d, &d->page->plots, &d->spare.plot);
    d->panel = &d->spare.panel;
    d->series = &d->spare.series;
    draft_set(d, &d->plot->kind, kind);
    draft_set(d, &d->plot->title, title);
    draft_set(d, &d->plot->says, says);
}

void draft_panel(struct draft *d, const char *title, const char *form, struct draft_axis x,
                 struct draft_axis y)
{
    d->panel = ADD(d, &d->plot->panels, &d->spare.panel);
    d->series = &d->spare.series;
    draft_set(d, &d->panel->title, title);
    draft_set(d, &d->panel->form, form);
    draft_set(d, &d->panel->x.name, x.name);
    draft_set(d, &d->panel->x.unit, x.unit);
    draft_set(d, &d->panel->y.name, y.name);
    draft_set(d, &d->panel->y.unit, y.unit);
}

void draft_series(struct draft *d, const char *name)
{
    d->series = ADD(d, &d->panel->series, &d->spare.series);
    draft_set(d, &d->series->name, name);
}

struct plot_point *draft_point(struct draft *d, const char *label, double x, double y)
{
    struct plot_point *point = ADD(d, &d->series->points, &d->spare.point);
    point->x = some_real(x);
    point->y = some_real(y);
    draft_set(d, &point->label, label);
    return point;
}

struct plot_point *draft_bar(struct draft *d, const char *label, struct maybe_real y)
{
    struct plot_point *point = ADD(d, &d->series->points, &d->spare.point);
    point->y = y;
    draft_set(d, &point->label, label);
    return point;
}

void draft_line(struct draft *d, const char *name, struct maybe_real x, struct maybe_real y)
{
    struct plot_line spare, *line = ADD(d, &d->panel->lines, &spare);
    line->x = x;
    line->y = y;
    draft_set(d, &line->name, name);
}

void draft_band(struct draft *d, const char *name, double from, double to)
{
    struct plot_band spare, *band = ADD(d, &d->panel->bands, &spare);
    band->from = some_real(from);
    band->to = some_real(to);
    draft_set(d, &band->name, name);
}

void draft_notes(struct draft *d, struct plot_point *point, char *const *notes, size_t count)
{
    struct buf text = {0};
    for (size_t i = 0; i < count; i++)
        buf_printf(&text, "%s%s", i ? "; " : "", notes[i]);
    draft_take(d, &point->note, &text);
}

void draft_end(struct draft *d)
{
    size_t kept = 0;
    if (d->plot == &d->spare.plot)
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
    d->plot = &d->spare.plot;
}
