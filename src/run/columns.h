// SPDX-License-Identifier: Apache-2.0
// columns: a log of comma-separated values with a header, such as "epoch,loss,val_loss" above
// "0,4.0,3.9". Lines of the last header's number of columns count.
//
// A zeroed struct is empty; there is nothing to release.
#ifndef FARE_RUN_COLUMNS_H
#define FARE_RUN_COLUMNS_H

#include "run/event.h"

#define COLUMNS_MAX 32

struct columns {
    int count;       // 0: no header yet
    int step, epoch; // their places, from 1; 0: none
    int loss, test_loss, accuracy, test_accuracy;
};

// EVENT_READ if the line is a row with a counter.
enum event_result columns_read(struct columns *columns, const char *line, size_t len,
                               struct event *event);

#endif
