// SPDX-License-Identifier: Apache-2.0
// isolate: runs a probe that may hang or crash, as drivers do, in a process of its own.
#ifndef FARE_MACHINE_ISOLATE_H
#define FARE_MACHINE_ISOLATE_H

#include "machine/probe.h"

typedef int probe_part(struct probe *probe, struct machine *machine, struct err *err);

// Runs `part` on a copy of `machine` in a child and returns the whole record in `got`, which the
// caller zeroes and releases. If the child hangs or crashes, `got` stays empty and `how` says so:
// "not finished within 30000 ms", "signal SIGSEGV". Fails only when memory runs out.
int probe_isolated(struct probe *probe, const struct machine *machine, probe_part *part,
                   int64_t timeout_ms, struct machine *got, struct buf *how,
                   struct err *err) MUST_USE;

#endif
