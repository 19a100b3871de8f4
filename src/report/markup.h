// SPDX-License-Identifier: Apache-2.0
// markup: text that goes into HTML and SVG. Records may come from anybody: a run may be called
// "<script>". Nothing reaches a page but through here.
#ifndef FARE_REPORT_MARKUP_H
#define FARE_REPORT_MARKUP_H

#include "base/buf.h"

// Appends `text` (null: nothing), escaped so that it is right within elements and quoted
// attributes of both HTML and XML. What no XML document may hold, control characters and bytes
// that are not UTF-8, becomes U+FFFD.
void markup_text(struct buf *out, const char *text);

// Appends a number with at most two decimals, as coordinates are written.
void markup_number(struct buf *out, double number);

#endif
