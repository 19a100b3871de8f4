// SPDX-License-Identifier: Apache-2.0
#include "trace/inject/cupti.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "trace/inject/glibc.h"

// The process's own CUPTI first: the one that is loaded, one beside the CUDA libraries that are
// loaded (PyTorch's and JAX's wheels bring theirs), then the toolkit's.
static const char *const names[] = {"libcupti.so.13",   "libcupti.so.12",   "libcupti.so.11.8",
                                    "libcupti.so.11.7", "libcupti.so.11.6", "libcupti.so.11.5",
                                    "libcupti.so.11.4", "libcupti.so.11.3", "libcupti.so.11.2",
                                    "libcupti.so.11.1", "libcupti.so.11.0", "libcupti.so"};
static const char *const near[] = {"libcudart", "libtorch_cuda",   "libcublas",    "libcudnn",
                                   "libnccl",   "xla_cuda_plugin", "libtensorflow"};
static const char *const beside[] = {"",
                                     "/../extras/CUPTI/lib64",
                                     "/../../cuda_cupti/lib",
                                     "/../../nvidia/cu13/lib",
                                     "/../../nvidia/cuda_cupti/lib",
                                     "/../../../nvidia/cuda_cupti/lib",
                                     "/../nvidia/cu13/lib",
                                     "/../nvidia/cuda_cupti/lib"};
static const char *const toolkits[] = {
    "/usr/local/cuda/extras/CUPTI/lib64", "/usr/local/cuda/lib64",
    "/opt/cuda/extras/CUPTI/lib64",       "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",         "/usr/lib64"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void *open_in(const char *folder, size_t len, const char *below)
{
    char path[1024];
    void *handle = NULL;
    for (size_t i = 0; i < COUNT(names) && !handle; i++) {
        int n = snprintf(path, sizeof path, "%.*s%s/%s", (int)len, folder, below, names[i]);
        if (n > 0 && (size_t)n < sizeof path)
            handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
    }
    return handle;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// dl_iterate_phdr() holds the loader's lock, so it only collects.
struct found {
    char loaded[1024];     // a libcupti
    char folders[4][1024]; // of CUDA libraries
    size_t count;
};

static void keep_folder(struct found *found, const char *path)
{
    size_t len = (size_t)(base_of(path) - path);
    if (len < 2 || len > sizeof found->folders[0] || found->count == COUNT(found->folders))
        return;
    len--; // the slash
    for (size_t i = 0; i < found->count; i++)
        if (strncmp(found->folders[i], path, len) == 0 && found->folders[i][len] == '\0')
            return;
    memcpy(found->folders[found->count], path, len);
    found->folders[found->count++][len] = '\0';
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
    struct found *found = context;
    const char *path = info->dlpi_name;
    (void)size;
    if (!path)
        return 0;
    const char *base = base_of(path);
    // Triton brings one of its own, perhaps of another CUDA version.
    if (strncmp(base, "libcupti.so", 11) == 0 && !strstr(path, "/triton/") && !found->loaded[0] &&
        strlen(path) < sizeof found->loaded)
        memcpy(found->loaded, path, strlen(path) + 1);
    for (size_t i = 0; i < COUNT(near); i++)
        if (strncmp(base, near[i], strlen(near[i])) == 0)
            keep_folder(found, path);
    return 0;
}

static void *open_any(void)
{
    struct found found = {0};
    dl_iterate_phdr(look_at, &found);
    void *handle = NULL;
    if (found.loaded[0])
        handle = dlopen(found.loaded, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; i < COUNT(names) && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
    for (size_t f = 0; f < found.count && !handle; f++)
        for (size_t i = 0; i < COUNT(beside) && !handle; i++)
            handle = open_in(found.folders[f], strlen(found.folders[f]), beside[i]);
    for (size_t i = 0; i < COUNT(names) && !handle; i++)
        handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    for (size_t i = 0; i < COUNT(toolkits) && !handle; i++)
        handle = open_in(toolkits[i], strlen(toolkits[i]), "");
    return handle;
}

bool cupti_find(struct cupti *cupti)
{
    void *handle = open_any();
    if (!handle)
        return false;
    struct {
        const char *name;
        void *to;
    } functions[] = {
#define X(name, arguments) {#name, &cupti->name},
        CUPTI_FUNCTIONS(X)
#undef X
    };
    for (size_t i = 0; i < COUNT(functions); i++) {
        void *symbol = dlsym(handle, functions[i].name);
        if (!symbol)
            return false;
        memcpy(functions[i].to, &symbol, sizeof symbol);
    }
    return true;
}
