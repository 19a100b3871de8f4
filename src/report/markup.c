// SPDX-License-Identifier: Apache-2.0
#include "report/markup.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

static const char *entity(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return NULL;
    }
}

// U+FFFE and U+FFFF are not allowed in XML.
static bool allowed(uint32_t c)
{
    return c == '\t' || c == '\n' || (!utf8_steers(c) && c != 0xfffe && c != 0xffff);
}

// Number of bytes that need no escaping, which is most of any text.
static size_t plain(const char *text)
{
    size_t len = 0;
    while (text[len] >= 0x20 && text[len] < 0x7f && !entity(text[len]))
        len++;
    return len;
}

void markup_text(struct buf *out, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    while (len > 0) {
        size_t same = plain(text);
        buf_add(out, text, same);
        text += same;
        len -= same;
        if (len == 0)
            break;
        uint32_t c = 0xffff;
        size_t bytes =
            utf8_bad(text, len < UTF8_MAX ? len : UTF8_MAX) > 0 ? utf8_next(text, len, &c) : 1;
        const char *escaped = entity(*text);
        if (!allowed(c))
            buf_adds(out, "\xef\xbf\xbd");
        else if (escaped)
            buf_adds(out, escaped);
        else
            buf_add(out, text, bytes);
        text += bytes;
        len -= bytes;
    }
}

void markup_in(struct buf *out, const char *before, const char *text, const char *after)
{
    buf_adds(out, before);
    markup_text(out, text);
    buf_adds(out, after);
}

void markup_address(struct buf *out, const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if ((c < 0x80 && isalnum(c)) || strchr("-._~", c))
            buf_addc(out, (char)c);
        else
            buf_printf(out, "%%%02X", c);
    }
}

void markup_number(struct buf *out, double number)
{
    // A page has thousands: digit by digit takes a tenth of the time of printf().
    char text[24], *at = text + sizeof text;
    long long hundredths = llround(fmin(fmax(number, -1e9), 1e9) * 100);
    unsigned long long rest = (unsigned long long)llabs(hundredths), below = rest % 100;
    if (below % 10 > 0)
        *--at = (char)('0' + below % 10);
    if (below > 0) {
        *--at = (char)('0' + below / 10);
        *--at = '.';
    }
    rest /= 100;
    do
        *--at = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (hundredths < 0)
        *--at = '-';
    buf_add(out, at, (size_t)(text + sizeof text - at));
}
