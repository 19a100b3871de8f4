// SPDX-License-Identifier: Apache-2.0
// figures: a command's epochs with their losses and accuracies, and what it says about itself, into
// the run's record. A zeroed struct is empty.
#ifndef FARE_RUN_FIGURES_H
#define FARE_RUN_FIGURES_H

#include "record/run.h"
#include "run/event.h"
#include "run/losses.h"

struct figures {
    struct run *run;
    bool failed; // out of memory
    bool epochs_from_0;
    int64_t epoch;       // 0: none reported
    int64_t epoch_began; // steps made at its start; -1: unknown
    double loss, accuracy;
    int64_t losses, accuracies; // their number in the epoch
    struct losses all;
};

// The event may start an epoch after `made` steps. Returns the steps of the epoch that ended, 0 if
// they are unknown, -1 if none did. `with_steps`: epochs are reported between steps, not on the
// way, so their steps count.
int64_t figures_epoch(struct figures *figures, const struct event *event, int64_t made,
                      bool with_steps);

// Losses and accuracies; `testing`: plain ones are those of an evaluation. Ignores an accuracy
// outside of 0 to 1, such as a percentage.
void figures_add(struct figures *figures, const struct event *event, bool testing);

// Ends the last epoch.
void figures_close(struct figures *figures, int64_t made, bool with_steps);

// Members of the record that the program tells; those of the whole training go to `told`, which the
// caller releases (record_release). False if they cannot be read.
bool figures_about(struct figures *figures, json_t *json, struct run *told);

#endif
