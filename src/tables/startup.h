// SPDX-License-Identifier: Apache-2.0
// startup: default times from ordering a machine until a training starts, if they were not
// measured: share/startup.csv; rows of the user's file of that name come first.
//
// The columns are provider ("*": any other), machine (vm, container, bare-metal, any), part (boot,
// image, kernels), seconds with low and high, source, date.
#ifndef FARE_TABLES_STARTUP_H
#define FARE_TABLES_STARTUP_H

#include <stdint.h>

#include "tables/offer.h"
#include "base/err.h"

struct startup_row {
    char *provider, *machine, *part, *source; // `source` ends in its date
    int64_t ns, low_ns, high_ns;
};

struct startups;

// ERR_FORMAT names the file, line and column.
int startups_open(struct startups **out, struct err *err) MUST_USE;
void startups_close(struct startups *startups); // null is fine

// The row for that part of the offer's start: its provider's, else that for any; null: none.
const struct startup_row *startup_find(const struct startups *startups, const struct offer *offer,
                                       const char *part);

#endif
