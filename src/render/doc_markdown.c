// SPDX-License-Identifier: Apache-2.0
// A document as Markdown.
#include <string.h>

#include "render/doc.h"

// Escapes characters with a meaning inside a line; line starts are our own.
void markdown_text(struct buf *out, const char *text)
{
    for (; text && *text; text++) {
        if (*text == '<')
            buf_adds(out, "&lt;");
        else if (*text == '>')
            buf_adds(out, "&gt;");
        else if (*text == '&')
            buf_adds(out, "&amp;");
        else if ((unsigned char)*text < ' ' || *text == '\x7f')
            buf_addc(out, ' ');
        else {
            if (strchr("\\`*_[]()!|~$", *text))
                buf_addc(out, '\\');
            buf_addc(out, *text);
        }
    }
}

static void put_cell(struct buf *out, const struct doc_table *t, size_t row, size_t c)
{
    const struct cell *cells = &t->cells[row * t->column_count], *cell = &cells[c];
    const size_t end = doc_group_end(t, c);
    struct buf words = {0}, interval = {0}, chips = {0}, besides = {0};
    bool bold = t->rows[row].style == DOC_TOTAL;
    cell_words(cell, &words);
    bold &= words.len > 0;
    buf_adds(out, cell->href ? "[" : "");
    buf_adds(out, bold ? "**" : "");
    markdown_text(out, buf_str(&words));
    buf_adds(out, bold ? "**" : "");
    if (cell->href)
        buf_printf(out, "](%s)", cell->href);
    if (cell_interval(cell, &interval))
        buf_printf(out, " (%s)", buf_str(&interval));
    if (cell->currency) {
        buf_adds(out, ", ");
        cell_local(cell, out);
        buf_printf(out, " %s", cell->currency);
    }
    doc_besides(t, row, c, &besides);
    for (; c < end; c++)
        for (size_t i = 0; i < CELL_CHIPS && cells[c].chips[i].text; i++)
            buf_printf(&chips, "%s%s", chips.len ? ", " : "", cells[c].chips[i].text);
    if (besides.len > 0)
        buf_printf(&chips, "%s%s", chips.len ? ", " : "", besides.data);
    if (chips.len > 0) {
        buf_adds(out, " (");
        markdown_text(out, chips.data);
        buf_adds(out, ")");
    }
    buf_drop(out, &chips);
    buf_drop(out, &words);
    buf_drop(out, &interval);
    buf_drop(out, &besides);
}

static bool shows(const struct doc_column *column)
{
    return !cell_drawn(column->kind) && column->known && !column->joined;
}

static void put_row(struct buf *out, const struct doc_table *t, size_t number)
{
    buf_addc(out, '|');
    for (size_t c = 0; c < t->column_count; c++) {
        if (!shows(&t->columns[c]))
            continue;
        buf_addc(out, ' ');
        put_cell(out, t, number, c);
        buf_adds(out, " |");
    }
    if (t->note_count > 0) {
        buf_addc(out, ' ');
        doc_marks(t, &t->rows[number], out);
        buf_adds(out, " |");
    }
    buf_addc(out, '\n');
}

static void put_table(struct buf *out, const struct doc_table *t)
{
    if (t->row_count == 0)
        return;
    buf_addc(out, '|');
    for (size_t c = 0; c < t->column_count; c++) {
        if (!shows(&t->columns[c]))
            continue;
        buf_addc(out, ' ');
        markdown_text(out, t->columns[c].head);
        buf_adds(out, " |");
    }
    buf_adds(out, t->note_count > 0 ? " notes |\n|" : "\n|");
    for (size_t c = 0; c < t->column_count; c++) {
        enum cell_kind kind = t->columns[c].kind;
        if (shows(&t->columns[c]))
            buf_adds(out, kind == CELL_TEXT || kind == CELL_OFFER ? "---|" : "--:|");
    }
    buf_adds(out, t->note_count > 0 ? "---|\n" : "\n");
    for (size_t r = 0; r < t->row_count && !out->failed; r++)
        put_row(out, t, r);
    for (size_t i = 0; i < t->note_count; i++) {
        buf_printf(out, "%s%zu. ", i == 0 ? "\n" : "", i + 1);
        markdown_text(out, t->notes[i].text);
        buf_addc(out, '\n');
    }
}

static void put_block(struct buf *out, const struct doc_block *block, int level)
{
    switch (block->kind) {
    case DOC_FOLD:
    case DOC_HEADING:
        buf_fill(out, '#', (size_t)(level + block->role));
        buf_addc(out, ' ');
        break;
    case DOC_ITEM:
        buf_adds(out, "- ");
        break;
    case DOC_FACT:
    case DOC_FIGURE:
        buf_adds(out, "- ");
        markdown_text(out, block->text);
        buf_adds(out, ": ");
        break;
    case DOC_TABLE:
        put_table(out, block->table);
        return;
    case DOC_SENTENCE:
    case DOC_UNFOLD:
        break;
    }
    const bool named = block->kind == DOC_FACT || block->kind == DOC_FIGURE;
    markdown_text(out, !named ? block->text : block->more ? block->more : "unknown");
    buf_adds(out, block->sub ? ", " : "");
    markdown_text(out, block->sub);
    buf_addc(out, '\n');
}

void doc_markdown(struct buf *out, const struct doc *doc, int level)
{
    const struct doc_block *last = NULL;
    out->failed |= doc->failed;
    for (size_t i = 0; i < doc->count && !out->failed; i++) {
        const struct doc_block *block = &doc->blocks[i];
        bool nothing = block->kind == DOC_UNFOLD ||
                       (block->kind == DOC_TABLE && block->table->row_count == 0) ||
                       (block->kind == DOC_SENTENCE && block->role >= DOC_HINT);
        if (nothing)
            continue;
        bool goes_on = last && last->kind == block->kind && last->role == block->role;
        if (goes_on && block->kind == DOC_SENTENCE)
            out->data[out->len - 1] = ' '; // one paragraph
        else if (out->len > 0 && !(goes_on && block->kind >= DOC_ITEM && block->kind <= DOC_FIGURE))
            buf_addc(out, '\n');
        put_block(out, block, level);
        last = block;
    }
}
