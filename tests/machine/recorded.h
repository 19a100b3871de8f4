// SPDX-License-Identifier: Apache-2.0
// A recorded machine for the tests of GPUs: its files below tests/machine/trees/NAME, and a
// stand-in for NVIDIA's library that answers from the nvml.txt beside them, where there is one.
#ifndef FARE_TESTS_MACHINE_RECORDED_H
#define FARE_TESTS_MACHINE_RECORDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "machine/probe.h"
#include "test.h"

#define NAMES_FILE TESTS_DIR "/../share/devices/pci-gpus.csv"

// The stand-ins lie beside the test programs.
static inline void use_library(const char *variable, const char *file)
{
    struct buf path = {0};
    assert_int_equal(fs_program_dir(&path, NULL), 0);
    buf_printf(&path, "/%s", file);
    assert_int_equal(access(buf_str(&path), R_OK), 0);
    setenv(variable, buf_str(&path), 1);
    buf_release(&path);
}

static inline struct probe recorded(const char *name, char root[256])
{
    char answers[512];
    snprintf(root, 256, "%s/machine/trees/%s", TESTS_DIR, name);
    assert_int_equal(access(root, R_OK), 0);
    snprintf(answers, sizeof answers, "%s/nvml.txt", root);
    unsetenv("FARE_NVML");
    if (access(answers, R_OK) == 0) {
        use_library("FARE_NVML", "fake_nvml.so");
        setenv("FARE_FAKE_NVML", answers, 1);
    }
    setenv("FARE_SHARE", TESTS_DIR "/../share", 1); // for the names of GPUs
    return (struct probe){.tree = {.root = root}, .no_children = true};
}

// A file of the test's own for the stand-in to answer from, until forget_answers().
static char answers_path[] = "/tmp/fare-test-nvml-XXXXXX";
static bool answers_made;

static inline void answers_are(const char *text)
{
    if (!answers_made) {
        int fd = mkstemp(answers_path);
        assert_true(fd >= 0);
        close(fd);
        answers_made = true;
    }
    FILE *file = fopen(answers_path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    setenv("FARE_FAKE_NVML", answers_path, 1);
}

static inline void forget_answers(void)
{
    if (answers_made)
        unlink(answers_path);
}

#define assert_known(member, value)                                                                \
    do {                                                                                           \
        assert_true((member).known);                                                               \
        assert_int_equal((member).v, (value));                                                     \
    } while (0)
#define assert_absent(member) assert_false((member).known)

#endif
