// SPDX-License-Identifier: Apache-2.0
// jpeg: decodes the centre of a JPEG file at the size a net takes. libjpeg-turbo is opened on first
// use.
//
// The central 87.5 % of each side (the border on either side is (side - side * 0.875) / 2, rounded
// down) is scaled to `size` x `size` by bilinear interpolation between pixel centres. Grey and CMYK
// images become RGB. Files are untrusted: a damaged one, one of more than 2^27 pixels or of
// absurdly many scans is an error, and libjpeg never ends the program.
#ifndef FARE_DATA_JPEG_H
#define FARE_DATA_JPEG_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct jpeg; // a decoder with its buffers: one per thread

int jpeg_new(struct jpeg **jpeg, int size, struct err *err) MUST_USE;
void jpeg_free(struct jpeg *jpeg);

// `name` is for errors; `out` is (3, size, size). libjpeg allocates inside; nothing else does.
int jpeg_decode(struct jpeg *jpeg, const char *name, const uint8_t *bytes, size_t len, uint8_t *out,
                struct err *err) MUST_USE;

#endif
