// SPDX-License-Identifier: Apache-2.0
// html: a report as one page that needs nothing else: no scripts, no other files.
//
// Pages are put together from pieces, which a server writes into pages of its own too. Each appends
// to a buffer, in which failure sticks. Headings are given their level: 2 is <h2>.
#ifndef FARE_REPORT_HTML_H
#define FARE_REPORT_HTML_H

#include "report/page.h"

// Everything: <!doctype html> to </html>.
void html_page(struct buf *out, const struct page *page);

// From the doctype to <body>, with the style; and what closes it.
void html_begin(struct buf *out, const char *title);
void html_begin_live(struct buf *out, const char *title, int refresh_s); // 0: not loaded again
void html_end(struct buf *out);

void html_heading(struct buf *out, int level, const char *text);
void html_paragraph(struct buf *out, const char *class, const char *text); // null, "": none

// A table that scrolls by itself where it is wider than the page; reachable with the keyboard. Its
// rows, between <tr> and </tr>, are the caller's.
struct html_column {
    const char *name;
    const char *class; // "num", "long" or ""
};
void html_begin_table(struct buf *out, const char *label);
void html_table_head(struct buf *out, const struct html_column *columns, size_t count);
void html_cell(struct buf *out, const char *class, const char *text);
void html_end_table(struct buf *out);

// The cell that says which run a row is: "mlp, batch 128 on H200 + fare", and below it the id.
// Null: left out.
struct html_run {
    const char *href; // (optional) where its page is, escaped
    const char *name, *batch, *machine, *framework, *id;
};
void html_run(struct buf *out, const struct html_run *run);

void html_verdict(struct buf *out, const struct page *page);

// A section with a plot's panels and the table of its figures. `number` is different for each in a
// page.
void html_plot(struct buf *out, const struct plot *plot, int level, size_t number);

void html_runs(struct buf *out, const struct page *page);

// The rows of that workload side by side, with their notes and what stands apart.
void html_compare(struct buf *out, const struct page *page, size_t number, int level);

// What it costs where: sentences, and the cheapest bills.
void html_quote(struct buf *out, const struct quote *quote, int level);

void html_provenance(struct buf *out, const struct page *page);

#endif
