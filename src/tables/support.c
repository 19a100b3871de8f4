// SPDX-License-Identifier: Apache-2.0
#include "tables/support.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "record/field.h"
#include "tables/columns.h"

struct support_row {
    char *framework, *version, *cuda, *vendor, *oldest, *newest, *source;
};

struct support {
    LIST_OF(struct support_row) rows; // the user's own first
};

// NVIDIA's, oldest first.
static const char *const architectures[] = {"kepler", "maxwell",   "pascal",        "volta",
                                            "turing", "ampere",    "ampere-dc",     "ada",
                                            "hopper", "blackwell", "blackwell-rtx", NULL};

#define AT(member) offsetof(struct support_row, member)
static const struct column columns[] = {
    {"framework", COLUMN_TEXT, AT(framework)},
    {"version", COLUMN_TEXT, AT(version), COLUMN_EMPTY},
    {"cuda", COLUMN_TEXT, AT(cuda), COLUMN_EMPTY},
    {"vendor", COLUMN_TEXT, AT(vendor), COLUMN_EMPTY},
    {"oldest", COLUMN_TEXT, AT(oldest), COLUMN_EMPTY, .words = architectures},
    {"newest", COLUMN_TEXT, AT(newest), COLUMN_EMPTY, .words = architectures},
    {"source", COLUMN_TEXT, AT(source), COLUMN_EMPTY},
    {"date", COLUMN_JOINED, AT(source), COLUMN_EMPTY},
    {0}};
static const struct columns table = {columns, sizeof(struct support_row), false, NULL};

int support_open(struct support **out, struct err *err)
{
    int rc;
    *out = columns_new(&table, "gpu-support.csv", "gpu-support.csv", &rc, err);
    return rc;
}

void support_close(struct support *support)
{
    columns_free(&table, support);
}

// -1: it is not in the list.
static int age_of(const char *architecture)
{
    for (int i = 0; architectures[i]; i++)
        if (strcmp(architectures[i], architecture) == 0)
            return i;
    return -1;
}

// "2.8" is before "2.11.0+cu130": the numbers count, not the letters.
static int compare_versions(const char *a, const char *b)
{
    for (int part = 0; part < 3; part++) {
        char *next_a, *next_b;
        long x = strtol(a, &next_a, 10), y = strtol(b, &next_b, 10);
        if (x != y)
            return x < y ? -1 : 1;
        a = *next_a == '.' ? next_a + 1 : "";
        b = *next_b == '.' ? next_b + 1 : "";
    }
    return 0;
}

// A row of CUDA's version counts before one of the framework's, a row of the framework before one
// of all; of several the newest that the program has reached.
static bool goes_before(const struct support_row *a, const struct support_row *b)
{
    bool own = strcmp(a->framework, "*") != 0;
    if (!b)
        return true;
    if (!a->cuda != !b->cuda)
        return a->cuda && (own || strcmp(b->framework, "*") == 0);
    if (own != (strcmp(b->framework, "*") != 0))
        return own;
    const char *x = a->cuda ? a->cuda : a->version, *y = b->cuda ? b->cuda : b->version;
    return x && (!y || compare_versions(x, y) > 0);
}

static const struct support_row *find_row(const struct support *support,
                                          const struct support_ask *ask)
{
    const struct support_row *best = NULL;
    for (size_t i = 0; i < support->rows.count; i++) {
        const struct support_row *row = &support->rows.items[i];
        bool named = ask->framework && strcmp(row->framework, ask->framework) == 0;
        if (!named && (strcmp(row->framework, "*") != 0 || !row->cuda))
            continue;
        if (row->cuda && (!ask->cuda || compare_versions(ask->cuda, row->cuda) < 0))
            continue;
        if (row->version &&
            (ask->cuda || !ask->version || compare_versions(ask->version, row->version) < 0))
            continue;
        if (goes_before(row, best))
            best = row;
    }
    return best;
}

static void describe_build(const struct support_ask *ask, char out[96])
{
    int version = ask->version ? (int)strcspn(ask->version, "+ ") : 0;
    const char *cuda = ask->cuda ? ask->cuda : "";
    int major = (int)strspn(cuda, "0123456789");
    int minor = cuda[major] == '.' ? 1 + (int)strspn(cuda + major + 1, "0123456789") : 0;
    snprintf(out, 96, "%.20s%s%.*s%s%.*s", ask->framework ? ask->framework : "the program",
             version ? " " : "", version > 20 ? 20 : version, ask->version ? ask->version : "",
             *cuda ? " for CUDA " : "", major + minor > 20 ? 20 : major + minor, cuda);
}

bool support_runs(const struct support *support, const struct support_ask *ask,
                  const struct device *device, char why[SUPPORT_WHY])
{
    const struct support_row *row = find_row(support, ask);
    char build[96];
    if (!device || (!row && !ask->cuda))
        return true;
    describe_build(ask, build);
    const char *vendor = ask->cuda ? "nvidia" : row->vendor; // whatever was built for CUDA
    if (vendor && strcmp(vendor, device->vendor) != 0) {
        snprintf(why, SUPPORT_WHY, "%s has no kernels for GPUs of %.20s", build, device->vendor);
        return false;
    }
    int age = row && strcmp(device->vendor, "nvidia") == 0 ? age_of(device->architecture) : -1;
    bool too_old = age >= 0 && row->oldest && age < age_of(row->oldest);
    bool too_new = age >= 0 && row->newest && age > age_of(row->newest);
    if (too_old || too_new)
        snprintf(why, SUPPORT_WHY, "%s %s %.20s, the %.40s is %s", build,
                 too_old ? "begins at" : "ends at", too_old ? row->oldest : row->newest,
                 device->name, device->architecture);
    return !too_old && !too_new;
}
