// SPDX-License-Identifier: Apache-2.0
// run_text: measured runs as `fare run` and bare `fare` print them.
#ifndef FARE_CMD_RUN_TEXT_H
#define FARE_CMD_RUN_TEXT_H

#include "cmd/cmd.h"
#include "measure/measure.h"

// Prints what the measurement has to say so far to stderr, a line each, and forgets it. With
// `price`, on a terminal, whose price the bill goes by.
void run_text_says(struct measure *measure, bool price);

// One row each: data, samples/s, ms per step, epoch time, loss or accuracy.
void run_text_table(struct out *out, const struct run *runs, size_t count);

// Below it: why samples ended, what may have spoiled them, the spread between repetitions.
void run_text_notes(struct out *out, const struct runs *runs, const struct run_plan *plan);

// A line for each run whose price is known.
void run_text_bills(struct out *out, const struct measure *measure);

// How a command went, to stderr at once: stdout is the command's own. `out` has the width.
void run_text_command(const struct out *out, const struct measure *measure);

#endif
