// SPDX-License-Identifier: Apache-2.0
// page: gathers the content of a report: runs, verdict, comparison, quotes and plots. A record, so
// its table gives the JSON; html.h, tables.h and plot.h write it for people. All computing is done
// in src/advise.
#ifndef FARE_VIEW_PAGE_H
#define FARE_VIEW_PAGE_H

#include "advise/advice.h"
#include "advise/compare.h"
#include "ledger/ledger.h"
#include "record/bill.h"
#include "record/compare.h"
#include "render/plot.h"

#define PAGE_SCHEMA "fare.page/1"

#include "view/page.def"

static inline void page_release(struct page *record)
{
    record_release(page_fields, record);
}

// Kinds of plots, as --plot takes them; ends with null.
extern const char *const plot_kinds[];

// Passes records on, as ledger_each() does.
typedef int page_source_fn(void *arg, ledger_visit_fn *visit, void *visit_arg, struct err *err);

struct page_ask {
    struct ledger *ledger; // null: none; then `source` or `runs` must be set
    struct market *market; // also that of `pricing`
    // Set one of these; none: the newest runs.
    page_source_fn *source; // the records that it passes on, priced like runs by name
    void *source_arg;
    const struct run *runs; // these runs, wherever they are stored
    size_t run_count;
    struct quote_job *jobs; // (optional) quotes of these runs, whose bills the page takes
    size_t job_count;
    const char *const *words; // runs: ids, names, "last"
    size_t word_count;
    const char *workload;
    const char *published;
    bool all;
    const char *base; // and prices, as `fare compare` takes them
    struct pricing_options pricing;
    bool as_published;    // the comparison's costs, as comparisons print them
    const char *currency; // (optional) of costs, beside USD
    int day;              // date of the offers' prices, in days since 1970; 0: today
    struct advice_wishes wishes;
    bool measured;    // no estimates
    struct buf *says; // (optional) receives warnings, one per line
};

struct quote_job;

#define PAGE_NEWEST 20  // runs, by default
#define PAGE_RUNS   200 // runs shown individually; the comparison has all

#define PAGE_ESTIMATES 100 // bills of estimates of each quote, the cheapest
#define PAGE_MISFITS   200 // rows of offers left out, of all quotes together

// Fills a zeroed record, which the caller releases even after a failure. ERR_MISSING: a run does
// not exist. A page without runs is no failure; its verdict says so.
int page_make(const struct page_ask *ask, struct page *page, struct err *err) MUST_USE;

// Only the plots of this run.
int page_plots(const struct run *run, struct page *page, struct err *err) MUST_USE;

// Only the plot of time against cost, with the job's deadline and budget; none if it has under two
// bills.
int page_frontier(struct quote_job *job, struct page *page, struct err *err) MUST_USE;

// Only the plot of this offer's spot prices; none if the book has no history of them.
int page_spot(struct market *market, const struct offer *offer, struct page *page,
              struct err *err) MUST_USE;

// Only the strip of all offers of the filter's GPU model in all places; none without any.
// `max_rate`: as in listing.h.
struct book_filter;
int page_offers(struct market *market, const struct book_filter *filter, int64_t max_rate,
                struct page *page, struct err *err) MUST_USE;

// The cheapest bill of each workload, as rows of FOCUS, the open specification for cost data.
int page_focus(const struct page_ask *ask, struct buf *out, struct err *err) MUST_USE;

// Its column names, and the rows of one quote (focus.c): of the first bill only, because readers of
// FOCUS add up all rows.
void focus_head(struct buf *out);
int focus_bill(struct buf *out, const struct quote_job *job, struct err *err) MUST_USE;

// "Made by fare 0.1.0 (build ...) on 2026-11-15 from ...", for the end of a document.
void page_provenance(const struct page *page, struct buf *out);

// An offer's name without its region: "gcp/n1-standard-8+1xP100:spot".
void page_offer(const struct bill *bill, char *out, size_t size);

#endif
