// SPDX-License-Identifier: Apache-2.0
// price: the price of this machine, for the bill of a run in progress and for --max-spend. The only
// file of this folder that knows offers, rules and bills.
//
// The price is that of --offer, or of the offer found by the machine's metadata. Having neither is
// not an error: a null price has no cost.
#ifndef FARE_MEASURE_PRICE_H
#define FARE_MEASURE_PRICE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/money.h"
#include "bill/market.h"
#include "measure/session.h"
#include "record/run.h"

struct measure_price;

// `run` has its machine, labels and start. An `offer` that does not exist is ERR_MISSING with a
// suggestion; one with other GPUs than this machine has is ERR_USAGE. `currency` (optional) is
// shown beside USD. `*out` is null if no price is known.
int measure_price_open(struct measure_price **out, struct market *market, const char *offer,
                       const char *currency, const struct run *run, struct err *err) MUST_USE;
void measure_price_close(struct measure_price *price); // null is fine

// For the run that begins now.
void measure_price_begin(struct measure_price *price, const struct run *run,
                         struct live_price *live);

// "3.06 USD an hour (book: aws/p3.2xlarge@us-east-1 on 2026-11-15), per second, at least 60 s"
const char *measure_price_words(const struct measure_price *price);

int64_t measure_price_hour(const struct measure_price *price); // nano-USD

// The mean time between interruptions of this machine, if it is a spot machine of the book and a
// source says so (advise/spot/hazard.h); otherwise `*mean_ns` is 0. `words` gets the source.
int measure_price_between(const struct measure_price *price, int64_t *mean_ns, struct buf *words,
                          struct err *err) MUST_USE;

// The longest run on the offer that `budget` (nano-USD) pays for; 0: it does not even pay for the
// start, or for the boot (run_ordered_ns()). Appends doubts about the price to `says`, a line each.
int measure_price_longest(struct market *market, const char *offer, int64_t budget,
                          int64_t ordered_ns, int64_t *longest_ns, struct buf *says,
                          struct err *err) MUST_USE;

// Appends the cost of that much time, of a run that has ended: "0.10 USD (0.09 EUR)". False: the
// price is unknown.
bool measure_price_amount(const struct measure_price *price, const struct run *run, double wall_s,
                          struct buf *out);

// Fills in what a start of a saved job cost, with its `wall_s`, `lost_s` and `taken`, and what the
// time that was not lost would have cost on demand. Members stay absent if a price is unknown.
int measure_price_attempt(const struct measure_price *price, struct run_attempt *attempt,
                          struct err *err) MUST_USE;

// Fills `spent` of an ended run; of a saved job, with the cost of this start. Its amount stays
// absent if the price (`price` is null) or the time is unknown.
int measure_price_spent(const struct measure_price *price, struct run *run,
                        struct err *err) MUST_USE;

// Appends the cost of an ended run and of its whole training: "0.10 USD for this run, 2.03 USD for
// the whole training; derived from ...". False: the price or the time is unknown.
bool measure_price_bill(const struct measure_price *price, const struct run *run, struct buf *out);

#endif
