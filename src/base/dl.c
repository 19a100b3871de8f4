// SPDX-License-Identifier: Apache-2.0
#include "base/dl.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const dl_vendor_dirs[] = {
    "/usr/lib/x86_64-linux-gnu", // Debian, Ubuntu, NVIDIA's container runtime there
    "/usr/lib64",                // Red Hat, Amazon Linux, SUSE
    "/usr/local/nvidia/lib64",   // Kubernetes device plugin, GKE, many rented containers
    "/usr/local/nvidia/lib",
    "/usr/lib/wsl/lib",       // Windows Subsystem for Linux
    "/run/opengl-driver/lib", // NixOS
    "/usr/lib/nvidia",
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/compat",
    "/opt/cuda/lib64", // Arch
    NULL,
};

static void note_path(struct dl *dl)
{
    struct link_map *map = NULL;
    if (dlinfo(dl->handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name)
        snprintf(dl->path, sizeof dl->path, "%s", map->l_name);
}

// Why an existing file did not open matters more than which others are absent.
static bool try_open(struct dl *dl, const char *file, struct buf *why)
{
    dl->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (dl->handle) {
        note_path(dl);
        return true;
    }
    const char *said = dlerror();
    if (said && why->len == 0 && !strstr(said, "No such file"))
        buf_adds(why, said);
    return false;
}

static bool try_dir(struct dl *dl, const char *dir, const char *name, struct buf *why)
{
    char file[4096];
    int len = snprintf(file, sizeof file, "%s/%s", dir, name);
    if (len < 0 || (size_t)len >= sizeof file || access(file, R_OK) != 0)
        return false;
    return try_open(dl, file, why);
}

static bool find(struct dl *dl, const struct dl_spec *spec, struct buf *why)
{
    const char *file = spec->variable ? getenv(spec->variable) : NULL;
    if (file && *file)
        return try_open(dl, file, why);
    for (size_t n = 0; spec->names[n]; n++)
        if (try_open(dl, spec->names[n], why))
            return true;
    for (size_t n = 0; spec->dirs && spec->names[n]; n++)
        for (size_t d = 0; spec->dirs[d]; d++)
            if (try_dir(dl, spec->dirs[d], spec->names[n], why))
                return true;
    return false;
}

int dl_open(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err)
{
    unsigned user = spec->user ? spec->user : DL_REQUIRED;
    SCOPED(buf_release) struct buf why = {0};
    int rc = 0;
    memset(dl, 0, sizeof *dl);
    if (!find(dl, spec, &why)) {
        dl->broken = why.len > 0;
        if (dl->broken)
            rc = err_set(err, ERR_MISSING, "cannot open %s: %s", spec->what, buf_str(&why));
        else
            rc = err_set(err, ERR_MISSING, "%s is not on this machine (looked for %s %s)",
                         spec->what, spec->names[0],
                         spec->dirs ? "in the loader's paths and the vendors' usual folders"
                                    : "in the loader's paths");
        if (spec->hint && err)
            err_hint(err, "%s", spec->hint);
        return rc;
    }
    for (size_t i = 0; i < spec->symbol_count; i++) {
        const struct dl_symbol *symbol = &spec->symbols[i];
        void *address = dlsym(dl->handle, symbol->name);
        if (!address && (symbol->need & user)) {
            rc = err_set(err, ERR_MISSING, "%s (%s) has no function %s", spec->what, dl->path,
                         symbol->name);
            dl_close(dl);
            dl->broken = true;
            return rc;
        }
        // Copies a data pointer into a function pointer, as POSIX requires of dlsym().
        memcpy((char *)table + symbol->at, &address, sizeof address);
    }
    return 0;
}

int dl_open_once(struct dl *dl, const struct dl_spec *spec, void *table, struct err *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int rc = dl->handle ? 0 : dl_open(dl, spec, table, err);
    pthread_mutex_unlock(&lock);
    return rc;
}

void dl_close(struct dl *dl)
{
    if (dl->handle)
        dlclose(dl->handle);
    dl->handle = NULL;
}
