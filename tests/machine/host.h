// SPDX-License-Identifier: Apache-2.0
// For the tests of processor, memory, disk and system: recorded machines from trees/NAME, and
// small ones that a test makes up, file by file, in a temporary folder.
#ifndef FARE_TESTS_MACHINE_HOST_H
#define FARE_TESTS_MACHINE_HOST_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "machine/probe.h"
#include "test.h"

#define TREE(name) TESTS_DIR "/machine/trees/" name

// Nothing in the environment, no children.
static inline struct probe host_probe(const char *root, const char *folder)
{
    static char *const empty[] = {NULL};
    return (struct probe){
        .tree = {.root = root}, .env = empty, .folder = folder, .no_children = *root != '\0'};
}

struct host {
    char root[64];
};

static inline struct host host_make(void)
{
    struct host s = {"/tmp/fare-test-host-XXXXXX"};
    assert_non_null(mkdtemp(s.root));
    return s;
}

// The file `path` below the root, and the folders on the way.
static inline void host_put(const struct host *s, const char *path, const char *text)
{
    char full[1024];
    snprintf(full, sizeof full, "%s%s", s->root, path);
    char *slash = strrchr(full, '/');
    *slash = '\0';
    assert_int_equal(fs_mkdirs(full, NULL), 0);
    *slash = '/';
    FILE *file = fopen(full, "w"); // not fs_write: thousands of fsyncs take long
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

static inline int host_unlink(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static inline void host_remove(struct host *s)
{
    assert_int_equal(nftw(s->root, host_unlink, 16, FTW_DEPTH | FTW_PHYS), 0);
}

#define assert_int(member, value)                                                                  \
    do {                                                                                           \
        assert_true((member).known);                                                               \
        assert_int_equal((member).v, (value));                                                     \
    } while (0)
#define assert_real(member, value)                                                                 \
    do {                                                                                           \
        assert_true((member).known);                                                               \
        assert_float_equal((member).v, (value), 1e-9);                                             \
    } while (0)
#define assert_absent(member) assert_false((member).known)

#endif
