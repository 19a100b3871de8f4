// SPDX-License-Identifier: Apache-2.0
// track: how far the training is. Takes numbers of counters, marks of parts and phases, and tells
// the meter about steps, evaluations, checkpoints and ends of epochs, and how many there will be.
//
// Steps are added up until track_flush(), since lines come in batches. Times are now, or `at_ns`.
#ifndef FARE_FOLLOW_TRACK_H
#define FARE_FOLLOW_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "follow/counters.h"

// ---- parts: evaluations, checkpoints and ends of epochs of a command that only reports steps: how
// long they take, how many the whole training has, and which were announced but did not occur yet.
//
// A mark is a sign of a part in the output: a validation bar, the line "Saving model checkpoint",
// a counter that restarts. The time between two reports of steps that contains a mark is divided:
// the usual step time is training, the rest is the part. Without a usual step time (a mark in every
// interval) nothing is divided, and the step time includes the parts.
//
// A zeroed struct is empty.

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

// ---- busy: whether the GPU's share of a step grows during a training.
//
// While a program waits for its host, its step time stays flat although the work of the GPU grows,
// as with sequences that get longer. The busy share shows it before the step time does. Fixed
// memory: neighbours are merged. A zeroed struct is empty.

#define BUSY_MAX 64

struct busy {
    double share[BUSY_MAX], seconds[BUSY_MAX];
    int count;
    double least_s; // of an entry
};

// ---- track

struct track {
    // Set by the owner.
    struct meter *meter;
    double within, max_s; // of the meter's plan
    int64_t at_ns;        // the time of the current event; 0: now
    bool drawn;           // the current event is a progress bar
    int64_t epoch;        // that the log is in; 0: none told
    bool epoch_pending;   // it began, and the counter has not moved since
    int64_t batch;        // samples of a step; 0: unknown
    int stage, stages;    // stages 0: none reported
    int64_t stage_steps[METER_STAGES_MAX];
    struct counters counters;
    struct training_totals totals;
    struct parts parts;
    struct busy busy; // the GPU, during the steps
    int64_t written;  // bytes to disks so far
    double others;    // share of the CPUs that other programs used

    enum meter_phase phase;
    const char *source;
    int64_t pending;       // steps not passed to the meter yet
    int64_t metered;       // steps passed to the meter, or pending
    int64_t unmetered;     // steps outside the training phase
    int64_t before;        // the first step number, less the steps counted with it
    int64_t epochs_before; // epochs before the first one of this run
    int64_t made_before;   // of `before`, made in this run
    int64_t starts;        // how often the count started with another counter
    bool second;           // a second step number was reported
    int64_t samples;       // of the metered steps
    int64_t reported;      // of `written`, at the last report
    int64_t reports;
    int64_t inside;           // evaluation steps that the counter counted in this epoch
    struct maybe_real left_s; // told since the last flush, in units of:
    double left_unit_s;
    bool lengthens; // steps generate answers
};

// A phase starts, as reported by the program.
void track_phase(struct track *track, enum meter_phase phase);

// Steps without a number; a counter's number; a line that tells the epoch only; a bar or line about
// loading, an evaluation or a checkpoint, which has a phase.
void track_steps(struct track *track, int64_t steps, int64_t samples);
void track_number(struct track *track, const struct event *event, bool weak, int64_t samples);
void track_epoch(struct track *track, const struct event *event);
void track_beside(struct track *track, const struct event *event);

// A sign of a part.
void track_mark(struct track *track, enum part part);

// The GPU was busy for `share` of the last `seconds`. The most by which the steps to come may take
// longer because its work grows, as a share of them.
void track_busy(struct track *track, double share, double seconds);
double track_growth(const struct track *track);

// What was counted before this time was not the training, which starts then.
void track_restart(struct track *track, int64_t at_ns);

// Passes pending steps to the meter; sets the meter's plan.
void track_flush(struct track *track);
void track_plan(struct track *track);

// Nothing follows: the time since the last steps is that of the part that began then.
void track_close(struct track *track);

// Steps made in this run.
int64_t track_made(const struct track *track);

// The position in the whole training, and the totals; both in units of the counter, of which a step
// of the record has track_unit().
int64_t track_place(const struct track *track, struct totals_found *found);
int64_t track_unit(const struct track *track);

// The same for the parts.
void track_whole(const struct track *track, struct parts_whole *out);

#endif
