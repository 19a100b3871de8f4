// SPDX-License-Identifier: Apache-2.0
// selector: a word for some runs: a run's id or the beginning of one, a label key=value, a machine
// or GPU, a framework, or machine+framework.
//
// Machines and GPUs are known by their name, GPU, instance type or processor; a selector has to be
// one or more whole words of it, whatever the letters' case: "a100" is "NVIDIA A100-SXM4-80GB",
// "a10" is not.
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

// `len` bytes of `text`; ERR_USAGE where there is nothing in them.
int selector_init(struct selector *selector, const char *text, size_t len,
                  struct err *err) MUST_USE;
void selector_release(struct selector *selector);

enum selector_fit selector_fits(const struct selector *selector, const struct run *run);

// Whether `word` is all of an id, or at least four letters of its beginning or of what follows its
// date.
bool selector_is_id(const char *word, const char *id);

#endif
