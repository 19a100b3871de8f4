// SPDX-License-Identifier: Apache-2.0
// tables: a report's tables as text: Markdown to paste, CSV for spreadsheets, OpenMetrics for
// whoever scrapes. Names come from records that anybody may have written: they stay text.
#ifndef FARE_REPORT_TABLES_H
#define FARE_REPORT_TABLES_H

#include "base/csv.h"
#include "report/page.h"

// `text` (null: nothing) as a cell: in Markdown without a meaning; in CSV never a spreadsheet's
// formula.
void table_markdown_text(struct buf *out, const char *text);
void table_csv_text(struct csv_writer *w, const char *text);

// The figures behind a plot. The Markdown ends with the page's provenance.
void plot_markdown(struct buf *out, const struct plot *plot, const struct page *page);
void plot_csv(struct buf *out, const struct plot *plot);

// The whole report: verdict, runs side by side, what they cost where, provenance.
void page_markdown(struct buf *out, const struct page *page);

// The rows of the comparison as metrics.
void page_openmetrics(struct buf *out, const struct page *page);

#endif
