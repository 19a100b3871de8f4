// SPDX-License-Identifier: Apache-2.0
// CIFAR's binary files: every image has its bytes and a label below ten.
#include "train/data/pixels.h"

#include "data_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct data_pair pair = {0};
    uint8_t sum[SHA256_BYTES];
    if (!input_open(&input, data, size))
        return 0;
    unsigned total = 0;
    if (cifar_file(input.path, &pair.train, sum, NULL) == 0)
        for (int64_t i = 0; i < pair.train.count; i++) {
            assert(pair.train.labels[i] >= 0 && pair.train.labels[i] < 10);
            for (int k = 0; k < 3072; k++)
                total += pair.train.pixels[i * 3072 + k];
        }
    assert(total <= UINT32_MAX);
    data_release(&pair);
    close(input.fd);
    return 0;
}
