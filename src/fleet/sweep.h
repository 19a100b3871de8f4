// SPDX-License-Identifier: Apache-2.0
// sweep: one command with many settings: every combination of the values of `--sweep NAME=VALUES`.
//
// VALUES are separated by commas; "1..8" stands for the whole numbers from 1 to 8. {NAME} in a word
// of the command becomes the value. Other braces stay as they are.
#ifndef FARE_FLEET_SWEEP_H
#define FARE_FLEET_SWEEP_H

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

enum { SWEEP_MOST = 100000 }; // combinations

struct sweep_setting {
    char *name;
    char **values;
    size_t count, capacity;
};
struct sweep {
    struct sweep_setting *settings;
    size_t count, capacity;
    size_t combinations; // 1 without settings
};
void sweep_release(struct sweep *sweep); // a zeroed one is fine

// Adds "lr=0.1,0.01". ERR_USAGE if it is not of that form, a name comes twice, or there are too
// many combinations.
int sweep_add(struct sweep *sweep, const char *text, struct err *err) MUST_USE;

// The value of a setting in a combination, from 0; the last setting changes fastest.
const char *sweep_value(const struct sweep *sweep, size_t combination, size_t setting);

// Appends a word of the command with its values filled in.
void sweep_fill(const struct sweep *sweep, size_t combination, const char *word, struct buf *out);

// ERR_USAGE if a setting stands in no word of the command.
int sweep_check(const struct sweep *sweep, char *const *command, struct err *err) MUST_USE;

#endif
