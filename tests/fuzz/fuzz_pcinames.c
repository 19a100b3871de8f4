// SPDX-License-Identifier: Apache-2.0
// The data file of PCI names, which users may replace: whatever it holds, no row is half-filled.
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "machine/pci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    int fd = memfd_create("names", 0);
    if (fd < 0)
        return 0;
    if (size > 0 && write(fd, data, size) != (ssize_t)size) {
        close(fd);
        return 0;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct pci_names names = {0};
    int rc = pci_names_read(&names, path, NULL);
    assert(rc == 0);
    for (size_t i = 0; i < names.rows.count; i++)
        assert(names.rows.items[i].name && names.rows.items[i].name[0]);
    pci_names_release(&names);
    close(fd);
    return 0;
}
