// SPDX-License-Identifier: Apache-2.0
// provenance: what the record of a run says before the run begins: id, date, machine, program, who
// measured, name and labels.
#ifndef FARE_MEASURE_PROVENANCE_H
#define FARE_MEASURE_PROVENANCE_H

#include "measure/measure.h"

int provenance_set(const struct measure_options *options, const struct machine *machine,
                   struct run *run, struct err *err) MUST_USE;

// The time since the machine was launched, of the first run on it: boot, which is paid for. Absent
// where the launch is not known, was over an hour ago, or an earlier run has counted it.
struct maybe_int provenance_boot(const struct machine_where *where);

#endif
