// SPDX-License-Identifier: Apache-2.0
// run: one measured run as documents. Terminal, page, static site and Markdown show these, with
// plots between them (on a terminal view_run_times() and sparklines, elsewhere plots_one.c).
//
// page_run_add() words the run once, as facts of the page's record; the documents are made of that.
#ifndef FARE_VIEW_RUN_H
#define FARE_VIEW_RUN_H

#include "render/doc.h"
#include "view/page.h"

// Adds a run to the page's: its figures, and as facts what was measured and with what.
int page_run_add(struct page *page, const struct run *run, struct err *err) MUST_USE;

// Why it failed, and why its figures may be noisy.
void view_run_doubts(struct doc *doc, const struct page_run *run);

// What was measured.
void view_run_figures(struct doc *doc, const struct page_run *run);

// All of it in two sentences and a few facts.
void view_run_brief(struct doc *doc, const struct page_run *shown, const struct run *run);

// A saved job: each start on each machine.
void view_run_starts(struct doc *doc, const struct page_run *run);

// Machine, code, data and program.
void view_run_settings(struct doc *doc, const struct page_run *run);

// What plots show elsewhere: the phases of a run, the parts of a step, the epochs.
void view_run_times(struct doc *doc, const struct run *run);

// The phases that a run went through, in order.
struct run_part {
    const char *name;
    struct maybe_int ns;
};
enum { RUN_PARTS_BEFORE = 4, RUN_IDLE = 8, RUN_PARTS }; // the first four are before the first step
void run_parts(const struct run *run, struct run_part out[RUN_PARTS]);

#endif
