// SPDX-License-Identifier: Apache-2.0
// draft: builds plots, panel by panel, series by series, point by point. Internal to report/.
//
// Lack of memory is sticky: later calls do nothing, and `rc` tells at the end. The latest plot,
// panel and series can be used all the same: they are spare ones then. draft_end() drops plots
// without points.
#ifndef FARE_VIEW_DRAFT_H
#define FARE_VIEW_DRAFT_H

#include "advise/quote_job.h"
#include "view/page.h"

struct draft {
    struct page *page;
    struct err *err;
    int rc;
    // the latest of each
    struct plot *plot;
    struct plot_panel *panel;
    struct plot_series *series;
    struct { // used after a failure; they stay empty
        struct plot plot;
        struct plot_panel panel;
        struct plot_series series;
        struct plot_point point;
    } spare;
};

struct draft_axis {
    const char *name, *unit;
};
#define AXIS(name, unit) ((struct draft_axis){name, unit})

void draft_plot(struct draft *d, const char *kind, const char *title, const char *says);
void draft_panel(struct draft *d, const char *title, const char *form, struct draft_axis x,
                 struct draft_axis y);
void draft_series(struct draft *d, const char *name);
struct plot_point *draft_point(struct draft *d, const char *label, double x, double y);
struct plot_point *draft_bar(struct draft *d, const char *label, struct maybe_real y);
void draft_line(struct draft *d, const char *name, struct maybe_real x, struct maybe_real y);
void draft_band(struct draft *d, const char *name, double from, double to);
void draft_set(struct draft *d, char **member, const char *text);
void draft_print(struct draft *d, char **member, const char *format, ...) PRINTF_LIKE(3, 4);
void draft_take(struct draft *d, char **member, struct buf *text); // releases the text
// Sets the point's note, joined by semicolons.
void draft_notes(struct draft *d, struct plot_point *point, char *const *notes, size_t count);
void draft_end(struct draft *d);

// The plots by family. Each adds only the plots the page has data for. There is one job per quote.
void plots_compare(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs);
void plot_relative(struct draft *d);
void plot_frontier(struct draft *d, const struct page_ask *ask);
void plots_runs(struct draft *d, const struct run *runs, size_t count);
void plots_overlay(struct draft *d, const struct run *runs, size_t count); // over each other
void plots_one(struct draft *d, const struct run *runs, size_t count);     // of a single run
void plots_money(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs);
void plots_offers(struct draft *d, const struct page_ask *ask, const struct quote_job *jobs);
void plots_spot(struct draft *d, const struct quote_job *jobs);
struct listing;
void plot_spot_list(struct draft *d, struct market *market, const struct listing *list);

// Appends the result to the latest panel's title, from its own points: "cnn: $0.061 to $4.10"
// (results.c).
void result_range(struct draft *d);                               // of the first series
void result_relative(struct draft *d);                            // ratios to the base
void result_from(struct draft *d, const char *least, bool bound); // "cnn: from $0.061"
void result_frontier(struct draft *d);           // the cheapest and the fastest that nothing beats
void result_ends(struct draft *d, bool highest); // which line ends highest or lowest
void result_batch(struct draft *d);
void result_gpus(struct draft *d);

// A run's line in a plot of its workload, by what tells it from the others: "batch 128"; equal
// names get the end of the run's id.
enum { PLOT_NAME_BYTES = 160 };
void plot_line_name(struct draft *d, const struct run *runs, size_t count, size_t number,
                    char out[PLOT_NAME_BYTES]);
const char *plot_workload(const struct run *run);
bool plot_same_workload(const struct run *a, const struct run *b);

// Where row `number` of a run's epochs lies on the axis of epochs, which counts samples where the
// run's log does.
double plot_epoch_x(const struct run_epoch *epoch, size_t number);
void plot_epoch_axis(struct draft *d, const struct run *run);
bool plot_first_of(const struct run *runs, size_t number); // the first of its workload

// What a run's samples say; memory in MiB.
enum plot_use { USE_CPU, USE_GPU, USE_POWER, USE_CLOCK, USE_MEMORY, USE_GPU_MEMORY };
struct maybe_real plot_use(const struct run_sample *sample, enum plot_use use);

// Draws it, multiplied by `times`, and returns what is not. Fewer than two points are no line.
struct plot_figures {
    size_t count;
    double mean, low, high;
};
struct plot_figures plot_use_series(struct draft *d, const struct run *run, enum plot_use use,
                                    double times, const char *name);

// Sets the date of today and the version of fare.
int page_made(char **made, char **program, struct err *err) MUST_USE;

// Fills the geometric means of the page's comparison, if two rows have two workloads in common.
int page_means(struct page *page, struct err *err) MUST_USE;

// Fills the page's verdict. Call it last.
int page_verdict(const struct page_ask *ask, struct page *page, const struct quote_job *jobs,
                 struct err *err) MUST_USE;

#endif
