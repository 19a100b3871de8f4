// SPDX-License-Identifier: Apache-2.0
// Whatever the files of /proc and /sys hold when they are looked at again and again: no harm, no
// counter that goes back, no negative use. One text stands for all files; at the second reading it
// is the input's second half.
#include <assert.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fs.h"
#include "machine/sample/source.h"
#include "machine/sample/tasks.h"
#include "machine/sample/totals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const paths[] = {
    "/proc/stat",
    "/proc/loadavg",
    "/proc/net/dev",
    "/proc/self/mountinfo",
    "/proc/100/stat",
    "/proc/100/io",
    "/proc/100/status",
    "/proc/100/cgroup",
    "/proc/101/stat",
    "/sys/fs/cgroup/cpu.stat",
    "/sys/class/powercap/intel-rapl:0/energy_uj",
    "/sys/class/powercap/intel-rapl:0/max_energy_range_uj",
};
static char root[64];
static int text_fd = -1;

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static void clean_up(void)
{
    nftw(root, drop, 16, FTW_DEPTH | FTW_PHYS);
}

static void lay_out(void)
{
    char path[256], target[64];
    snprintf(root, sizeof root, "/tmp/fare-fuzz-sample-XXXXXX");
    text_fd = memfd_create("text", 0);
    assert(text_fd >= 0 && mkdtemp(root));
    atexit(clean_up);
    snprintf(target, sizeof target, "/proc/%d/fd/%d", (int)getpid(), text_fd);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "%s%s", root, paths[i]);
        *strrchr(path, '/') = '\0';
        assert(fs_mkdirs(path, NULL) == 0);
        path[strlen(path)] = '/';
        assert(symlink(target, path) == 0);
    }
    snprintf(path, sizeof path, "%s/sys/class/powercap/intel-rapl:0/name", root);
    assert(fs_write(path, "package-0\n", 10, NULL) == 0);
}

static void put(const uint8_t *data, size_t size)
{
    assert(ftruncate(text_fd, 0) == 0);
    assert(pwrite(text_fd, data, size, 0) == (ssize_t)size);
}

static void check(const struct sample_reading *a, const struct sample_reading *b)
{
    assert(!a->run_cpu_s.known || !b->run_cpu_s.known || b->run_cpu_s.v >= a->run_cpu_s.v);
    assert(!b->memory_bytes.known || b->memory_bytes.v >= 0);
    assert(!b->disk_read_bytes.known || b->disk_read_bytes.v >= a->disk_read_bytes.v);
    assert(!b->throttled_ns.known || b->throttled_ns.v >= 0);
    assert(!b->cpu_energy_j.known || b->cpu_energy_j.v >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct source *const tried[] = {&source_cpu, &source_memory, &source_net,
                                                 &source_rapl, &source_cgroup};
    enum { TRIED = sizeof tried / sizeof *tried };
    if (size > 65536)
        return 0;
    if (text_fd < 0)
        lay_out();
    size_t half = size / 2;
    put(data, half);
    struct sample_place place = {.tree = {.root = root}, .pid = 100};
    struct sample_reading readings[2] = {{.at_ns = 0}, {.at_ns = 500000000, .number = 1}};
    void *states[TRIED];
    bool open[TRIED];
    if (tasks_new(&place.tasks, &place.tree, 100, NULL) != 0)
        place.tasks = NULL;
    for (int i = 0; i < TRIED; i++) {
        states[i] = calloc(1, tried[i]->size);
        assert(states[i]);
        open[i] = tried[i]->open(states[i], &place, NULL) == 0;
    }
    for (int l = 0; l < 2; l++) {
        if (l == 1)
            put(data + half, size - half);
        if (place.tasks)
            tasks_read(place.tasks);
        for (int i = 0; i < TRIED; i++)
            if (open[i])
                tried[i]->read(states[i], &place, &readings[l]);
    }
    check(&readings[0], &readings[1]);
    for (int i = 0; i < TRIED; i++) {
        if (tried[i]->close)
            tried[i]->close(states[i]);
        free(states[i]);
    }
    tasks_free(place.tasks);

    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    struct gpu gpu = {.index = 1, .uuid = "GPU-1234"};
    visible_names(text, &gpu);
    free(text);
    return 0;
}
