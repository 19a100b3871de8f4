// SPDX-License-Identifier: Apache-2.0
// pci: lists the GPUs on the PCI bus, with or without a driver.
//
// The bus tells vendor, device and kernel driver; names come from share/devices/pci-gpus.csv. Only
// GPUs that can compute are listed: NVIDIA's, AMD's and Intel's discrete ones. Integrated graphics,
// virtual displays (virtio, QEMU, Hyper-V) and management controllers (ASPEED, Matrox) are not.
#ifndef FARE_MACHINE_PCI_H
#define FARE_MACHINE_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tree.h"
#include "record/machine.h"

enum { PCI_AMD = 0x1002, PCI_NVIDIA = 0x10de, PCI_INTEL = 0x8086 };

#define PCI_ADDRESS_BYTES 20 // "0000:17:00.0"; a domain may have up to eight digits

struct pci_name {
    uint16_t vendor;
    uint16_t device;
    bool integrated; // part of a processor: not a GPU to rent
    char *name;
};
struct pci_names {
    LIST_OF(struct pci_name) rows;
};

// Reads the columns vendor, device, name and kind (integrated or discrete). A null `path`: the file
// that ships with the program. A missing or malformed file means no names; a bad row is skipped.
// Fails only when memory runs out.
int pci_names_read(struct pci_names *names, const char *path, struct err *err) MUST_USE;
void pci_names_release(struct pci_names *names);
const struct pci_name *pci_names_find(const struct pci_names *names, uint16_t vendor,
                                      uint16_t device);

struct pci_gpu {
    char address[PCI_ADDRESS_BYTES];
    uint16_t vendor;
    uint16_t device;
    char driver[32]; // kernel driver: "nvidia", "amdgpu", "vfio-pci"; "": none
};
struct pci_gpus {
    LIST_OF(struct pci_gpu) items; // by address
};

int pci_gpus_read(struct tree *tree, const struct pci_names *names, struct pci_gpus *gpus,
                  struct err *err) MUST_USE;
void pci_gpus_release(struct pci_gpus *gpus);

// Sets what the bus tells: vendor, name, address and id. A GPU without a row in the data file is
// called "NVIDIA GPU 10de:2335".
int pci_gpu_describe(const struct pci_gpu *pci, const struct pci_names *names,
                     struct machine_gpu *gpu, struct err *err) MUST_USE;

struct pci_link {
    struct maybe_int generation;
    struct maybe_int generation_max;
    struct maybe_int width;
    struct maybe_int width_max;
};

// The link between board and machine. AMD's boards carry a switch, behind which the GPU always sees
// a fast link; then the switch's own link counts. The maximum is what both ends support.
void pci_link_read(struct tree *tree, const char *address, struct pci_link *link);

// Lower case, at least four domain digits, as in sysfs: "00000000:17:00.0" → "0000:17:00.0". False
// (and "") for anything else.
bool pci_address_normalise(const char *text, char out[PCI_ADDRESS_BYTES]);

// "16.0 GT/s PCIe" → 4. 0 if unknown.
int pci_link_generation(const char *text);

// ==== amd ====
// Reads an AMD GPU's state from sysfs, as the amdgpu kernel driver presents it.
//
// No AMD library is needed: memory, utilisation, link, clocks, power and temperature are small text
// files. sysfs has no processes and no throttling reasons; these stay absent.

// Adds to `gpu`, which pci_gpu_describe() has filled. `named`: the name came from the data file;
// keep it. Sets works = false and the problem if amdgpu does not hold the GPU, or if /dev/kfd is
// missing (a container without it).
int amd_gpu_read(struct tree *tree, const struct pci_gpu *pci, bool named, struct machine_gpu *gpu,
                 struct err *err) MUST_USE;

// The highest clock in a table such as pp_dpm_sclk ("0: 500Mhz *\n1: 1700Mhz"); 0 if none.
int64_t amd_dpm_max_mhz(const char *text);

#endif
