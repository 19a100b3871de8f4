// SPDX-License-Identifier: Apache-2.0
#include "tables/startup.h"

#include <stddef.h>
#include <string.h>

#include "record/field.h"
#include "tables/columns.h"

struct startups {
    LIST_OF(struct startup_row) rows; // the user's own first
};

enum { DAY_S = 86400 };
static const char *const machines[] = {"vm", "container", "bare-metal", "any", NULL};
static const char *const parts[] = {"boot", "image", "kernels", NULL};

#define AT(member) offsetof(struct startup_row, member)
static const struct column columns[] = {{"provider", COLUMN_TEXT, AT(provider)},
                                        {"machine", COLUMN_TEXT, AT(machine), .words = machines},
                                        {"part", COLUMN_TEXT, AT(part), .words = parts},
                                        {"seconds", COLUMN_NANO, AT(ns), .most = DAY_S},
                                        {"low", COLUMN_NANO, AT(low_ns), .most = DAY_S},
                                        {"high", COLUMN_NANO, AT(high_ns), .most = DAY_S},
                                        {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
                                        {"date", COLUMN_JOINED, AT(source), COLUMN_EMPTY},
                                        {0}};

static int finish(const struct columns_row *at, void *arg, struct err *err)
{
    const struct startup_row *row = arg;
    return row->low_ns <= row->ns && row->ns <= row->high_ns
               ? 0
               : columns_fault(at, "low", err, "expected low, seconds and high in ascending order");
}

static const struct columns table = {columns, sizeof(struct startup_row), false, finish};

int startups_open(struct startups **out, struct err *err)
{
    int rc;
    *out = columns_new(&table, "startup.csv", "startup.csv", &rc, err);
    return rc;
}

void startups_close(struct startups *startups)
{
    columns_free(&table, startups);
}

// A provider rents out the kind of machine that its own row says, and whole machines.
static const char *kind_of(const struct startups *startups, const struct offer *offer)
{
    if (offer->bare_metal)
        return "bare-metal";
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        if (strcmp(row->provider, offer->provider) == 0 && strcmp(row->machine, "any") != 0 &&
            strcmp(row->machine, "bare-metal") != 0)
            return row->machine;
    }
    return "vm";
}

const struct startup_row *startup_find(const struct startups *startups, const struct offer *offer,
                                       const char *part)
{
    const struct startup_row *general = NULL;
    const char *kind = kind_of(startups, offer);
    for (size_t i = 0; i < startups->rows.count; i++) {
        const struct startup_row *row = &startups->rows.items[i];
        bool any = strcmp(row->machine, "any") == 0;
        if (strcmp(row->part, part) != 0 || (!any && strcmp(row->machine, kind) != 0))
            continue;
        if (strcmp(row->provider, offer->provider) == 0)
            return row;
        if (!general && strcmp(row->provider, "*") == 0)
            general = row;
    }
    return general;
}
