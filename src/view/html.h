// SPDX-License-Identifier: Apache-2.0
// html: a report as one self-contained page, without scripts or other files.
//
// Pages are assembled from pieces, which serve/ uses too. Each appends to a buffer whose failure is
// sticky. `level` is the heading level: 2 is <h2>.
#ifndef FARE_VIEW_HTML_H
#define FARE_VIEW_HTML_H

#include "render/part.h"
#include "view/page.h"

// The complete page, from <!doctype html> to </html>.
void html_page(struct buf *out, const struct page *page);

// From the doctype to <body>, with the style; html_end() closes it.
void html_begin(struct buf *out, const char *title, int refresh_s); // reload interval; 0: none
void html_end(struct buf *out);

// The cell that identifies a run: "mlp, batch 128 on H200 + fare", with the id below. Null members
// are left out.
struct html_run {
    const char *href; // (optional) its page's address, escaped
    const char *name, *batch, *machine, *framework, *id;
};
void html_run(struct buf *out, const struct html_run *run);

void html_verdict(struct buf *out, const struct page *page);
void html_verdict_compared(struct buf *out, const struct page *page); // without what to rent

// A plot's panels and the table of its figures. `number` is unique in a page.
void html_plot(struct buf *out, const struct plot *plot, int level, size_t number);

// Whether a plot of that kind shows one run by itself: its own page has it too.
bool html_shows_one(const char *kind);

// Whether a page shows it: not a history of prices that never changed.
bool html_worth(const struct plot *plot);

// The same as html_plot() for what is worth it, if the page then has at most `most` bytes; else its
// title goes to `left_out`. html_left_out() says which were left out, and releases the buffer.
void html_plot_within(struct buf *out, const struct plot *plot, int level, size_t number,
                      size_t most, struct buf *left_out);
void html_left_out(struct buf *out, struct buf *left_out);

// All plots of a page, together at most `most` bytes: each as a piece, one for each of page->plots,
// which the caller zeroes and releases; those that `shows` (optional) does not want are empty.
// Where two drawings of each do not fit, some have one for all screens; the rest are left out,
// first those that show a run by itself.
#define HTML_BYTES_MOST 250000 // of a page: a phone loads it in a second or two
typedef bool html_shows_fn(const char *kind);
void html_plots_within(const struct page *page, html_shows_fn *shows, size_t most,
                       struct buf *pieces, struct buf *left_out);

void html_runs(struct buf *out, const struct page *page);

// The page of its only run: state, figures and verdict below the title, then the rest.
void html_one_head(struct buf *out, const struct page *page);
void html_one_body(struct buf *out, const struct page *page);
void html_one_plots(struct buf *out, const struct page *page); // of a run in progress

// The workload's rows side by side, with notes and rows that cannot be compared.
void html_compare(struct buf *out, const struct page *page, size_t number, int level);

// A table of the settings (batch, data, versions, machine) in which the page's runs differ; what
// all have in common is left out. Nothing for a single run.
void html_differences(struct buf *out, const struct page *page, int level);
bool html_differ(const struct page *page); // whether there is such a section

// The geometric means of the comparison; nothing without any.
void html_means(struct buf *out, const struct page_means *means, int level);

// What ≥ means before the bill of a spot machine.
void html_at_least(struct buf *out);

// The cost by offer: advice and the cheapest bills.
// `said` (optional): a page whose verdict has some of the sentences already.
void html_quote(struct buf *out, const struct quote *quote, const struct page *said, int level);
void html_advice(struct buf *out, const struct quote *quote, const struct page *said);
struct run;
void html_bills(struct buf *out, const struct quote *quote, const struct run *run); // view/quote.h

void html_provenance(struct buf *out, const struct page *page);

#endif
