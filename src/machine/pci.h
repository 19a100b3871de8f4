// SPDX-License-Identifier: Apache-2.0
// pci: the GPUs that the PCI bus shows, whether a driver answers for them or not.
//
// The bus tells vendor, device and which kernel driver holds a GPU; the names come from a data
// file (share/devices/pci-gpus.csv). Only GPUs that can compute are listed: NVIDIA's, AMD's and
// Intel's discrete ones. Integrated graphics, virtual displays (virtio, QEMU, Hyper-V) and the
// management controllers' VGA (ASPEED, Matrox) are not.
#ifndef FARE_MACHINE_PCI_H
#define FARE_MACHINE_PCI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tree.h"
#include "record/machine.h"

enum { PCI_AMD = 0x1002, PCI_NVIDIA = 0x10de, PCI_INTEL = 0x8086 };

#define PCI_ADDRESS_BYTES 20 // "0000:17:00.0"; a domain may have up to eight digits

// Rows of the data file.
struct pci_name {
    uint16_t vendor;
    uint16_t device;
    bool integrated; // part of a processor: not a GPU one rents
    char *name;
};
struct pci_names {
    LIST_OF(struct pci_name) rows;
};

// Reads the names: columns vendor, device, name and kind (integrated or discrete). A null `path` is
// the file beside the program. A file that is missing or not understood means no names, a bad row
// is passed over; only memory makes it fail.
int pci_names_read(struct pci_names *names, const char *path, struct err *err) MUST_USE;
void pci_names_release(struct pci_names *names);
const struct pci_name *pci_names_find(const struct pci_names *names, uint16_t vendor,
                                      uint16_t device);

struct pci_gpu {
    char address[PCI_ADDRESS_BYTES];
    uint16_t vendor;
    uint16_t device;
    char driver[32]; // the kernel driver that holds it: "nvidia", "amdgpu", "vfio-pci"; "": none
};
struct pci_gpus {
    LIST_OF(struct pci_gpu) items; // in the order of their addresses
};

int pci_gpus_read(struct tree *tree, const struct pci_names *names, struct pci_gpus *gpus,
                  struct err *err) MUST_USE;
void pci_gpus_release(struct pci_gpus *gpus);

// What the bus alone tells: vendor, name, address and id. A GPU without a row in the data file
// is called "NVIDIA GPU 10de:2335".
int pci_gpu_describe(const struct pci_gpu *pci, const struct pci_names *names,
                     struct machine_gpu *gpu, struct err *err) MUST_USE;

struct pci_link {
    struct maybe_int generation;
    struct maybe_int generation_max;
    struct maybe_int width;
    struct maybe_int width_max;
};

// The link between the board and the machine. AMD's boards carry a switch, behind which the GPU
// always sees a fast link: there it is the switch's own link that counts. The maximum is what
// both ends can do.
void pci_link_read(struct tree *tree, const char *address, struct pci_link *link);

// "00000000:17:00.0" and "0000:17:00.0" are one address: lower case, the domain in at least four
// digits, as sysfs writes it. False (and "") for anything else.
bool pci_address_normalise(const char *text, char out[PCI_ADDRESS_BYTES]);

// "16.0 GT/s PCIe" is generation 4. 0 for what is none.
int pci_link_generation(const char *text);

#endif
