// SPDX-License-Identifier: Apache-2.0
// power: the electricity of a training on a machine of one's own, in kilowatt-hours and money.
//
// Given watts are the whole machine's. Measured ones are those of the GPUs, times the share of the
// rest of the host (tables/extras.h), or of the processors alone.
#ifndef FARE_BILL_POWER_H
#define FARE_BILL_POWER_H

#include "base/buf.h"
#include "bill/market.h"
#include "record/run.h"

struct power_given {
    int64_t busy_mw; // of the whole machine, in milliwatts; -1: not given
    int64_t kwh;     // nano-USD for a kilowatt-hour; -1: not given
};
#define POWER_NOT_GIVEN ((struct power_given){-1, -1})

struct power {
    int64_t mw;    // -1: unknown
    char how[160]; // "as given", "243 W of the GPUs measured × 1.4 for the rest of a workstation"
};

int power_of_run(struct market *market, const struct run *run, const struct power_given *given,
                 struct power *out, struct err *err) MUST_USE;

double power_kwh(int64_t mw, int64_t ns);

// Nano-USD, rounded once. ERR_OVERFLOW beyond all money.
int power_cost(int64_t mw, int64_t ns, int64_t kwh, int64_t *nano_usd, struct err *err) MUST_USE;

// "0.22 USD for 0.74 kWh (340 W as given)", or without a price "0.74 kWh (340 W as given)".
void power_words(const struct power *power, int64_t ns, int64_t kwh, struct buf *out);

#endif
