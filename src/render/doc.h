// SPDX-License-Identifier: Apache-2.0
// doc: what is said about one subject, before any medium: headings, sentences, lists and tables.
//
// A view makes it from a record (view/compare.c is the model); doc_html(), doc_markdown() and, for
// a terminal, out_doc() (cmd/out.h) write it. JSON and CSV come from the record, not from here
// (record/flat.h).
//
//     struct doc doc = {0};
//     doc_heading(&doc, 0, "cnn");
//     doc_say(&doc, DOC_PLAIN, "Cheapest: ...");
//     doc_table(&doc, "cnn");
//     for (each row) {
//         doc_row(&doc, DOC_NORMAL);
//         doc_cell(&doc, &(struct doc_column){"machine"}, cell_text(row->machine));
//         doc_cell(&doc, &(struct doc_column){"time", .what = ""},
//                  (struct cell){.kind = CELL_TIME, .value = row->time_s});
//         doc_note(&doc, "its cost is unknown", ": --price sets it");
//     }
//     doc_html(out, &doc, 2);
//     doc_release(&doc);
//
// A column is declared where its value is: all rows of a table have the same doc_cell() calls in
// the same order, and the first row's columns are the table's. A table without rows is nothing; a
// column without a known cell is left out, unless it is the first. Values keep their types up to
// here and are worded by cell_words(), the same in all media.
//
// Texts are copied, and are one line each. A failure (no memory) sticks, as in a buf: from then on
// nothing is added, and what renders the document marks its own buffer as failed, whose owner
// checks it as ever. No function hands out a pointer to what it added, so nobody can write to what
// is not there.
#ifndef FARE_RENDER_DOC_H
#define FARE_RENDER_DOC_H

#include "record/field.h"
#include "render/part.h"

// ==== cells ====

enum cell_kind {
    CELL_TEXT,
    CELL_OFFER,   // a text that may break at '/', '@' and '_'; on a terminal without its `sub`
    CELL_TIME,    // seconds: "1 min 04 s"
    CELL_STEP,    // milliseconds: "12.35 ms"
    CELL_RATIO,   // "0.3205": four decimals, fewer of a large one
    CELL_SHARE,   // 0 to 1: "99.08 %"
    CELL_PERCENT, // 0 to 100: "76 %"
    CELL_COUNT,   // "12"
    CELL_NUMBER,  // three digits: "18.3", "4160"
    CELL_SCORE,   // four: "25.31"
    CELL_AMOUNT,  // of money: "0.0546"
    CELL_DATE,    // a text that stands with the figures; on a terminal without its `sub`
    CELL_BAR,     // `amount`, or on a terminal `value`, to the scale of its column
    CELL_RUG,     // many amounts as a strip; on pages only
};

struct chip {
    enum part_tone tone;
    const char *text; // null: none
};
enum { CELL_CHIPS = 5 };

// All members but the kind are optional.
struct cell {
    enum cell_kind kind;
    const char *text;                   // the text; of a figure, said instead of it: "base"
    const char *sub;                    // on pages below the text, elsewhere in brackets
    const char *mark, *flag;            // before and after a figure: "~", "†"
    const char *href;                   // an address, escaped, that the text leads to; on pages
    struct maybe_real value, low, high; // the interval is shown if both ends are known
    const char *verdict;                // what the interval means; on a terminal before it
    struct maybe_money amount, least, most;
    const char *currency; // of `local`, which is "unknown" where it is not known
    struct maybe_money local;
    struct chip chips[CELL_CHIPS]; // on pages before `sub`
    struct part_interval bar;
    const struct part_rug *rug; // lives until the document is written
};

static inline struct cell cell_text(const char *text)
{
    return (struct cell){.text = text};
}
static inline struct cell cell_number(enum cell_kind kind, struct maybe_real value)
{
    return (struct cell){.kind = kind, .value = value};
}
static inline struct cell cell_amount(struct maybe_money amount)
{
    return (struct cell){.kind = CELL_AMOUNT, .amount = amount};
}
static inline struct cell cell_count(struct maybe_int count)
{
    return (struct cell){.kind = CELL_COUNT, .value = {(double)count.v, count.known}};
}

bool cell_known(const struct cell *cell);
bool cell_drawn(enum cell_kind kind); // not in words

// Appends the figure as people read it; "-" if unknown.
void cell_words(const struct cell *cell, struct buf *out);

// Appends its interval, "0.51 to 0.53". False, and nothing: there is none, or the digits shown do
// not tell its ends apart.
bool cell_interval(const struct cell *cell, struct buf *out);

// Appends the amount in the other currency, without its name; nothing without one.
void cell_local(const struct cell *cell, struct buf *out);

// ==== the document ====

// Where there is little room (a narrow terminal, a phone, a table of more than nine columns on a
// page), columns are left out.
struct doc_column {
    const char *head;
    const char *brief; // (optional) the head on a terminal
    const char *what;  // (optional) on a terminal, after an interval or a figure that stands below
                       // the row; null: it does not
    int priority;      // 0: never left out; else the highest goes first, and a phone shows none
    int least;         // on a terminal: may be shortened to this width; 0: may not. Of a bar its
                       // width; 0: it is not drawn there
    const char *interval; // (optional) on a terminal, intervals have a column of their own with
                          // this head, the next to be left out
    const char *joined;   // (optional) a column on a terminal only: elsewhere it stands, after this
                          // prefix, with what is below the cell of the last column that is not

    // Set by doc_cell(), for renderers.
    enum cell_kind kind;
    bool known;           // some cell is: else the column is left out
    const char *currency; // of some cell
    double most;          // the largest amount, or value of a bar
};

enum doc_role {
    DOC_PLAIN,
    DOC_VERDICT, // the answer
    DOC_ASIDE,   // an explanation, paler
    DOC_HINT,    // what to type; on a terminal only
    DOC_DRAWN,   // about what a page draws; there only
};

enum doc_style { DOC_NORMAL, DOC_TOTAL, DOC_PALE, DOC_BAD, DOC_WARN }; // of a row

enum doc_kind {
    DOC_HEADING,
    DOC_SENTENCE,
    DOC_ITEM,
    DOC_FACT,
    DOC_FIGURE,
    DOC_TABLE,
    DOC_FOLD,
    DOC_UNFOLD
};

struct doc_row {
    enum doc_style style;
    const char *below;      // on a terminal; null: nothing
    size_t marks, mark_end; // its notes, in table->marks
};

struct doc_note {
    const char *text, *hint;
};

struct doc_table {
    const char *label;
    struct doc_column *columns;
    struct cell *cells; // row by row
    struct doc_row *rows;
    struct doc_note *notes; // each once
    size_t *marks;
    size_t column_count, cell_count, row_count, note_count, mark_count;
    size_t column_cap, cell_cap, row_cap, note_cap, mark_cap;
};

struct doc_block {
    enum doc_kind kind;
    int role;         // a sentence's; of a heading its depth
    const char *text; // the name of a fact or figure
    const char *more; // its value
    const char *sub;  // of a figure
    struct doc_table *table;
};

struct doc_chunk;

// Read by renderers only. Zeroed: empty.
struct doc {
    struct doc_block *blocks;
    size_t count, cap;
    struct doc_chunk *texts;
    bool failed;
};

void doc_release(struct doc *doc);

// A text that lives as long as the document; "" after a failure.
const char *doc_text(struct doc *doc, const char *format, ...) PRINTF_LIKE(2, 3);

// The same from a buffer, which is released; its failure becomes the document's. Null if empty.
const char *doc_take(struct doc *doc, struct buf *text);

// For `href`: `before` (null: no address), then the name, escaped.
const char *doc_link(struct doc *doc, const char *before, const char *name);

void doc_heading(struct doc *doc, int depth, const char *text); // 0: the document's own headings
void doc_say(struct doc *doc, enum doc_role role, const char *text); // null or "": nothing
void doc_say_all(struct doc *doc, enum doc_role role, char *const *texts, size_t count);
void doc_item(struct doc *doc, const char *text);                    // of a list
void doc_fact(struct doc *doc, const char *name, const char *value); // null or "": nothing

// A figure that matters, which pages show large; `sub` (optional) says more. Null or "": it is
// unknown, and `sub` says why.
void doc_figure(struct doc *doc, const char *name, const char *value, const char *sub);

// What a page folds away under a summary, until doc_unfold(); elsewhere the summary is a heading.
void doc_fold(struct doc *doc, const char *summary);
void doc_unfold(struct doc *doc);

void doc_table(struct doc *doc, const char *label); // for screen readers
void doc_row(struct doc *doc, enum doc_style style);
void doc_cell(struct doc *doc, const struct doc_column *column, struct cell cell);
#define COLUMN(...)                                                                                \
    &(const struct doc_column)                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

// A remark on the row, numbered in a last column and explained below the table; `hint` (optional)
// follows it on a terminal.
void doc_note(struct doc *doc, const char *text, const char *hint);

// More about the row, below it; on a terminal only. Several are joined by "; ".
void doc_below(struct doc *doc, const char *text);

// ==== for renderers ====

int doc_check(const struct doc *doc, struct err *err) MUST_USE;

// The end of the columns that stand as one: `c`, and those that are joined to it.
size_t doc_group_end(const struct doc_table *table, size_t c);
// Appends what is known besides a row's cell: its `sub` and the texts of those joined to it.
void doc_besides(const struct doc_table *table, size_t row, size_t c, struct buf *out);

// Appends the row's notes: "1,3".
void doc_marks(const struct doc_table *table, const struct doc_row *row, struct buf *out);

// ==== renderers ====

// `level` is that of the headings: 2 is <h2> or ##.
void doc_html(struct buf *out, const struct doc *doc, int level);
void doc_markdown(struct buf *out, const struct doc *doc, int level);

// Appends a text (null: nothing) without any Markdown syntax, on one line.
void markdown_text(struct buf *out, const char *text);

#endif
