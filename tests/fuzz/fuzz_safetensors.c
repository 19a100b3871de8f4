// SPDX-License-Identifier: Apache-2.0
// Any bytes as a safetensors file. What is accepted must hold what it promises.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "train/checkpoint/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("safetensors", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct safetensors st;
    struct err err = {0};
    int rc = safetensors_open(&st, path, &err);
    close(fd);
    if (rc != 0) {
        if (err.text[0] == '\0' || rc != ERR_FORMAT)
            abort();
        return 0;
    }
    uint64_t total = 0;
    for (int i = 0; i < st.count; i++) {
        const struct safetensors_tensor *t = &st.tensors[i];
        total += t->bytes;
        if (safetensors_find(&st, t->name) != t)
            abort();
        float *values = malloc((size_t)t->count * sizeof *values + 1);
        if (!values)
            abort(); // no number takes less than half a byte of the file
        if (safetensors_floats(&st, t, values, NULL) != 0 && t->type != SAFETENSORS_OTHER)
            abort();
        free(values);
    }
    if (st.data_at + total != size)
        abort();
    safetensors_text(&st, "format");
    safetensors_release(&st);
    return 0;
}
