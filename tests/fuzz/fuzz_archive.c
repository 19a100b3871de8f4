// SPDX-License-Identifier: Apache-2.0
// tar and zip archives, as downloads are.
#include "train/data/unpack.h"

#include "data_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input;
    struct tar tar;
    char chunk[1000];
    if (!input_open(&input, data, size))
        return 0;
    if (tar_open(&tar, input.path, 1 << 20, NULL) == 0) {
        while (tar_next(&tar, NULL) > 0) {
            ptrdiff_t got;
            int64_t all = 0;
            while ((got = tar_read(&tar, chunk, sizeof chunk, NULL)) > 0)
                all += got;
            assert(all <= tar.size);
            if (got < 0)
                break;
        }
        tar_release(&tar);
    }
    struct zip zip;
    if (zip_open(&zip, input.path, "hello", 1 << 20, NULL) == 0) {
        int64_t all = 0;
        ptrdiff_t got;
        while ((got = zip_read(&zip, chunk, sizeof chunk, NULL)) > 0)
            all += got;
        assert(all <= 1 << 20);
        zip_release(&zip);
    }
    close(input.fd);
    return 0;
}
