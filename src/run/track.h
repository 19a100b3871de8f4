// SPDX-License-Identifier: Apache-2.0
// track: how far the training is. Takes numbers of counters, marks of parts and phases, and tells
// the meter about steps, evaluations, checkpoints and ends of epochs, and how many there will be.
//
// Steps are added up until track_flush(), since lines come in batches. Times are now, or `at_ns`.
#ifndef FARE_RUN_TRACK_H
#define FARE_RUN_TRACK_H

#include "run/busy.h"
#include "run/counters.h"
#include "run/meter.h"
#include "run/parts.h"
#include "run/totals.h"

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
    struct totals totals;
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
// longer because its work grows (run/busy.h), as a share of them.
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
