// SPDX-License-Identifier: Apache-2.0
#include "record/run.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

// Numbers and what they may be. What is plainly an INT or a REAL is not below zero.
#define HUNDRED_YEARS_S                 (100 * 366 * 86400.0)
#define RANGE(name, least, most, words) static const struct field_range name = {least, most, words}
RANGE(range_s, 0, HUNDRED_YEARS_S, "no time: expected 0 to 100 years");
RANGE(range_ms, 0, HUNDRED_YEARS_S * 1e3, "no time: expected 0 to 100 years");
RANGE(range_us, 0, HUNDRED_YEARS_S * 1e6, "no time: expected 0 to 100 years");
RANGE(range_ns, 0, HUNDRED_YEARS_S * 1e9, "no time: expected 0 to 100 years");
RANGE(range_from_0, 0, DBL_MAX, "out of range: expected 0 or more");
RANGE(range_share, 0, 1, "out of range: expected 0 to 1");
RANGE(range_percent, 0, 100, "out of range: expected 0 to 100");

#define NUMBER(kind_, m, range_, doc_)                                                             \
    {                                                                                              \
        .name = #m, .kind = kind_, .at = offsetof(T, m), .doc = doc_, .range = range_              \
    }
#define INT(m, doc)      NUMBER(FIELD_INT, m, &range_from_0, doc)
#define NS(m, doc)       NUMBER(FIELD_INT, m, &range_ns, doc)
#define REAL(m, doc)     NUMBER(FIELD_REAL, m, &range_from_0, doc)
#define ANY_INT(m, doc)  NUMBER(FIELD_INT, m, NULL, doc)
#define ANY_REAL(m, doc) NUMBER(FIELD_REAL, m, NULL, doc)
#define SECONDS(m, doc)  NUMBER(FIELD_REAL, m, &range_s, doc)
#define MILLIS(m, doc)   NUMBER(FIELD_REAL, m, &range_ms, doc)
#define MICROS(m, doc)   NUMBER(FIELD_REAL, m, &range_us, doc)
#define SHARE(m, doc)    NUMBER(FIELD_REAL, m, &range_share, doc)
#define PERCENT(m, doc)  NUMBER(FIELD_REAL, m, &range_percent, doc)

const char *const run_ends[] = {"finished", "sampled", "stopped", "failed", "killed", NULL};

#define T struct run_label
static const struct field label_fields[] = {
    TEXT(key, "key"),
    TEXT(value, "value"),
    FIELD_END,
};
#undef T

#define T struct run_program
static const struct field program_fields[] = {
    TEXT(version, "version of fare"),
    TEXT(build, "commit it was built from"),
    TEXT(command_line, "how it was called"),
    FIELD_END,
};
#undef T

#define T struct run_machine
static const struct field run_machine_fields[] = {
    TEXT(fingerprint, "same fingerprint: the same kind of machine"),
    TEXT(name, "published results: what their author called it"),
    TEXT(cpu, "processor"),
    REAL(usable_cpus, "CPUs that the process may use"),
    INT(memory_bytes, "memory that the process may use"),
    TEXT(gpu, "GPU; several kinds joined with +"),
    INT(gpus, "how many GPUs it has"),
    INT(gpu_memory_bytes, "memory of one GPU"),
    TEXT(driver, "the GPU driver's version"),
    TEXT(provider, "cloud it is in"),
    TEXT(instance_type, "the cloud's name for its type"),
    TEXT(region, "the cloud's region"),
    TEXT(virtualisation, "none on bare metal"),
    TEXT(container, "none outside of one"),
    FIELD_END,
};
#undef T

#define T struct run_library
static const struct field library_fields[] = {
    TEXT(name, "library"),
    TEXT(version, "its version"),
    TEXT(kernels, "which of its kernels it chose"),
    FIELD_END,
};
#undef T

#define T struct run_data
static const struct field data_fields[] = {
    TEXT(name, "name of the set"),
    TEXT(source, "the folder it was read from, or the seed it was made from"),
    TEXT(identity, "SHA-256 over its files, or how it was made"),
    BOOL(made, "made by fare: results are not comparable with those on a real set"),
    INT(train_samples, "samples to train on"),
    INT(test_samples, "samples held out"),
    INT(classes, "classes"),
    INT(time, "texts: tokens of a sample"),
    INT(vocabulary, "texts: different tokens"),
    FIELD_END,
};
#undef T

#define T struct run_phases
const struct field run_phase_fields[] = {
    NS(boot_ns, "measured, for the first run after it: from the machine's launch, as its metadata "
                "tells, to our start"),
    NS(setup_ns, "measured: from our start to the first data, and compiling the net"),
    NS(kernels_ns, "measured: loading the device's kernels, which its driver compiles at first"),
    NS(load_ns, "measured: loading or making the data"),
    NS(device_ns, "measured: copying data to the device"),
    NS(warmup_ns, "measured: steps before the steady part"),
    NS(train_ns, "measured: the other steps"),
    NS(evaluate_ns, "measured: evaluations"),
    NS(checkpoint_ns, "measured: checkpoints"),
    NS(idle_ns, "measured: everything else"),
    NS(wall_ns, "measured: from our start to the end; the sum of all but boot"),
    FIELD_END,
};
#undef T

#define T struct run_steady
const struct field run_steady_fields[] = {
    TEXT(kind, "flat, warm-up, slow-down, unsteady, or short: too few steps to tell"),
    INT(first_step, "where the steady part begins, from 0"),
    INT(steps, "steps in it"),
    MILLIS(step_ms, "measured: median of the steady part; absent where unsteady"),
    MILLIS(low_ms, "lower end of its 95 % interval (bootstrap)"),
    MILLIS(high_ms, "upper end"),
    INT(outliers, "steps over 14.8 MADs from the median; they are part of the figures"),
    FIELD_END,
};
#undef T

#define T struct run_stage
static const struct field stage_fields[] = {
    TEXT(only, "the layers that learn in it; absent: all"),
    INT(steps, "steps of it made in this run"),
    INT(total_steps, "its steps in the full training"),
    MILLIS(step_ms, "measured: mean time of its steps"),
    FIELD_END,
};
#undef T

#define T struct run_projection
const struct field run_projection_fields[] = {
    SECONDS(after_s, "when it was made, from our start"),
    SECONDS(wall_s, "estimated: the whole training, from start to end"),
    SECONDS(low_s, "lower end of its 95 % interval"),
    SECONDS(high_s, "upper end"),
    SECONDS(train_s, "estimated: all steps"),
    SECONDS(evaluate_s, "estimated: all evaluations"),
    SECONDS(checkpoint_s, "estimated: all checkpoints"),
    SECONDS(load_s, "measured: what comes before the steps"),
    ANY_REAL(error, "full runs: projected ÷ true - 1"),
    BOOL(covered, "full runs: the truth lay within the interval"),
    BOOL(assumption, "a part was not seen in the sample and was assumed"),
    FIELD_END,
};
#undef T

#define T struct run_drift
static const struct field drift_fields[] = {
    INT(loops, "how often the calibration loop ran between steps"),
    MICROS(loop_us, "measured: median time of the loop"),
    REAL(spread, "measured: standard deviation ÷ mean of the loop's time, window by window"),
    REAL(share, "measured: share of the run's time that the loops took"),
    FIELD_END,
};
#undef T

#define T struct run_gpu
static const struct field gpu_fields[] = {
    INT(index, "as its driver counts"),
    TEXT(name, "name"),
    TEXT(uuid, "identity"),
    PERCENT(use_percent, "measured: share of time in which some kernel ran, mean"),
    INT(memory_peak_bytes, "measured: most memory in use"),
    REAL(power_w, "measured: mean power"),
    REAL(energy_j, "measured by its energy counter; else derived from the power"),
    REAL(clock_mhz, "measured: mean clock of its processors"),
    ANY_INT(temperature_max_c, "measured: highest temperature"),
    INT(pcie_bytes, "estimated from sampled rates: bytes over PCIe, both ways"),
    FIELD(FIELD_TEXTS, T, throttling, "why its clocks were held down"),
    FIELD_END,
};
#undef T

#define T struct run_use
static const struct field use_fields[] = {
    INT(samples, "how often it was looked at"),
    SECONDS(interval_s, "how long apart"),
    REAL(cpu_percent, "measured: of one CPU, the run's processes; 200 is two CPUs' time"),
    REAL(other_cpu_percent, "measured: likewise, everyone else on the machine"),
    PERCENT(steal_percent, "measured: share of CPU time that the hypervisor took"),
    INT(memory_peak_bytes, "measured: largest resident memory of the run's processes together"),
    INT(disk_read_bytes, "measured: read from disks by the run's processes"),
    INT(disk_write_bytes, "measured: written to disks"),
    INT(network_in_bytes, "measured: received by the whole machine, loopback left out"),
    INT(network_out_bytes, "measured: sent by it"),
    NS(data_wait_ns, "measured: time in which the device waited for data"),
    NS(throttled_ns, "measured: time for which the cgroup's quota held the run back"),
    REAL(cpu_energy_j, "measured: energy of the CPU packages (RAPL), the whole machine's"),
    PERCENT(gpu_percent, "measured: mean over the GPUs used"),
    INT(gpus, "GPUs used"),
    INT(gpu_memory_peak_bytes, "measured: most memory in use on one GPU"),
    REAL(gpu_energy_j, "measured: energy of the GPUs used"),
    REAL(joules_per_step, "derived: mean power while the steps were made × time of a step"),
    REAL(flops_per_s, "derived: the net's operations per step ÷ time of a step"),
    REAL(share_of_peak, "derived: that ÷ the device's specification; absent where unknown"),
    FIELD_SUB(FIELD_LIST, T, gpu_list, gpu_fields, "GPU by GPU"),
    FIELD_END,
};
#undef T

#define T struct run_sample
static const struct field sample_fields[] = {
    SECONDS(at_s, "from our start"),
    REAL(cpu_percent, "the run's processes, of one CPU"),
    REAL(other_cpu_percent, "everyone else"),
    INT(memory_bytes, "resident memory of the run's processes"),
    PERCENT(gpu_percent, "mean over the GPUs used"),
    INT(gpu_memory_bytes, "in use, all GPUs used"),
    REAL(power_w, "GPUs used and CPU packages, as far as measured"),
    REAL(clock_mhz, "mean clock of the GPUs used"),
    ANY_REAL(temperature_c, "hottest GPU used"),
    FIELD_END,
};
#undef T

#define T struct run_epoch
static const struct field epoch_fields[] = {
    INT(epoch, "number, from 1"),
    INT(steps, "steps of it that were made"),
    ANY_REAL(train_loss, "mean loss while training"),
    SHARE(train_accuracy, "share of right answers while training"),
    ANY_REAL(test_loss, "mean loss on the held-out part"),
    SHARE(test_accuracy, "share of right answers on the held-out part"),
    NS(train_ns, "time of its steps, batches and augmentation included"),
    NS(test_ns, "time of its evaluation"),
    FIELD_END,
};
#undef T

#define T struct run_live
static const struct field live_fields[] = {
    TEXT(at, "when this was known"),
    SECONDS(elapsed_s, "measured: since our start"),
    SHARE(share, "derived: how much of this run is done, 0 to 1; of a sample: of its time"),
    SECONDS(left_s, "estimated: until the end of this run"),
    BOOL(at_most, "it may end earlier: a sample does when enough is known"),
    TEXT(offer, "what the bills are of, and where its price is from"),
    TEXT(usd_per_hour, "its price"),
    TEXT(bill_usd, "derived: what the time so far costs there, by the provider's rule"),
    TEXT(projected_usd, "estimated: the same at the end of this run"),
    TEXT(whole_usd, "samples, estimated: of the whole training"),
    FIELD_END,
};
#undef T

#define T struct run
const struct field run_fields[] = {
    TEXT(schema, "`" RUN_SCHEMA "`"),
    TEXT(id, "the run's own name; sorts by time"),
    TEXT(started, "when, UTC"),
    TEXT(name, "what people call it: the workload, or --name"),
    TEXT(workload, "what was trained; absent for a command that is none of the workloads"),
    TEXT(variant, "an option of the definition: hard gates, auxiliary head"),
    TEXT(framework, "what trained it: fare itself, pytorch, command, ..."),
    TEXT(engine, "fare's own: which engine"),
    TEXT(precision, "f32, tf32 or bf16"),
    TEXT(source, "published or imported: where it comes from"),
    INT(threads, "threads"),
    ANY_INT(seed, "seed of parameters, order, dropout and augmentation"),
    INT(batch, "samples per step"),
    TEXT(net, "identity of the net: SHA-256 over its layers and shapes"),
    TEXT(recipe, "optimizer and its settings"),
    INT(parameters, "numbers that are trained"),
    REAL(step_flops, "floating-point operations of a step, from the definition"),
    FIELD_IN(T, data, data_fields, "the data"),
    FIELD_IN(T, machine, run_machine_fields, "the machine it ran on"),
    FIELD_IN(T, program, program_fields, "the fare that measured"),
    FIELD_SUB(FIELD_LIST, T, libraries, library_fields, "what it computed with"),
    FIELD(FIELD_TEXTS, T, command, "the user's command"),
    FIELD_SUB(FIELD_LIST, T, labels, label_fields, "the user's --label"),
    TEXT(ended, "finished, sampled (stopped when enough was known), stopped (by the user), failed, "
                "killed (its process was, or the machine went down: what was known by then); fare "
                "serve: running"),
    TEXT(problem, "why it failed; killed: how much of it is known"),
    FIELD_IN(T, live, live_fields, "a run that goes on, or was killed: what was known by then"),
    BOOL(full, "trained to the end"),
    ANY_INT(exit_code, "the command's"),
    ANY_INT(signal, "the signal that ended the command"),
    FIELD(FIELD_TEXTS, T, taints, "what may have spoiled the figures"),
    INT(steps, "steps made in this run"),
    INT(total_steps, "steps of the full training"),
    INT(steps_per_epoch, "steps of one epoch"),
    INT(epochs, "epochs of the full training"),
    MILLIS(step_ms, "measured: time of the steps made, divided by their number"),
    REAL(samples_per_s, "measured: samples trained per second"),
    SECONDS(epoch_s, "derived: step_ms × steps_per_epoch"),
    ANY_REAL(first_loss, "mean loss over the first tenth of the steps"),
    ANY_REAL(last_loss, "mean loss over the last tenth of the steps"),
    SHARE(test_accuracy, "on the held-out part, at the end"),
    BOOL(reached, "a full run on the real data reached what a correct one does"),
    REAL(l1_pairs_per_s, "l1: element differences per second"),
    REAL(l1_share_of_peak, "l1: that, divided by the rate of a loop that touches registers only"),
    REAL(l1_copy_bytes_per_s, "l1: bytes per second on the way to the device"),
    REAL(l1_largest_error, "l1: largest relative error against f64, over a sample of pairs"),
    INT(peak_memory_bytes, "largest resident memory of the process so far"),
    FIELD_IN(T, phases, run_phase_fields, "where the time went"),
    FIELD_IN(T, steady, run_steady_fields, "what the step times say"),
    FIELD_SUB(FIELD_LIST, T, stages, stage_fields, "recipes with several stages: each"),
    FIELD_IN(T, projection, run_projection_fields, "the whole training, as far as it can be known"),
    FIELD_SUB(FIELD_LIST, T, checks, run_projection_fields,
              "full runs: what was projected after 10, 30 and 60 s, against what it took"),
    FIELD_IN(T, drift, drift_fields, "the machine's own speed while it ran"),
    FIELD_IN(T, use, use_fields, "what was used"),
    FIELD_SUB(FIELD_LIST, T, epoch_list, epoch_fields, "epoch by epoch"),
    NUMBER(FIELD_REALS, step_plot_ms, &range_ms,
           "step times over the run, at most 200 medians, for a plot"),
    FIELD_SUB(FIELD_LIST, T, samples, sample_fields, "use over the run, at most 200, for plots"),
    FIELD_END,
};
#undef T

#define T struct run_group
static const struct field group_fields[] = {
    TEXT(workload, "the workload"),
    INT(batch, "samples per step"),
    INT(runs, "how many runs"),
    MILLIS(step_ms, "median of the runs' times of a step"),
    MILLIS(low_ms, "the fastest run's"),
    MILLIS(high_ms, "the slowest run's"),
    REAL(spread, "standard deviation between the runs ÷ their mean"),
    REAL(samples_per_s, "median"),
    BOOL(saturated,
         "of several batches: no larger one trains over 5 % more samples per second; absent where "
         "no larger one was tried"),
    FIELD_END,
};
#undef T

#define T struct runs
const struct field runs_fields[] = {
    TEXT(schema, "`" RUNS_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, runs, run_fields, "one after the other"),
    FIELD_SUB(FIELD_LIST, T, groups, group_fields, "with --repeat or several --batch"),
    FIELD_END,
};
#undef T

#define T struct report
const struct field report_fields[] = {
    TEXT(schema, "`" REPORT_SCHEMA "`"),
    FIELD_IN(T, machine, machine_fields, "as `fare check --json` prints it"),
    FIELD_SUB(FIELD_LIST, T, runs, run_fields, "as `fare run --json` prints them"),
    FIELD_SUB(FIELD_LIST, T, quotes, quote_fields,
              "the cheapest machines to rent, as `fare quote --json` prints them"),
    FIELD_END,
};
#undef T

int run_begin_record(struct run *run, int64_t date_s, struct err *err)
{
    char iso[CLOCK_ISO_BYTES], id[48];
    clock_iso(date_s, iso);
    unsigned char random[6];
    rng_entropy(random, sizeof random);
    // 2026-11-15T07:45:12Z → 20261115T074512Z-3f9a2c81d04e
    snprintf(id, sizeof id, "%.4s%.2s%.2sT%.2s%.2s%.2sZ-%02x%02x%02x%02x%02x%02x", iso, iso + 5,
             iso + 8, iso + 11, iso + 14, iso + 17, random[0], random[1], random[2], random[3],
             random[4], random[5]);
    int rc = text_set(&run->schema, RUN_SCHEMA, err);
    if (rc == 0)
        rc = text_set(&run->id, id, err);
    if (rc == 0)
        rc = text_set(&run->started, iso, err);
    return rc;
}

static int copy_text(char **to, const char *from, struct err *err)
{
    return from ? text_set(to, from, err) : 0;
}

// "NVIDIA H200", or several kinds joined.
static int set_gpus(struct run_machine *to, const struct machine *machine, struct err *err)
{
    struct buf names = {0};
    const struct machine_gpu *last = NULL;
    int64_t count = 0;
    for (size_t i = 0; i < machine->gpus.count; i++) {
        const struct machine_gpu *gpu = &machine->gpus.items[i];
        if (!gpu->name)
            continue;
        if (!last || strcmp(last->name, gpu->name) != 0)
            buf_printf(&names, "%s%s", last ? " + " : "", gpu->name);
        if (!last) {
            to->gpu_memory_bytes = gpu->memory_total_bytes;
            if (copy_text(&to->driver, gpu->driver, err) != 0)
                names.failed = true;
        }
        last = gpu;
        count++;
    }
    int rc = buf_check(&names, err);
    if (rc == 0 && names.len > 0)
        rc = text_set(&to->gpu, buf_str(&names), err);
    if (machine->gpus.known)
        to->gpus = some_int(count);
    buf_release(&names);
    return rc;
}

int run_set_machine(struct run *run, const struct machine *machine, struct err *err)
{
    struct run_machine *to = &run->machine;
    to->usable_cpus = machine->cpu.usable_cpus;
    to->memory_bytes = machine->memory.usable_bytes;
    const struct {
        char **to;
        const char *from;
    } texts[] = {
        {&to->fingerprint, machine->fingerprint},
        {&to->cpu, machine->cpu.model},
        {&to->provider, machine->where.provider},
        {&to->instance_type, machine->where.instance_type},
        {&to->region, machine->where.region},
        {&to->virtualisation, machine->system.virtualisation},
        {&to->container, machine->system.container},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        int rc = copy_text(texts[i].to, texts[i].from, err);
        if (rc != 0)
            return rc;
    }
    return set_gpus(to, machine, err);
}

const char *run_label(const struct run *run, const char *key)
{
    for (size_t i = 0; i < run->labels.count; i++)
        if (run->labels.items[i].key && strcmp(run->labels.items[i].key, key) == 0)
            return run->labels.items[i].value;
    return NULL;
}

const char *run_gpu_name(const struct run *run)
{
    static const char *const common[] = {"NVIDIA ", "GeForce ", "Tesla ", "Quadro "};
    const char *gpu = run->machine.gpu;
    for (size_t i = 0; gpu && i < sizeof common / sizeof *common; i++)
        if (strncmp(gpu, common[i], strlen(common[i])) == 0)
            gpu += strlen(common[i]);
    return gpu;
}

const char *run_place(const struct run *run)
{
    const struct run_machine *m = &run->machine;
    bool on_cpu =
        (run->use.gpus.known && run->use.gpus.v == 0) ||
        (run->engine && (strcmp(run->engine, "cpu") == 0 || strcmp(run->engine, "ref") == 0));
    const char *gpu = on_cpu ? NULL : run_gpu_name(run);
    return m->name ? m->name : gpu ? gpu : m->instance_type ? m->instance_type : m->cpu;
}

void run_derive(struct run *run)
{
    double ms = run->steady.step_ms.known ? run->steady.step_ms.v : run->step_ms.v;
    if (run->step_flops.known && ms > 0)
        run->use.flops_per_s = some_real(run->step_flops.v / (ms / 1e3));
    // What the steps themselves draw: the power while they were made, not that of the set-up.
    double before_s = 0, watts = 0;
    int64_t looks = 0;
    const struct maybe_int before[] = {run->phases.setup_ns, run->phases.kernels_ns,
                                       run->phases.load_ns, run->phases.device_ns};
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        before_s += before[i].known ? (double)before[i].v / 1e9 : 0;
    for (size_t i = 0; i < run->samples.count; i++) {
        const struct run_sample *sample = &run->samples.items[i];
        if (sample->power_w.known && sample->at_s.known && sample->at_s.v >= before_s) {
            watts += sample->power_w.v;
            looks++;
        }
    }
    if (looks > 0 && ms > 0)
        run->use.joules_per_step = some_real(watts / (double)looks * ms / 1e3);
}

int run_taint(struct run *run, const char *text, struct err *err)
{
    for (size_t i = 0; i < run->taints.count; i++)
        if (strcmp(run->taints.items[i], text) == 0)
            return 0;
    return texts_add(&run->taints, text, err);
}

bool run_failed(const struct run *run)
{
    return run->ended && strcmp(run->ended, "failed") == 0;
}

bool run_stopped(const struct run *run)
{
    return run->ended && strcmp(run->ended, "stopped") == 0;
}
