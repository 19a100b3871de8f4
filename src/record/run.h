// SPDX-License-Identifier: Apache-2.0
// The record of a run: what was trained, on what, how fast and how well, and what became known of
// the whole training. Plain data; src/run/ and src/cmd/ fill it, the ledger keeps it. The fields'
// descriptions tell figures that were measured from those derived from them and from estimates.
#ifndef FARE_RECORD_RUN_H
#define FARE_RECORD_RUN_H

#include "record/bill.h"
#include "record/field.h"
#include "record/machine.h"

#define RUN_SCHEMA    "fare.run/1"
#define RUNS_SCHEMA   "fare.runs/1"
#define REPORT_SCHEMA "fare.report/1"

struct run_label { // the user's --label key=value
    char *key;
    char *value;
};

struct run_program { // the fare that measured
    char *version;
    char *build;
    char *command_line;
};

struct run_machine { // of the machine's record, what a comparison or a bill asks for
    char *fingerprint;
    char *name; // published ones: "p2.xlarge"
    char *cpu;
    struct maybe_real usable_cpus;
    struct maybe_int memory_bytes;
    char *gpu;
    struct maybe_int gpus; // it has
    struct maybe_int gpu_memory_bytes;
    char *driver;
    char *provider;
    char *instance_type;
    char *region;
    char *virtualisation;
    char *container;
};

struct run_library {
    char *name;
    char *version;
    char *kernels; // which it chose: "avx512_core"
};

struct run_data {
    char *name;
    char *source;
    char *identity;
    struct maybe_bool made; // procedural: not to be compared with results on the real set
    struct maybe_int train_samples;
    struct maybe_int test_samples;
    struct maybe_int classes;
    struct maybe_int time; // texts: tokens of a sample
    struct maybe_int vocabulary;
};

// Where the time of the trainer's own thread went. Exclusive; from our start on they add up to
// wall_ns. Boot is before our start.
struct run_phases {
    struct maybe_int boot_ns;
    struct maybe_int setup_ns;
    struct maybe_int kernels_ns;
    struct maybe_int load_ns;
    struct maybe_int device_ns;
    struct maybe_int warmup_ns;
    struct maybe_int train_ns;
    struct maybe_int evaluate_ns;
    struct maybe_int checkpoint_ns;
    struct maybe_int idle_ns;
    struct maybe_int wall_ns;
};

struct run_steady { // what the step times say
    char *kind;     // "flat", "warm-up", "slow-down", "unsteady", "short"
    struct maybe_int first_step;
    struct maybe_int steps;
    struct maybe_real step_ms; // absent where unsteady
    struct maybe_real low_ms;
    struct maybe_real high_ms;
    struct maybe_int outliers;
};

struct run_stage { // a part of the recipe with its own rate and parameters
    char *only;    // the layers that learn; absent: all
    struct maybe_int steps;
    struct maybe_int total_steps;
    struct maybe_real step_ms;
};

struct run_projection { // of the whole training, from our start to its end
    struct maybe_real after_s;
    struct maybe_real wall_s;
    struct maybe_real low_s;
    struct maybe_real high_s;
    struct maybe_real train_s;
    struct maybe_real evaluate_s;
    struct maybe_real checkpoint_s;
    struct maybe_real load_s;     // set-up, data and device together: what comes before the steps
    struct maybe_real error;      // full runs: projected / true - 1
    struct maybe_bool covered;    // full runs: the truth lay within low_s and high_s
    struct maybe_bool assumption; // a part of it was not seen in the sample, and was assumed
};

struct run_drift { // the machine's own speed, from a fixed piece of arithmetic between the steps
    struct maybe_int loops;
    struct maybe_real loop_us;
    struct maybe_real spread; // of windows of a second or more: standard deviation / mean
    struct maybe_real share;  // of the run's time that the loops took
};

struct run_gpu {
    struct maybe_int index;
    char *name;
    char *uuid;
    struct maybe_real use_percent;
    struct maybe_int memory_peak_bytes;
    struct maybe_real power_w;
    struct maybe_real energy_j;
    struct maybe_real clock_mhz;
    struct maybe_int temperature_max_c;
    struct maybe_int pcie_bytes;
    LIST_OF(char *) throttling;
};

struct run_use { // what was used while it ran, by the sampler beside it
    struct maybe_int samples;
    struct maybe_real interval_s;
    struct maybe_real cpu_percent;       // of one CPU: 200 is two CPUs' time
    struct maybe_real other_cpu_percent; // everyone else on the machine
    struct maybe_real steal_percent;
    struct maybe_int memory_peak_bytes;
    struct maybe_int disk_read_bytes;
    struct maybe_int disk_write_bytes;
    struct maybe_int network_in_bytes;
    struct maybe_int network_out_bytes;
    struct maybe_int data_wait_ns;
    struct maybe_int throttled_ns; // by the cgroup's quota
    struct maybe_real cpu_energy_j;
    struct maybe_real gpu_percent;
    struct maybe_int gpus; // used
    struct maybe_int gpu_memory_peak_bytes;
    struct maybe_real gpu_energy_j;
    struct maybe_real joules_per_step;
    struct maybe_real flops_per_s;
    struct maybe_real share_of_peak;
    LIST_OF(struct run_gpu) gpu_list;
};

struct run_sample {
    struct maybe_real at_s;
    struct maybe_real cpu_percent;
    struct maybe_real other_cpu_percent;
    struct maybe_int memory_bytes;
    struct maybe_real gpu_percent;
    struct maybe_int gpu_memory_bytes;
    struct maybe_real power_w;
    struct maybe_real clock_mhz;
    struct maybe_real temperature_c;
};

struct run_epoch {
    struct maybe_int epoch; // from 1
    struct maybe_int steps;
    struct maybe_real train_loss;
    struct maybe_real train_accuracy;
    struct maybe_real test_loss;
    struct maybe_real test_accuracy;
    struct maybe_int train_ns;
    struct maybe_int test_ns;
};

struct run_live {                // of a run that goes on, or that was killed
    char *at;                    // when it was last looked at
    struct maybe_real elapsed_s; // since our start
    struct maybe_real share;     // of this run that is done, 0 to 1
    struct maybe_real left_s;    // until its projected end
    struct maybe_bool at_most;   // it may end earlier
    char *offer;                 // what the bills are of, and its price
    char *usd_per_hour;
    char *bill_usd;      // so far
    char *projected_usd; // at its end
    char *whole_usd;     // of the whole training, where this is a sample of it
};

// How a run may have ended; null-terminated.
extern const char *const run_ends[];

struct run {
    char *schema;
    char *id;      // sorts by time: "20261115T074512Z-3f9a2c81d04e"
    char *started; // "2026-11-15T07:45:12Z"
    char *name;    // what people call it: the workload, or --name
    char *workload;
    char *variant;   // "hard gates", "auxiliary head"; absent: as defined
    char *framework; // "fare", "pytorch", "command", published: "tensorflow"
    char *engine;
    char *precision;
    char *source; // published or imported: where from
    struct maybe_int threads;
    struct maybe_int seed;
    struct maybe_int batch;
    char *net; // identity of its layers and shapes
    char *recipe;
    struct maybe_int parameters;
    struct maybe_real step_flops;
    struct run_data data;
    struct run_machine machine;
    struct run_program program;
    LIST_OF(struct run_library) libraries;
    LIST_OF(char *) command; // the user's own
    LIST_OF(struct run_label) labels;

    char *ended;   // one of run_ends
    char *problem; // it failed or was killed: why, how much is known
    struct run_live live;
    struct maybe_bool full; // trained to the end
    struct maybe_int exit_code;
    struct maybe_int signal;
    LIST_OF(char *) taints; // what may have spoiled the figures

    struct maybe_int steps;       // made in this run
    struct maybe_int total_steps; // of the full training
    struct maybe_int steps_per_epoch;
    struct maybe_int epochs; // of the full training
    struct maybe_real step_ms;
    struct maybe_real samples_per_s;
    struct maybe_real epoch_s;
    struct maybe_real first_loss;
    struct maybe_real last_loss;
    struct maybe_real test_accuracy;
    struct maybe_bool reached;        // full runs on the real data: what a correct run reaches
    struct maybe_real l1_pairs_per_s; // l1: differences per second
    struct maybe_real l1_share_of_peak;
    struct maybe_real l1_copy_bytes_per_s; // to the device
    struct maybe_real l1_largest_error;
    struct maybe_int peak_memory_bytes;

    struct run_phases phases;
    struct run_steady steady;
    LIST_OF(struct run_stage) stages;
    struct run_projection projection;
    LIST_OF(struct run_projection) checks;
    struct run_drift drift;
    struct run_use use;
    LIST_OF(struct run_epoch) epoch_list;
    LIST_OF(double) step_plot_ms;
    LIST_OF(struct run_sample) samples;
};

struct run_group { // runs of one workload with one batch size
    char *workload;
    struct maybe_int batch;
    struct maybe_int runs;
    struct maybe_real step_ms;
    struct maybe_real low_ms;
    struct maybe_real high_ms;
    struct maybe_real spread;
    struct maybe_real samples_per_s;
    struct maybe_bool saturated;
};

struct runs { // what `fare run` prints
    char *schema;
    LIST_OF(struct run) runs;
    LIST_OF(struct run_group) groups; // with --repeat or several --batch
};

struct report { // what bare `fare` prints
    char *schema;
    struct machine machine;
    LIST_OF(struct run) runs;
    LIST_OF(struct quote) quotes; // what their whole trainings cost where they were measured
};

extern const struct field run_fields[], runs_fields[], report_fields[];
extern const struct field run_phase_fields[], run_steady_fields[], run_projection_fields[];

// Sets id, started, and schema: the id from `date_s` and some random bytes.
int run_begin_record(struct run *run, int64_t date_s, struct err *err) MUST_USE;

// The parts of a machine's record that a run keeps.
int run_set_machine(struct run *run, const struct machine *machine, struct err *err) MUST_USE;

// The value of a label; null where there is none of that key.
const char *run_label(const struct run *run, const char *key);

// Its GPU's name without the words that all of them have; null where there is none.
const char *run_gpu_name(const struct run *run);

// What people call the machine: its name, or its GPU, instance type or processor, the first that is
// known; of a run that used no GPU not that. Null: nothing is.
const char *run_place(const struct run *run);

// Whether it came to no end of its own: "failed" (also killed), or "stopped" by somebody. What was
// seen until then is kept, but is no repetition of a run that was not cut off.
bool run_failed(const struct run *run);
bool run_stopped(const struct run *run);

// Fills what follows from other members: operations per second, joules per step.
void run_derive(struct run *run);

// Adds a taint once.
int run_taint(struct run *run, const char *text, struct err *err) MUST_USE;

#endif
