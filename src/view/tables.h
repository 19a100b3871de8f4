// SPDX-License-Identifier: Apache-2.0
// tables: a report's tables as text: Markdown, CSV and OpenMetrics. Names may come from anyone and
// are escaped.
#ifndef FARE_VIEW_TABLES_H
#define FARE_VIEW_TABLES_H

#include "base/csv.h"
#include "render/doc.h"
#include "view/page.h"

// The figures of a plot. The Markdown ends with the page's provenance.
void plot_markdown(struct buf *out, const struct plot *plot, const struct page *page);
void plot_csv(struct buf *out, const struct plot *plot);

// The geometric means of the comparison; nothing without any.
void means_markdown(struct buf *out, const struct page_means *means);

// The whole report: verdict, comparison, costs, provenance.
void page_markdown(struct buf *out, const struct page *page);

// The comparison's rows as metrics.
void page_openmetrics(struct buf *out, const struct page *page);
// Adds runs that are in progress (their `live`) to such a text.
void running_openmetrics(struct buf *out, const struct run *runs, size_t count);

#endif
