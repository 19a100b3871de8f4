// SPDX-License-Identifier: Apache-2.0
// place_words: the value of --on for targets that take settings: "gpu,gres=gpu:a100:1,account=lab".
#ifndef FARE_FLEET_PLACE_WORDS_H
#define FARE_FLEET_PLACE_WORDS_H

#include <stddef.h>

#include "base/err.h"

#define PLACE_WORDS_MOST 24

struct place_words {
    char *text;                           // one piece of memory; the others point into it
    const char *head;                     // before the first comma; "": none
    const char *values[PLACE_WORDS_MOST]; // by their number in the list of keys; null: not given
};

// Splits `value` (null: empty) at its commas. `keys`: null-terminated, at most PLACE_WORDS_MOST. An
// unknown, empty or repeated setting is ERR_USAGE that lists the keys, and so are control
// characters and bytes that are not UTF-8. `target` is for messages.
int place_words_read(struct place_words *words, const char *target, const char *value,
                     const char *const *keys, struct err *err) MUST_USE;
void place_words_release(struct place_words *words);

#endif
