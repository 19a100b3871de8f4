// SPDX-License-Identifier: Apache-2.0
// run_list: runs as a table, one row each: time with its interval, cost, step times as a sparkline,
// quality, date and state. For the lists of fare serve and of a site.
//
// run_list_add() for each record, then run_list_show(). Rows are written as they are read;
// drawings, whose scale is that of all rows, are inserted at the end.
#ifndef FARE_VIEW_RUN_LIST_H
#define FARE_VIEW_RUN_LIST_H

#include "base/buf.h"
#include "record/run.h"

enum { RUN_LIST_ROWS = 50, RUN_LIST_TIP = 120 };

// Rows that were made before, for a server: a record does not change. Threads may share them; they
// take two megabytes at most.
struct run_rows;
int run_rows_new(struct run_rows **out, struct err *err) MUST_USE;
void run_rows_free(struct run_rows *rows); // null is fine

struct run_list {
    void (*link)(struct buf *out, const char *id); // appends the address of a run's page, escaped
    bool boxes;                                    // to select those to compare
    // (optional) Columns are links that sort: appends the address of the list in that order.
    void (*sort_link)(struct buf *out, const void *arg, const char *order);
    const void *sort_arg;
    const char *order;     // of this list: "time", "-time"; null: none
    struct run_rows *made; // (optional)

    struct buf rows; // released by run_list_show()
    size_t count;
    struct run_list_time {
        size_t at; // in `rows`
        double s, low_s, high_s;
        bool projected;
        char tip[RUN_LIST_TIP];
    } times[RUN_LIST_ROWS];
    size_t time_count;
};

// Reads what a row shows; the caller releases it with this table.
extern struct record_part run_list_part;
void run_list_add(struct run_list *list, const struct run *run);
// The same for a record as the ledger stores it, whose secrets it masks. ERR_FORMAT if it cannot be
// read; then nothing is added.
int run_list_record(struct run_list *list, const char *text, struct err *err) MUST_USE;
void run_list_show(struct buf *out, struct run_list *list);

#endif
