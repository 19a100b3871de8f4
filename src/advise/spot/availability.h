// SPDX-License-Identifier: Apache-2.0
// availability: a record of when a spot machine could be had, asked at regular times.
//
// A file has one line a sample, "index,timestamp,x", oldest first; x is 1 if a machine could not be
// had then, else 0. A sample holds until the next one, the last one as long as the one before it (a
// single one: 10 minutes). Files are named DATE_ZONE_GPU_COUNT.txt
// ("2022-10-26_us-west-2a_v100_1.txt"); 'fare prices import' keeps them in the user's data folder,
// in availability/.
#ifndef FARE_ADVISE_SPOT_AVAILABILITY_H
#define FARE_ADVISE_SPOT_AVAILABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "tables/offer.h"

struct availability_span { // nanoseconds after the first sample
    int64_t from_ns, until_ns;
};

struct availability {
    char *name; // the file's, without its folder
    int64_t first_s, length_ns;
    struct availability_span *up; // when it could be had: in order, apart from each other
    size_t count;
    unsigned char *samples; // 1: could be had
    size_t sample_count;
    int64_t tick_ns; // between two samples: the mean, as whole minutes if it is over one
};

// Whether a file that starts with these bytes is one, and whether that file is.
bool availability_knows(const char *head, size_t len);
bool availability_file(const char *path);

// `text` need not end in a NUL. ERR_FORMAT names the line: times that do not ascend, an x other
// than 0 and 1, no sample at all.
int availability_read(const char *name, const char *text, size_t len, struct availability *out,
                      struct err *err) MUST_USE;
int availability_open(const char *path, struct availability *out, struct err *err) MUST_USE;
void availability_release(struct availability *a);

// The share of the time in which a machine could be had, and the mean length of an uninterrupted
// stretch; 0 if there is none.
double availability_share(const struct availability *a);
double availability_mean_s(const struct availability *a);

// Whether the file's name says that it is about such a machine: its zone (or a zone of its region),
// its GPU and their number.
bool availability_fits(const char *name, const struct offer *offer);

// ERR_FORMAT for a name that does not say which machine it is of.
int availability_named(const char *path, struct err *err) MUST_USE;

// Copies a file into the user's data folder.
int availability_keep(const char *path, struct err *err) MUST_USE;

// The kept one that fits the offer and is newest by its name; `*found` false: none.
int availability_find(const struct offer *offer, struct availability *out, bool *found,
                      struct err *err) MUST_USE;

#endif
