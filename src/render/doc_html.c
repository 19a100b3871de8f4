// SPDX-License-Identifier: Apache-2.0
// A document as HTML.
#include <limits.h>
#include <string.h>

#include "render/doc.h"
#include "render/markup.h"

static bool is_text(enum cell_kind kind)
{
    return kind == CELL_TEXT || kind == CELL_OFFER;
}

// A name may break anywhere, figures stand to the right; a phone has no room for columns that a
// narrow terminal leaves out.
static const char *class_of(const struct doc_column *column)
{
    static const char *const classes[][2] = {{"long", "long more"}, {"num", "num more"}};
    bool more = column->priority > 0;
    if (cell_drawn(column->kind))
        return more ? "more" : "";
    return classes[!is_text(column->kind)][more];
}

// Columns of this priority and above are left out: a page has room for some only.
static int too_many(const struct doc_table *t)
{
    enum { COLUMNS_MOST = 9 };
    for (int cut = INT_MAX, next;; cut = next) {
        size_t shown = t->note_count > 0;
        next = 0;
        for (size_t c = 0; c < t->column_count; c++) {
            const struct doc_column *column = &t->columns[c];
            if (!column->known || column->joined || column->priority >= cut)
                continue;
            shown++;
            next = column->priority > next ? column->priority : next;
        }
        if (shown <= COLUMNS_MOST || next == 0)
            return cut;
    }
}

static bool shows(const struct doc_column *column, int cut)
{
    return column->known && !column->joined && column->priority < cut;
}

// The text or figure, and below it what is known besides.
static void put_cell(struct buf *out, const struct doc_table *t, size_t row, size_t c)
{
    enum { BEYOND = 3 }; // halves of the longest bar: intervals may go on beyond it
    const struct doc_column *column = &t->columns[c];
    const struct cell *cells = &t->cells[row * t->column_count], *cell = &cells[c];
    const size_t end = doc_group_end(t, c);
    struct buf words = {0}, below = {0}, besides = {0};
    bool chips = false;
    buf_printf(out, "<td class=\"%s\">", class_of(column));
    if (cell->href)
        buf_printf(out, "<a href=\"%s\">", cell->href);
    cell_words(cell, &words);
    if (cell->currency) {
        buf_adds(&words, ", ");
        cell_local(cell, &words);
        buf_printf(&words, " %s", cell->currency);
    }
    if (cell->kind == CELL_BAR && (cell->amount.known || cell->value.known))
        part_bar(out, &cell->bar, column->most * BEYOND / 2, cell->text);
    else if (cell->kind == CELL_RUG)
        part_rug(out, cell->rug);
    else if (cell->kind == CELL_BAR)
        ;
    else if (cell->kind == CELL_OFFER)
        html_offer(out, cell->text);
    else
        (is_text(cell->kind) ? markup_text : html_figure)(out, buf_str(&words));
    buf_adds(out, cell->href ? "</a>" : "");
    (void)cell_interval(cell, &below);
    doc_besides(t, row, c, &besides);
    if (besides.len > 0)
        buf_printf(&below, "%s%s", below.len ? ", " : "", besides.data);
    for (size_t j = c; j < end; j++)
        chips |= cells[j].chips[0].text != NULL;
    if (below.len > 0 || chips)
        buf_adds(out, "<span class=\"id\">");
    for (; c < end; c++)
        for (size_t i = 0; i < CELL_CHIPS && cells[c].chips[i].text; i++) {
            part_chip(out, cells[c].chips[i].tone, cells[c].chips[i].text);
            buf_adds(out, " ");
        }
    markup_words(out, buf_str(&below));
    buf_adds(out, below.len > 0 || chips ? "</span></td>" : "</td>");
    buf_drop(out, &besides);
    buf_drop(out, &words);
    buf_drop(out, &below);
}

static void put_row(struct buf *out, const struct doc_table *t, size_t number, int cut)
{
    static const char *const styles[] = {[DOC_NORMAL] = "<tr>",
                                         [DOC_TOTAL] = "<tr class=\"total\">",
                                         [DOC_PALE] = "<tr class=\"mute\">",
                                         [DOC_BAD] = "<tr class=\"bad\">",
                                         [DOC_WARN] = "<tr class=\"wait\">"};
    struct buf marks = {0};
    buf_adds(out, styles[t->rows[number].style]);
    for (size_t c = 0; c < t->column_count; c++)
        if (shows(&t->columns[c], cut))
            put_cell(out, t, number, c);
    doc_marks(t, &t->rows[number], &marks);
    if (t->note_count > 0)
        html_cell(out, "", buf_str(&marks));
    buf_adds(out, "</tr>\n");
    buf_drop(out, &marks);
}

static void put_head(struct buf *out, const struct doc_column *column)
{
    if (column->kind == CELL_RUG) {
        markup_in(out, "<th scope=\"col\">", column->head, "");
        part_rug_axis(out);
        buf_adds(out, "</th>");
    } else {
        html_head_cell(out, class_of(column), column->head);
    }
}

static void put_table(struct buf *out, const struct doc_table *t)
{
    const int cut = too_many(t);
    if (t->row_count == 0)
        return;
    html_begin_table(out, t->label);
    buf_adds(out, "<thead><tr>");
    for (size_t c = 0; c < t->column_count; c++)
        if (shows(&t->columns[c], cut))
            put_head(out, &t->columns[c]);
    if (t->note_count > 0)
        html_head_cell(out, "", "notes");
    buf_adds(out, "</tr></thead>\n<tbody>\n");
    for (size_t r = 0; r < t->row_count && !out->failed; r++)
        put_row(out, t, r, cut);
    html_end_table(out);
    for (size_t i = 0; i < t->note_count; i++) {
        buf_adds(out, i == 0 ? "<ol>\n" : "");
        html_item(out, t->notes[i].text);
        buf_adds(out, i + 1 == t->note_count ? "</ol>\n" : "");
    }
}

// What stands around a row of blocks of one kind and role; null: nothing.
static const char *around(const struct doc_block *block, bool end)
{
    if (block->kind == DOC_ITEM)
        return end ? "</ul>\n" : "<ul>\n";
    if (block->kind == DOC_FACT)
        return end ? "</tbody></table></div>\n"
                   : "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Facts\">"
                     "<table>\n<tbody>\n";
    if (block->kind == DOC_FIGURE)
        return end ? "</dl>\n" : "<dl class=\"stats\">\n";
    if (block->kind == DOC_SENTENCE && block->role == DOC_VERDICT)
        return end ? "</div>\n" : "<div class=\"verdict\">\n";
    return NULL;
}

// A sentence; commands in it, between quotes, are set as such.
static void put_sentence(struct buf *out, const struct doc_block *block)
{
    static const char *const begins[] = {
        [DOC_ASIDE] = "<p class=\"mute\">", [DOC_DRAWN] = "<p class=\"mute more\">"};
    const char *text = block->text, *begin = begins[block->role], *from, *to;
    buf_adds(out, begin ? begin : "<p>");
    while ((from = strstr(text, "'fare ")) && (to = strchr(from + 1, '\''))) {
        struct buf before = {0}, command = {0};
        buf_add(&before, text, (size_t)(from - text));
        buf_add(&command, from + 1, (size_t)(to - from - 1));
        markup_words(out, buf_str(&before));
        part_code(out, buf_str(&command));
        buf_drop(out, &before);
        buf_drop(out, &command);
        text = to + 1;
    }
    markup_words(out, text);
    buf_adds(out, "</p>\n");
}

static void put_block(struct buf *out, const struct doc_block *block, int level)
{
    switch (block->kind) {
    case DOC_HEADING:
        html_heading(out, level + block->role, block->text);
        break;
    case DOC_SENTENCE:
        put_sentence(out, block);
        break;
    case DOC_ITEM:
        html_item(out, block->text);
        break;
    case DOC_FACT:
        buf_adds(out, "<tr>");
        html_cell(out, "", block->text);
        html_cell(out, "long", block->more);
        buf_adds(out, "</tr>\n");
        break;
    case DOC_FIGURE:
        part_stat(out, block->text, block->more, block->sub);
        break;
    case DOC_TABLE:
        put_table(out, block->table);
        break;
    case DOC_FOLD:
        markup_in(out, "<details><summary>", block->text, "</summary>\n");
        break;
    case DOC_UNFOLD:
        buf_adds(out, "</details>\n");
        break;
    }
}

void doc_html(struct buf *out, const struct doc *doc, int level)
{
    const char *open = NULL; // what ends the row of blocks
    out->failed |= doc->failed;
    for (size_t i = 0; i < doc->count && !out->failed; i++) {
        const struct doc_block *block = &doc->blocks[i];
        if (block->kind == DOC_SENTENCE && block->role == DOC_HINT)
            continue;
        const char *end = around(block, true);
        if (end != open) {
            buf_adds(out, open ? open : "");
            buf_adds(out, end ? around(block, false) : "");
        }
        open = end;
        put_block(out, block, level);
    }
    buf_adds(out, open ? open : "");
}
