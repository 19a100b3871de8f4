// SPDX-License-Identifier: Apache-2.0
#include "render/plot.h"

#include <string.h>

#include "render/scale.h"

#define RECORD_TABLES
#include "render/plot.def"

// ---- the table

static const char *text_of(const struct plot_panel *panel, const struct plot_series *series,
                           const struct plot_point *point, enum plot_column column)
{
    switch (column) {
    case PLOT_PANEL:
        return panel->title;
    case PLOT_GROUP:
        return point->group;
    case PLOT_SERIES:
        return series->name;
    case PLOT_LABEL:
        return point->label;
    default:
        return column == PLOT_NOTE ? point->note : NULL;
    }
}

static struct maybe_real number_of(const struct plot_point *point, enum plot_column column)
{
    switch (column) {
    case PLOT_X:
        return point->x;
    case PLOT_Y:
        return point->y;
    case PLOT_Y_LOW:
        return point->y_low;
    case PLOT_Y_HIGH:
        return point->y_high;
    default:
        return (struct maybe_real){0};
    }
}

bool plot_has(const struct plot *plot, enum plot_column column)
{
    for (size_t p = 0; p < plot->panels.count; p++) {
        const struct plot_panel *panel = &plot->panels.items[p];
        for (size_t s = 0; s < panel->series.count; s++)
            for (size_t i = 0; i < panel->series.items[s].points.count; i++) {
                const struct plot_series *series = &panel->series.items[s];
                const struct plot_point *point = &series->points.items[i];
                if (text_of(panel, series, point, column) || number_of(point, column).known)
                    return true;
            }
    }
    return false;
}

// The axis' name, if it is the same in all panels.
static const char *axis_name(const struct plot *plot, enum plot_column column)
{
    const char *name = NULL;
    for (size_t p = 0; p < plot->panels.count; p++) {
        const struct plot_panel *panel = &plot->panels.items[p];
        const char *here = column == PLOT_X ? panel->x.name : panel->y.name;
        if (name && here && strcmp(name, here) != 0)
            return NULL;
        name = here ? here : name;
    }
    return name;
}

static bool has_estimates(const struct plot *plot)
{
    for (size_t p = 0; p < plot->panels.count; p++)
        if (plot_estimates(&plot->panels.items[p]))
            return true;
    return false;
}

bool plot_estimates(const struct plot_panel *panel)
{
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++)
            if (panel->series.items[s].points.items[i].estimated.v)
                return true;
    return false;
}

bool plot_crowded(const struct plot_panel *panel)
{
    enum { MANY = 15 };
    size_t count = 0;
    for (size_t s = 0; s < panel->series.count; s++)
        for (size_t i = 0; i < panel->series.items[s].points.count; i++)
            count += !panel->series.items[s].points.items[i].estimated.v;
    return panel->marks && panel->form && strcmp(panel->form, "points") == 0 && count > MANY;
}

static bool is_strip(const struct plot *plot)
{
    const char *form = plot->panels.count > 0 ? plot->panels.items[0].form : NULL;
    return form && strcmp(form, "strip") == 0;
}

void plot_head(const struct plot *plot, enum plot_column column, struct buf *out)
{
    static const char *const names[PLOT_COLUMNS] = {"of",    "group",     "series",  "on",   "at",
                                                    "value", "95 % from", "95 % to", "notes"};
    const char *axis = column == PLOT_X || column == PLOT_Y ? axis_name(plot, column) : NULL;
    if (column == PLOT_GROUP && is_strip(plot))
        axis = axis_name(plot, PLOT_Y); // what its rows are
    bool end = column == PLOT_Y_LOW || column == PLOT_Y_HIGH;
    if (end && has_estimates(plot))
        axis = column == PLOT_Y_LOW ? "interval from" : "interval to";
    buf_adds(out, axis ? axis : names[column]);
}

void plot_cell(const struct plot_panel *panel, const struct plot_series *series,
               const struct plot_point *point, enum plot_column column, struct buf *out)
{
    const char *text = text_of(panel, series, point, column);
    struct maybe_real number = number_of(point, column);
    const char *unit = column == PLOT_X ? panel->x.unit : panel->y.unit;
    char words[SCALE_LABEL];
    buf_adds(out, text ? text : "");
    if (column == PLOT_LABEL && point->marked.v && panel->marks)
        buf_printf(out, "%s%s", text ? ", " : "", panel->marks);
    if (!number.known)
        return;
    scale_words(unit ? unit : "", number.v, words);
    buf_adds(out, words);
}
