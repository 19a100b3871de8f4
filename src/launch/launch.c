// SPDX-License-Identifier: Apache-2.0
// The bundle's `fare`: starts lib/fare.bin with a loader and libraries that suit this machine.
//
// Statically linked, so that it starts without a C library, or with another one. Of the two C
// libraries the newer one is used: the host's GPU driver libraries may need the host's, and ours
// need at least the one they were built with. The same goes for libstdc++. The environment is left
// alone, because it belongs to the programs that fare starts.
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "launch/elf.h"

#define LOADER      "ld-linux-x86-64.so.2"
#define HOST_LOADER "/lib64/" LOADER // fixed by the x86-64 ABI

// Library folders of Debian and Ubuntu; Red Hat and SUSE; Arch.
static const char *const host_dirs[] = {
    "/usr/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/lib64",
    "/usr/lib",
    "/lib",
};

// Driver folders that may be in no loader cache: Kubernetes' device plugin, WSL, NixOS.
static const char *const driver_dirs[] = {
    "/usr/local/nvidia/lib64",
    "/usr/lib/wsl/lib",
    "/run/opengl-driver/lib",
};

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

// Joins a path; false if it does not fit.
static bool join(char out[PATH_MAX], const char *dir, const char *name)
{
    int len = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return len > 0 && len < PATH_MAX;
}

static uint32_t version_in(const char *dir, const char *name, const char *prefix, const char *needs)
{
    char path[PATH_MAX];
    return join(path, dir, name) ? elf_highest(path, prefix, needs) : 0;
}

static int fail(const char *what, const char *remedy)
{
    fprintf(stderr, "fare: %s\nfare: %s\n", what, remedy);
    return 1;
}

// The folder of this program, with links resolved.
static bool find_home(char home[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", home, PATH_MAX - 1);
    if (len > 0) {
        home[len] = '\0';
    } else {
        // Without /proc: the path it was started by, from the kernel.
        const char *name = (const char *)(uintptr_t)getauxval(AT_EXECFN);
        if (!name || !realpath(name, home))
            return false;
    }
    char *slash = strrchr(home, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

// The version of the host's C library; 0 if none. It lies beside the loader (links resolved) or in
// one of the usual folders.
static uint32_t host_libc(void)
{
    char dir[PATH_MAX];
    if (!realpath(HOST_LOADER, dir))
        return 0;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = '\0';
    uint32_t version = version_in(dir, "libc.so.6", "GLIBC_", NULL);
    for (size_t i = 0; version == 0 && i < COUNT(host_dirs); i++)
        version = version_in(host_dirs[i], "libc.so.6", "GLIBC_", NULL);
    return version;
}

// Is the libstdc++ in this folder newer than `than`, and its libgcc_s present? -1: none can be
// loaded.
static int is_newer_cxx(const char *dir, uint32_t than)
{
    char unwinder[PATH_MAX];
    uint32_t version = version_in(dir, "libstdc++.so.6", "GLIBCXX_", "libc.so.6");
    if (version == 0)
        return -1;
    return version > than && join(unwinder, dir, "libgcc_s.so.1") && access(unwinder, R_OK) == 0;
}

// Is the libstdc++ that the host's programs get newer than ours?
static bool host_cxx_newer(const char *wanted, uint32_t than)
{
    char dir[PATH_MAX];
    int newer = -1;
    while (wanted && *wanted && newer < 0) {
        size_t len = strcspn(wanted, ":;");
        if (len > 0 && len < sizeof dir) {
            memcpy(dir, wanted, len);
            dir[len] = '\0';
            newer = is_newer_cxx(dir, than);
        }
        wanted += len + (wanted[len] != '\0');
    }
    for (size_t i = 0; newer < 0 && i < COUNT(host_dirs); i++)
        newer = is_newer_cxx(host_dirs[i], than);
    return newer > 0;
}

// The loader's library path.
struct path {
    char *text;
    size_t len, capacity;
};

static void add(struct path *path, const char *dir, const char *sub)
{
    int len = snprintf(path->text + path->len, path->capacity - path->len, "%s%s%s",
                       path->len ? ":" : "", dir, sub);
    if (len > 0 && (size_t)len < path->capacity - path->len)
        path->len += (size_t)len;
}

// Our folders first, then LD_LIBRARY_PATH (`wanted`), which the loader ignores when given a path.
// The host's folders come last, through the loader's cache and defaults. Naming them here would
// override the administrator's cache.
static char *library_path(const char *home, const char *wanted, bool own_c, bool own_cxx)
{
    struct path path = {.capacity = 8 * PATH_MAX + (wanted ? strlen(wanted) : 0)};
    path.text = malloc(path.capacity);
    if (!path.text)
        return NULL;
    add(&path, home, "/lib");
    if (own_c)
        add(&path, home, "/lib/c");
    if (own_cxx)
        add(&path, home, "/lib/cxx");
    if (wanted && *wanted)
        add(&path, wanted, "");
    for (size_t i = 0; i < COUNT(driver_dirs); i++)
        if (access(driver_dirs[i], X_OK) == 0)
            add(&path, driver_dirs[i], "");
    // Our loader is Debian's; without a cache it does not search Red Hat's folder.
    if (own_c && access("/etc/ld.so.cache", R_OK) != 0)
        add(&path, "/usr/lib64", "");
    return path.text;
}

static int start(const char *loader, char *libraries, char *program, char **argv, int argc)
{
    enum { BEFORE = 6 };
    char **args = calloc((size_t)argc + BEFORE + 1, sizeof *args);
    if (!args || !libraries)
        return ENOMEM;
    char *const before[BEFORE] = {
        argc > 0 ? argv[0] : program, (char[]){"--library-path"},   libraries,
        (char[]){"--argv0"},          argc > 0 ? argv[0] : program, program};
    memcpy(args, before, sizeof before);
    for (int i = 1; i < argc; i++)
        args[BEFORE + i - 1] = argv[i];
    execv(loader, args);
    int error = errno;
    free(args);
    return error;
}

int main(int argc, char **argv)
{
    char home[PATH_MAX], program[PATH_MAX], loader[PATH_MAX], own_dir[PATH_MAX], cxx[PATH_MAX];
    if (!find_home(home) || !join(own_dir, home, "lib/c") || !join(loader, own_dir, LOADER) ||
        !join(cxx, home, "lib/cxx") || !join(program, home, "lib/fare.bin"))
        return fail("cannot find this program's folder", "mount /proc, or use a shorter path");
    if (strpbrk(home, ":;$"))
        return fail("the path of fare's folder contains ':', ';' or '$', which the loader "
                    "does not accept",
                    "move the folder");

    // FARE_LIBC=bundle is the workaround for a host whose library is newer but broken.
    const char *choice = getenv("FARE_LIBC");
    bool may_host = !choice || strcmp(choice, "bundle") != 0;
    const char *wanted = getenv("LD_LIBRARY_PATH");
    uint32_t host = may_host ? host_libc() : 0;
    bool own_cxx = true;
    if (host != 0)
        own_cxx = !host_cxx_newer(wanted, version_in(cxx, "libstdc++.so.6", "GLIBCXX_", NULL));
    if (host > version_in(own_dir, "libc.so.6", "GLIBC_", NULL))
        start(HOST_LOADER, library_path(home, wanted, false, own_cxx), program, argv, argc);

    int error = start(loader, library_path(home, wanted, true, own_cxx), program, argv, argc);
    char text[PATH_MAX + 128];
    snprintf(text, sizeof text, "cannot start '%s': %s", loader, strerror(error));
    return fail(text, "unpack the whole bundle, on a file system not mounted with noexec");
}
