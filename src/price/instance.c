// SPDX-License-Identifier: Apache-2.0
#include "price/instance.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "price/files.h"
#include "price/format.h"

struct instances {
    struct instance *items;
    size_t count, cap;
};

enum { PROVIDER, NAME, ACCELERATOR, COUNT, GPU_MEMORY, VCPUS, MEMORY, COLUMNS };
static const char *const columns[COLUMNS] = {"provider",       "name",  "accelerator", "count",
                                             "gpu_memory_gib", "vcpus", "memory_gib"};

static int add_row(struct instances *all, const struct csv *csv, const int *at, struct err *err)
{
    const char *provider, *name, *accelerator;
    struct instance one = {0};
    TRY(FORMAT_FIELDS(csv, at, err, {PROVIDER, .word = &provider}, {NAME, .word = &name},
                      {ACCELERATOR, .word = &accelerator}, {COUNT, .milli = &one.count_milli},
                      {GPU_MEMORY, .gib = &one.gpu_memory_mib}, {VCPUS, .milli = &one.vcpus_milli},
                      {MEMORY, .gib = &one.memory_mib}));
    TRY(array_grow(&all->items, all->count, &all->cap, sizeof *all->items, err));
    one.provider = strdup(provider);
    one.name = strdup(name);
    one.accelerator = strdup(accelerator);
    all->items[all->count++] = one; // now owned by `all`
    return one.provider && one.name && one.accelerator ? 0 : err_memory(err);
}

static int read_table(struct instances *all, const char *path, struct err *err)
{
    struct csv csv;
    int at[COLUMNS];
    TRY(csv_open(&csv, path, NULL, err));
    int rc = csv_find(&csv, columns, COLUMNS, COLUMNS, at, err);
    while (rc == 0 && (rc = csv_next(&csv, err)) > 0)
        rc = add_row(all, &csv, at, err);
    csv_release(&csv);
    return rc;
}

int instances_open(struct instances **out, struct err *err)
{
    struct instances *all = calloc(1, sizeof *all);
    struct buf path = {0};
    *out = NULL;
    int rc = all ? files_shipped("devices/instances.csv", &path, err) : err_memory(err);
    if (rc == 0)
        rc = read_table(all, buf_str(&path), err);
    buf_release(&path);
    if (rc == 0)
        *out = all;
    else
        instances_close(all);
    return rc;
}

void instances_close(struct instances *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].provider);
        free(all->items[i].name);
        free(all->items[i].accelerator);
    }
    free(all->items);
    free(all);
}

const struct instance *instance_find(const struct instances *all, const char *provider,
                                     const char *name)
{
    for (size_t i = 0; all && i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0 && strcmp(all->items[i].provider, provider) == 0)
            return &all->items[i];
    return NULL;
}
