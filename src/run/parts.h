// SPDX-License-Identifier: Apache-2.0
// parts: evaluations, checkpoints and ends of epochs of a command that only reports steps: how long
// they take, how many the whole training has, and which were announced but did not occur yet.
//
// A mark is a sign of a part in the output: a validation bar, the line "Saving model checkpoint",
// a counter that restarts. The time between two reports of steps that contains a mark is divided:
// the usual step time is training, the rest is the part. Without a usual step time (a mark in every
// interval) nothing is divided, and the step time includes the parts.
//
// A zeroed struct is empty.
#ifndef FARE_RUN_PARTS_H
#define FARE_RUN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "run/meter.h"

enum part { PART_EPOCH_END, PART_EVALUATION, PART_CHECKPOINT, PARTS };

#define PARTS_USUAL 31

struct parts_kind {
    int64_t every;       // announced steps between two; 0: unknown
    bool announced;      // it will occur
    int64_t seen;        // in the measured part
    int64_t included;    // in intervals that were not divided
    int64_t with_epoch;  // of those seen, at the end of an epoch
    int64_t first, last; // steps made then
    int64_t width;       // steps of the interval of the first
};

struct parts {
    struct parts_kind kinds[PARTS];

    // Between two reports of steps.
    unsigned marks;         // bits
    int64_t last_ns;        // of the last mark
    double weight_s[PARTS]; // time between the marks, or stated
    int64_t at[PARTS];      // steps made then, as stated; 0: not stated

    double usual_ns[PARTS_USUAL]; // step times of the last intervals without marks, a ring
    int64_t usual_count;

    // A validation bar, for bars that count both training and validation.
    int64_t bar_last, bar_total;
    bool bar_moved, inside;
    int64_t suspect; // steps made while it was open
};

// A sign of a part at this time. `since_ns` is the last report's time.
struct parts_sign {
    enum part part;
    double took_s; // 0: not stated
    int64_t at;    // steps made until then; 0: not stated
};
void parts_mark(struct parts *parts, const struct parts_sign *sign, int64_t since_ns,
                int64_t now_ns);

// Whether `steps` steps reported now, `ns` after the last report, took over twice their usual time.
bool parts_late(const struct parts *parts, int64_t ns, int64_t steps);

// The validation bar shows this number.
void parts_bar(struct parts *parts, int64_t step, int64_t total);

// Of `steps` steps just reported, those of the training. Some programs count the validation's steps
// in the same bar: `*inside` gets those. They are known once the validation bar moves between them.
int64_t parts_outside(struct parts *parts, int64_t steps, int64_t *inside);

// The steps of whole validation bars that `inside` steps are.
int64_t parts_evaluations(const struct parts *parts, int64_t inside);

// `steps` steps ended, `ns` after the last report; `made` were made before. Returns the time that
// was training; `part_ns` gets the rest, by part. Forgets the marks.
int64_t parts_split(struct parts *parts, int64_t ns, int64_t steps, int64_t made,
                    int64_t part_ns[PARTS], unsigned *marks);

// A part that was reported with its start and end.
void parts_ended(struct parts *parts, enum part part, int64_t made);

// The number of a part in the whole training, of which `made` of `total` steps are done and
// `before` were made before the measured ones. `epochs` and `each` are 0 if unknown. `*doubt`: it
// may be this many more or less.
struct parts_whole {
    int64_t made, total, before;
    int64_t epochs; // here
    int64_t each;
};
int64_t parts_expected(const struct parts *parts, enum part part, const struct parts_whole *whole,
                       double *doubt);

// The parts that will occur and did not yet, as bits. `*next`: steps until the first of them; 0:
// unknown.
unsigned parts_unseen(const struct parts *parts, const struct parts_whole *whole, int64_t *next);

// Whether one of them begins with the step just made.
bool parts_due(const struct parts *parts, unsigned unseen, const struct parts_whole *whole);

// What unseen parts may add to the remaining time of training, as a share of it, and what they may
// save because the counter includes them (docs/projection.md).
double parts_may_add(const struct parts *parts, unsigned unseen, double *save);

#endif
