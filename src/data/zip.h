// SPDX-License-Identifier: Apache-2.0
// zip: one member of a zip archive, unpacked (APPNOTE 6.3; stored or deflated, below 4 GiB).
#ifndef FARE_DATA_ZIP_H
#define FARE_DATA_ZIP_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

// Takes some of its bytes; a negative code ends it and comes back.
typedef int zip_take_fn(void *context, const void *bytes, size_t len, struct err *err);

// Its length and check sum are compared with what the archive says. No such member is ERR_MISSING.
int zip_member(const char *path, const char *member, int64_t max_bytes, zip_take_fn *take,
               void *context, struct err *err) MUST_USE;

#endif
