// SPDX-License-Identifier: Apache-2.0
// Files that may be JPEGs: an image or an error, and no state carried from one to the next. Images
// of more than a million pixels are left out, as they only cost the fuzzer time.
#include "train/data/images.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_large(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 9 < size; i++) {
        int64_t height = data[i + 5] * 256 + data[i + 6], width = data[i + 7] * 256 + data[i + 8];
        if (data[i] == 0xFF && data[i + 1] >= 0xC0 && data[i + 1] <= 0xCF &&
            height * width > 1 << 20)
            return true;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct jpeg *jpeg;
    static uint8_t out[3 * 31 * 31], again[3 * 31 * 31];
    if (!jpeg && jpeg_new(&jpeg, 31, NULL) != 0)
        return 0;
    if (is_large(data, size))
        return 0;
    struct err err = {0};
    int rc = jpeg_decode(jpeg, "input", data, size, out, &err);
    assert((rc == 0) == (err.text[0] == '\0'));
    struct jpeg *fresh = NULL; // knows nothing of the files before
    if (jpeg_new(&fresh, 31, NULL) != 0)
        return 0;
    assert(jpeg_decode(fresh, "input", data, size, again, NULL) == rc);
    assert(rc != 0 || memcmp(out, again, sizeof out) == 0);
    jpeg_free(fresh);
    return 0;
}
