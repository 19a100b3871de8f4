// SPDX-License-Identifier: Apache-2.0
// comparable: whether two runs may stand side by side, and what has to be said beside them.
//
// Pure reasoning over two records. It is about what was computed and how it was measured: data,
// definition, precision, batch, gates, sampled or full, throttling, taints. Not about machine and
// framework: those are what one compares. Same does not mean equally fast.
#ifndef FARE_ADVISE_COMPARABLE_H
#define FARE_ADVISE_COMPARABLE_H

#include "record/run.h"

enum comparable {
    COMPARABLE_SAME,  // the same training, measured the same way
    COMPARABLE_NOTED, // with the notes beside it
    COMPARABLE_NOT,
};

#define COMPARISON_SCHEMA "fare.comparison/1"

struct comparison {
    enum comparable verdict;
    char *schema;
    char *first, *second;    // ids
    char *words;             // the verdict's
    LIST_OF(char *) reasons; // sentences without full stop, those against first
};

extern const struct field comparison_fields[];

// On failure (memory) it can still be released.
int comparison_make(const struct run *a, const struct run *b, struct comparison *out,
                    struct err *err) MUST_USE;
void comparison_release(struct comparison *comparison);

// "same", "comparable with a note", "not comparable".
const char *comparable_words(enum comparable verdict);

#endif
