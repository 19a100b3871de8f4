// SPDX-License-Identifier: Apache-2.0
// selector: a word that selects runs: a run's id or its beginning, a label key=value, a machine or
// GPU, a framework, or machine+framework.
//
// A machine matches by its name, GPU, instance type or processor. The selector must be one or more
// whole words of it, in any case: "a100" matches "NVIDIA A100-SXM4-80GB", "a10" does not.
#ifndef FARE_ADVISE_SELECTOR_H
#define FARE_ADVISE_SELECTOR_H

#include "record/run.h"

enum selector_fit {
    SELECTOR_NOT,
    SELECTOR_FRAMEWORK,
    SELECTOR_WORDS, // part of a name
    SELECTOR_NAME,  // all of a name; machine+framework
    SELECTOR_LABEL,
    SELECTOR_ID,
};

struct selector {
    char *text;
    char *machine, *framework; // of machine+framework
};

// `len` bytes of `text`; ERR_USAGE if they are blank.
int selector_init(struct selector *selector, const char *text, size_t len,
                  struct err *err) MUST_USE;
void selector_release(struct selector *selector);

enum selector_fit selector_fits(const struct selector *selector, const struct run *run);

// Whether `word` is an id, or at least four letters of its beginning or of the part after its date.
bool selector_is_id(const char *word, const char *id);

#endif
