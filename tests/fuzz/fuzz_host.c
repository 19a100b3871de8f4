// SPDX-License-Identifier: Apache-2.0
// Whatever /proc and /sys say, the probes of the host read it without harm. An input is a machine:
// sections "=== /proc/meminfo" with the text of that file, for the files named below; it is laid
// out in a temporary folder and probed. Nothing is started and nothing opened but those files.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "machine/cpu.h"
#include "machine/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/self/status",
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/1/cgroup",
    "/proc/1/environ",
    "/proc/stat",
    "/proc/loadavg",
    "/proc/version",
    "/proc/cmdline",
    "/proc/sys/kernel/osrelease",
    "/etc/os-release",
    "/.dockerenv",
    "/sys/class/dmi/id/sys_vendor",
    "/sys/class/dmi/id/product_name",
    "/sys/class/power_supply/BAT0/type",
    "/sys/class/power_supply/BAT0/status",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings",
    "/sys/devices/system/cpu/cpu0/topology/core_siblings",
    "/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_map",
    "/sys/devices/system/cpu/cpu0/cache/index0/level",
    "/sys/devices/system/cpu/cpu0/cache/index0/type",
    "/sys/devices/system/cpu/cpu0/cache/index0/size",
    "/cg/cpu.max",
    "/cg/memory.max",
    "/cg/cpu.cfs_quota_us",
    "/cg/cpu.cfs_period_us",
    "/cg/memory.limit_in_bytes",
    "/cg/a/cpu.max",
    "/sys/dev/block/8:1/queue/rotational",
};
enum { PATHS = sizeof paths / sizeof *paths };

static char root[64];
static bool there[PATHS];

static void forget(void)
{
    char path[256];
    for (int i = 0; i < PATHS; i++) {
        if (!there[i])
            continue;
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        unlink(path);
        there[i] = false;
    }
}

static void clean_up(void)
{
    forget();
    // The folders are empty now; from the longest path up, as often as there are levels.
    for (int i = 0; i < PATHS; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        for (char *slash; (slash = strrchr(path, '/')) && strlen(path) > strlen(root);) {
            *slash = '\0';
            rmdir(path);
        }
    }
    rmdir(root);
}

static void prepare(void)
{
    snprintf(root, sizeof root, "%s", "/tmp/fare-fuzz-host-XXXXXX");
    if (!mkdtemp(root))
        abort();
    for (int i = 0; i < PATHS; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        *strrchr(path, '/') = '\0';
        if (fs_mkdirs(path, NULL) != 0)
            abort();
    }
    atexit(clean_up);
}

static void put(const char *name, size_t name_len, const char *text, size_t len)
{
    for (int i = 0; i < PATHS; i++) {
        if (strlen(paths[i]) != name_len || memcmp(paths[i], name, name_len) != 0)
            continue;
        char path[256];
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        FILE *file = fopen(path, "w");
        if (!file)
            abort();
        fwrite(text, 1, len, file);
        fclose(file);
        there[i] = true;
    }
}

static void lay_out(const char *text, size_t size)
{
    static const char mark[] = "=== ";
    const char *end = text + size;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), mark, 4));) {
        at += 4;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            return;
        const char *next = memmem(line, (size_t)(end - line), mark, 4);
        put(at, (size_t)(line - at), line + 1,
            (size_t)((next && next > line ? next : end) - line - 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!*root)
        prepare();
    forget();
    lay_out((const char *)data, size);

    static char *const env[] = {NULL};
    struct probe probe = {
        .tree = {.root = root}, .env = env, .folder = "/a/b", .no_children = true};
    struct machine machine = {0};
    struct err err = {0};
    struct proc none = {0};
    struct topology topology;
    int rc = topology_finish(&probe.tree, &none, &topology, &err);
    assert(rc == 0);
    assert(topology.cache_count >= 0 && topology.cache_count <= TOPOLOGY_CACHES);
    rc = probe_isa(&probe, &machine.cpu, &err);
    assert(rc == 0);
    rc = probe_memory(&probe, &machine.memory, &err);
    assert(rc == 0);
    assert(!machine.memory.limit_bytes.known || machine.memory.usable_bytes.known);
    rc = probe_disk(&probe, &machine.disk, &err);
    assert(rc == 0);
    rc = probe_system(&probe, &machine.system, &err);
    assert(rc == 0);
    assert(!machine.system.steal_percent.known ||
           (machine.system.steal_percent.v >= 0 && machine.system.steal_percent.v <= 100));
    struct buf json = {0};
    rc = record_to_line(machine_fields, &machine, &json, &err); // all texts are valid UTF-8
    assert(rc == 0);
    buf_release(&json);
    machine_release(&machine);
    return 0;
}
