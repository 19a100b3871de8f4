// SPDX-License-Identifier: Apache-2.0
// The record of a run: workload, machine, speed, quality and projection. Plain data; src/run/ and
// src/cmd/ fill it, the ledger stores it. The fields' descriptions say which figures are measured,
// derived or estimated.
#ifndef FARE_RECORD_RUN_H
#define FARE_RECORD_RUN_H

#include "record/bill.h"
#include "record/field.h"
#include "record/machine.h"

#define RUN_SCHEMA    "fare.run/1"
#define RUNS_SCHEMA   "fare.runs/1"
#define REPORT_SCHEMA "fare.report/1"

struct run_label { // --label key=value
    char *key;
    char *value;
};

struct run_program { // the program that measured
    char *version;
    char *build;
    char *command_line;
};

struct run_machine { // the parts of the machine's record needed for comparisons and bills
    char *fingerprint;
    char *name; // published results: "p2.xlarge"
    char *cpu;
    struct maybe_real usable_cpus;
    struct maybe_int memory_bytes;
    char *gpu;
    struct maybe_int gpus; // in the machine
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
    char *kernels; // kernels it chose: "avx512_core"
};

struct run_data {
    char *name;
    char *source;
    char *identity;
    struct maybe_bool made; // generated: not comparable with results on real data
    struct maybe_int train_samples;
    struct maybe_int test_samples;
    struct maybe_int classes;
    struct maybe_int time; // texts: tokens per sample
    struct maybe_int vocabulary;
};

// Time of the trainer's thread by phase. Phases do not overlap; without boot they add up to
// wall_ns.
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

struct run_steady { // analysis of the step times
    char *kind;     // "flat", "warm-up", "slow-down", "unsteady", "short"
    struct maybe_int first_step;
    struct maybe_int steps;
    struct maybe_real step_ms; // absent if unsteady
    struct maybe_real low_ms;
    struct maybe_real high_ms;
    struct maybe_int outliers;
};

struct run_stage { // a part of the recipe with its own rate and parameters
    char *only;    // layers trained; absent: all
    struct maybe_int steps;
    struct maybe_int total_steps;
    struct maybe_real step_ms;
};

struct run_projection { // of the whole training, from start to end
    struct maybe_real after_s;
    struct maybe_real wall_s;
    struct maybe_real low_s;
    struct maybe_real high_s;
    struct maybe_real train_s;
    struct maybe_real evaluate_s;
    struct maybe_real checkpoint_s;
    struct maybe_real load_s;     // start-up: set-up, data and device together
    struct maybe_real error;      // full runs: projected / actual - 1
    struct maybe_bool covered;    // full runs: the actual time was within low_s and high_s
    struct maybe_bool assumption; // a part did not occur in the sample and was assumed
};

struct run_drift { // the machine's own speed: fixed arithmetic between the steps
    struct maybe_int loops;
    struct maybe_real loop_us;
    struct maybe_real spread; // over windows of a second or more: standard deviation / mean
    struct maybe_real share;  // the loops' share of the run's time
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

struct run_use { // resources used, from the sampler
    struct maybe_int samples;
    struct maybe_real interval_s;
    struct maybe_real cpu_percent;       // 100 is one CPU
    struct maybe_real other_cpu_percent; // all other processes
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

struct run_l1 {                    // of the workload l1
    struct maybe_real pairs_per_s; // differences
    struct maybe_real share_of_peak;
    struct maybe_real copy_bytes_per_s; // to the device
    struct maybe_real largest_error;
};

struct run_live {                // a running or killed run
    char *at;                    // time of this state
    struct maybe_real elapsed_s; // since the start
    struct maybe_real share;     // progress of this run, 0 to 1
    struct maybe_real left_s;    // until its projected end
    struct maybe_bool at_most;   // left_s is an upper bound
    char *offer;                 // the offer billed, and its price
    char *usd_per_hour;
    char *bill_usd;      // so far
    char *projected_usd; // at the end of this run
    char *whole_usd;     // of the whole training, if this is a sample
};

// How a run may have ended; null-terminated.
extern const char *const run_ends[];

struct run {
    char *schema;
    char *id;      // sorts by time: "20261115T074512Z-3f9a2c81d04e"
    char *started; // "2026-11-15T07:45:12Z"
    char *name;    // the workload's name, or --name
    char *workload;
    char *variant;   // "hard gates", "auxiliary head"; absent: as defined
    char *framework; // "fare", "pytorch", "command", published: "tensorflow"
    char *engine;
    char *precision;
    char *source; // published or imported: source
    struct maybe_int threads;
    struct maybe_int seed;
    struct maybe_int batch;
    char *net; // SHA-256 of layers and shapes
    char *recipe;
    struct maybe_int parameters;
    struct maybe_real step_flops;
    struct run_data data;
    struct run_machine machine;
    struct run_program program;
    char *host; // who measured, as --identity says: "sha256:" and 16 digits, the name, or nothing
    char *user;
    LIST_OF(struct run_library) libraries;
    LIST_OF(char *) command; // the user's command
    LIST_OF(struct run_label) labels;

    char *ended;      // one of run_ends
    char *stopped_by; // a sample, or a run cut off: "within", "max-time", "steps", "max-spend",
                      // "signal"
    char *problem;    // why it failed or was killed
    struct run_live live;
    struct maybe_bool full; // trained to the end
    struct maybe_int exit_code;
    struct maybe_int signal;
    LIST_OF(char *) taints; // why the figures may be noisy

    struct maybe_int steps;       // trained in this run
    struct maybe_int total_steps; // of the full training
    struct maybe_int steps_per_epoch;
    struct maybe_int epochs; // of the full training
    struct maybe_real step_ms;
    struct maybe_real samples_per_s;
    struct maybe_real epoch_s;
    struct maybe_real first_loss;
    struct maybe_real last_loss;
    struct maybe_real test_accuracy;
    struct maybe_bool reached; // full runs on the data the target is for
    struct run_l1 l1;
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

struct runs { // printed by `fare run`
    char *schema;
    LIST_OF(struct run) runs;
    LIST_OF(struct run_group) groups; // with --repeat or several --batch
};

struct report { // printed by bare `fare`
    char *schema;
    struct machine machine;
    LIST_OF(struct run) runs;
    LIST_OF(struct quote) quotes; // cost of the whole trainings on the measured machines
};

extern const struct field run_fields[], runs_fields[], report_fields[];
extern const struct field run_phase_fields[], run_steady_fields[], run_projection_fields[];

// Sets id (from `date_s` and random bytes), started and schema.
int run_begin_record(struct run *run, int64_t date_s, struct err *err) MUST_USE;

// Copies the parts of a machine's record that a run keeps.
int run_set_machine(struct run *run, const struct machine *machine, struct err *err) MUST_USE;

// A host's or user's name as records have it by default: "sha256:" and 16 digits, the same for the
// same name.
#define RUN_HASHED_BYTES 24
void run_hashed_name(const char *name, char out[RUN_HASHED_BYTES]);

// The value of a label; null if missing.
const char *run_label(const struct run *run, const char *key);

// The GPU's name without vendor words; null if none.
const char *run_gpu_name(const struct run *run);

// The machine's display name: the first known of its name, GPU (if used), instance type and
// processor. Null if none is known.
const char *run_place(const struct run *run);

// Whether it ended early: "failed", or "stopped" by the user or "killed". Its figures are kept, but
// do not count as a repetition of a run that was not cut off.
bool run_failed(const struct run *run);
bool run_stopped(const struct run *run);

// Computes derived members: operations per second, joules per step.
void run_derive(struct run *run);

// Adds a taint, unless it is already there.
int run_taint(struct run *run, const char *text, struct err *err) MUST_USE;

#endif
