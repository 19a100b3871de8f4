// SPDX-License-Identifier: Apache-2.0
#include "tables/hosts.h"

#include <stddef.h>
#include <string.h>

#include "record/field.h"
#include "tables/columns.h"

struct hosts {
    LIST_OF(struct hosts_row) rows; // the user's own first
};

#define AT(member) offsetof(struct hosts_row, member)
static const struct column columns[] = {{"gpu", COLUMN_TEXT, AT(gpu), COLUMN_EMPTY},
                                        {"share", COLUMN_NANO, AT(share), .least = 1, .most = 100},
                                        {"machine", COLUMN_TEXT, AT(machine), COLUMN_EMPTY},
                                        {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
                                        {"date", COLUMN_JOINED, AT(source), COLUMN_EMPTY},
                                        {0}};
static const struct columns table = {columns, sizeof(struct hosts_row), false, NULL};

int hosts_open(struct hosts **out, struct err *err)
{
    int rc;
    *out = columns_new(&table, "power.csv", "power.csv", &rc, err);
    return rc;
}

void hosts_close(struct hosts *hosts)
{
    columns_free(&table, hosts);
}

const struct hosts_row *hosts_find(const struct hosts *hosts, const char *gpu)
{
    for (size_t i = 0; i < hosts->rows.count; i++) {
        const struct hosts_row *row = &hosts->rows.items[i];
        if (!row->gpu || (gpu && strstr(gpu, row->gpu)))
            return row;
    }
    return NULL;
}
