// SPDX-License-Identifier: Apache-2.0
#include "render/markup.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
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

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

// Whether this is a unit; `of_time`: of one that a smaller one may follow. Currencies have three
// letters.
static bool is_unit(const char *word, size_t len, bool of_time)
{
    static const char *const units[] = {
        "d",    "h",    "min",    "s",         "ms",  "µs",   "ns",  "%",    "W",    "kWh",
        "KB",   "MB",   "GB",     "TB",        "KiB", "MiB",  "GiB", "TiB",  "GPUs", "TFLOP/s",
        "TB/s", "GB/s", "offers", "providers", "day", "days", "run", "runs", "CPUs"};
    enum { TIMES = 3 };
    if (!of_time && len == 3 && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") >= 3)
        return true;
    for (size_t i = 0; i < (of_time ? TIMES : sizeof units / sizeof *units); i++)
        if (strlen(units[i]) == len && strncmp(units[i], word, len) == 0)
            return true;
    return false;
}

// Whether the space at `at` is within a figure: before its unit, or between the parts of a time.
static bool joins(const char *text, size_t at)
{
    const char *next = text + at + 1;
    size_t times = strlen("×");
    if (at == 0)
        return false;
    if (strncmp(next, "×", times) == 0) // "8 × H200", "rough ×2.4"
        return is_digit(text[at - 1]) || is_digit(next[times]);
    if (at > times && strncmp(text + at - times, "×", times) == 0)
        return true;
    if (is_digit(text[at - 1]))
        return is_unit(next, strcspn(next, " ,;:.)"), false);
    size_t word = at;
    while (word > 0 && text[word - 1] != ' ')
        word--;
    return word >= 2 && is_digit(text[word - 2]) && is_unit(text + word, at - word, true) &&
           is_digit(*next);
}

// Whether this is the hyphen of "0.4-0.6"; those of a date are none.
static bool within_interval(const char *text, size_t at)
{
    static const char figures[] = "0123456789.";
    size_t before = at, after = at + 1;
    if (text[at] != '-' || at == 0 || !is_digit(text[at - 1]) || !is_digit(text[at + 1]))
        return false;
    while (before > 0 && strchr(figures, text[before - 1]))
        before--;
    after += strspn(text + after, figures);
    return (before == 0 || text[before - 1] != '-') && text[after] != '-';
}

// Whether no line may end after this byte, though it could: "…ef9fc7", "GPU-hour", "0.4-0.6".
static bool sticks(const char *text, size_t at)
{
    if (at >= 2 && strncmp(text + at - 2, "…", 3) == 0)
        return text[at + 1] && text[at + 1] != ' ';
    if (within_interval(text, at))
        return true;
    return at >= 3 && strncmp(text + at - 3, "GPU-hour", 8) == 0;
}

// Whether a line may end before this byte of a long word: "azure/|Standard_|NC24ads|@westus3".
static bool may_break(const char *text, size_t at, size_t word)
{
    enum { LONG = 20 };
    if (at == word || word + strcspn(text + word, " ") - word < LONG)
        return false;
    return text[at] == '@' || (strchr("/_=", text[at - 1]) && !strchr("/_=", text[at]));
}

void markup_words(struct buf *out, const char *text)
{
    struct buf joined = {0};
    size_t word = 0;
    for (size_t i = 0; text && text[i]; i++) {
        if (i > 0 && text[i - 1] == ' ')
            word = i;
        if (may_break(text, i, word)) {
            markup_text(out, buf_str(&joined));
            buf_adds(out, "<wbr>");
            buf_reset(&joined);
        }
        if (text[i] == ' ' && joins(text, i))
            buf_adds(&joined, "\u00a0"); // no-break space
        else
            buf_addc(&joined, text[i]);
        if (sticks(text, i))
            buf_adds(&joined, "\u2060"); // word joiner
    }
    markup_text(out, buf_str(&joined));
    buf_drop(out, &joined);
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
