// SPDX-License-Identifier: Apache-2.0
// page: what a report shows, gathered: which runs, the verdict, runs side by side, what they cost
// where, and the plots. A record, so that its JSON comes from its table; html.h, tables.h and
// plot.h write it for people. Nothing is computed here that src/advise computes.
#ifndef FARE_REPORT_PAGE_H
#define FARE_REPORT_PAGE_H

#include "advise/advice.h"
#include "advise/compare.h"
#include "record/bill.h"
#include "record/compare.h"
#include "report/plot.h"

#define PAGE_SCHEMA "fare.page/1"

struct page_run { // what was measured where
    char *id;
    char *name;
    char *workload;
    char *framework;
    char *machine;
    char *started;
    char *ended;
    char *problem;                           // it failed or was killed: why, how much is known
    struct maybe_real time_s, low_s, high_s; // of the whole training
    char *basis;                             // "measured", "projected", "published"
    struct maybe_real accuracy;              // 0 to 1
    char *source;
    LIST_OF(char *) taints;
};

struct page {
    char *schema;
    char *title;
    char *made;              // the date
    char *program;           // "fare 0.1.0 (build 3f71c56)"
    char *from;              // whose runs: a ledger, a published set
    LIST_OF(char *) verdict; // two sentences, and the answer to a deadline
    LIST_OF(struct page_run) runs;
    struct maybe_int left_out; // runs that the lists and plots of single runs do not show
    struct compare compare;
    LIST_OF(struct quote) quotes;
    LIST_OF(struct plot) plots;
};

extern const struct field page_fields[];

// The kinds of plots, as --plot takes them; null ends the list.
extern const char *const plot_kinds[];

struct page_ask {
    const char *ledger; // as in ledger.h; "": none
    const char *book;   // as book_open() takes it
    // One of these; none: the newest runs.
    const struct run *runs; // these very runs, wherever they are kept
    size_t run_count;
    const char *const *words; // runs: ids, names, "last"
    size_t word_count;
    const char *workload;
    const char *published;
    bool all;
    const char *base; // and prices, as `fare compare` takes them
    struct pricing_options pricing;
    int day; // of offers' prices, in days since 1970; 0: today
    struct advice_wishes wishes;
    struct buf *says; // (optional) gets warnings for people, a line each
};

#define PAGE_NEWEST 20  // runs, where nothing was asked for
#define PAGE_RUNS   200 // at most so many one by one; all of them side by side

// Fills a zeroed record, which the caller releases, also on failure. ERR_MISSING where a run is
// not there. A page without runs is none of these: its verdict says so.
int page_make(const struct page_ask *ask, struct page *page, struct err *err) MUST_USE;

// Only the plots of this one run.
int page_plots(const struct run *run, struct page *page, struct err *err) MUST_USE;

// What it costs, as rows of FOCUS: the cheapest bill of each workload.
int page_focus(const struct page_ask *ask, struct buf *out, struct err *err) MUST_USE;

// "Made by fare 0.1.0 (build ...) on 2026-11-15 from ...", for the foot of whatever is written.
void page_provenance(const struct page *page, struct buf *out);

// The name of an offer without its region: "gcp/n1-standard-8+1xP100:spot".
void page_offer(const struct bill *bill, char *out, size_t size);

#endif
