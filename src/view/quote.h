// SPDX-License-Identifier: Apache-2.0
// quote: what a training costs, as documents: the whole answer, one bill line by line, and how
// rented machines compare with this one.
#ifndef FARE_VIEW_QUOTE_H
#define FARE_VIEW_QUOTE_H

#include "advise/quote_job.h"
#include "render/doc.h"

// The answer of `fare quote`: title, advice, bills, how to read them, offers left out; of an offer
// that is named its bill. With `ask.every_region` all rows with their reasons, else the short
// answer.
void view_quote(struct doc *doc, const struct quote_job *job);

// Its table and facts: at most `most` machines, 0: all that may be named (answer.c). `run`
// (optional) was asked for; `command` (optional) is typed to see more of this quote;
// `full_names` of offers instead of short ones.
void view_answer(struct doc *doc, const struct quote *quote, const struct run *run, size_t most,
                 const char *command, bool full_names);
// The same on a page, which has nothing to type.
void view_answer_page(struct doc *doc, const struct quote *quote, const struct run *run);

// For a page that has title and advice: the short answer; folded away the few bills with the runs
// that they are from and how to read them; other trainings, offers left out. `run` as above.
void view_bills(struct doc *doc, const struct quote *quote, const struct run *run);

// One bill, line by line, with the interruptions of a spot machine (bill.c).
void view_bill(struct doc *doc, const struct bill *bill);

// How an estimate comes about: lines of quote_explain().
void view_explained(struct doc *doc, const char *lines);

// The end of bare `fare`: of each quote of the report's runs the time and power here, and the
// machines to rent (rented.c). `power`: as the user gave it.
struct power_given;
void view_rented(struct doc *doc, const struct report *report, struct market *market,
                 const struct power_given *power);

// ---- for the files of this document

// One of the document's tables of bills.
struct bill_rows {
    const struct quote *quote;
    const struct bill **rows; // ends in null
    const char *label;        // null: the rows go to the last table
    bool training;            // a column with the workload of each, instead of framework and year
    bool sources;             // name the runs that the times are from
    bool full_names;          // of offers, as in the book; else the short ones
};

// Marks and words that need an explanation, and those that have it.
struct bill_notes {
    unsigned int found, said;
    size_t rows, unnamed; // processors
    double startup_low_s, startup_high_s;
    bool startup_said;
    const char *doubts[8], *exchange[8];
    size_t doubt_count, doubts_said, exchange_count, exchange_said;
};

struct cell view_gpu(struct doc *doc, const struct bill *bill);     // "8 × H100"
struct cell view_memory(struct doc *doc, const struct bill *bill);  // "28 of 80 GB"; else empty
struct cell view_time(struct doc *doc, const struct bill *bill);    // "2 h 31 min ±30 %"
struct cell view_price(struct doc *doc, const struct bill *bill);   // null: unknown
const char *view_machine(struct doc *doc, const struct bill *bill); // "runpod/h200:spot"
struct cell view_cost(struct doc *doc, const struct bill *bill);
struct cell view_owed(struct doc *doc, const struct bill *bill); // of a commitment, in its currency
struct cell view_waiting(const struct bill *bill);

void view_bill_rows(struct doc *doc, const struct bill_rows *of, struct bill_notes *notes);
void view_bill_notes(struct doc *doc, struct bill_notes *notes); // what was not said before

#endif
