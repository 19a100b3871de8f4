// SPDX-License-Identifier: Apache-2.0
// gpu: lists the machine's GPUs, from the PCI bus and the drivers.
//
// NVIDIA's GPUs come from NVML, AMD's from sysfs, Intel's discrete ones from the bus alone. A GPU
// on the bus without a working driver is listed with works = false and the reason. Exception:
// inside a container the bus shows all of the host's GPUs, but NVML only those passed in. The
// others belong to someone else and are left out.
#ifndef FARE_MACHINE_GPU_H
#define FARE_MACHINE_GPU_H

#include "machine/probe.h"

// probe_gpus() with a given file of PCI names; null: the file that ships with the program.
int gpus_read(struct probe *probe, const char *names_path, struct machine *machine,
              struct err *err) MUST_USE;

#endif
