// SPDX-License-Identifier: Apache-2.0
#include "train/checkpoint/safetensors.h"

#include <string.h>

#include "base/utf8.h"

static int fault(const struct scan *scan, const char *what, struct err *err)
{
    return err_set(err, ERR_FORMAT, "byte %zu: %s", scan->origin + scan->at, what);
}

int scan_init(struct scan *scan, const char *text, size_t len, size_t origin, struct err *err)
{
    *scan = (struct scan){text, len, utf8_bad(text, len), origin};
    if (scan->at < len)
        return fault(scan, "this is not UTF-8", err);
    scan->at = 0;
    return 0;
}

// The next character; 0 at the end, since a NUL is an error anyway.
static char peek(const struct scan *scan)
{
    return scan->at < scan->len ? scan->text[scan->at] : '\0';
}

static char next(struct scan *scan)
{
    char c;
    while ((c = peek(scan)) == ' ' || c == '\t' || c == '\n' || c == '\r')
        scan->at++;
    return c;
}

bool scan_is(struct scan *scan, char c)
{
    return next(scan) == c;
}

int scan_expect(struct scan *scan, char c, struct err *err)
{
    if (next(scan) != c)
        return err_set(err, ERR_FORMAT, "byte %zu: expected '%c'", scan->origin + scan->at, c);
    scan->at++;
    return 0;
}

int scan_item(struct scan *scan, char close, bool first, struct err *err)
{
    if (next(scan) == close) {
        scan->at++;
        return 0;
    }
    if (first)
        return 1;
    TRY(scan_expect(scan, ',', err));
    return 1;
}

static int hex4(struct scan *scan, uint32_t *out, struct err *err)
{
    *out = 0;
    for (int i = 0; i < 4; i++, scan->at++) {
        char c = peek(scan);
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a') + 10;
        else
            return fault(scan, "expected four hexadecimal digits", err);
        *out = *out << 4 | digit;
    }
    return 0;
}

// After "\u". Characters above FFFF are two escapes, a high and a low surrogate.
static int unicode_escape(struct scan *scan, struct buf *out, struct err *err)
{
    uint32_t c, low;
    TRY(hex4(scan, &c, err));
    if (c == 0)
        return fault(scan, "a text with a NUL", err);
    if (c >= 0xDC00 && c <= 0xDFFF)
        return fault(scan, "half a surrogate pair", err);
    if (c >= 0xD800 && c <= 0xDBFF) {
        if (scan->len - scan->at < 2 || memcmp(scan->text + scan->at, "\\u", 2) != 0)
            return fault(scan, "half a surrogate pair", err);
        scan->at += 2;
        TRY(hex4(scan, &low, err));
        if (low < 0xDC00 || low > 0xDFFF)
            return fault(scan, "half a surrogate pair", err);
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    char bytes[UTF8_MAX];
    buf_add(out, bytes, utf8_put(c, bytes));
    return 0;
}

static int escape(struct scan *scan, struct buf *out, struct err *err)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char c = peek(scan);
    if (c == 'u') {
        scan->at++;
        return unicode_escape(scan, out, err);
    }
    const char *name = c ? strchr(names, c) : NULL;
    if (!name)
        return fault(scan, "unknown escape", err);
    buf_addc(out, values[name - names]);
    scan->at++;
    return 0;
}

int scan_text(struct scan *scan, struct buf *out, struct err *err)
{
    buf_reset(out);
    if (next(scan) != '"')
        return fault(scan, "expected a text", err);
    scan->at++;
    for (;;) {
        size_t from = scan->at;
        while (scan->at < scan->len && (unsigned char)scan->text[scan->at] >= ' ' &&
               scan->text[scan->at] != '"' && scan->text[scan->at] != '\\')
            scan->at++;
        buf_add(out, scan->text + from, scan->at - from);
        if (scan->at == scan->len)
            return fault(scan, "a text without an end", err);
        if ((unsigned char)scan->text[scan->at] < ' ')
            return fault(scan, "a control character in a text", err);
        if (scan->text[scan->at++] == '"')
            return buf_check(out, err);
        TRY(escape(scan, out, err));
    }
}

int scan_key(struct scan *scan, struct buf *out, struct err *err)
{
    TRY(scan_text(scan, out, err));
    return scan_expect(scan, ':', err);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int scan_whole(struct scan *scan, int64_t *out, struct err *err)
{
    int64_t value = 0;
    char c = next(scan);
    if (!is_digit(c))
        return fault(scan, "expected a whole number", err);
    bool zero = c == '0';
    size_t from = scan->at;
    for (; is_digit(c = peek(scan)); scan->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, c - '0', &value))
            return fault(scan, "the number is too large", err);
    if (c == '.' || c == 'e' || c == 'E' || (zero && scan->at - from > 1))
        return fault(scan, "expected a whole number", err);
    *out = value;
    return 0;
}

static int word(struct scan *scan, const char *text, struct err *err)
{
    size_t len = strlen(text);
    if (scan->len - scan->at < len || memcmp(scan->text + scan->at, text, len) != 0)
        return fault(scan, "expected a value", err);
    scan->at += len;
    return 0;
}

int scan_null(struct scan *scan, struct err *err)
{
    next(scan);
    return word(scan, "null", err);
}

static int digits(struct scan *scan, struct err *err)
{
    if (!is_digit(peek(scan)))
        return fault(scan, "expected a digit", err);
    while (is_digit(peek(scan)))
        scan->at++;
    return 0;
}

static int skip_number(struct scan *scan, struct err *err)
{
    scan->at += peek(scan) == '-';
    if (peek(scan) == '0')
        scan->at++;
    else
        TRY(digits(scan, err));
    if (peek(scan) == '.') {
        scan->at++;
        TRY(digits(scan, err));
    }
    if ((peek(scan) | 32) == 'e') {
        scan->at++;
        scan->at += peek(scan) == '-' || peek(scan) == '+';
        TRY(digits(scan, err));
    }
    return 0;
}

static int skip_value(struct scan *scan, int depth, struct buf *text, struct err *err)
{
    char open = next(scan);
    if (open == '"')
        return scan_text(scan, text, err);
    if (open == '-' || is_digit(open))
        return skip_number(scan, err);
    if (open == 't' || open == 'f' || open == 'n')
        return word(scan, open == 't' ? "true" : open == 'f' ? "false" : "null", err);
    if (open != '[' && open != '{')
        return fault(scan, "expected a value", err);
    if (depth == SCAN_DEPTH_MAX)
        return fault(scan, "nested too deeply", err);
    scan->at++;
    for (bool first = true;; first = false) {
        int rc = scan_item(scan, open == '[' ? ']' : '}', first, err);
        if (rc <= 0)
            return rc;
        TRY(open == '{' ? scan_key(scan, text, err) : 0);
        TRY(skip_value(scan, depth + 1, text, err));
    }
}

int scan_skip(struct scan *scan, struct err *err)
{
    SCOPED(buf_release) struct buf text = {.max = scan->len};
    return skip_value(scan, 0, &text, err);
}

int scan_end(struct scan *scan, struct err *err)
{
    next(scan);
    return scan->at < scan->len ? fault(scan, "data after the end", err) : 0;
}
