// SPDX-License-Identifier: Apache-2.0
#include "cmd/table.h"

#include <assert.h>
#include <string.h>

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

static void add_below(struct buf *below, const char *text, const char *what)
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
                add_below(&below, cell, t->columns[c].below);
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
        add_below(&below, text, "");
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
