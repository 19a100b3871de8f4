// SPDX-License-Identifier: Apache-2.0
// board_parts: makes the parts of a board. Internal to serve/; each reads much of the ledger.
#ifndef FARE_SERVE_BOARD_PARTS_H
#define FARE_SERVE_BOARD_PARTS_H

#include "serve/board.h"

int board_count(struct ledger *ledger, struct board_facets *out, struct err *err) MUST_USE;
int board_spend(struct ledger *ledger, struct market *market, struct board_figures *out,
                struct err *err) MUST_USE;
int board_machines(struct board *board, struct ledger *ledger, struct market *market,
                   const struct board_facets *facets, struct buf *out, struct err *err) MUST_USE;
// Without a book that can be read, nothing.
int board_moved(struct market *market, struct buf *out, struct err *err) MUST_USE;

#endif
