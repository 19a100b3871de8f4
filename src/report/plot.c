// SPDX-License-Identifier: Apache-2.0
#include "report/plot.h"

#include <stdio.h>
#include <string.h>

#include "report/scale.h"

// ---- the record

#define TEXT(member, doc)        FIELD(FIELD_TEXT, T, member, doc)
#define REAL(member, doc)        FIELD(FIELD_REAL, T, member, doc)
#define LIST(member, table, doc) FIELD_SUB(FIELD_LIST, T, member, table, doc)

#define T struct plot_axis
static const struct field axis_fields[] = {
    TEXT(name, "what it shows"),
    TEXT(unit, "of its numbers; `day` counts from 1970-01-01"),
    FIELD(FIELD_BOOL, T, cut, "it begins at the least value, not at zero"),
    FIELD_END,
};
#undef T

#define T struct plot_point
static const struct field point_fields[] = {
    TEXT(label, "what it is called"),
    TEXT(group, "bars: which ones it stands with"),
    REAL(x, "where it is"),
    REAL(x_low, "lower end of the 95 % interval"),
    REAL(x_high, "upper end"),
    REAL(y, "the value; of a bar its length"),
    REAL(y_low, "lower end of the 95 % interval"),
    REAL(y_high, "upper end"),
    FIELD(FIELD_BOOL, T, marked, "what `marks` of the panel says"),
    TEXT(note, "what has to be said beside it"),
    FIELD_END,
};
#undef T

#define T struct plot_series
static const struct field series_fields[] = {
    TEXT(name, "what its points have in common"),
    LIST(points, point_fields, "its points"),
    FIELD_END,
};
#undef T

#define T struct plot_line
static const struct field line_fields[] = {
    TEXT(name, "what it is"),
    REAL(x, "an upright line: where"),
    REAL(y, "a level line: where"),
    FIELD_END,
};
#undef T

#define T struct plot_band
static const struct field band_fields[] = {
    TEXT(name, "what it is"),
    REAL(from, "on the x axis"),
    REAL(to, "on the x axis"),
    FIELD_END,
};
#undef T

#define T struct plot_panel
const struct field plot_panel_fields[] = {
    TEXT(title, "what it is about"),
    TEXT(form, "`bars`, `lines`, `steps` or `points`"),
    TEXT(marks, "what the marked points are"),
    TEXT(unmarked, "what the others are"),
    FIELD_IN(T, x, axis_fields, "the axis below"),
    FIELD_IN(T, y, axis_fields, "the axis beside; of bars the one along them"),
    LIST(series, series_fields, "points that belong together"),
    LIST(lines, line_fields, "values to hold them against"),
    LIST(bands, band_fields, "parts of the x axis"),
    FIELD_END,
};
#undef T

#define T struct plot
const struct field plot_fields[] = {
    TEXT(kind, "as --plot takes it"),
    TEXT(title, "its title"),
    TEXT(says, "how to read it"),
    LIST(panels, plot_panel_fields, "drawings, side by side"),
    FIELD_END,
};
#undef T

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

// An axis means the same in all panels, or it is named by none.
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

void plot_head(const struct plot *plot, enum plot_column column, struct buf *out)
{
    static const char *const names[PLOT_COLUMNS] = {"of",    "group",     "series",  "on",   "at",
                                                    "value", "95 % from", "95 % to", "notes"};
    const char *axis = column == PLOT_X || column == PLOT_Y ? axis_name(plot, column) : NULL;
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
