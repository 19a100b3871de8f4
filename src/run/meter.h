// SPDX-License-Identifier: Apache-2.0
// meter: what is known of a run while it runs: where its time went, how steady its steps are, and
// how long the whole training will take.
//
// The trainer (or whoever follows a user's command) tells it which phase begins and that steps
// were made; the clock never pauses, so the phases add up to the wall time. Asked at any moment,
// it projects the whole run with a 95 % interval. Between steps it runs a fixed piece of
// arithmetic for under 0.2 % of the time, which tells the machine's drift from the program's.
//
// The interval has three parts: the steps' own scatter (means of batches of neighbours, since
// neighbours resemble each other), the machine's drift over the times seen (Allan deviation), and
// what the machine may still do in the time not seen: as much as the calibration loop's time moved,
// and at least what METER_DRIFT_FLOOR assumes. Nothing is allocated by meter_phase() and
// meter_steps(); of long runs neighbouring steps are merged, so that memory stays bounded.
#ifndef FARE_RUN_METER_H
#define FARE_RUN_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/run.h"

enum meter_phase {
    METER_SETUP,
    METER_KERNELS,
    METER_LOAD,
    METER_DEVICE,
    METER_TRAIN,
    METER_EVALUATE,
    METER_CHECKPOINT,
    METER_IDLE,
    METER_PHASES
};

#define METER_STAGES_MAX 2

// What the whole training consists of, as far as it is known; zeros: not known. Without total
// steps there is no projection.
struct meter_plan {
    int64_t stage_steps[METER_STAGES_MAX]; // of the full training
    int stages;                            // 0 means 1
    int64_t evaluations;                   // samples evaluated in the full training
    int64_t checkpoints;                   // written in the full training
    double within;  // stop when the interval's half width is below this share; 0: never
    double max_s;   // stop after so long; 0: never
    bool calibrate; // run the calibration loop (not while a user's command has the CPUs)
    bool follows;   // stages come when they come: only the last one can be enough
};

struct meter;

// `start_ns` (clock_now_ns) is when the run began, in METER_SETUP: of the process, or of the
// command.
int meter_new(struct meter **meter, int64_t start_ns, struct err *err) MUST_USE;
void meter_free(struct meter *meter); // null is fine

// The plan may come, or change, after the data was loaded.
void meter_plan(struct meter *meter, const struct meter_plan *plan);

// Before anything else is told: the first `ns` were this phase, however long ago that was. What
// follows is METER_SETUP, as without it.
void meter_before(struct meter *meter, enum meter_phase phase, int64_t ns);

// From now on it is this phase.
void meter_phase(struct meter *meter, enum meter_phase phase);

// `steps` steps of `stage` ended now. The first call after a change into METER_TRAIN measures from
// that change on.
void meter_steps(struct meter *meter, int stage, int64_t steps);

// What follows is told late: it happened at that time (clock_now_ns); 0: now again.
void meter_at(struct meter *meter, int64_t at_ns);

// Counted while in these phases, to know what is left of them.
void meter_evaluated(struct meter *meter, int64_t samples);
void meter_checkpointed(struct meter *meter);

int64_t meter_start_ns(const struct meter *meter);

// Time spent in METER_TRAIN so far, up to the last step or change of phase.
int64_t meter_train_ns(const struct meter *meter);

// True when the plan's `within` is reached for the stage it is in, or that stage's
// share of the time is over. Cheap: it thinks only now and then,
// and keeps the projections of 10, 30, 60 s and a tenth of the run for meter_fill().
bool meter_enough(struct meter *meter);

// How far it is, and what the last look of meter_enough() projected: cheap, to be asked at any
// time.
struct meter_outlook {
    double elapsed_s;
    double before_s; // of that, before the first step
    int64_t steps;   // made
    double wall_s;   // the whole training, from the start; 0: not known yet
};
void meter_outlook(const struct meter *meter, struct meter_outlook *out);

// What follows is the end of a training that is cut off: idle, and no part of what is projected,
// which is made now. The clock goes on.
void meter_stop(struct meter *meter);

// Ends the last phase. Fills phases, steady, stages (where there are several), projection, checks,
// drift, step_plot_ms, steps, step_ms. `finished`: the whole training was made, and the checks can
// be held against the truth; there is then no projection.
int meter_fill(struct meter *meter, bool finished, struct run *run, struct err *err) MUST_USE;

// The same of a run that was cut off now; the meter goes on.
int meter_peek(const struct meter *meter, struct run *run, struct err *err) MUST_USE;

#endif
