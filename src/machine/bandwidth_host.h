// SPDX-License-Identifier: Apache-2.0
// bandwidth_host: how fast memory and disk really are. Each takes about a second.
//
// Memory is read, written and copied by one thread per usable processor, in buffers that no cache
// holds; the fastest of many passes counts, because interference only ever slows a pass down
// (STREAM, McCalpin 1995, reports its best for the same reason). Writes go past the caches.
// The disk gets a file of at most 256 MiB, which has no name and so is gone whatever happens.
#ifndef FARE_MACHINE_BANDWIDTH_HOST_H
#define FARE_MACHINE_BANDWIDTH_HOST_H

#include "record/machine.h"

// Needs machine->cpu and machine->memory; takes at most an eighth of the memory that is free and
// allowed. Where that does not go well beyond the caches nothing is measured: it would be the
// caches' speed.
int memory_bandwidth(const struct machine *machine, struct machine_bandwidth *out,
                     struct err *err) MUST_USE;

// A folder that cannot be written to, or has no room, becomes out->disk_problem, not an error.
int disk_bandwidth(const char *folder, struct machine_bandwidth *out, struct err *err) MUST_USE;

#endif
