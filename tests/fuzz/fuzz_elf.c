// SPDX-License-Identifier: Apache-2.0
// Any bytes as a shared library: the launcher reads whatever lies where the host's C library is.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)elf_highest(path, "GLIBC_", NULL);
    (void)elf_highest(path, "GLIBCXX_", "libc.so.6");
    close(fd);
    return 0;
}
