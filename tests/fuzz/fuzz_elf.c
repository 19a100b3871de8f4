// SPDX-License-Identifier: Apache-2.0
// Any bytes as a shared library: the launcher reads whatever lies where the host's C library is.
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "launch/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fd = memfd_create("elf", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size)
        abort();
    (void)elf_highest_fd(fd, "GLIBC_", NULL);
    (void)elf_highest_fd(fd, "GLIBCXX_", "libc.so.6");
    close(fd);
    return 0;
}
