// SPDX-License-Identifier: Apache-2.0
#include "render/glyphs.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

// Widths of ASCII characters, from the space on, in hundredths of the font size.
static const unsigned char ascii[] = {
    32,  41, 46, 84, 64, 95, 78, 28, 40, 40, 50, 84, 32, 37, 32, 34, // space to /
    64,  64, 64, 64, 64, 64, 64, 64, 64, 64, 34, 34, 84, 84, 84, 54, // 0 to ?
    100, 69, 69, 70, 77, 64, 58, 78, 76, 30, 30, 66, 56, 87, 75, 79, // @ to O
    61,  79, 70, 64, 62, 74, 69, 99, 69, 62, 69, 40, 34, 40, 84, 50, // P to _
    50,  62, 64, 55, 64, 62, 36, 64, 64, 28, 28, 58, 28, 98, 64, 62, // ` to o
    64,  64, 42, 53, 40, 64, 60, 82, 60, 60, 53, 64, 34, 64, 84,     // p to ~
};

static double width_of(uint32_t c)
{
    if (c >= ' ' && c - ' ' < sizeof ascii)
        return ascii[c - ' '] / 100.0;
    if (c >= 0x300 && c <= 0x36f) // combining marks
        return 0;
    return c < 0x1100 ? 0.7 : c >= 0x2000 && c < 0x2e80 ? 0.9 : 1.05;
}

// The next character of any text; each invalid byte counts as one.
static size_t next(const char *text, size_t len, uint32_t *c)
{
    *c = 0xfffd;
    return utf8_bad(text, len < UTF8_MAX ? len : UTF8_MAX) > 0 ? utf8_next(text, len, c) : 1;
}

double glyphs_width(const char *text, double size)
{
    double width = 0;
    size_t len = text ? strlen(text) : 0;
    while (len > 0) {
        uint32_t c;
        size_t bytes = next(text, len, &c);
        width += width_of(c);
        text += bytes;
        len -= bytes;
    }
    return width * size;
}

// Length in bytes of the prefix that fits.
static size_t fitting(const char *text, size_t len, double size, double width)
{
    size_t at = 0;
    while (at < len) {
        uint32_t c;
        size_t bytes = next(text + at, len - at, &c);
        width -= width_of(c) * size;
        if (width < 0)
            break;
        at += bytes;
    }
    return at;
}

void glyphs_cut(struct buf *out, const char *text, double size, double width)
{
    size_t len = strlen(text);
    if (glyphs_width(text, size) <= width) {
        buf_adds(out, text);
        return;
    }
    width -= width_of(0x2026) * size;
    size_t head = fitting(text, len, size, width * 0.55), tail = len;
    for (size_t at = head; at < len;) {
        uint32_t c;
        if (glyphs_width(text + at, size) <= width * 0.45) {
            tail = at;
            break;
        }
        at += next(text + at, len - at, &c);
    }
    buf_add(out, text, head);
    buf_adds(out, "…");
    buf_adds(out, text + tail);
}
