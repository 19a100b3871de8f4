// SPDX-License-Identifier: Apache-2.0
#include "cmd/out.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/units.h"
#include "base/utf8.h"

enum {
    LABEL_COLUMNS = 10,
    WIDTH_MIN = 40,
    WIDTH_MAX = 100,
    WIDTH_DEFAULT = 80,
    SPARK_MOST = 60,
    SHORT_PART = 24
};

static bool colour_wanted(const char *color)
{
    if (color && strcmp(color, "always") == 0)
        return true;
    if (color && strcmp(color, "never") == 0)
        return false;
    const char *no_color = getenv("NO_COLOR"); // no-color.org: any value but the empty one
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}

static int width_of(int fd)
{
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_DEFAULT;
    return size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col > WIDTH_MAX ? WIDTH_MAX : size.ws_col;
}

void out_init(struct out *out, const char *color)
{
    memset(out, 0, sizeof *out);
    out->fd = STDOUT_FILENO;
    out->colour = colour_wanted(color);
    out->unicode = utf8_locale();
    out->width = width_of(STDOUT_FILENO);
}

void out_release(struct out *out)
{
    buf_release(&out->text);
}

// A path, a line of another program or a record from elsewhere may hold escapes: bytes that a
// terminal would obey become '?', from `from` to the end.
static void calm(struct buf *text, size_t from)
{
    for (size_t i = from, len; i < text->len; i += len) {
        uint32_t c;
        size_t left = text->len - i;
        bool bad = utf8_bad(text->data + i, left < UTF8_MAX ? left : UTF8_MAX) == 0;
        len = bad ? 1 : utf8_next(text->data + i, left, &c);
        if (bad || (utf8_steers(c) && c != '\n' && c != '\t'))
            memset(text->data + i, '?', len);
    }
}

static void add_format(struct out *out, const char *format, va_list args) PRINTF_LIKE(2, 0);
static void add_format(struct out *out, const char *format, va_list args)
{
    size_t from = out->text.len;
    buf_vprintf(&out->text, format, args);
    calm(&out->text, from);
}

void out_printf(struct out *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_format(out, format, args);
    va_end(args);
}

void out_styled(struct out *out, enum out_style style, const char *format, ...)
{
    static const char *const codes[] = {"",         "\033[1m",  "\033[2m",
                                        "\033[31m", "\033[33m", "\033[32m"};
    bool on = out->colour && style != OUT_PLAIN;
    if (on)
        buf_adds(&out->text, codes[style]);
    va_list args;
    va_start(args, format);
    add_format(out, format, args);
    va_end(args);
    if (on)
        buf_adds(&out->text, "\033[0m");
}

// Columns of UTF-8 text: bytes that do not continue a character. Good enough here.
static int columns(const char *text, size_t len)
{
    int count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

static void add_word(struct out *out, const char *text, size_t len)
{
    size_t from = out->text.len;
    for (size_t i = 0; i < len; i++)
        buf_addc(&out->text, text[i] == OUT_GLUE ? ' ' : text[i]);
    calm(&out->text, from);
}

static bool is_one_of(const char *const *words, const char *word, size_t len)
{
    while (len > 0 && strchr(".,;:)", word[len - 1]))
        len--;
    for (; *words; words++)
        if (strlen(*words) == len && memcmp(*words, word, len) == 0)
            return true;
    return false;
}

// The length of a word with what may not be parted from it: "±82 %", "0.039 USD", "8 min 44 s".
static size_t whole_word(const char *text)
{
    static const char *const units[] = {"%",   "s",  "ms",  "µs",  "min", "h",   "d",   "USD",
                                        "EUR", "GB", "GiB", "MiB", "TB",  "TiB", "kWh", NULL},
                             *const longer[] = {"min", "h", "d", NULL};
    size_t len = strcspn(text, " \n"), last = 0; // where its last part begins
    while (text[len] == ' ' && len > 0) {
        const char *next = text + len + 1;
        const size_t part = strcspn(next, " \n"), unit = next[part] == ' ' ? part + 1 : part;
        const bool number = isdigit((unsigned char)text[len - 1]) != 0;
        const bool goes_on = last > 0 && isdigit((unsigned char)*next) &&
                             is_one_of(longer, text + last, len - last) &&
                             is_one_of(units, next + unit, strcspn(next + unit, " \n"));
        if (!(number && is_one_of(units, next, part)) && !goes_on)
            break;
        last = len + 1;
        len += 1 + part;
    }
    return len;
}

void out_wrap_here(struct out *out, int indent, const char *text)
{
    int at = indent;
    bool first = true;
    while (*text) {
        size_t len = whole_word(text);
        if (columns(text, len) > out->width - indent)
            len = strcspn(text, " \n");
        if (columns(text, len) > out->width - indent) // no line is long enough for the glue
            len = strcspn(text, (const char[]){' ', '\n', OUT_GLUE, '\0'});
        int need = columns(text, len);
        if (!first && at + 1 + need > out->width) {
            buf_addc(&out->text, '\n');
            buf_fill(&out->text, ' ', (size_t)indent);
            at = indent;
        } else if (!first) {
            buf_addc(&out->text, ' ');
            at++;
        }
        add_word(out, text, len);
        at += need;
        first = false;
        text += len;
        if (*text == '\n') {
            buf_addc(&out->text, '\n');
            buf_fill(&out->text, ' ', (size_t)indent);
            at = indent;
            first = true;
        }
        text += strspn(text, (const char[]){' ', '\n', OUT_GLUE, '\0'});
    }
    buf_addc(&out->text, '\n');
}

void out_wrap(struct out *out, int indent, const char *text)
{
    buf_fill(&out->text, ' ', (size_t)indent);
    out_wrap_here(out, indent, text);
}

void out_wrap_take(struct out *out, int indent, struct buf *text)
{
    if (text->len > 0)
        out_wrap(out, indent, buf_str(text));
    out->text.failed |= text->failed;
    buf_release(text);
}

void out_wrapf(struct out *out, int indent, const char *format, ...)
{
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    out_wrap_take(out, indent, &text);
}

void out_bullet(struct out *out, const char *text)
{
    out_printf(out, "  - ");
    out_wrap_here(out, 4, text);
}

void out_row(struct out *out, const char *label, const char *format, ...)
{
    SCOPED(buf_release) struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    if (label)
        out_styled(out, OUT_BOLD, "%-*s ", LABEL_COLUMNS - 1,
                   label); // longer ones too end in a space
    else
        buf_fill(&out->text, ' ', LABEL_COLUMNS);
    out_wrap_here(out, LABEL_COLUMNS, buf_str(&text));
    out->text.failed |= text.failed;
}

// A short part stays on one line: "4 cores", not "4" and "cores".
static void glue(char *text, size_t len)
{
    for (size_t i = 0; i < len && len <= SHORT_PART; i++)
        if (text[i] == ' ')
            text[i] = OUT_GLUE;
}

void out_part(struct buf *row, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    glue(text, strlen(text));
    buf_printf(row, "%s%s", row->len ? ", " : "", text);
}

void out_parts(struct out *out, const char *label, struct buf *row)
{
    if (row->len > 0)
        out_row(out, label, "%s", buf_str(row));
    out->text.failed |= row->failed;
    buf_release(row);
}

void out_fact(struct out *out, const char *label, const char *value)
{
    struct buf row = {0};
    buf_adds(&row, value);
    for (char *part = row.data; part && *part;) {
        size_t len = 0;
        while (part[len] && !(strchr(",;", part[len]) && part[len + 1] == ' '))
            len++;
        glue(part, len);
        part += len + (part[len] ? 2 : 0);
    }
    out_parts(out, label, &row);
}

int out_columns(const char *text)
{
    return columns(text, strlen(text));
}

void out_block(struct buf *line, double share, bool unicode)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    buf_adds(line, (unicode ? blocks : plain)[(size_t)(share * 7.999)]);
}

void out_blocks(struct buf *line, const double *values, size_t count, size_t columns, bool unicode,
                double *low, double *high)
{
    double bins[SPARK_MOST];
    columns = columns < SPARK_MOST ? columns : SPARK_MOST;
    columns = count < columns ? count : columns;
    *low = HUGE_VAL, *high = -HUGE_VAL;
    for (size_t c = 0; c < columns; c++) {
        size_t from = c * count / columns, to = (c + 1) * count / columns;
        bins[c] = 0;
        for (size_t i = from; i < to; i++)
            bins[c] += values[i] / (double)(to - from);
        *low = fmin(*low, bins[c]);
        *high = fmax(*high, bins[c]);
    }
    for (size_t c = 0; c < columns; c++) {
        double share = *high > *low ? (bins[c] - *low) / (*high - *low) : 0;
        out_block(line, share, unicode);
    }
}

void out_sparkline(struct out *out, const char *label, const char *says, const double *values,
                   size_t count, const char *unit)
{
    double low, high;
    SCOPED(buf_release) struct buf line = {0};
    if (count < 2 || out->width <= LABEL_COLUMNS)
        return;
    out_blocks(&line, values, count, (size_t)(out->width - LABEL_COLUMNS), out->unicode, &low,
               &high);
    out_row(out, label, "%s\n%s%s to %s %s", buf_str(&line), says, units_number(low).s,
            units_number(high).s, unit);
    out->text.failed |= line.failed;
}

int out_record(struct out *out, const struct field *fields, const void *record, struct err *err)
{
    TRY(record_to_text(fields, record, &out->text, err));
    buf_addc(&out->text, '\n');
    return 0;
}

int out_write(struct out *out, struct err *err)
{
    int rc = buf_check(&out->text, err);
    if (rc == 0 && out->text.len > 0) {
        rc = fs_write_fd(out->fd, out->text.data, out->text.len, "the output", err);
        if (rc != 0)
            err_hint(err, "the output is incomplete: check its target");
    }
    buf_reset(&out->text);
    return rc;
}

// It may hold a file name or a server's answer: remove terminal escapes.
static void complain(const char *text, size_t len)
{
    static const char from[] = "fare: ";
    SCOPED(out_release) struct out line = {.width = width_of(STDERR_FILENO)};
    SCOPED(free_pointer) char *copy = strndup(text, len), *clean = NULL;
    if (!copy || text_set(&clean, copy, NULL) != 0 || !clean)
        buf_adds(&line.text, "fare: out of memory\n");
    else if (isatty(STDERR_FILENO)) {
        buf_adds(&line.text, from);
        out_wrap_here(&line, (int)strlen(from), clean);
    } else
        buf_printf(&line.text, "%s%s\n", from, clean);
    fputs(line.text.failed ? "fare: out of memory\n" : buf_str(&line.text), stderr);
}

void out_complain(const char *lines)
{
    while (*lines) {
        size_t len = strcspn(lines, "\n");
        complain(lines, len);
        lines += len + (lines[len] == '\n');
    }
}
