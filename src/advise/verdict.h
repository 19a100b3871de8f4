// SPDX-License-Identifier: Apache-2.0
// verdict: who is cheapest and who is fastest, how sure that is, and why nobody leads.
//
// A plain record of pointers into the quote or the comparison it is made from. Nothing else decides
// who may lead; verdict_words.h says it, and terminal, pages, Markdown, JSON and plots show that.
#ifndef FARE_ADVISE_VERDICT_H
#define FARE_ADVISE_VERDICT_H

#include "advise/quote.h"
#include "record/bill.h"
#include "record/compare.h"

enum verdict_measure { VERDICT_COST, VERDICT_TIME, VERDICT_MEASURES };

struct verdict_one { // who, or nobody: both null
    const struct bill *bill;
    const struct compare_row *row;
    struct maybe_real value, low, high; // USD or seconds; where only ratios are known, the ratio
    struct maybe_real ratio;            // rows: to the base's
};

struct verdict {
    enum verdict_measure measure;
    struct verdict_one winner;      // nobody: none can lead
    struct verdict_one next;        // rows: the best of the others
    struct verdict_one bound;       // cost: the lowest bound in front of the winner, or of all
    struct verdict_one unsure;      // rows: the best of those that are noisy or stopped
    struct verdict_one equal;       // one of `equals`
    struct verdict_one near;        // one of `nears`
    size_t equals;                  // others with the winner's value
    size_t nears;                   // others whose interval overlaps the winner's
    size_t bounds;                  // bills: lower bounds that may be lower than the winner
    size_t doubtful;                // bills: lower ones that stand behind it for a reason
    size_t of;                      // how many can lead
    size_t unsures;                 // rows that are noisy or stopped
    const struct compare_row *rows; // all of them
    size_t count;
};

// ---- bills

// Whether it may be named as cheapest, fastest or the answer to a deadline or budget (standing.h).
bool verdict_can_lead(const struct bill *bill);

// Of bills as quote_make() sorted them. Times of estimates count with the end of their interval; of
// two that are alike (QUOTE_ALIKE) the cheaper one counts.
struct verdict verdict_of_bills(const struct bill *bills, size_t count,
                                enum verdict_measure measure);

struct verdict_quote {
    struct verdict with_run[VERDICT_MEASURES], estimated[VERDICT_MEASURES];
    const struct bill *cheapest, *fastest; // with a run; null: none can lead
    const struct bill *guess;   // the cheapest estimate, if it goes before that or there is none
    const struct bill *leader;  // the cheapest of bills and estimates; null: none can lead
    const struct bill *soonest; // the fastest of both
    const struct bill *lowest;  // the leader, or else the lowest bound: a figure with its ≥
};

struct verdict_quote verdict_of_quote(const struct quote *quote);

// The rows of a short quote in the order of quote_rows(), ending in null; the caller frees them. Of
// about `most`, a half and one more have a run, if there are as many; if there are more, machines
// of one provider with more of the same GPUs that are no faster are left out. Those that lead, and
// those that answer a deadline or a budget, are among them.
const struct bill **verdict_rows(const struct quote *quote, size_t most, struct err *err) MUST_USE;
enum {
    VERDICT_ROWS = 15,
    VERDICT_ROWS_EACH = 3,  // of each of several quotes
    VERDICT_ROWS_OTHER = 5, // of each other training
};

// Those of `rows` that an answer names: the cheapest and the fastest with a run and by estimate,
// the lowest bound, the first that keeps the deadline, the fastest that keeps the budget. Some are
// null.
struct verdict_leaders {
    const struct bill *bills[7];
};
struct verdict_leaders verdict_leaders(const struct quote *quote, const struct bill **rows);

// A quote with these rows alone. Its lists of bills and estimates are new, and the caller frees
// them; all else is the other's.
int verdict_shorten(const struct quote *quote, size_t most, struct quote *out,
                    struct err *err) MUST_USE;

// Whether no cheaper offer is as fast. Call it for each offer in turn, the cheapest first, with
// `*best_s` 0 at the start.
bool verdict_on_frontier(double *best_s, double time_s);

// Whether it is sure to end within that time, or to cost no more than that: at the end of its
// interval, with everything priced and owed. A lower bound is sure of nothing.
enum verdict_keeps { VERDICT_MISSES, VERDICT_MAY_KEEP, VERDICT_KEEPS };
enum verdict_keeps verdict_in_time(const struct bill *bill, double within_s);
enum verdict_keeps verdict_within(const struct bill *bill, int64_t nano_usd);

// ---- rows of a comparison

// Whether it may be called the fastest or the cheapest: neither noisy, stopped nor an estimate.
bool verdict_can_win(const struct compare_row *row);

struct verdict verdict_of_rows(const struct compare_row *rows, size_t count,
                               enum verdict_measure measure);

// Who wins most workloads, whatever the batch and the precision.
struct verdict_most {
    enum verdict_measure measure;
    const struct compare_row *row;  // null: fewer than two workloads have a winner
    size_t wins, of;                // workloads
    size_t equals;                  // others that win as many
    struct maybe_real low, high;    // ratios to the base's, if all are known
    const struct compare_row *base; // of the workloads that it wins; null: they differ
    bool bounds;                    // in one of them, a lower bound may be cheaper
};

int verdict_of_workloads(const struct compare *compare, enum verdict_measure measure,
                         struct verdict_most *out, struct err *err) MUST_USE;

// ---- a deadline or a budget

struct verdict_limit {
    struct verdict_one sure;    // a deadline: the cheapest that is sure to keep it; a budget: the
                                // fastest
    struct verdict_one perhaps; // the same of those that may keep it
    struct verdict_one fastest; // of a deadline: of all that can lead
    struct verdict_one bound;   // the lowest bound that may keep it
    struct verdict_one unsure;  // rows: the fastest that is noisy or stopped
    size_t possible;            // bills whose price can be, and rows with a time
    bool any;                   // some may keep it
    bool bounds;                // rows: some are lower bounds
};

struct verdict_limit verdict_of_deadline(const struct quote *quote, double deadline_s);
struct verdict_limit verdict_of_budget(const struct quote *quote, int64_t nano_usd);
struct verdict_limit verdict_of_rows_in_time(const struct compare_row *rows, size_t count,
                                             double deadline_s);

// ==== who may lead ====
// standing: whether a row may be called cheapest, fastest or best; if not, what it is and why.
//
// The one rule of that. A row may lead if its machine can run the program, it can be ordered, its
// price is current (book/listing.h), and its expected bill is known. The fifth condition compares
// rows, and is the verdict's: nothing whose interval reaches below the leader is surer (verdict.h).

enum standing {
    STANDING_LEADS,
    STANDING_TRIAL,  // worth a minute's trial: something about it is unknown
    STANDING_OLD,    // its price is older than others'
    STANDING_HIDDEN, // not shown unless everything is
};
enum standing standing_of(const struct bill *bill);

// Sets `standing` and `standing_why` of all bills of a quote, and its `prices_of`, the date of the
// newest prices if none is current.
int standing_judge(struct quote *quote, struct err *err) MUST_USE;

#endif
