// SPDX-License-Identifier: Apache-2.0
// arguments: totals of a training in its command line: --max_steps 1000, --num_train_epochs=3,
// trainer.max_epochs=10, --eval-interval 250; also in the script of `sh -c`.
//
// Only whole numbers above 0 count: --max_steps -1, --eval_steps 0.1 and --epochs auto say nothing.
// Nor does --eval-every 1, which may mean epochs.
#ifndef FARE_RUN_ARGUMENTS_H
#define FARE_RUN_ARGUMENTS_H

#include "run/event.h"

// Fills total_steps, epochs, eval_every and save_every, as far as the arguments have them. `argv`
// ends with null. The last value counts. True if there is any.
bool arguments_read(char *const *argv, struct event *event);

// How much a name must mean: anywhere in a line, at the start of a part of it, or as an option.
enum arguments_place { PLACE_ANY, PLACE_START, PLACE_OPTION };

// One value by its name, in lower case with underscores: "max_steps". False if the name is unknown,
// or too common to mean a total in this place: "steps: 50" in a log.
bool arguments_take(const char *name, int64_t value, enum arguments_place place,
                    struct event *event);

#endif
