// SPDX-License-Identifier: Apache-2.0
// A file of any bytes is complete, or not: without a crash, and without changing it.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "save/find.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[64];
    if (fd < 0)
        fd = memfd_create("whole", MFD_CLOEXEC);
    assert(fd >= 0 && ftruncate(fd, 0) == 0);
    if (pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    enum whole first = whole_file(path);
    assert(first >= WHOLE_NO && first <= WHOLE_YES);
    if (first == WHOLE_YES && size > 9) { // a file that tells its length is complete at one alone
        assert(ftruncate(fd, (off_t)size - 1) == 0);
        assert(whole_file(path) != WHOLE_YES);
    }
    return 0;
}
