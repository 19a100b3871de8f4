// SPDX-License-Identifier: Apache-2.0
// idx files: what is read has the number of bytes that it says.
#include "train/data/pixels.h"

#include "data_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    uint8_t sum[SHA256_BYTES], *bytes;
    int64_t count;
    if (!input_open(&input, data, size))
        return 0;
    unsigned total = 0;
    if (idx_file(input.path, true, &bytes, &count, sum, NULL) == 0) {
        for (int64_t i = 0; i < count * IDX_SIDE * IDX_SIDE; i++)
            total += bytes[i];
        free(bytes);
    }
    if (idx_file(input.path, false, &bytes, &count, sum, NULL) == 0) {
        for (int64_t i = 0; i < count; i++)
            total += bytes[i];
        free(bytes);
    }
    assert(total <= 255 * size * 2000); // a gzip stream grows by about a thousand at most
    close(input.fd);
    return 0;
}
