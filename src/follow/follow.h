// SPDX-License-Identifier: Apache-2.0
// follow: turns the progress reported by a user's program into the meter's phases and steps, and
// into the run's record.
//
// If several sources report steps, the best one counts: FARE_EVENTS, then MLLOG lines, then the
// user's pattern, then bars and log lines, then the GPU's kernels. If several workers report, the
// first one counts, and its samples are multiplied by its `world`.
//
// Counting starts at the first step number: earlier steps (a resumed training) and the time until
// the first report are not measured. track.h has the rest: which counter is the training, its
// total, and evaluations and checkpoints between its steps.
//
// Memory is bounded. Running out of memory is reported by follow_finish().
#ifndef FARE_FOLLOW_FOLLOW_H
#define FARE_FOLLOW_FOLLOW_H

#include "base/buf.h"
#include "record/run.h"
#include "follow/event.h"
#include "train/meter.h"
#include "follow/shapes.h"

struct follow_options {
    const char *step_pattern; // (optional) replaces the built-in patterns
    char *const *argv;        // (optional) the command's; its arguments may announce totals
    int64_t total_steps;      // 0: not given
    int64_t total_epochs;     // 0: not given
    bool sample;              // stop the command early; false: only at `max_s` if `at_the_latest`
    double within;            // stop when the projection is this precise; 0: never
    double max_s;             // stop after this time, once a few steps are known; 0: never
    bool at_the_latest;       // stop after `max_s` in any case
};

// Where the number of steps of the whole training comes from.
enum follow_total {
    FOLLOW_TOTAL_UNKNOWN,
    FOLLOW_TOTAL_BAR,
    FOLLOW_TOTAL_LOG,
    FOLLOW_TOTAL_ARGUMENTS, // of the command
    FOLLOW_TOTAL_OPTION,    // --total-steps, --total-epochs
    FOLLOW_TOTAL_EVENTS,
    FOLLOW_TOTAL_LEFT, // the time left that the program prints
};

// Parts of the training, as bits.
enum { FOLLOW_EPOCH_END = 1, FOLLOW_EVALUATION = 2, FOLLOW_CHECKPOINT = 4 };

#define FOLLOW_LABEL_BYTES 64
// What is known so far, to show.
struct follow_state {
    const char *source;             // "tqdm", "events", ...; null: no progress seen
    char label[FOLLOW_LABEL_BYTES]; // of the counter that counts; "": none
    bool epochs;                    // it counts epochs, not steps
    int64_t step;                   // the current one, counting those before this run
    int64_t total;                  // 0: unknown
    enum follow_total total_from;
    double steps_per_s;     // 0: unknown
    struct maybe_real loss; // the last one
    bool unsteady;          // the step time changes on the way
    bool lengthens;         // steps generate answers, which may lengthen
    unsigned unseen;        // parts that are announced and did not occur yet
    double part_s;          // until the first of them; 0: unknown
    bool in_part;           // an evaluation or a checkpoint goes on
    bool left;              // the program prints the time left, which may give the total
};

struct follow;

// The meter and the record must outlive it.
int follow_new(struct follow **follow, const struct follow_options *options, struct meter *meter,
               struct run *run, struct err *err) MUST_USE;
void follow_free(struct follow *follow); // null is fine

// A line from the event file or from the command's output; the line may be changed. With `ended`
// false it is an incomplete line, which only counts as a progress bar.
void follow_event(struct follow *follow, char *line, size_t len);
void follow_output(struct follow *follow, char *line, size_t len, bool ended);

// Call it after each batch of lines, since steps end "now", and often. True once the projection is
// precise enough or the time is over, and the command can be stopped.
bool follow_enough(struct follow *follow);

// The share (0 to 1) of the GPU, or of the CPUs where there is no GPU, that was busy since the last
// call, and the share of the GPU that worked, which may be less. Call it about twice a second.
void follow_activity(struct follow *follow, double busy, struct maybe_real work);

// The share of the CPUs that other programs used so far, for a training on CPUs. They may end, and
// others may come.
void follow_others(struct follow *follow, double share);

// Bytes that the program wrote to disks so far: a pause with large writes is a checkpoint.
void follow_written(struct follow *follow, int64_t bytes);

// `steps` more steps, found from the pattern of kernels, ended at that time (clock_now_ns). They
// count only as long as nothing else reports steps.
#define FOLLOW_KERNELS "GPU kernels" // their source in follow_state
void follow_trace(struct follow *follow, int64_t steps, int64_t at_ns);

void follow_state(const struct follow *follow, struct follow_state *out);

// The command is being stopped: ignores further progress, and counts the time it takes to end as
// idle (meter_stop()).
void follow_stop(struct follow *follow);

// Ends the last phase and fills the record: the meter's figures, losses, epochs, samples/s.
// `finished`: the command ended by itself. Appends warnings to `says`: malformed lines, or a
// pattern that matched none.
int follow_finish(struct follow *follow, bool finished, struct buf *says, struct err *err) MUST_USE;

// Fills a copy of the record, which has the epochs already, with the figures so far. Following
// continues.
int follow_peek(struct follow *follow, struct run *part, struct err *err) MUST_USE;

#endif
