// SPDX-License-Identifier: Apache-2.0
#include "render/doc.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/units.h"
#include "render/markup.h"

enum { CHUNK = 4096 };

struct doc_chunk {
    struct doc_chunk *next;
    size_t used, size;
    char bytes[];
};

void doc_release(struct doc *doc)
{
    for (struct doc_chunk *chunk = doc->texts, *next; chunk; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    for (size_t i = 0; i < doc->count; i++) {
        struct doc_table *t = doc->blocks[i].table;
        if (!t)
            continue;
        free(t->columns);
        free(t->cells);
        free(t->rows);
        free(t->notes);
        free(t->marks);
        free(t);
    }
    free(doc->blocks);
    *doc = (struct doc){0};
}

int doc_check(const struct doc *doc, struct err *err)
{
    return doc->failed ? err_memory(err) : 0;
}

// ---- texts

// Null after a failure.
static char *room(struct doc *doc, size_t len)
{
    struct doc_chunk *chunk = doc->texts;
    if (!doc->failed && (!chunk || chunk->size - chunk->used < len)) {
        size_t size = len > CHUNK ? len : CHUNK;
        chunk = malloc(sizeof *chunk + size);
        doc->failed = !chunk;
        if (chunk) {
            *chunk = (struct doc_chunk){.next = doc->texts, .size = size};
            doc->texts = chunk;
        }
    }
    if (doc->failed)
        return NULL;
    chunk->used += len;
    return chunk->bytes + chunk->used - len;
}

// A copy on one line; null stays null.
static const char *keep(struct doc *doc, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? room(doc, size) : NULL;
    for (size_t i = 0; copy && i < size; i++)
        copy[i] = text[i] == '\n' || text[i] == '\t' ? ' ' : text[i];
    return copy ? copy : text ? "" : NULL;
}

const char *doc_text(struct doc *doc, const char *format, ...)
{
    struct buf text = {0};
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    const char *kept = doc_take(doc, &text);
    return kept ? kept : "";
}

const char *doc_take(struct doc *doc, struct buf *text)
{
    doc->failed |= text->failed;
    const char *kept = text->len > 0 ? keep(doc, text->data) : NULL;
    buf_release(text);
    return kept;
}

const char *doc_link(struct doc *doc, const char *before, const char *name)
{
    struct buf address = {0};
    if (!before)
        return NULL;
    buf_adds(&address, before);
    markup_address(&address, name);
    return doc_take(doc, &address);
}

// ---- blocks

// One more item, zeroed, at the end of a list; null after a failure.
static void *push(struct doc *doc, void *list, size_t *count, size_t *cap, size_t size)
{
    char *items;
    doc->failed = doc->failed || array_grow(list, *count, cap, size, NULL) != 0;
    if (doc->failed)
        return NULL;
    memcpy(&items, list, sizeof items);
    return memset(items + size * (*count)++, 0, size);
}

static struct doc_block *add(struct doc *doc, enum doc_kind kind, int role, const char *text)
{
    struct doc_block *block = push(doc, &doc->blocks, &doc->count, &doc->cap, sizeof *block);
    if (block)
        *block = (struct doc_block){.kind = kind, .role = role, .text = keep(doc, text)};
    return block;
}

void doc_heading(struct doc *doc, int depth, const char *text)
{
    add(doc, DOC_HEADING, depth, text);
}

void doc_say(struct doc *doc, enum doc_role role, const char *text)
{
    if (text && *text)
        add(doc, DOC_SENTENCE, role, text);
}

void doc_say_all(struct doc *doc, enum doc_role role, char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        doc_say(doc, role, texts[i]);
}

void doc_item(struct doc *doc, const char *text)
{
    add(doc, DOC_ITEM, 0, text);
}

void doc_fact(struct doc *doc, const char *name, const char *value)
{
    struct doc_block *block = value && *value ? add(doc, DOC_FACT, 0, name) : NULL;
    if (block)
        block->more = keep(doc, value);
}

void doc_figure(struct doc *doc, const char *name, const char *value, const char *sub)
{
    struct doc_block *block = add(doc, DOC_FIGURE, 0, name);
    if (!block)
        return;
    block->more = keep(doc, value && *value ? value : NULL);
    block->sub = keep(doc, sub && *sub ? sub : NULL);
}

void doc_fold(struct doc *doc, const char *summary)
{
    add(doc, DOC_FOLD, 0, summary);
}

void doc_unfold(struct doc *doc)
{
    add(doc, DOC_UNFOLD, 0, NULL);
}

// ---- tables

void doc_table(struct doc *doc, const char *label)
{
    struct doc_block *block = add(doc, DOC_TABLE, 0, NULL);
    if (block)
        block->table = calloc(1, sizeof *block->table);
    doc->failed |= !block || !block->table;
    if (!doc->failed)
        block->table->label = keep(doc, label ? label : "");
}

// The table that rows go to; null after a failure.
static struct doc_table *last_table(const struct doc *doc)
{
    if (doc->failed)
        return NULL;
    assert(doc->count > 0 && doc->blocks[doc->count - 1].table);
    return doc->blocks[doc->count - 1].table;
}

void doc_row(struct doc *doc, enum doc_style style)
{
    struct doc_table *t = last_table(doc);
    if (!t)
        return;
    assert(t->cell_count == t->row_count * t->column_count);
    struct doc_row *row = push(doc, &t->rows, &t->row_count, &t->row_cap, sizeof *row);
    if (row)
        *row = (struct doc_row){.style = style, .marks = t->mark_count, .mark_end = t->mark_count};
}

static double bar_value(const struct cell *cell)
{
    return cell->amount.known ? money_real(cell->amount).v : cell->value.v;
}

void doc_cell(struct doc *doc, const struct doc_column *column, struct cell cell)
{
    struct doc_table *t = last_table(doc);
    if (t && t->row_count == 1) {
        struct doc_column *first =
            push(doc, &t->columns, &t->column_count, &t->column_cap, sizeof *first);
        if (first)
            *first = (struct doc_column){.head = keep(doc, column->head),
                                         .brief = keep(doc, column->brief),
                                         .what = keep(doc, column->what),
                                         .interval = keep(doc, column->interval),
                                         .joined = keep(doc, column->joined),
                                         .priority = column->priority,
                                         .least = column->least,
                                         .kind = cell.kind,
                                         .known = t->column_count == 1};
    }
    struct cell *new = t ? push(doc, &t->cells, &t->cell_count, &t->cell_cap, sizeof *new) : NULL;
    if (!new)
        return;
    assert(t->cell_count <= t->row_count * t->column_count);
    struct doc_column *of = &t->columns[(t->cell_count - 1) % t->column_count];
    *new = cell;
    new->currency = cell.amount.known ? cell.currency : NULL;
    const char **const texts[] = {&new->text, &new->sub,      &new->mark,   &new->flag,
                                  &new->href, &new->currency, &new->verdict};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i] = keep(doc, *texts[i]);
    for (size_t i = 0; i < CELL_CHIPS; i++)
        new->chips[i].text = keep(doc, cell.chips[i].text);
    of->known |= cell_known(new);
    of->currency = new->currency ? new->currency : of->currency;
    of->most = fmax(of->most, bar_value(new));
}

void doc_note(struct doc *doc, const char *text, const char *hint)
{
    struct doc_table *t = last_table(doc);
    size_t number = 0;
    while (t && number < t->note_count && strcmp(t->notes[number].text, text) != 0)
        number++;
    if (t && number == t->note_count) {
        struct doc_note *note = push(doc, &t->notes, &t->note_count, &t->note_cap, sizeof *note);
        if (note)
            *note = (struct doc_note){keep(doc, text), keep(doc, hint)};
    }
    size_t *mark = t ? push(doc, &t->marks, &t->mark_count, &t->mark_cap, sizeof *mark) : NULL;
    if (mark) {
        *mark = number;
        t->rows[t->row_count - 1].mark_end = t->mark_count;
    }
}

void doc_below(struct doc *doc, const char *text)
{
    struct doc_table *t = text && *text ? last_table(doc) : NULL;
    struct doc_row *row = t ? &t->rows[t->row_count - 1] : NULL;
    if (row)
        row->below = row->below ? doc_text(doc, "%s; %s", row->below, text) : keep(doc, text);
}

// ---- for renderers

size_t doc_group_end(const struct doc_table *t, size_t c)
{
    for (c++; c < t->column_count && t->columns[c].joined; c++)
        ;
    return c;
}

void doc_besides(const struct doc_table *t, size_t row, size_t c, struct buf *out)
{
    const struct cell *cells = &t->cells[row * t->column_count];
    const size_t end = doc_group_end(t, c);
    buf_adds(out, cells[c].sub ? cells[c].sub : "");
    for (c++; c < end; c++) {
        struct buf words = {0};
        cell_words(&cells[c], &words);
        if (words.len > 0 && strcmp(words.data, "-") != 0)
            buf_printf(out, "%s%s%s", out->len > 0 ? ", " : "", t->columns[c].joined, words.data);
        buf_drop(out, &words);
    }
}

void doc_marks(const struct doc_table *t, const struct doc_row *row, struct buf *out)
{
    for (size_t i = row->marks; i < row->mark_end; i++)
        buf_printf(out, "%s%zu", i > row->marks ? "," : "", t->marks[i] + 1);
}

// ---- values of tables in words: one wording for all media

bool cell_known(const struct cell *cell)
{
    if (cell->kind == CELL_TEXT || cell->kind == CELL_OFFER)
        return cell->chips[0].text || cell->sub ||
               (cell->text && *cell->text && strcmp(cell->text, "-") != 0);
    return cell->rug || cell->value.known || cell->amount.known || (cell->text && *cell->text);
}

bool cell_drawn(enum cell_kind kind)
{
    return kind == CELL_BAR || kind == CELL_RUG;
}

static struct short_text number(enum cell_kind kind, double v)
{
    char time[24];
    switch (kind) {
    case CELL_TIME:
        clock_words(llround(v * 1e9), time, sizeof time);
        return short_text("%s", time);
    case CELL_STEP:
        return short_text("%s", units_step(v).s);
    case CELL_RATIO:
        if (v >= 1000)
            return short_text("%.3g", v);
        return short_text("%.*f", v < 10 ? 4 : v < 100 ? 3 : 2, v);
    case CELL_SHARE:
        return short_text("%.2f %%", v * 100);
    case CELL_PERCENT:
        return short_text("%.0f %%", v);
    case CELL_COUNT:
        return short_text("%s", units_grouped(short_text("%.0f", v).s).s);
    case CELL_NUMBER:
        if (v >= 99.95 && v < 1e6)
            return short_text("%.0f", v);
        return short_text(v < 99.95 ? "%#.3g" : "%.3g", v);
    default:
        return short_text("%.4g", v);
    }
}

static void amount_words(const struct cell *cell, char amount[MONEY_BYTES],
                         char interval[MONEY_INTERVAL_BYTES])
{
    const int64_t nano = cell->amount.nano;
    const bool ends = cell->least.known && cell->most.known;
    money_interval(nano, ends ? cell->least.nano : nano, ends ? cell->most.nano : nano, amount,
                   interval);
}

void cell_words(const struct cell *cell, struct buf *out)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    const char *mark = cell->mark ? cell->mark : "", *flag = cell->flag ? cell->flag : "";
    if (cell->text)
        buf_adds(out, cell->text);
    else if (cell->amount.known && cell->kind == CELL_AMOUNT)
        amount_words(cell, amount, interval), buf_printf(out, "%s%s%s", mark, amount, flag);
    else if (cell->value.known)
        buf_printf(out, "%s%s%s", mark, number(cell->kind, cell->value.v).s, flag);
    else
        buf_adds(out, "-");
}

bool cell_interval(const struct cell *cell, struct buf *out)
{
    char amount[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES] = "";
    if (cell->kind == CELL_AMOUNT) {
        if (cell->amount.known)
            amount_words(cell, amount, interval);
        int low = (int)strcspn(interval, "-"); // no amount with an interval is negative
        if (*interval)
            buf_printf(out, "%.*s to %s", low, interval, interval + low + 1);
        return *interval != '\0';
    }
    if (!cell->value.known || !cell->low.known || !cell->high.known)
        return false;
    struct short_text low = number(cell->kind, cell->low.v);
    const struct short_text high = number(cell->kind, cell->high.v);
    if (strcmp(low.s, high.s) == 0)
        return false;
    if (cell->kind == CELL_SHARE || cell->kind == CELL_PERCENT)
        low.s[strcspn(low.s, " ")] = '\0'; // one sign is enough
    buf_printf(out, "%s to %s", low.s, high.s);
    return true;
}

void cell_local(const struct cell *cell, struct buf *out)
{
    char text[MONEY_BYTES] = "unknown";
    if (!cell->currency)
        return;
    if (cell->local.known)
        money_short_in(cell->local.nano, cell->currency, text);
    buf_printf(out, "%s%s", cell->local.known && cell->mark ? cell->mark : "", text);
}
