// SPDX-License-Identifier: Apache-2.0
#include "record/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

enum { DEPTH_MAX = 2048, FIELDS_MAX = 192 }; // the depth limit is jansson's

struct reader {
    const char *begin, *at, *end;
    int depth;
    bool checked;    // already validated
    bool strict;     // unknown keys are errors
    bool judge;      // values out of range are errors
    struct buf text; // the last string, unescaped
    struct err *err;
};

struct number {
    bool whole;
    int64_t integer; // if whole
    double real;
};

static int read_object(struct reader *r, const struct field *fields, void *record);
static int skip_value(struct reader *r);

static int complain(struct reader *r, const char *expected)
{
    return err_set(r->err, ERR_FORMAT, "byte %zu: expected %s", (size_t)(r->at - r->begin) + 1,
                   expected);
}

static int wrong_type(struct reader *r, const struct field *field, const char *expected)
{
    return err_set(r->err, ERR_FORMAT, "%s: expected %s", field->name, expected);
}

static char peek(struct reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
        r->at++;
    return r->at < r->end ? *r->at : '\0';
}

static bool accept(struct reader *r, char c)
{
    if (peek(r) != c || r->at == r->end)
        return false;
    r->at++;
    return true;
}

// ---- strings

// Four hexadecimal digits; -1 if invalid.
static long hex4(const struct reader *r, const char *p)
{
    long value = 0;
    if (r->end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

// After a backslash. NUL and lone surrogates are refused.
static int read_escape(struct reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at : '\0';
    const char *which = c ? strchr(from, c) : NULL;
    if (which) {
        buf_addc(&r->text, to[which - from]);
        r->at++;
        return 0;
    }
    long code = c == 'u' ? hex4(r, r->at + 1) : -1;
    size_t used = 5;
    if (code >= 0xD800 && code < 0xDC00) {
        const char *low = r->at + 5;
        long second = r->end - low >= 6 && low[0] == '\\' && low[1] == 'u' ? hex4(r, low + 2) : -1;
        code = second >= 0xDC00 && second < 0xE000
                   ? 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00)
                   : -1;
        used = 11;
    }
    if (code <= 0 || (code >= 0xD800 && code < 0xE000))
        return complain(r, "a valid escape");
    char utf8[UTF8_MAX];
    buf_add(&r->text, utf8, utf8_put((uint32_t)code, utf8));
    r->at += used;
    return 0;
}

// Skips ASCII except quotes, backslashes and control characters, eight bytes at a time. Each
// expression sets the top bit of a byte that matches or may match; the loop below decides.
static void skip_plain(struct reader *r)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const char *p = r->at;
    for (uint64_t x; r->end - p >= 8; p += 8) {
        memcpy(&x, p, 8);
        uint64_t quote = x ^ ones * '"', backslash = x ^ ones * '\\';
        if ((x | (x - ones * ' ') | (quote - ones) | (backslash - ones)) & tops)
            break;
    }
    while (p < r->end && (unsigned char)*p >= ' ' && *p != '"' && *p != '\\' &&
           (unsigned char)*p < 0x80)
        p++;
    r->at = p;
}

// Reads a string. `plain` points to its `plain_len` bytes: in the input, or in r->text if it has
// escapes.
static int read_string(struct reader *r, const char **plain, size_t *plain_len)
{
    if (!accept(r, '"'))
        return complain(r, "a string");
    const char *from = r->at;
    bool escaped = false;
    for (;;) {
        skip_plain(r);
        if (r->at == r->end || (unsigned char)*r->at < ' ')
            return complain(r, "the closing quote of a string");
        if (*r->at == '"')
            break;
        if (*r->at != '\\') {
            size_t left = (size_t)(r->end - r->at);
            uint32_t c;
            if (utf8_bad(r->at, left < UTF8_MAX ? left : UTF8_MAX) == 0)
                return complain(r, "UTF-8");
            r->at += utf8_next(r->at, left, &c);
            continue;
        }
        if (!escaped)
            buf_reset(&r->text);
        escaped = true;
        buf_add(&r->text, from, (size_t)(r->at - from));
        r->at++;
        int rc = read_escape(r);
        if (rc != 0)
            return rc;
        from = r->at;
    }
    *plain = from;
    *plain_len = (size_t)(r->at - from);
    if (escaped) {
        buf_add(&r->text, from, *plain_len);
        *plain = buf_str(&r->text);
        *plain_len = r->text.len;
        if (buf_check(&r->text, r->err) != 0)
            return ERR_MEMORY;
    }
    r->at++;
    return 0;
}

// ---- numbers

static const char *digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

static int slow_real(struct reader *r, const char *from, size_t len, double *out)
{
    char small[64], *copy = small;
    if (len >= sizeof small && !(copy = malloc(len + 1)))
        return err_memory(r->err);
    memcpy(copy, from, len);
    copy[len] = '\0';
    *out = strtod(copy, NULL);
    if (copy != small)
        free(copy);
    return isfinite(*out) ? 0 : complain(r, "a number within the range of a double");
}

// A null `out` only validates, which needs the value only if it might overflow.
static int read_number(struct reader *r, struct number *out)
{
    // Powers up to 1e22 and mantissas below 2^53 are exact, so their quotient is rounded only once.
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                  1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    peek(r);
    const char *from = r->at, *p = from;
    bool minus = p < r->end && *p == '-';
    p += minus;
    const char *first = p;
    p = digits(p, r->end);
    if (p == first || (*first == '0' && p > first + 1))
        return complain(r, "a number");
    const char *point = p, *last = p;
    bool whole = true, plain = true;
    if (p < r->end && *p == '.') {
        whole = false;
        last = digits(p + 1, r->end);
        if (last == p + 1)
            return complain(r, "digits after the point");
        p = last;
    }
    if (p < r->end && (*p == 'e' || *p == 'E')) {
        whole = plain = false;
        p++;
        if (p < r->end && (*p == '+' || *p == '-'))
            p++;
        const char *exponent = p;
        p = digits(p, r->end);
        if (p == exponent)
            return complain(r, "digits in the exponent");
    }
    bool short_ = whole ? p - first <= 18 : plain && p - first < 300;
    if (!out && short_) {
        r->at = p;
        return 0;
    }
    struct number unused;
    out = out ? out : &unused;
    size_t decimals = whole ? 0 : (size_t)(last - point) - (last > point);
    int64_t mantissa = 0;
    bool fits = true;
    for (const char *d = first; d < last; d++)
        if (*d != '.')
            fits &= !__builtin_mul_overflow(mantissa, 10, &mantissa) &&
                    !__builtin_add_overflow(mantissa, *d - '0', &mantissa);
    out->whole = whole;
    if (whole) {
        // INT64_MIN is one further from zero than INT64_MAX.
        bool least =
            minus && !fits && p - first == 19 && memcmp(first, "9223372036854775808", 19) == 0;
        if (!fits && !least)
            return complain(r, "an integer of at most 64 bits");
        out->integer = least ? INT64_MIN : minus ? -mantissa : mantissa;
        out->real = (double)out->integer;
    } else if (plain && fits && mantissa < (INT64_C(1) << 53) && decimals <= 22) {
        out->real = (double)mantissa / tens[decimals];
        out->real = minus ? -out->real : out->real;
    } else {
        int rc = slow_real(r, from, (size_t)(p - from), &out->real);
        if (rc != 0)
            return rc;
    }
    r->at = p;
    return 0;
}

// ---- values

static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
        return false;
    r->at += len;
    return true;
}

static int skip_word(struct reader *r)
{
    if (take_word(r, "true") || take_word(r, "false") || take_word(r, "null"))
        return 0;
    return complain(r, "a value");
}

// The next item of a list or object (`*count` starts at 0): 1, or 0 after its end.
static int next_item(struct reader *r, char end, size_t *count)
{
    if ((*count)++ == 0)
        return accept(r, end) ? 0 : 1;
    if (accept(r, ','))
        return 1;
    return accept(r, end) ? 0 : complain(r, end == ']' ? "',' or ']'" : "',' or '}'");
}

static int enter(struct reader *r)
{
    if (++r->depth > DEPTH_MAX)
        return complain(r, "fewer nested levels");
    r->at++;
    return 0;
}

static int skip_list(struct reader *r)
{
    size_t count = 0;
    int rc = enter(r);
    while (rc == 0 && (rc = next_item(r, ']', &count)) > 0)
        rc = skip_value(r);
    r->depth--;
    return rc;
}

// Skips to the next quote or bracket, eight bytes at a time. With bit 5 set, [ is { and ] is }.
static void find_stop(struct reader *r)
{
    static const bool stops[256] = {
        ['"'] = true, ['['] = true, ['{'] = true, [']'] = true, ['}'] = true};
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    const uint64_t wanted[] = {ones * '"', ones * '{', ones * '}'};
    for (; r->end - r->at >= 8; r->at += 8) {
        uint64_t bytes, found = 0;
        memcpy(&bytes, r->at, 8);
        bytes |= ones << 5;
        for (int i = 0; i < 3; i++) {
            uint64_t off = bytes ^ wanted[i]; // 0 for a match
            found |= (off - ones) & ~off & tops;
        }
        if (found)
            break;
    }
    while (r->at < r->end && !stops[(unsigned char)*r->at])
        r->at++;
}

// Skips a validated list or object to its last bracket, ignoring brackets in strings.
static int pass_over(struct reader *r)
{
    size_t depth = 0;
    do {
        find_stop(r);
        if (r->at == r->end)
            return complain(r, "the end of a list or object");
        if (*r->at == '"') {
            const char *from = r->at++;
            while (r->at < r->end && *r->at != '"') {
                r->at += *r->at == '\\';
                r->at += r->at < r->end;
            }
            if (r->at == r->end) {
                r->at = from;
                return complain(r, "the end of a string");
            }
        } else {
            depth += *r->at == '[' || *r->at == '{' ? 1 : (size_t)-1;
        }
        r->at++;
    } while (depth > 0);
    return 0;
}

static int skip_value(struct reader *r)
{
    const char *text;
    size_t len;
    static const struct field none[] = {FIELD_END};
    char first = peek(r);
    if (r->checked && (first == '[' || first == '{'))
        return pass_over(r);
    switch (first) {
    case '"':
        return read_string(r, &text, &len);
    case '{':
        return read_object(r, none, NULL);
    case '[':
        return skip_list(r);
    case '-':
    case '0' ... '9':
        return read_number(r, NULL);
    default:
        return skip_word(r);
    }
}

static int read_amount(struct reader *r, const struct field *field, struct maybe_money *member)
{
    struct maybe_money amount = field_amount(field, buf_str(&r->text));
    if (!amount.known && !amount.unknown && r->judge)
        return err_set(r->err, ERR_FORMAT, "%s: '%.40s' is %s", field->name, buf_str(&r->text),
                       field->range->not_so);
    if (member)
        *member = amount;
    return 0;
}

// A text, or an amount, which is one in JSON. A null `member` only validates.
static int read_text(struct reader *r, const struct field *field, void *member)
{
    const char *text;
    size_t len;
    TRY(read_string(r, &text, &len));
    TRY(field_bound_text(field, len, r->err));
    bool amount = field->kind == FIELD_AMOUNT;
    if (!member && !(r->judge && amount))
        return 0;
    if (text != r->text.data) {
        buf_reset(&r->text);
        buf_add(&r->text, text, len);
        TRY(buf_check(&r->text, r->err));
    }
    return amount ? read_amount(r, field, member) : text_set(member, buf_str(&r->text), r->err);
}

static int add_real(struct reader *r, struct list *list, size_t *capacity, double value)
{
    TRY(array_grow(&list->items, list->count, capacity, sizeof value, r->err));
    ((double *)list->items)[list->count++] = value;
    return 0;
}

// Whether a value is to be kept; `*rc` is an error if it has to be refused.
static bool judge(struct reader *r, const struct field *field, double value, int *rc)
{
    bool fits = field_fits(field, value);
    *rc = fits || !r->judge ? 0
                            : err_set(r->err, ERR_FORMAT, "%s: %.12g is %s", field->name, value,
                                      field->range->not_so);
    return fits;
}

static int read_item(struct reader *r, const struct field *field, struct list *list, size_t index,
                     size_t *capacity)
{
    int rc;
    if (field->kind == FIELD_REALS) {
        struct number number;
        char c = peek(r);
        if (c != '-' && !(c >= '0' && c <= '9'))
            return wrong_type(r, field, "a list of numbers");
        if (!list && !r->judge)
            return read_number(r, NULL);
        TRY(read_number(r, &number));
        bool kept = judge(r, field, number.real, &rc) && list;
        return kept ? add_real(r, list, capacity, number.real) : rc;
    }
    if (field->kind == FIELD_TEXTS) {
        if (peek(r) != '"')
            return wrong_type(r, field, "a list of texts");
        char *text = NULL;
        rc = read_text(r, field, list ? &text : NULL);
        if (rc == 0 && text)
            rc = texts_add(list, text, r->err);
        free(text);
        return rc;
    }
    void *item = list ? list_add(list, field->sub_size, r->err) : NULL;
    if (list && !item)
        return ERR_MEMORY;
    rc = read_object(r, field->sub, item);
    if (rc != 0)
        err_context(r->err, "%s[%zu]", field->name, index);
    return rc;
}

static int read_list(struct reader *r, const struct field *field, struct list *list)
{
    if (peek(r) != '[')
        return wrong_type(r, field, "a list");
    size_t count = 0, capacity = 0;
    int rc = enter(r);
    if (list)
        list->known = true;
    while (rc == 0 && (rc = next_item(r, ']', &count)) > 0) {
        rc = field_bound_list(field, count, r->err);
        if (rc == 0)
            rc = read_item(r, field, list, count - 1, &capacity);
    }
    r->depth--;
    return rc;
}

static int read_numeric(struct reader *r, const struct field *field, void *at)
{
    struct number number;
    char c = peek(r);
    const char *expected = field->kind == FIELD_INT ? "an integer" : "a number";
    if (c != '-' && !(c >= '0' && c <= '9'))
        return wrong_type(r, field, expected);
    bool needed = at || r->judge || field->kind == FIELD_INT;
    TRY(read_number(r, needed ? &number : NULL));
    if (field->kind == FIELD_INT && !number.whole)
        TRY(wrong_type(r, field, expected));
    int rc = 0;
    bool kept = needed && judge(r, field, number.real, &rc) && at;
    if (kept && field->kind == FIELD_INT)
        *(struct maybe_int *)at = some_int(number.integer);
    else if (kept)
        *(struct maybe_real *)at = some_real(number.real);
    return rc;
}

static int read_field(struct reader *r, const struct field *field, void *at)
{
    int rc;
    switch (field->kind) {
    case FIELD_TEXT:
    case FIELD_AMOUNT:
        return peek(r) == '"' ? read_text(r, field, at) : wrong_type(r, field, "a text");
    case FIELD_INT:
    case FIELD_REAL:
        return read_numeric(r, field, at);
    case FIELD_BOOL: {
        peek(r);
        bool yes = take_word(r, "true");
        if (!yes && !take_word(r, "false"))
            return wrong_type(r, field, "true or false");
        if (at)
            *(struct maybe_bool *)at = some_bool(yes);
        return 0;
    }
    case FIELD_OBJECT:
        rc = read_object(r, field->sub, at);
        if (rc != 0)
            err_context(r->err, "%s", field->name);
        return rc;
    case FIELD_LIST:
    case FIELD_TEXTS:
    case FIELD_REALS:
        return read_list(r, field, at);
    }
    return ERR_FAIL;
}

// Finds the row with this name. Records are written in the table's order, so the search starts
// after the last row found.
static const struct field *find(const struct field *fields, size_t *next, const char *key,
                                size_t len)
{
    for (int from_start = 0; from_start < 2 && len > 0; from_start++) {
        const struct field *end = from_start ? &fields[*next] : NULL;
        for (const struct field *f = from_start ? fields : &fields[*next]; f != end && f->name; f++)
            if (f->name[0] == key[0] && strncmp(f->name, key, len) == 0 && f->name[len] == '\0') {
                *next = (size_t)(f - fields) + 1;
                return f;
            }
    }
    return NULL;
}

static int read_object(struct reader *r, const struct field *fields, void *record)
{
    if (peek(r) != '{')
        return err_set(r->err, ERR_FORMAT, "expected an object");
    uint64_t seen[FIELDS_MAX / 64] = {0};
    size_t count = 0, next = 0;
    int rc = enter(r);
    while (rc == 0 && (rc = next_item(r, '}', &count)) > 0) {
        const char *key;
        size_t len;
        rc = read_string(r, &key, &len);
        if (rc != 0)
            break;
        const struct field *field = find(fields, &next, key, len);
        size_t index = field ? (size_t)(field - fields) : 0;
        if (!accept(r, ':')) {
            rc = complain(r, "':'");
        } else if (!field && r->strict) {
            rc = err_set(r->err, ERR_FORMAT, "'%.*s' is not known", len < 40 ? (int)len : 40, key);
        } else if (!field) {
            rc = skip_value(r);
        } else if (index < FIELDS_MAX && seen[index / 64] >> index % 64 & 1) {
            rc = err_set(r->err, ERR_FORMAT, "%s: duplicate key", field->name);
        } else {
            if (index < FIELDS_MAX)
                seen[index / 64] |= UINT64_C(1) << index % 64;
            rc = read_field(r, field, record ? (char *)record + field->at : NULL);
        }
    }
    r->depth--;
    return rc;
}

static int read_whole(struct reader *r, const struct field *fields, void *record)
{
    int rc = read_object(r, fields, record);
    if (rc == 0) {
        peek(r);
        if (r->at != r->end)
            rc = complain(r, "nothing after the object");
    }
    buf_release(&r->text);
    return rc;
}

int record_from_text(const struct field *fields, const char *text, size_t len, void *record,
                     struct err *err)
{
    struct reader r = {.begin = text, .at = text, .end = text + len, .err = err};
    return read_whole(&r, fields, record);
}

int record_judge_text(const struct field *fields, const char *text, size_t len, struct err *err)
{
    struct reader r = {.begin = text, .at = text, .end = text + len, .judge = true, .err = err};
    return read_whole(&r, fields, NULL);
}

int record_from_checked(const struct field *fields, const char *text, size_t len, void *record,
                        struct err *err)
{
    struct reader r = {.begin = text, .at = text, .end = text + len, .checked = true, .err = err};
    return read_whole(&r, fields, record);
}

int record_from_text_strict(const struct field *fields, const char *text, size_t len, void *record,
                            struct err *err)
{
    struct reader r = {
        .begin = text, .at = text, .end = text + len, .strict = true, .judge = true, .err = err};
    return read_whole(&r, fields, record);
}

int record_read_string(const char *text, size_t len, struct buf *to, struct err *err)
{
    struct reader r = {.begin = text, .at = text, .end = text + len, .err = err};
    const char *plain;
    size_t plain_len;
    buf_reset(to);
    int rc = read_string(&r, &plain, &plain_len);
    if (rc == 0 && r.at != r.end)
        rc = complain(&r, "nothing after the string");
    if (rc == 0) {
        buf_add(to, plain, plain_len);
        rc = buf_check(to, err);
    }
    buf_release(&r.text);
    return rc;
}
