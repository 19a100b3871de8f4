// SPDX-License-Identifier: Apache-2.0
// comparable: whether two runs can be compared, and the caveats.
//
// Pure reasoning over two records: data, definition, precision, batch, gates, sampled or full,
// throttling, noise. Machine and framework do not matter here: comparing them is the purpose.
// Data sets are compared by checksum, by name and size only if a checksum is missing.
#ifndef FARE_ADVISE_COMPARABLE_H
#define FARE_ADVISE_COMPARABLE_H

#include "record/run.h"

enum comparable {
    COMPARABLE_SAME,  // the same training, measured the same way
    COMPARABLE_NOTED, // with the notes beside it
    COMPARABLE_NOISY, // the same training, but something disturbed a measurement
    COMPARABLE_NOT,
};

#define COMPARISON_SCHEMA "fare.comparison/1"

struct comparison {
    enum comparable verdict;
    char *schema;
    char *first, *second;    // ids
    char *words;             // the verdict's
    LIST_OF(char *) reasons; // sentences without full stop, those that rule it out first
};

extern const struct field comparison_fields[];

// What reasons call a run: "the first". Null: reasons about that run alone are left out, though
// they count.
struct comparison_names {
    const char *a, *b;
};
#define COMPARISON_PAIR                                                                            \
    (struct comparison_names)                                                                      \
    {                                                                                              \
        "the first", "the second"                                                                  \
    }

// On failure (memory) it can still be released.
int comparison_make(const struct run *a, const struct run *b, struct comparison_names names,
                    struct comparison *out, struct err *err) MUST_USE;
void comparison_release(struct comparison *comparison);

// Whether both run the same command: equal arguments, and the same program or interpreter, wherever
// it lies and whichever its version ("/opt/env/bin/python3.11" is "python"), and the same script as
// far as its checksum is known. False without a command.
size_t comparable_program(const char *path, const char **name); // that name and its length
bool comparable_command(const struct run *a, const struct run *b);

// Whether the data are the same, as far as is known.
bool comparable_data(const struct run *a, const struct run *b);

// Whether both have as many epochs, or steps, as far as is known.
bool comparable_length(const struct run *a, const struct run *b);

// How many samples it trained on; 0: unknown.
int64_t comparable_samples(const struct run *run);

#endif
