// SPDX-License-Identifier: Apache-2.0
// amd: what the amdgpu kernel driver says about a GPU in sysfs.
//
// No library of AMD's is needed: memory, use, link, clocks, power and temperature are small text
// files below the device's folder. What they do not tell stays absent: processes, throttling.
#ifndef FARE_MACHINE_AMD_H
#define FARE_MACHINE_AMD_H

#include "machine/pci.h"

// Fills `gpu`, which pci_gpu_describe() has filled before; `named` says that its name came from
// the data file and is to be kept. A GPU that amdgpu does not hold, or whose compute device
// /dev/kfd is not here (a container without it), gets works = false and the problem.
int amd_gpu_read(struct tree *tree, const struct pci_gpu *pci, bool named, struct machine_gpu *gpu,
                 struct err *err) MUST_USE;

// The highest clock in a table such as pp_dpm_sclk ("0: 500Mhz *\n1: 1700Mhz"); 0 for none.
int64_t amd_dpm_max_mhz(const char *text);

#endif
