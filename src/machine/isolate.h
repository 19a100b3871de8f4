// SPDX-License-Identifier: Apache-2.0
// isolate: a part of the probing that may hang or crash, in a process of its own. Drivers do both.
#ifndef FARE_MACHINE_ISOLATE_H
#define FARE_MACHINE_ISOLATE_H

#include "machine/probe.h"

typedef int probe_part(struct probe *probe, struct machine *machine, struct err *err);

// Runs `part` on a copy of `machine` in a child, and brings the whole record back in `got`, which
// the caller zeroed and releases. Where the child hung or crashed, `got` stays empty and `how`
// says so: "no end within 30000 ms", "signal SIGSEGV". Fails only when memory runs out.
int probe_isolated(struct probe *probe, const struct machine *machine, probe_part *part,
                   int64_t timeout_ms, struct machine *got, struct buf *how,
                   struct err *err) MUST_USE;

#endif
