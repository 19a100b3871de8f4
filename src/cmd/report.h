// SPDX-License-Identifier: Apache-2.0
// report: what `fare report` shares with bare `fare`.
#ifndef FARE_CMD_REPORT_H
#define FARE_CMD_REPORT_H

#include "cmd/out.h"

// Writes the whole file or none of it; to `out` if the path is "-" or null.
int report_write(struct out *out, const char *path, const struct buf *text,
                 struct err *err) MUST_USE;

#endif
