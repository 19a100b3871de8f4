// SPDX-License-Identifier: Apache-2.0
// inspect: probes this machine, or the recorded one that FARE_ROOT names, and judges it.
#ifndef FARE_MACHINE_INSPECT_H
#define FARE_MACHINE_INSPECT_H

#include "base/err.h"
#include "record/machine.h"

struct inspect_options {
    bool bandwidth; // measure memory, disk and GPU copies too
    bool no_cloud;  // do not ask for metadata
    bool libraries; // look for those that frameworks use on NVIDIA GPUs, where there may be one
};

// Whether FARE_ROOT names a recorded machine, which has no speed to measure.
bool inspect_recorded(void);

// The caller releases the record, also after a failure.
int machine_inspect(const struct inspect_options *options, struct machine *machine,
                    struct err *err) MUST_USE;

#endif
