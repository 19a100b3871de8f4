// SPDX-License-Identifier: Apache-2.0
// A document on a terminal. Intervals, and what else a page has room for in a cell, stand below the
// row.
#include <assert.h>
#include <string.h>

#include "cmd/table.h"
#include "render/doc.h"

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
        columns[table.count++] =
            (struct table_column){from->brief ? from->brief : from->head,
                                  text                        ? TABLE_LEFT
                                  : from->kind == CELL_AMOUNT ? TABLE_POINT
                                                              : TABLE_RIGHT,
                                  from->priority, bar ? 0 : from->least, from->what,
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
    const bool fact = next->kind == DOC_FACT && last->kind == DOC_TABLE;
    return last->kind == DOC_ITEM ? text || table : last->kind == DOC_TABLE && (text || fact);
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
