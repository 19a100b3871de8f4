// SPDX-License-Identifier: Apache-2.0
// units: sizes and rates as people write and read them.
#ifndef FARE_BASE_UNITS_H
#define FARE_BASE_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT 40
struct units_text {
    char s[UNITS_TEXT];
};

// "100GB" (1000s), "1.5GiB" and "1.5G" (1024s), "512": bytes. False for anything else.
bool units_parse_bytes(const char *text, int64_t *bytes);

// "23.5 GiB", "512 B": three significant digits, 1024s. By value, for use in printf arguments.
struct units_text units_bytes(int64_t bytes);

// "19.2 GB/s": 1000s, as disks, buses and networks are rated.
struct units_text units_rate(double bytes_per_s);

// "1.23 TFLOP/s".
struct units_text units_flops(double flops_per_s);

// "1 day", "0 days", "14 days": `noun` in the singular, whose plural ends in s.
struct units_text units_count(int64_t count, const char *noun);

// A decimal number with its thousands apart: "1,310.73" from "1310.73".
struct units_text units_grouped(const char *number);

// How well a time is known: half the width of its interval in per cent, and 0.1 at least. Ends that
// are the wrong way round, as in records of earlier builds, count as one.
double units_half_width(double low, double high, double middle);

// Three digits, never with a power of ten above: 0.0123, 21.4, 1770.
struct units_text units_number(double value);

// A time in seconds as clock_words() has it: "1 min 04 s".
struct units_text units_time(double s);

// A step's time: "12.35 ms", "350 ms", from a second on as clock_words() has it.
struct units_text units_step(double ms);

// "4160 a second", below one a second "85.0 s an epoch": three digits. `noun` is one thing counted.
struct units_text units_pace(double per_s, const char *noun);

// "an hour", "a month of 30 days": the time that a price is for.
const char *units_period(int64_t per_s);

#endif
