// SPDX-License-Identifier: Apache-2.0
// base64: bytes as letters that every text format carries (RFC 4648, with padding).
#ifndef FARE_BASE_BASE64_H
#define FARE_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

void base64_write(struct buf *out, const void *bytes, size_t len);

// Appends the bytes of `len` letters. False: they are not whole base64; some bytes may be there.
bool base64_read(const char *text, size_t len, struct buf *out);

// The six bits of a letter; -1: it is none.
int base64_value(char c);

#endif
