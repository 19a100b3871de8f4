// SPDX-License-Identifier: Apache-2.0
// answer: the few rows of a quote that a person acts on, one for each machine, with its price on
// demand and on spot.
#ifndef FARE_ADVISE_ANSWER_H
#define FARE_ADVISE_ANSWER_H

#include "advise/verdict.h"

struct answer_row {
    const struct bill *bill;          // has the time: `demand`, else the other
    const struct bill *demand, *spot; // null: none is known, or it may not be named
    bool old;                         // its price is older than those of the rows that lead
};

// Rows of a quote that was not asked for; what `why` of each bill says one by one.
struct answer_hidden {
    size_t old;      // prices that are older than those of the rows
    size_t unknown;  // interruptions, memory or another thing that a trial would tell
    size_t idle;     // machines with more of the same GPUs than the training uses
    size_t doubtful; // prices or machines that are not to be believed
};

struct answer {
    struct answer_row *rows;
    size_t count;
    size_t machines; // that may be named, of which the rows are some
    bool bounds;     // no machine may be called cheapest: the rows have the lowest bounds
    struct answer_hidden hidden;
};

// At most `most` rows: those that lead, those that nothing beats in both time and cost, then the
// cheapest, first one for each kind of GPU. 0: all machines that may be named. In the order of the
// price on demand, then on spot. Where fewer than ANSWER_FEWEST lead, the best of those at older
// prices follow in the same order, up to `most`: they are never called cheapest.
int answer_make(const struct quote *quote, size_t most, struct answer *out,
                struct err *err) MUST_USE;
void answer_release(struct answer *answer);

#define ANSWER_ROWS   5
#define ANSWER_FEWEST 3

#endif
