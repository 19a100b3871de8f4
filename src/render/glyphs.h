// SPDX-License-Identifier: Apache-2.0
// glyphs: estimates the width of a text without knowing the reader's font. Uses the widths of a
// wide font, so that there is rather too much space than too little.
#ifndef FARE_RENDER_GLYPHS_H
#define FARE_RENDER_GLYPHS_H

#include "base/buf.h"

// In pixels; `size` is the font size in pixels.
double glyphs_width(const char *text, double size);

// Appends `text`, shortened to `width` pixels with an ellipsis in the middle, because both ends
// help to tell names apart.
void glyphs_cut(struct buf *out, const char *text, double size, double width);

#endif
