// SPDX-License-Identifier: Apache-2.0
// bandwidth_host: measures memory and disk bandwidth. Each takes about a second.
//
// One thread per usable CPU reads, writes and copies buffers larger than the caches, with streaming
// stores. The fastest of many passes counts, because interference only slows a pass down (STREAM,
// McCalpin 1995, does the same). The disk test uses an unnamed file of at most 256 MiB, so nothing
// is left behind.
#ifndef FARE_MACHINE_BANDWIDTH_HOST_H
#define FARE_MACHINE_BANDWIDTH_HOST_H

#include "record/machine.h"

// Needs machine->cpu and machine->memory. Uses at most an eighth of the available memory. Measures
// nothing if that is not well beyond the caches' size.
int memory_bandwidth(const struct machine *machine, struct machine_bandwidth *out,
                     struct err *err) MUST_USE;

// A folder that is full or not writable sets out->disk_problem; this is no error.
int disk_bandwidth(const char *folder, struct machine_bandwidth *out, struct err *err) MUST_USE;

#endif
