// SPDX-License-Identifier: Apache-2.0
// run_text: measured runs as `fare run` and bare `fare` print them.
#ifndef FARE_CMD_RUN_TEXT_H
#define FARE_CMD_RUN_TEXT_H

#include "cmd/cmd.h"
#include "measure/measure.h"

// Prints the messages collected so far to stderr and forgets them. With `price`, on a terminal,
// also the source of the price.
void run_text_says(struct measure *measure, bool price);

// One row each: data, samples/s, ms per step, epoch time, loss or accuracy.
void run_text_table(struct out *out, const struct run *runs, size_t count);

// Below it: why samples ended, why they are noisy, the spread between repetitions.
void run_text_notes(struct out *out, const struct runs *runs, const struct run_plan *plan);

// A line for each run whose price is known.
void run_text_bills(struct out *out, const struct measure *measure);

// A command's result, to stderr at once: stdout belongs to the command. `out` has the width. The
// last line has the time, the cost and, with `next`, the command to type next.
void run_text_command(const struct out *out, const struct measure *measure, bool next);

// What more processes gain: a table, and a sentence for each number that does not pay; nothing if
// all runs have the same. `hour_nano_usd`: the price of this machine; 0: unknown.
void run_scaling(struct out *out, const struct runs *runs, int64_t hour_nano_usd);

#endif
