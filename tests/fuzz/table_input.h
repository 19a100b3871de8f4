// SPDX-License-Identifier: Apache-2.0
// Any bytes as a file that has a path.
#ifndef FARE_TESTS_FUZZ_TABLE_INPUT_H
#define FARE_TESTS_FUZZ_TABLE_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

struct table_input {
    int fd;
    char path[64];
};

static inline bool table_input_open(struct table_input *in, const uint8_t *data, size_t size)
{
    in->fd = memfd_create("table", 0);
    if (in->fd < 0)
        return false;
    snprintf(in->path, sizeof in->path, "/proc/self/fd/%d", in->fd);
    if (size == 0 || write(in->fd, data, size) == (ssize_t)size)
        return true;
    close(in->fd);
    return false;
}

static inline void table_input_close(struct table_input *in)
{
    close(in->fd);
}

#endif
