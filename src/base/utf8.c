// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

// How many bytes the character that starts with `lead` has, and the least and greatest second
// byte: Table 3-7 of the Unicode Standard. 0: no character starts with it.
static size_t shape(uint8_t lead, uint8_t *least, uint8_t *greatest)
{
    *least = 0x80;
    *greatest = 0xBF;
    if (lead >= 0xC2 && lead <= 0xDF)
        return 2;
    if (lead >= 0xE0 && lead <= 0xEF) {
        *least = lead == 0xE0 ? 0xA0 : 0x80;
        *greatest = lead == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        *least = lead == 0xF0 ? 0x90 : 0x80;
        *greatest = lead == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

size_t utf8_bad(const char *text, size_t len)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t i = 0;
    while (i < len) {
        uint64_t eight;
        if (len - i >= sizeof eight) { // most texts are mostly ASCII
            memcpy(&eight, p + i, sizeof eight);
            if (!(eight & UINT64_C(0x8080808080808080))) {
                i += sizeof eight;
                continue;
            }
        }
        if (p[i] < 0x80) {
            i++;
            continue;
        }
        uint8_t least, greatest;
        size_t bytes = shape(p[i], &least, &greatest);
        if (bytes == 0 || bytes > len - i || p[i + 1] < least || p[i + 1] > greatest)
            return i;
        for (size_t k = 2; k < bytes; k++)
            if ((p[i + k] & 0xC0) != 0x80)
                return i;
        i += bytes;
    }
    return len;
}

size_t utf8_next(const char *text, size_t len, uint32_t *c)
{
    const uint8_t *p = (const uint8_t *)text;
    if (p[0] < 0x80) {
        *c = p[0];
        return 1;
    }
    uint8_t least, greatest;
    size_t bytes = shape(p[0], &least, &greatest);
    if (bytes == 0 || bytes > len) { // never in checked text, but never a wild read either
        *c = 0xFFFD;
        return 1;
    }
    uint32_t value = p[0] & (0x7FU >> bytes);
    for (size_t k = 1; k < bytes; k++)
        value = value << 6 | (p[k] & 0x3F);
    *c = value;
    return bytes;
}

size_t utf8_put(uint32_t c, char out[UTF8_MAX])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t k = bytes - 1; k > 0; k--) {
        out[k] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)((0xF00U >> bytes & 0xFF) | c);
    return bytes;
}

// Capitals from `first` to `last`, every `step`th, become lower case by adding `add`.
// From UnicodeData.txt.
struct capitals {
    uint16_t first, last;
    int16_t step, add;
};

static const struct capitals table[] = {
    {0x00C0, 0x00D6, 1, 32},   {0x00D8, 0x00DE, 1, 32},    {0x0100, 0x012E, 2, 1},
    {0x0130, 0x0130, 1, -199}, {0x0132, 0x0136, 2, 1},     {0x0139, 0x0147, 2, 1},
    {0x014A, 0x0176, 2, 1},    {0x0178, 0x0178, 1, -121},  {0x0179, 0x017D, 2, 1},
    {0x0370, 0x0372, 2, 1},    {0x0376, 0x0376, 1, 1},     {0x037F, 0x037F, 1, 116},
    {0x0386, 0x0386, 1, 38},   {0x0388, 0x038A, 1, 37},    {0x038C, 0x038C, 1, 64},
    {0x038E, 0x038F, 1, 63},   {0x0391, 0x03A1, 1, 32},    {0x03A3, 0x03AB, 1, 32},
    {0x03CF, 0x03CF, 1, 8},    {0x03D8, 0x03EE, 2, 1},     {0x03F4, 0x03F4, 1, -60},
    {0x03F7, 0x03F7, 1, 1},    {0x03F9, 0x03F9, 1, -7},    {0x03FA, 0x03FA, 1, 1},
    {0x03FD, 0x03FF, 1, -130}, {0x0400, 0x040F, 1, 80},    {0x0410, 0x042F, 1, 32},
    {0x0460, 0x0480, 2, 1},    {0x048A, 0x04BE, 2, 1},     {0x04C0, 0x04C0, 1, 15},
    {0x04C1, 0x04CD, 2, 1},    {0x04D0, 0x052E, 2, 1},     {0x0531, 0x0556, 1, 48},
    {0x1E00, 0x1E94, 2, 1},    {0x1E9E, 0x1E9E, 1, -7615}, {0x1EA0, 0x1EFE, 2, 1},
};

uint32_t utf8_lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    for (size_t i = 0; i < sizeof table / sizeof *table && c >= table[i].first; i++)
        if (c <= table[i].last && (c - table[i].first) % (uint32_t)table[i].step == 0)
            return (uint32_t)((int32_t)c + table[i].add);
    return c;
}

bool utf8_space(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
           c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool utf8_steers(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200E || c == 0x200F ||
           (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void utf8_calm(char *text, size_t len, const char *except)
{
    for (size_t i = 0, step; i < len; i += step) {
        uint32_t c;
        size_t left = len - i;
        bool bad = utf8_bad(text + i, left < UTF8_MAX ? left : UTF8_MAX) == 0;
        step = bad ? 1 : utf8_next(text + i, left, &c);
        if (bad || (utf8_steers(c) && !memchr(except, text[i], strlen(except))))
            memset(text + i, '?', step);
    }
}

bool utf8_locale(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value) // the first that is set decides
            return strcasestr(value, "UTF-8") || strcasestr(value, "utf8");
    }
    return false;
}
