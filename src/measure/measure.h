// SPDX-License-Identifier: Apache-2.0
// measure: the life of a measured run: machine, price, record, journal, runner, ledger.
//
//     rc = measure_open(&m, &options, desk, &err);   // checks them, looks at the machine
//     rc = measure_run(&m, &what, &err);             // for each run: trains, measures, keeps
//     // m.runs holds the records, m.says what a person should know, a line each
//     measure_close(&m);
//
// Failed runs are kept too, with `ended` and `problem`, but not those that could not begin. If the
// ledger refuses a run, m.says gets a line and m.runs still has the record.
#ifndef FARE_MEASURE_MEASURE_H
#define FARE_MEASURE_MEASURE_H

#include "base/opt.h"
#include "base/secret.h"
#include "bill/market.h"
#include "measure/price.h"
#include "measure/session.h"
#include "record/run.h"
#include "record/spending.h"
#include "train/plan.h"
#include "train/workload/workload.h"

#define MEASURE_WITHIN     0.02
#define MEASURE_WITHIN_CMD 0.05 // of a user's command
#define MEASURE_MAX_TIME_S 60

// The user's wishes; zero means not given.
struct measure_options {
    // When it ends.
    bool full;
    int64_t steps;
    const char *within; // "2%"
    int64_t max_time_ns;
    const char *max_spend, *offer; // max_spend: USD, or "budget": what is left of the budgets
    const char *currency;          // (optional) of costs, beside USD
    double sample_s;               // default time limit of a sample; 0: MEASURE_MAX_TIME_S
    // The record.
    const char *name;
    struct opt_texts labels;
    struct opt_texts secrets; // patterns of texts to hide
    const char *identity;     // "hashed" (the default), "plain", "none"
    const char *project;      // who pays; null: see provenance.h
    bool no_cloud;
    const char *ledger;
    bool no_ledger;
    bool json; // our stdout is for the record; a command's stdout goes to stderr
    // A workload.
    const char *with;      // a framework; null: fare's own engines
    const char *data;      // a folder; null: the fetched set, or generated data
    const char *engine;    // null: the GPU's if there is one, else the CPU's
    const char *precision; // null: tf32 on a GPU that has it, else f32
    struct workload_options variant;
    const char *checkpoint, *from;
    bool resume;
    bool apart;          // each run in a separate process
    struct group *group; // (optional) the processes that train together; measure/ranks.h
    int64_t seed, threads, epochs;
    int64_t checkpoint_every;
    int64_t generate;    // textgen, gpt2: tokens to print at the end
    int64_t micro_batch; // engine.h; 0: the engine's choice
    int64_t n, m, dim;   // l1
    // A command.
    const char *step_pattern;
    bool sample; // stop it once its total time is known
    int64_t total_steps, total_epochs;
    int64_t grace_ns; // 0: COMMAND_GRACE_NS
    bool no_trace;    // do not record the GPU's work, nor exchanges between its processes
    bool alone;       // other fare processes of the same job are not of this run
    bool follows;     // another fare process of the job keeps the record (measure/join.h)
    // Saving (measure/saving.h).
    const char *save;        // a folder or s3://bucket/prefix; null: it is not saved
    const char *job;         // its identity there; null: from the command
    const char *checkpoints; // the command's folder or file of checkpoints
    const char *notice;      // sources of notices; null: auto
    const char *on_notice;   // USR1, TERM ..., or a shell command
    int64_t save_every_ns, between_ns, lease_ns, quiet_ns, idle_ns, patience_ns;
    bool start_over; // leave the checkpoints that are there behind
    int64_t keep;
    int64_t retry; // a command that failed is started again this often
};

struct measure_what {
    const struct workload *workload; // or
    char *const *command;            // the user's, null-terminated
    int64_t batch;                   // 0: the definition's
    int ranks;                       // of the group; 0: all
};

#define MEASURE_INTERRUPTED 75 // exit code: saved, and to be started again (EX_TEMPFAIL)

struct measure {
    const struct measure_options *o;
    struct desk *desk;
    const struct machine *machine; // the desk's
    struct run_plan plan;
    struct secrets secrets;
    struct measure_price *price;
    int64_t ordered_ns;     // the boot that the first run is charged for (run_ordered_ns())
    struct budgets budgets; // that the runs count towards, as they were at the start
    char max_spend[48];     // USD; "": none
    struct runs runs;
    struct buf says;  // warnings
    struct buf words; // from the runs themselves: notes, generated text
    int exit_code;    // of the last command, or of an interrupted run: 128 + the signal's number
    bool begun;
    int64_t begun_ns; // the first run
    double told_s;    // session.h: the last line in a log
    bool kept;        // the last run is in the ledger, or on its way there
    bool done;        // it was finished before: nothing ran
    bool again;       // the lease was lost: start it again
};

// `desk` outlives it, with the ledger of the options. Between runs its ledger is not connected.
int measure_open(struct measure *measure, const struct measure_options *options, struct desk *desk,
                 struct err *err) MUST_USE;

// While a workload is trained, Ctrl-C and SIGTERM end this run and all that would follow; a second
// signal ends the program.
int measure_run(struct measure *measure, const struct measure_what *what, struct err *err) MUST_USE;

// measure_over(): start no further runs, since one was interrupted or the budget is spent.
// measure_say_spent() reports that the budget stopped a run or, with `left_out`, prevented one.
bool measure_over(const struct measure *measure);
bool measure_interrupted(const struct measure *measure);
void measure_say_spent(struct measure *measure, bool left_out);

void measure_close(struct measure *measure); // a zeroed one is fine

// Why a sample ended: "stopped: total time known to ±2 %", or "stopped at the time limit (60 s):
// total time known to ±7 %"; of a command also "stopped: its rate is known, its total is not".
// False if it ended for another reason.
bool measure_stop_words(const struct run_plan *plan, const struct run *run, struct buf *out);

#endif
