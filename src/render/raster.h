// SPDX-License-Identifier: Apache-2.0
// raster: a drawing as PNG, by a program of the user's: fare itself draws no pixels.
#ifndef FARE_RENDER_RASTER_H
#define FARE_RENDER_RASTER_H

#include "base/buf.h"
#include "base/err.h"

#define RASTER_SCALE 2 // pixels of the PNG for each of the SVG, in both directions

// Appends the PNG of a plot_svg() document. The first of rsvg-convert, Inkscape, Chromium and
// ImageMagick that is in PATH and makes a PNG of the right size does it, each within a minute.
// ERR_MISSING, with the package to install, if there is none.
int raster_png(const struct buf *svg, struct buf *png, struct err *err) MUST_USE;

#endif
