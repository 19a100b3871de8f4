// SPDX-License-Identifier: Apache-2.0
// The texts that drivers and the bus leave in sysfs and /proc about GPUs: addresses, link speeds,
// tables of clocks, the version of NVIDIA's module. All of them read the same input.
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/nvml.h"
#include "machine/pci.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';

    char address[PCI_ADDRESS_BYTES], again[PCI_ADDRESS_BYTES];
    if (pci_address_normalise(text, address)) {
        assert(pci_address_normalise(address, again)); // normalising twice changes nothing
        assert(strcmp(address, again) == 0);
    } else {
        assert(address[0] == '\0');
    }
    int generation = pci_link_generation(text);
    assert(generation >= 0 && generation <= 7);
    int64_t mhz = amd_dpm_max_mhz(text);
    assert(mhz >= 0 && mhz <= 100000);
    char version[16];
    nvml_module_version(text, version, sizeof version);
    assert(strspn(version, "0123456789.") == strlen(version));
    free(text);
    return 0;
}
