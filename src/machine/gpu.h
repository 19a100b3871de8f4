// SPDX-License-Identifier: Apache-2.0
// gpu: the GPUs of a machine, put together from the PCI bus and the drivers.
//
// NVIDIA's come from its management library, AMD's from sysfs, Intel's discrete ones from the bus
// alone. What the bus shows and no driver answers for is listed too, with works = false and the
// reason. One kind is left out: inside a container the bus shows all of the host's GPUs, while
// NVIDIA's library lists those that were passed in. The others belong to somebody else.
#ifndef FARE_MACHINE_GPU_H
#define FARE_MACHINE_GPU_H

#include "machine/probe.h"

// probe_gpus() with the file of PCI names given; null: the one beside the program.
int gpus_read(struct probe *probe, const char *names_path, struct machine *machine,
              struct err *err) MUST_USE;

#endif
