// SPDX-License-Identifier: Apache-2.0
#include "cmd/out.h"

#include <assert.h>
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
#include "render/doc.h"

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
    if (text->len > from)
        utf8_calm(text->data + from, text->len - from, "\n\t");
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

// ==== documents ====
// A document on a terminal. Intervals, and what else a page has room for in a cell, stand below the
// row.

static void join(struct buf *line, const char *text, const char *what)
{
    buf_printf(line, "%s%s%s%s", line->len > 0 ? "; " : "", text, *what ? " " : "", what);
}

// Columns are narrow: "99.08%".
static void tighten(struct buf *words)
{
    if (words->len > 2 && strcmp(words->data + words->len - 2, " %") == 0) {
        words->len -= 2;
        buf_addc(words, '%');
    }
}

static void add_below(struct buf *below, const struct doc_column *column, const struct cell *cell)
{
    struct buf words = {0};
    if (column->interval) // it has its own column
        return;
    if (cell->sub && cell->kind != CELL_DATE && cell->kind != CELL_OFFER)
        join(below, cell->sub, "");
    bool interval = cell_interval(cell, &words);
    tighten(&words);
    if (interval && cell->verdict)
        buf_printf(below, "%s%s (%s)", below->len > 0 ? "; " : "", cell->verdict, buf_str(&words));
    else if (interval && column->what)
        join(below, buf_str(&words), column->what);
    buf_drop(below, &words);
}

static bool is_drawn(const struct doc_column *column)
{
    return !cell_drawn(column->kind) || column->least > 0;
}

// In halves of a column, so that small values still show.
static void add_bar(const struct out *out, const struct doc_column *column, double value,
                    struct buf *text)
{
    int halves = column->most > 0 ? (int)(value / column->most * column->least * 2 + 0.5) : 0;
    for (; halves > 1; halves -= 2)
        buf_adds(text, out->unicode ? "█" : "#");
    if (halves > 0)
        buf_adds(text, out->unicode ? "▌" : ":");
}

// One text for each column of the terminal's table: an amount in another currency has its own.
static void add_row(const struct out *out, struct table *table, const struct doc_table *t,
                    size_t number)
{
    static const enum out_style styles[] = {[DOC_NORMAL] = OUT_PLAIN,
                                            [DOC_TOTAL] = OUT_BOLD,
                                            [DOC_PALE] = OUT_DIM,
                                            [DOC_BAD] = OUT_RED,
                                            [DOC_WARN] = OUT_YELLOW};
    const struct doc_row *row = &t->rows[number];
    struct buf texts[TABLE_COLUMNS] = {0}, below = {0}, marks = {0};
    const char *cells[TABLE_COLUMNS];
    size_t n = 0;
    for (size_t c = 0; c < t->column_count; c++) {
        const struct cell *cell = &t->cells[number * t->column_count + c];
        if (!is_drawn(&t->columns[c]))
            continue;
        if (cell->kind == CELL_BAR) {
            add_bar(out, &t->columns[c], cell->value.v, &texts[n++]);
            continue;
        }
        cell_words(cell, &texts[n]);
        tighten(&texts[n++]);
        for (size_t i = 0; i < CELL_CHIPS && cell->chips[i].text; i++)
            buf_printf(&texts[n - 1], "%s%s", texts[n - 1].len ? ", " : "", cell->chips[i].text);
        if (t->columns[c].interval && !cell_interval(cell, &texts[n]) && cell->sub)
            buf_adds(&texts[n], cell->sub);
        n += t->columns[c].interval != NULL;
        if (t->columns[c].currency)
            cell_local(cell, &texts[n++]);
        add_below(&below, &t->columns[c], cell);
    }
    doc_marks(t, row, &marks);
    if (t->note_count > 0)
        buf_printf(&texts[n++], marks.len > 0 ? "[%s]" : "%s", buf_str(&marks));
    if (row->below)
        join(&below, row->below, "");
    for (size_t i = 0; i < n; i++)
        cells[i] = buf_str(&texts[i]);
    table_row(table, styles[row->style], cells, buf_str(&below));
    for (size_t i = 0; i < n; i++)
        buf_drop(&table->rows, &texts[i]);
    buf_drop(&table->rows, &below);
    buf_drop(&table->rows, &marks);
}

static void put_table(struct out *out, const struct doc_table *t)
{
    struct table_column columns[TABLE_COLUMNS] = {0};
    struct table table = {.columns = columns};
    for (size_t c = 0; c < t->column_count; c++) {
        const struct doc_column *from = &t->columns[c];
        bool bar = from->kind == CELL_BAR;
        bool text = from->kind == CELL_TEXT || from->kind == CELL_OFFER || bar;
        if (!is_drawn(from))
            continue;
        assert(table.count + 4 <= TABLE_COLUMNS);
        columns[table.count++] = (struct table_column){from->brief ? from->brief : from->head,
                                                       text                        ? TABLE_LEFT
                                                       : from->kind == CELL_AMOUNT ? TABLE_POINT
                                                                                   : TABLE_RIGHT,
                                                       from->priority,
                                                       bar ? 0 : from->least,
                                                       from->what,
                                                       from->kind == CELL_OFFER};
        if (from->interval)
            columns[table.count++] =
                (struct table_column){from->interval, TABLE_LEFT, from->priority + 4};
        if (from->currency)
            columns[table.count++] = (struct table_column){from->currency, TABLE_POINT};
    }
    if (t->note_count > 0)
        columns[table.count++] = (struct table_column){"", TABLE_LEFT};
    for (size_t r = 0; r < t->row_count; r++)
        add_row(out, &table, t, r);
    table_print(&table, out);
    for (size_t i = 0; i < t->note_count; i++) {
        struct buf text = {0};
        buf_printf(&text, "%s%s", t->notes[i].text, t->notes[i].hint ? t->notes[i].hint : "");
        out_printf(out, "[%zu] ", i + 1);
        out_wrap_here(out, 4, buf_str(&text));
        buf_drop(&out->text, &text);
    }
}

// Whether an empty line stands between them.
static bool is_apart(const struct doc_block *last, const struct doc_block *next)
{
    const bool text = next->kind == DOC_SENTENCE, table = next->kind == DOC_TABLE;
    if (next->kind == DOC_HEADING || next->kind == DOC_FOLD)
        return true;
    if (last->kind == DOC_SENTENCE) // the answer, and the rest
        return last->role == DOC_VERDICT && (table || (text && next->role != DOC_VERDICT));
    return last->kind == DOC_ITEM ? text || table : last->kind == DOC_TABLE && text;
}

void out_doc(struct out *out, const struct doc *doc)
{
    const struct doc_block *last = NULL;
    out->text.failed |= doc->failed;
    for (size_t i = 0; i < doc->count && !out->text.failed; i++) {
        const struct doc_block *block = &doc->blocks[i];
        if (block->kind == DOC_UNFOLD || (block->table && block->table->row_count == 0) ||
            (block->kind == DOC_SENTENCE && block->role == DOC_DRAWN))
            continue;
        bool heading = block->kind == DOC_HEADING || block->kind == DOC_FOLD;
        if (last && is_apart(last, block))
            out_printf(out, "\n");
        if (heading && out_columns(block->text) <= out->width)
            out_styled(out, OUT_BOLD, "%s\n", block->text);
        else if (heading)
            out_wrap(out, 0, block->text);
        else if (block->kind == DOC_SENTENCE)
            out_wrap(out, 0, block->text);
        else if (block->kind == DOC_ITEM)
            out_bullet(out, block->text);
        else if (block->kind == DOC_FIGURE)
            out_row(out, block->text, "%s%s%s", block->more ? block->more : "unknown",
                    block->sub ? ", " : "", block->sub ? block->sub : "");
        else if (block->kind == DOC_FACT)
            out_fact(out, block->text, block->more);
        else if (block->kind == DOC_TABLE)
            put_table(out, block->table);
        last = block;
    }
}

// ==== tables ====

enum { BROKEN = 2, NAME_LEAST = 10 }; // columns before a row with its names above it

struct layout {
    const struct table *table;
    struct out *out;
    int widths[TABLE_COLUMNS]; // 0: left out
    int leads[TABLE_COLUMNS];  // TABLE_POINT: columns up to the point
    bool known[TABLE_COLUMNS];
    size_t names; // the first columns, never cut
    size_t last;  // shown
};

void table_row(struct table *t, enum out_style style, const char *const *cells, const char *below)
{
    buf_addc(&t->rows, (char)('0' + style));
    for (size_t c = 0; c < t->count; c++)
        buf_add(&t->rows, cells[c], strlen(cells[c]) + 1);
    buf_add(&t->rows, below ? below : "", below ? strlen(below) + 1 : 1);
}

// The cells of the row at `row` and the text below it; returns the next row.
static const char *read_row(const struct table *t, const char *row, const char **cells,
                            const char **below)
{
    const char *p = row + 1;
    for (size_t c = 0; c < t->count; c++, p += strlen(p) + 1)
        cells[c] = p;
    *below = p;
    return p + strlen(p) + 1;
}

// Columns of a number before its point; 0: it is no number.
static int lead_of(const char *text)
{
    size_t sign = strspn(text, "~<>$+-"), digits = strspn(text + sign, "0123456789");
    return digits > 0 ? (int)(sign + digits) : 0;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void measure(struct layout *l)
{
    const struct table *t = l->table;
    int tails[TABLE_COLUMNS] = {0};
    const char *cells[TABLE_COLUMNS], *below;
    const char *end = buf_str(&t->rows) + t->rows.len;
    for (const char *row = buf_str(&t->rows); row < end;) {
        row = read_row(t, row, cells, &below);
        for (size_t c = 0; c < t->count; c++) {
            int width = out_columns(cells[c]), lead = lead_of(cells[c]);
            l->known[c] |= width > 0 && strcmp(cells[c], "-") != 0;
            l->widths[c] = larger(l->widths[c], width);
            l->leads[c] = larger(l->leads[c], lead);
            tails[c] = larger(tails[c], lead > 0 ? width - lead : 0);
        }
    }
    for (size_t c = 0; c < t->count; c++) {
        const char *head = t->columns[c].head;
        if (t->columns[c].align == TABLE_POINT)
            l->widths[c] = larger(l->widths[c], l->leads[c] + tails[c]);
        l->widths[c] = larger(l->widths[c], head ? out_columns(head) : 0);
        l->leads[c] = l->widths[c] - tails[c];
        l->known[c] |= c == 0;
        if (!l->known[c])
            l->widths[c] = 0;
    }
}

static int least_of(const struct layout *l, size_t c)
{
    int least = l->table->columns[c].least;
    return least > 0 && least < l->widths[c] ? least : l->widths[c];
}

static int total(const struct layout *l, bool least)
{
    int sum = l->table->indent - 1;
    for (size_t c = 0; c < l->table->count; c++)
        if (l->widths[c] > 0)
            sum += 1 + (least ? least_of(l, c) : l->widths[c]);
    return sum;
}

static void leave_out(struct layout *l)
{
    const struct table *t = l->table;
    while (total(l, true) > l->out->width) {
        size_t next = t->count;
        for (size_t c = 0; c < t->count; c++)
            if (l->widths[c] > 0 && t->columns[c].priority > 0 &&
                (next == t->count || t->columns[c].priority > t->columns[next].priority))
                next = c;
        if (next == t->count)
            return;
        l->widths[next] = 0;
    }
}

// Makes room by names above their rows: the last name, or all.
static void break_rows(struct layout *l, int over)
{
    int left = l->widths[l->names - 1] - over;
    if (left >= NAME_LEAST) {
        l->widths[l->names - 1] = left;
        return;
    }
    memset(l->widths, 0, l->names * sizeof *l->widths);
    l->widths[0] = BROKEN;
}

// Shortens the widest columns first, the names last.
static void shorten(struct layout *l)
{
    int least[TABLE_COLUMNS];
    for (size_t c = 0; c < l->table->count; c++)
        least[c] = least_of(l, c);
    int over;
    while ((over = total(l, false) - l->out->width) > 0) {
        size_t widest = l->table->count;
        for (size_t c = 0; c < l->table->count; c++)
            if (l->widths[c] > least[c] &&
                (widest == l->table->count || l->widths[c] > l->widths[widest]))
                widest = c;
        if (widest == l->table->count) {
            break_rows(l, over);
            return;
        }
        l->widths[widest]--;
    }
}

static void put_cell(struct buf *line, int width, const char *text, int pad)
{
    int count = out_columns(text);
    if (count > width) {
        const char *p = text;
        for (int i = 0; i < width - 1; i++)
            for (p++; ((unsigned char)*p & 0xC0) == 0x80; p++)
                ;
        buf_add(line, text, (size_t)(p - text));
        buf_adds(line, "…");
    } else {
        buf_fill(line, ' ', (size_t)pad);
        buf_adds(line, text);
        buf_fill(line, ' ', (size_t)(width - count - pad));
    }
}

static int pad_of(const struct layout *l, size_t c, const char *text)
{
    int slack = l->widths[c] - out_columns(text), pad = 0, lead = lead_of(text);
    if (l->table->columns[c].align == TABLE_RIGHT)
        pad = slack;
    else if (l->table->columns[c].align == TABLE_POINT) // other texts end above the cents
        pad = l->leads[c] - (lead > 0 ? lead : out_columns(text) - 3);
    return larger(pad < slack ? pad : slack, 0);
}

static void add_line_below(struct buf *below, const char *text, const char *what)
{
    buf_printf(below, "%s%s%s%s", below->len > 0 ? "; " : "", text, *what ? " " : "", what);
}

// The names, if one is too long, on lines of their own.
static bool put_names(const struct layout *l, const char *const *cells, struct buf *line)
{
    bool apart = false;
    int at = l->table->indent;
    for (size_t c = 0; c < l->names; c++)
        apart |= out_columns(cells[c]) > l->widths[c];
    for (size_t c = 0; apart && c < l->names; c++) {
        int width = out_columns(cells[c]);
        if (c > 0 && at + width > l->out->width) {
            buf_trim(line);
            buf_addc(line, '\n');
            buf_fill(line, ' ', (size_t)l->table->indent);
            at = l->table->indent;
        }
        buf_adds(line, cells[c]);
        buf_fill(line, ' ', (size_t)larger(l->widths[c] - width, 0) + 1);
        at += larger(l->widths[c], width) + 1;
    }
    if (apart) {
        buf_trim(line);
        buf_addc(line, '\n');
        buf_fill(line, ' ', (size_t)l->table->indent);
    }
    return apart;
}

static void put_row(const struct layout *l, enum out_style style, const char *const *cells,
                    const char *text, bool head)
{
    const struct table *t = l->table;
    SCOPED(buf_release) struct buf line = {0}, below = {0};
    const char *wrapped = NULL;
    int at = t->indent;
    buf_fill(&line, ' ', (size_t)t->indent);
    bool apart = put_names(l, cells, &line);
    for (size_t c = 0; c < t->count; c++) {
        const char *cell = c < l->names && apart ? "" : cells[c];
        if (l->widths[c] == 0) {
            if (l->known[c] && t->columns[c].below && *cell && strcmp(cell, "-") != 0 && !head)
                add_line_below(&below, cell, t->columns[c].below);
            continue;
        }
        if (c == l->last && t->columns[c].align == TABLE_LEFT && out_columns(cell) > l->widths[c])
            wrapped = cell;
        else
            put_cell(&line, l->widths[c], cell, pad_of(l, c, cell));
        at += c == l->last ? 0 : l->widths[c] + 1;
        if (c != l->last)
            buf_addc(&line, ' ');
    }
    if (!wrapped)
        buf_trim(&line);
    out_styled(l->out, style, "%s", buf_str(&line));
    if (wrapped)
        out_wrap_here(l->out, at, wrapped);
    else
        out_printf(l->out, "\n");
    if (*text)
        add_line_below(&below, text, "");
    if (below.len > 0)
        out_wrap(l->out, t->indent + 2, buf_str(&below));
    l->out->text.failed |= line.failed || below.failed;
}

void table_print(struct table *t, struct out *out)
{
    assert(t->count > 0 && t->count <= TABLE_COLUMNS);
    struct layout l = {.table = t, .out = out};
    const char *cells[TABLE_COLUMNS], *below;
    bool heads = false;
    if (t->rows.failed) { // the last row may not be whole
        out->text.failed = true;
        buf_release(&t->rows);
        return;
    }
    for (l.names = 1; l.names < t->count && t->columns[l.names].name;)
        l.names++;
    measure(&l);
    leave_out(&l);
    shorten(&l);
    for (size_t c = 0; c < t->count; c++) {
        l.last = l.widths[c] > 0 ? c : l.last;
        cells[c] = t->columns[c].head ? t->columns[c].head : "";
        heads |= t->columns[c].head != NULL;
    }
    if (heads)
        put_row(&l, OUT_BOLD, cells, "", true);
    const char *end = buf_str(&t->rows) + t->rows.len;
    for (const char *row = buf_str(&t->rows); row < end;) {
        enum out_style style = (enum out_style)(*row - '0');
        row = read_row(t, row, cells, &below);
        put_row(&l, style, cells, below, false);
    }
    buf_release(&t->rows);
}
