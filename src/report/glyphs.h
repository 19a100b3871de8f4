// SPDX-License-Identifier: Apache-2.0
// glyphs: how wide a text will be on the page, without the font.
//
// Which font a reader has is not known. The widths are those of a wide one, so that in others there
// is rather too much room than too little.
#ifndef FARE_REPORT_GLYPHS_H
#define FARE_REPORT_GLYPHS_H

#include "base/buf.h"

// In pixels, at a font size in pixels.
double glyphs_width(const char *text, double size);

// Appends as much of `text` as fits into `room` pixels; where it does not, the middle goes and an
// ellipsis stands for it: beginning and end tell names apart.
void glyphs_cut(struct buf *out, const char *text, double size, double room);

#endif
