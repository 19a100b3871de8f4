// SPDX-License-Identifier: Apache-2.0
// meter: measures a run while it runs: where its time goes, how steady its steps are, and how long
// the whole training will take.
//
// The trainer, or follow/follow.h for a user's command, reports each start of a phase and finished
// steps. The clock never pauses, so the phases add up to the wall time. At any moment the meter can
// project the whole run with a 95 % interval. Between steps it runs a calibration loop for under
// 0.2 % of the time, to tell drift of the machine from drift of the program.
//
// The interval has three parts: the scatter of the steps (of batch means, since neighbouring steps
// are correlated), the drift seen so far (Allan deviation), and the drift still to come: the spread
// of the calibration loop, but at least 1 %. meter_phase() and meter_steps()
// allocate nothing; in long runs neighbouring steps are merged, so memory is bounded.
//
// A phase is what a run does at a time (set-up, training, evaluation); a stage is a part of the
// recipe with its own step time.
#ifndef FARE_TRAIN_METER_H
#define FARE_TRAIN_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "train/series.h"

enum meter_phase {
    METER_SETUP,
    METER_KERNELS,
    METER_LOAD,
    METER_DEVICE,
    METER_TRAIN,
    METER_EVALUATE,
    METER_CHECKPOINT,
    METER_EPOCH_END, // between two epochs; part of the record's idle time
    METER_IDLE,
    METER_PHASES
};

#define METER_STAGES_MAX 2

// Of the CPUs, used by other programs; less is the machine's own housekeeping.
#define METER_OTHERS_LEAST 0.1

// The whole training; zeros: unknown. Without total steps there is no projection.
struct meter_plan {
    int64_t stage_steps[METER_STAGES_MAX]; // of the full training
    int stages;                            // 0 means 1
    int64_t evaluations;                   // samples evaluated in the full training
    int64_t checkpoints;                   // written in the full training
    int64_t epoch_ends;                    // in the full training
    double doubt[METER_PHASES];            // that many more or less of a phase's parts
    double may_add;                        // by parts not seen yet: a share of the steps to come
    double may_save;                       // the same
    double others;                         // the steps to come may take that share more or less
    bool lengthens;                        // steps generate answers, which may lengthen
    double part_s;                         // until the first part not seen yet; 0: unknown
    double within;  // stop when the interval's half width is below this share; 0: never
    double max_s;   // stop after this time; 0: never
    bool calibrate; // run the calibration loop (not beside a user's command)
    bool follows;   // stages cannot be cut short: only the last one can be enough
};

struct meter;

// `start_ns` (clock_now_ns) is the start of the process or command. The first phase is METER_SETUP.
int meter_new(struct meter **meter, int64_t start_ns, struct err *err) MUST_USE;
void meter_free(struct meter *meter); // null is fine

// Sets the plan; it may change during the run.
void meter_plan(struct meter *meter, const struct meter_plan *plan);

// Books the first `ns` of the run to this phase; METER_SETUP follows. Call it before any other
// report.
void meter_before(struct meter *meter, enum meter_phase phase, int64_t ns);

// Everything before this time (clock_now_ns) was start-up and loading: forgets steps, parts and
// projections.
void meter_restart(struct meter *meter, int64_t at_ns);

// A phase starts now.
void meter_phase(struct meter *meter, enum meter_phase phase);

// `steps` steps of `stage` ended now. The first call in METER_TRAIN measures from the start of that
// phase.
void meter_steps(struct meter *meter, int stage, int64_t steps);

// The following reports are about this past time (clock_now_ns); 0: about now again.
void meter_at(struct meter *meter, int64_t at_ns);

// Count finished evaluations and checkpoints, to project those to come.
void meter_evaluated(struct meter *meter, int64_t samples);
void meter_checkpointed(struct meter *meter);
void meter_epoch_ended(struct meter *meter);

int64_t meter_start_ns(const struct meter *meter);

// The time up to which everything is booked: that of the last report.
int64_t meter_booked_ns(const struct meter *meter);

// Time spent in METER_TRAIN so far, up to the last step or change of phase.
int64_t meter_train_ns(const struct meter *meter);

// True if the current stage is known to within `within`, or its share of `max_s` is over. Cheap: it
// projects only now and then, and saves the projections after 10, 30, 60 s, a tenth and a half of
// the run for meter_fill().
bool meter_enough(struct meter *meter);

// Progress and the last projection of meter_enough(). Cheap; may be called at any time.
struct meter_outlook {
    double elapsed_s;
    double before_s;   // of that, before the first step
    int64_t steps;     // made
    double wall_s;     // the whole training, from the start; 0: unknown yet
    double half_s;     // half the width of its 95 % interval
    double own_half_s; // the same, if other programs stay as they are
    double step_s;     // the forecast; 0: unknown yet
    bool unsteady;     // the step time changes on the way
};
void meter_outlook(const struct meter *meter, struct meter_outlook *out);

// The training is cut short here: makes the final projection and counts the rest as idle.
void meter_stop(struct meter *meter);

// Ends the last phase. Fills phases, steady, stages (if there are several), projection, checks,
// drift, step_plot_ms, steps, step_ms. `finished`: the whole training was measured, so there is no
// projection, and the checks are compared with the true time.
int meter_fill(struct meter *meter, bool finished, struct run *run, struct err *err) MUST_USE;

// The same as if the run were cut short now; the meter continues.
int meter_peek(const struct meter *meter, struct run *run, struct err *err) MUST_USE;

// ---- losses: the losses of a run's steps, for the means of its first and last tenth. Memory is
// fixed: in long runs neighbours are merged. A zeroed struct is empty; there is nothing to release.

#define LOSSES_MAX 1024

struct losses {
    double mean[LOSSES_MAX]; // of `each` losses, in order
    size_t count;
    int64_t each; // 0: none yet
    double sum;   // of the last, unfinished mean
    int64_t in_sum;
    struct maybe_real latest; // the last one added
};

void losses_add(struct losses *losses, double loss);

// Absent if there are none. They ignore the last, unfinished mean.
struct maybe_real losses_first(const struct losses *losses);
struct maybe_real losses_last(const struct losses *losses);

#endif
