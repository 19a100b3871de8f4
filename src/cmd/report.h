// SPDX-License-Identifier: Apache-2.0
// report: what `fare report` shares with bare `fare`.
#ifndef FARE_CMD_REPORT_H
#define FARE_CMD_REPORT_H

#include "cmd/out.h"

// To the file, whole or not at all; to `out` where the path is "-" or null.
int report_write(struct out *out, const char *path, const struct buf *text,
                 struct err *err) MUST_USE;

#endif
