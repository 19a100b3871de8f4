// SPDX-License-Identifier: Apache-2.0
// amd: reads an AMD GPU's state from sysfs, as the amdgpu kernel driver presents it.
//
// No AMD library is needed: memory, utilisation, link, clocks, power and temperature are small text
// files. sysfs has no processes and no throttling reasons; these stay absent.
#ifndef FARE_MACHINE_AMD_H
#define FARE_MACHINE_AMD_H

#include "machine/pci.h"

// Adds to `gpu`, which pci_gpu_describe() has filled. `named`: the name came from the data file;
// keep it. Sets works = false and the problem if amdgpu does not hold the GPU, or if /dev/kfd is
// missing (a container without it).
int amd_gpu_read(struct tree *tree, const struct pci_gpu *pci, bool named, struct machine_gpu *gpu,
                 struct err *err) MUST_USE;

// The highest clock in a table such as pp_dpm_sclk ("0: 500Mhz *\n1: 1700Mhz"); 0 if none.
int64_t amd_dpm_max_mhz(const char *text);

#endif
