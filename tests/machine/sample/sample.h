// SPDX-License-Identifier: Apache-2.0
// For the tests of the sampler: a made-up machine, file by file, in a temporary folder, whose files
// a test rewrites between two readings.
#ifndef FARE_TESTS_SAMPLE_SAMPLE_H
#define FARE_TESTS_SAMPLE_SAMPLE_H

#include "machine/host.h"
#include "machine/sample/source.h"
#include "machine/sample/tasks.h"

// /proc/PID/stat with what is read of it (proc_pid_stat(5)): times in ticks, memory in pages.
static inline void put_task(const struct host *s, int pid, int parent, long user, long system,
                            long child_user, long child_system, long pages)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    snprintf(text, sizeof text,
             "%d (a (b) c) S %d 1 1 0 -1 4194304 100 200 0 0 %ld %ld %ld %ld 20 0 1 0 %d 1000000 "
             "%ld 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
             pid, parent, user, system, child_user, child_system, 7000 + pid, pages);
    host_put(s, path, text);
}

static inline void put_io(const struct host *s, int pid, long in, long out)
{
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/io", pid);
    snprintf(text, sizeof text,
             "rchar: 999999\nwchar: 888888\nsyscr: 7\nsyscw: 6\nread_bytes: %ld\nwrite_bytes: "
             "%ld\ncancelled_write_bytes: 0\n",
             in, out);
    host_put(s, path, text);
}

static inline void drop(const struct host *s, const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", s->root, path);
    assert_int_equal(nftw(full, host_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

// A process that ends: an open file of a real /proc fails from then on, a recorded one is emptied.
static inline void end_task(const struct host *s, int pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    host_put(s, path, "");
    snprintf(path, sizeof path, "/proc/%d", pid);
    drop(s, path);
}

// One source, opened at a place of its own.
struct opened {
    const struct source *source;
    struct sample_place place;
    void *state;
    struct sample_reading reading;
    struct gpu gpus[GPUS_MAX];
    int rc;
};

static inline void open_source(struct opened *o, const struct source *source, const char *root,
                               pid_t pid)
{
    struct err err = {0};
    *o = (struct opened){.source = source, .place = {.tree = {.root = root}, .pid = pid}};
    o->place.gpus = o->gpus;
    o->state = calloc(1, source->size);
    assert_non_null(o->state);
    o->rc = source->open ? source->open(o->state, &o->place, &err) : 0;
    o->reading.number = -1;
}

// The next reading, `at_s` seconds after some start.
static inline const struct sample_reading *read_at(struct opened *o, double at_s)
{
    int64_t number = o->reading.number + 1;
    memset(&o->reading, 0, sizeof o->reading);
    o->reading.number = number;
    o->reading.at_ns = (int64_t)(at_s * 1e9);
    if (o->place.tasks)
        tasks_read(o->place.tasks);
    o->source->read(o->state, &o->place, &o->reading);
    return &o->reading;
}

static inline void close_source(struct opened *o)
{
    if (o->source->close)
        o->source->close(o->state);
    tasks_free(o->place.tasks);
    free(o->state);
}

#endif
