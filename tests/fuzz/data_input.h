// SPDX-License-Identifier: Apache-2.0
// What the data room's fuzz targets share: the input as a file, and what must hold for any set.
#ifndef FARE_TESTS_FUZZ_DATA_INPUT_H
#define FARE_TESTS_FUZZ_DATA_INPUT_H

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "train/data/dataset.h"

struct input {
    int fd;
    char path[64];
};

// False where the system refuses: then there is nothing to try.
static inline bool input_open(struct input *input, const uint8_t *data, size_t size)
{
    input->fd = memfd_create("input", 0);
    if (input->fd < 0)
        return false;
    snprintf(input->path, sizeof input->path, "/proc/self/fd/%d", input->fd);
    if (size == 0 || write(input->fd, data, size) == (ssize_t)size)
        return true;
    close(input->fd);
    return false;
}

static inline void check_texts(const struct dataset *set)
{
    assert(set->time > 0 && set->vocabulary > 1 && set->classes > 1);
    int32_t *row = malloc((size_t)set->time * sizeof *row);
    assert(row);
    for (int64_t i = 0; i < set->count; i++) {
        dataset_tokens(set, i, row);
        for (int k = 0; k < set->time; k++)
            assert(row[k] >= 0 && row[k] < set->vocabulary);
        assert(set->labels[i] >= 0 && set->labels[i] < set->classes);
    }
    free(row);
}

#endif
