// SPDX-License-Identifier: Apache-2.0
// board: figures about all runs, for pages that must not wait for them: how many there are of what,
// this month's spending, the cheapest and the fastest machine for each training, prices that moved.
//
// A thread of its own makes them when the ledger has changed, and each minute since prices change
// too, but only while somebody looks, and it rests for twenty times as long as they take. So pages
// copy what is there, which is a few seconds old; until the first is made there is nothing.
#ifndef FARE_SERVE_BOARD_H
#define FARE_SERVE_BOARD_H

#include "serve/request.h"

struct board;

// Starts the thread; board_stop() tells it to end soon, board_free() waits for that. Null is fine.
int board_new(struct board **out, struct site *site, struct err *err) MUST_USE;
void board_stop(struct board *board);
void board_free(struct board *board);

// How many runs there are of each training with each framework and each end: of the most frequent
// values of each, and of all others together.
enum board_facet { BOARD_TRAINING, BOARD_FRAMEWORK, BOARD_ENDED, BOARD_FACETS };
enum { BOARD_VALUES = 12, BOARD_VALUE_BYTES = 128 };
struct board_facets {
    struct board_values {
        char items[BOARD_VALUES][BOARD_VALUE_BYTES];
        size_t count;
    } values[BOARD_FACETS];
    bool named[BOARD_VALUES]; // trainings: by the run's name, not the workload's
    int64_t runs[BOARD_VALUES + 1][BOARD_VALUES + 1][BOARD_VALUES + 1];
};

// False if they are not made yet, or `board` is null.
bool board_facets(struct board *board, struct board_facets *out);

struct board_figures {
    int64_t month_runs, month_unknown; // unknown: without a price
    char month_usd[32];                // empty: unknown
    struct buf spend, machines, moved; // pieces of a page; empty: nothing to say
};
// The same; the caller releases the pieces.
bool board_figures(struct board *board, struct board_figures *out);

#endif
