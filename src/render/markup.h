// SPDX-License-Identifier: Apache-2.0
// markup: escapes text for HTML and SVG. Records may come from anyone: a run may be called
// "<script>". All text on a page must pass through here.
#ifndef FARE_RENDER_MARKUP_H
#define FARE_RENDER_MARKUP_H

#include "base/buf.h"

// Appends `text` (null: nothing), escaped for elements and quoted attributes of HTML and XML.
// Control characters and invalid UTF-8 become U+FFFD.
void markup_text(struct buf *out, const char *text);

// The same for headings and sentences: a figure stays on one line with its unit, and a cut name
// with its ellipsis.
void markup_words(struct buf *out, const char *text);

// markup_text() between two pieces of markup: markup_in(out, "<li>", name, "</li>\n").
void markup_in(struct buf *out, const char *before, const char *text, const char *after);

// Appends a part of an address, percent-encoding all but letters, digits and -._~. Safe in
// attributes too.
void markup_address(struct buf *out, const char *text);

// Appends a number with at most two decimals, for coordinates.
void markup_number(struct buf *out, double number);

// The style sheet of pages, and the rules of drawings, which an SVG by itself carries too.
extern const char page_style[], plot_style[];

#endif
