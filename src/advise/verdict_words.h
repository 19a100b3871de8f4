// SPDX-License-Identifier: Apache-2.0
// verdict_words: verdicts in words, the only ones: terminal, pages, Markdown, JSON and plots show
// what is written here. Functions append to `out`, and nothing where there is nothing to say.
#ifndef FARE_ADVISE_VERDICT_WORDS_H
#define FARE_ADVISE_VERDICT_WORDS_H

#include "advise/verdict.h"

// ---- of a bill or a row

void verdict_add_time(struct buf *out, double seconds);
void verdict_add_money(struct buf *out, int64_t nano); // "2500.00 USD"

// "a " before "machine with an H200", which has no name of its own; else nothing.
const char *verdict_article(const char *machine);

// "k80 + tensorflow (bf16)": compare_label() without hashes.
void verdict_add_row(struct buf *out, const struct compare_row *row);

// "runpod/h200:spot": the machine's short name, and what kind of price is meant.
void verdict_add_offer(struct buf *out, const struct bill *bill);

// "aws/g5.xlarge, 0.52 USD (0.51-0.53) in 31 min, estimated ±20 %", and that another run
// than the quote's (optional) has that time. `before` comes first.
void verdict_add_bill(struct buf *out, const struct quote *quote, const char *before,
                      const struct bill *bill);
// The same of a lower bound, and why it is one.
void verdict_add_bound(struct buf *out, const struct quote *quote, const char *before,
                       const struct bill *bill);
// "at a price 30 days old": with every figure that is made from such a price.
void verdict_add_age(struct buf *out, const struct bill *bill, const char *before,
                     const char *after);

// What it leads in: "fastest by estimate", "the lowest bound".
const char *verdict_called(const struct bill *bill, enum verdict_measure measure);

extern const char verdict_heading[];  // of the table with those
extern const char verdict_from_cpu[]; // what "≥" before a time means
extern const char verdict_no_run[];   // "You have no run on any of these machines."

// ---- of a quote

// The cheapest and the fastest machine, or why none can be named, and how old the prices are.
// Nothing of a quote without bills.
void verdict_say_bills(const struct quote *quote, struct buf *out);
// The same in as few words as do, above a table that has the intervals, and without the date.
void verdict_say_brief(const struct quote *quote, struct buf *out);

// "costs 0.061 USD or more", ": no known offer fits": after the training's name, in a title.
void verdict_title_quote(const struct quote *quote, struct buf *out);

// What several workloads cost, each on the machine that leads.
void verdict_say_sum(const struct quote *quotes, size_t count, struct buf *out);

// The answer to a deadline, unless there is no bill, and to a budget.
void verdict_say_deadline(const struct quote *quote, double deadline_s, struct buf *out);
void verdict_say_budget(const struct quote *quote, int64_t nano_usd, struct buf *out);

// ---- of a comparison

// "Fastest: k80 + fare, 3 h 39 min, 0.7308 of the time of p2.xlarge." and what equals it. A
// `scope` comes before it: "By the geometric mean over 5 workloads, ".
void verdict_say_rows(const struct verdict *verdict, const char *scope, struct buf *out);
// "1 more is noisy or stopped.", or that there is no verdict since all others are.
void verdict_say_unsure(const struct verdict *verdict, struct buf *out);
void verdict_say_most(const struct verdict_most *most, struct buf *out);
void verdict_say_rows_in_time(const struct verdict_limit *limit, double deadline_s,
                              struct buf *out);

// For titles: "box-2 takes 2 times the time of box-1"; "box + fare is the fastest in 3 of 5
// workloads". They claim only what the intervals show.
void verdict_title_rows(const struct verdict verdicts[VERDICT_MEASURES], struct buf *out);
void verdict_title_most(const struct verdict_most *most, struct buf *out);

#endif
