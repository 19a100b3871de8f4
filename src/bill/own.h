// SPDX-License-Identifier: Apache-2.0
// own: a bought machine as an offer: the cost of an hour of use, and the use after which buying has
// cost less than renting.
//
// An hour of use carries its share of the purchase less the resale, spread over the hours of use in
// the machine's life, its power, and interest. Integers only; amounts are nano-units of one
// currency. docs/quoting.md has the formula.
#ifndef FARE_BILL_OWN_H
#define FARE_BILL_OWN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "tables/offer.h"

struct own_machine {
    int64_t purchase, resale;
    int64_t life_months;   // until it is sold or discarded
    int64_t use_s_a_month; // time it works in a month of 30 days
    int64_t busy_mw;       // power while it works, in milliwatts; -1: unknown
    int64_t idle_mw;       // power while idle; -1: it is off then
    int64_t kwh;           // price of a kilowatt-hour; -1: unknown
    int64_t interest;      // cost of capital, in hundredths of a per cent a year; 0: none
};

struct own_hour {        // of use
    int64_t purchase;    // its share of purchase less resale
    int64_t power, idle; // while it works, and while it is idle
    int64_t interest;    // on the mean of purchase and resale
    int64_t total;       // sum of the known ones
    bool power_known;
};

// ERR_FORMAT for impossible values: below zero, sold for more than it cost, more use than a month.
int own_hour(const struct own_machine *machine, struct own_hour *hour, struct err *err) MUST_USE;

// As an offer in USD: provider "own", this name, its hourly rate; the caller fills the rest.
int own_offer(const struct own_machine *machine, const char *name, struct offer *offer,
              struct err *err) MUST_USE;

struct own_rent {
    int64_t rate; // nano-units an hour
    // Speeds of the bought and the rented machine, in any unit: 167 and 43 times a laptop.
    int64_t own_speed, rent_speed;
};

// The use until price (less resale), power and interest are no more than the rent for the same
// work, rounded up to a second. -1: renting is always cheaper. Unknown power is left out.
int own_break_even(const struct own_machine *machine, const struct own_rent *rent, int64_t *use_s,
                   struct err *err) MUST_USE;

// The same in days since the purchase, in tenths, at that much use a month of 30 days.
int own_break_even_days(const struct own_machine *machine, int64_t use_s, int64_t *tenths,
                        struct err *err) MUST_USE;

// "0.0289 USD an hour of use: 0.0289 of 2500.00, over 36 months of 720 h; power is unknown and left
// out"
void own_words(const struct own_machine *machine, const struct own_hour *hour, const char *currency,
               struct buf *out);

#endif
