// SPDX-License-Identifier: Apache-2.0
// frame: bytes inside a log that other programs wrote to, cut and put prefixes to.
//
// SkyPilot and Kubernetes hand back what a job printed, not its files. So the reply of a task
// (script.h) is printed as lines of base64 between marks, with its sum:
//
//     fare-frame KEY 1 ZmFyZS1yZXBseSA...
//     fare-frame KEY 2 ...
//     fare-frame KEY end 2 SHA256
//
// A line may have anything before its mark and after its last word, other lines may come in
// between, and the frame may be printed more than once. What is cut off or damaged does not count.
#ifndef FARE_FLEET_FRAME_H
#define FARE_FLEET_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

void frame_write(struct buf *out, const char *key, const void *bytes, size_t len);

// Appends the definition of a shell function `fare_frame KEY FILE` that does the same.
void frame_script(struct buf *out);

// Appends the bytes of the first whole frame of this key; false: there is none. ERR_MEMORY sticks
// to `out`.
bool frame_read(const char *text, size_t len, const char *key, struct buf *out);

#endif
