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

// For the first run on a machine, the time since its launch by its metadata, or else since its
// kernel's start: boot, which is paid for. Sets boot_ns and boot_from; neither if the start is
// unknown, was over an hour ago, or an earlier run that was kept has counted it. `kept`: this one
// is.
int provenance_boot(const struct machine *machine, bool kept, struct run *run,
                    struct err *err) MUST_USE;

#endif
