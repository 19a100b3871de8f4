// SPDX-License-Identifier: Apache-2.0
// scale: from values to pixels, with ticks at round numbers and their labels.
//
// An axis is "s", "ms", "USD", "day" (since 1970), "" (a count), "batch" (a count of samples),
// "÷ base", "×", or any other unit, which is written as it is. Seconds become minutes, hours or
// days where they are many; days become dates.
#ifndef FARE_REPORT_SCALE_H
#define FARE_REPORT_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#define SCALE_TICKS   24
#define SCALE_LABEL   40
#define SCALE_LARGEST 1e15 // values beyond these are nobody's measurement
#define SCALE_LEAST   1e-12

struct scale {
    double low, high; // what it shows
    double from, to;  // the pixels of these; the caller sets them
    bool log;
    double ticks[SCALE_TICKS];
    size_t count;
    const char *unit;  // as given
    const char *shown; // "min" where "s" was given; "" where the labels say it
    double divisor;    // of the labels' numbers
    int decimals;
    int date_digits; // of "2018-02-15" that the labels show
};

enum scale_kind {
    SCALE_FROM_ZERO,
    SCALE_FREE, // from the least value
    SCALE_LOG,  // where all values are above zero; otherwise like SCALE_FREE
};

// For values from `low` to `high`, with about `ticks` ticks.
void scale_make(struct scale *scale, double low, double high, enum scale_kind kind,
                const char *unit, int ticks);

double scale_at(const struct scale *scale, double value);

void scale_label(const struct scale *scale, double tick, char out[SCALE_LABEL]);

// A value of that unit for people: "$0.0519", "1 h 04 min", "82.5 %", "1,234 samples/s".
void scale_words(const char *unit, double value, char out[SCALE_LABEL]);

#endif
