// SPDX-License-Identifier: Apache-2.0
// clock: time that only goes forward, in nanoseconds, and dates for people and records.
//
// Durations are differences of clock_now_ns(). Dates are POSIX seconds (billing time has no
// leap seconds), written and read as UTC in ISO 8601.
#ifndef FARE_BASE_CLOCK_H
#define FARE_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

int64_t clock_now_ns(void);      // CLOCK_MONOTONIC
int64_t clock_thread_ns(void);   // CPU time of the calling thread
int64_t clock_date_s(void);      // seconds since 1970-01-01T00:00:00Z; see below
void clock_sleep_ns(int64_t ns); // at least this long, past interruptions

// Nothing else reads the date. For tests alone, FARE_TEST_NOW pins it, in a form of clock_parse(),
// so that output does not depend on the day. It stands still then; durations are measured as ever.

#define CLOCK_ISO_BYTES 32
// "2017-09-18T08:22:00Z". Years 1 to 9999; others give "".
void clock_iso(int64_t date_s, char out[CLOCK_ISO_BYTES]);

// Reads "2017-09-18", "2017-09-18T08:22:00Z", "2017-09-18T08:22:00.123Z" (the fraction is
// dropped) and "2017-09-18T08:22:00+02:00". False for anything else, impossible dates included.
bool clock_parse(const char *text, int64_t *date_s);

// The first second of the calendar month (UTC) in which a date lies, `months` months further on;
// false where that leaves the years 1 to 9999.
bool clock_month(int64_t date_s, int months, int64_t *first_s);

// "850 ms", "12.3 s", "4 min 05 s", "3 h 07 min", "2 d 04 h": short, for people.
void clock_words(int64_t ns, char *out, size_t size);

// "60s", "1.5h", "1h30m", "250ms", "2d", "3w", "90" (seconds): what options take. False for
// anything else, for negative ones and those over 100 years.
bool clock_parse_duration(const char *text, int64_t *ns);

#endif
