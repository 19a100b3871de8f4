// SPDX-License-Identifier: Apache-2.0
// scale: maps values to pixels, with ticks at round numbers and their labels.
//
// Units are "s", "ms", "USD", "day" (since 1970), "" (a count, if all are whole), "batch" (a count
// of samples), "÷ base", "×", or any other, printed as it is. Many seconds are shown as minutes,
// hours or days; days as dates.
#ifndef FARE_RENDER_SCALE_H
#define FARE_RENDER_SCALE_H

#include <stdbool.h>
#include <stddef.h>

#define SCALE_TICKS   24
#define SCALE_LABEL   40
#define SCALE_LARGEST 1e15 // larger values are not measurements
#define SCALE_LEAST   1e-12

struct scale {
    double low, high; // the range shown
    double from, to;  // their pixels; set by the caller
    bool log;
    double ticks[SCALE_TICKS];
    size_t count;
    const char *unit;  // as given
    const char *shown; // "min" for "s"; "" if the labels include it
    double divisor;    // for the numbers in labels
    int decimals;
    int date_digits; // characters of "2018-02-15" that labels show
};

enum scale_kind {
    SCALE_FROM_ZERO,
    SCALE_FREE, // from the smallest value
    SCALE_LOG,  // if all values are positive; else like SCALE_FREE
};

// For values from `low` to `high`, with about `ticks` ticks.
void scale_make(struct scale *scale, double low, double high, enum scale_kind kind,
                const char *unit, int ticks);

double scale_at(const struct scale *scale, double value);

void scale_label(const struct scale *scale, double tick, char out[SCALE_LABEL]);

// A value with its unit for people: "$0.0519", "1 h 04 min", "82.5 %", "1,234 samples/s".
void scale_words(const char *unit, double value, char out[SCALE_LABEL]);

#endif
