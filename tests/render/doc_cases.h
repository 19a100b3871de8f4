// SPDX-License-Identifier: Apache-2.0
// A document with a block of each kind, and texts that mean something in some medium.
#ifndef FARE_TESTS_RENDER_DOC_CASES_H
#define FARE_TESTS_RENDER_DOC_CASES_H

#include "render/doc.h"

#define COLUMN(...)                                                                                \
    &(const struct doc_column)                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void add_machine(struct doc *doc, struct cell name, double time_s, double low, double high,
                        int64_t nano)
{
    doc_cell(doc, COLUMN(.head = "on", .least = 20), name);
    doc_cell(doc, COLUMN(.head = "time", .what = ""),
             (struct cell){.kind = CELL_TIME,
                           .mark = "~",
                           .value = some_real(time_s),
                           .low = {low, low > 0},
                           .high = {high, high > 0}});
    doc_cell(doc, COLUMN(.head = "never", .priority = 1), (struct cell){.kind = CELL_SHARE});
    doc_cell(doc, COLUMN(.head = "cost, $", .brief = "cost", .what = "USD", .priority = 1),
             (struct cell){.kind = CELL_AMOUNT,
                           .amount = {.nano = nano, .known = nano > 0},
                           .currency = "EUR",
                           .local = {.nano = nano / 2, .known = nano > 0}});
}

static void every_kind(struct doc *doc)
{
    doc_heading(doc, 0, "<script>");
    doc_say(doc, DOC_VERDICT, "Cheapest: a|b.");
    doc_say(doc, DOC_VERDICT, "Fastest: *c*.");
    doc_say(doc, DOC_ASIDE, "\x1b[31mred\x07\nnext");
    doc_say(doc, DOC_PLAIN, "");
    doc_say(doc, DOC_HINT, "--all shows them.");
    doc_fact(doc, "GPU", "H200");
    doc_fact(doc, "nothing", NULL);
    doc_figure(doc, "Price", "2 USD", "an hour");
    doc_figure(doc, "Speed", "", "no data");
    doc_table(doc, "\"label\"");
    doc_row(doc, DOC_NORMAL);
    add_machine(doc,
                (struct cell){.text = "a|b",
                              .sub = "bf16",
                              .href = doc_link(doc, "run/", "1&2"),
                              .chips = {{PART_BAD, "late"}, {PART_NOTE, "<b>"}}},
                64, 60, 68, 2 * MONEY_UNIT);
    doc_note(doc, "OLD price", ": --max-age");
    doc_note(doc, "_noisy_", NULL);
    doc_row(doc, DOC_TOTAL);
    add_machine(doc, cell_text("=c&d"), 5, 0, 0, 0);
    doc_note(doc, "_noisy_", NULL);
    doc_below(doc, "and");
    doc_below(doc, "more");
    doc_item(doc, "x < y");
    doc_item(doc, "z");
    doc_fold(doc, "Folded");
    doc_table(doc, "empty");
    doc_say(doc, DOC_PLAIN, "Inside.");
    doc_unfold(doc);
}

#endif
