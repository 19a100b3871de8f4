// SPDX-License-Identifier: Apache-2.0
// provenance: the part of a run's record that is known before it begins: id, date, machine,
// program, user, project, name and labels.
//
// The project is the first of: --project, FARE_PROJECT, the label project, the name of the git
// repository that holds the working folder.
#ifndef FARE_MEASURE_PROVENANCE_H
#define FARE_MEASURE_PROVENANCE_H

#include "measure/measure.h"

// Hides secrets in the command line; mask_run() (record/mask.h) does in the rest.
int provenance_set(const struct measure_options *options, const struct secrets *secrets,
                   const struct machine *machine, struct run *run, struct err *err) MUST_USE;

// The machine's start. Sets boot_ns, boot_from and boot_to: from its launch by its metadata, or
// else its kernel's start, until it was ready (machine/doctor.c); absent if either is unknown. For
// the `first` run of this program, if no earlier one that was kept counted this start, also
// idle_before_ns: the time since then, which is nobody's boot. `kept`: this run is.
//
// If fare ordered the machine for this run (FARE_ORDERED, which --on sky sets), the boot is the
// time since the order: the only one that is charged (run_ordered_ns()).
int provenance_boot(const struct machine *machine, bool first, bool kept, struct run *run,
                    struct err *err) MUST_USE;

#endif
