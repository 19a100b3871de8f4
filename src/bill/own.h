// SPDX-License-Identifier: Apache-2.0
// own: a machine that is bought, as an offer: what an hour of its use costs, and after how much use
// it has cost less than renting.
//
// An hour of use carries its share of purchase less resale, over the hours of use in its life, and
// its power. Integers only; amounts are nano-units of one currency.
#ifndef FARE_BILL_OWN_H
#define FARE_BILL_OWN_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "price/offer.h"

struct own_machine {
    int64_t purchase, resale;
    int64_t life_months;   // until it is sold or thrown away
    int64_t use_s_a_month; // how long it works in a month of 30 days
    int64_t busy_mw;       // power while it works, in milliwatts; -1: unknown
    int64_t idle_mw;       // power while it does not; -1: it is off then
    int64_t kwh;           // price of a kilowatt-hour; -1: unknown
    int64_t interest;      // cost of capital, in hundredths of a per cent a year; 0: none
};

struct own_hour {        // of use
    int64_t purchase;    // its share of purchase less resale
    int64_t power, idle; // idle: of the time between
    int64_t interest;    // on the mean of purchase and resale
    int64_t total;       // of those that are known
    bool power_known;
};

// ERR_FORMAT for what cannot be: below zero, sold for more than it cost, more use than a month has.
int own_hour(const struct own_machine *machine, struct own_hour *hour, struct err *err) MUST_USE;

// As an offer in USD: provider "own", this name, its rate an hour; the rest is the caller's to
// fill.
int own_offer(const struct own_machine *machine, const char *name, struct offer *offer,
              struct err *err) MUST_USE;

struct own_rent {
    int64_t rate; // nano-units an hour
    // How fast the own machine and the rented one are, in any unit: 167 and 43 times a laptop.
    int64_t own_speed, rent_speed;
};

// How long the own machine has to work until its price (less its resale), power and interest are no
// more than the rent for the same work; rounded up to a second. -1: renting is always cheaper.
// Unknown power is left out.
int own_break_even(const struct own_machine *machine, const struct own_rent *rent, int64_t *use_s,
                   struct err *err) MUST_USE;

// The same in days since the purchase, in tenths, at that much use a month of 30 days.
int own_break_even_days(const struct own_machine *machine, int64_t use_s, int64_t *tenths,
                        struct err *err) MUST_USE;

// "0.0289 an hour of use: 0.0289 of the purchase; power is not known and left out"
void own_words(const struct own_machine *machine, const struct own_hour *hour, const char *currency,
               struct buf *out);

#endif
