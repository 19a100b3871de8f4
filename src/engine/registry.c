// SPDX-License-Identifier: Apache-2.0
// registry: the engines there are. A new one is one row here.
#include <stdio.h>
#include <string.h>

#include "engine/engine.h"

static const struct engine *const engines[] = {&engine_ref, &engine_cpu};

#define ENGINE_COUNT (sizeof engines / sizeof *engines)

const struct engine *engine_find(const char *name, struct err *err)
{
    for (size_t i = 0; i < ENGINE_COUNT; i++)
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];

    char list[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < ENGINE_COUNT && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 engines[i]->name);
    err_set(err, ERR_USAGE, "there is no engine '%s'", name);
    err_hint(err, "engines are: %s", list);
    return NULL;
}
