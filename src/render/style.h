// SPDX-License-Identifier: Apache-2.0
// style: the style sheet of pages, and the rules of drawings, which an SVG by itself carries too.
#ifndef FARE_RENDER_STYLE_H
#define FARE_RENDER_STYLE_H

extern const char page_style[], plot_style[];

#endif
