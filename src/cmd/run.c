// SPDX-License-Identifier: Apache-2.0
// run: train a workload, or run a command of the user's, and measure it.
#include "cmd/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/proc.h"
#include "cmd/fleet.h"
#include "cmd/measuring.h"
#include "cmd/run_text.h"
#include "cmd/values.h"
#include "bill/bill.h"
#include "bill/market.h"
#include "measure/after.h"
#include "measure/ranks.h"
#include "train/workload/workload.h"

struct run_options {
    struct cmd_common common;
    struct measure_options measure;
    const char *batches;      // "32,64,128"
    const char *ranks, *gpus; // "1,2,4"
    int64_t repeat;
    const char *gate;
    struct power_options power;
    const char *then;
    struct fleet_options fleet;
};

#define RUNS_MAX  64
#define FAILED_NS (3 * NS_PER_S)
#define JOB_MAX   255 // bytes of a name, as in save/keep.h

static const struct run_options defaults = {
    .measure = {.seed = 1, .n = 8192, .m = 8192, .dim = 512}, .power = POWER_DEFAULTS};

#define AT(member) offsetof(struct run_options, measure.member)
#define OF(member) offsetof(struct run_options, member)
static const struct opt options[] = {
    {"full", 0, OPT_FLAG, NULL, NULL, AT(full), "Training",
     "train to the end; without it, train a sample"},
    {"epochs", 0, OPT_COUNT, "N", NULL, AT(epochs), "Training",
     "epochs of a full training, instead of the definition's", .least = 1},
    {"batch", 0, OPT_TEXT, "N,...", NULL, OF(batches), "Training",
     "samples per step, instead of the definition's; several are run one after the other, to "
     "show at which batch size gains stop"},
    {"repeat", 0, OPT_COUNT, "N", NULL, OF(repeat), "Training",
     "run N times, each in a fresh process and with --full each with the next seed, and report "
     "the spread between them",
     .least = 1},
    {"gpus", 0, OPT_TEXT, "N,...", NULL, OF(gpus), "Training",
     "train on N GPUs of this machine, a process each, with the same batch divided among them; "
     "several numbers are run one after the other and compared: speed-up, efficiency, bill"},
    {"ranks", 0, OPT_TEXT, "N,...", NULL, OF(ranks), "Training",
     "the same with N processes on CPUs; under mpirun or srun, how many of the processes started "
     "take part (default: all); with a command, 1 makes each of them a run of its own"},
    {"gate", 0, OPT_TEXT, "[LIMIT]", NULL, OF(gate), "Training",
     "exit with 3 if the result is worse: accuracy=0.9 (at least), loss=2.1 or test_loss=2.1 (at "
     "most), or 98%, an accuracy. Without a limit: the accuracy of a correct run of the workload. "
     "A workload needs --full; several seeds count by their mean",
     .takes = gate_is_threshold},
    {"data", 0, OPT_TEXT, "DIR", NULL, AT(data), "Training",
     "folder with the data (default: the set that 'fare workloads data get' fetched, else "
     "generated data)"},
    {"seed", 0, OPT_COUNT, "N", NULL, AT(seed), "Training",
     "seed of the parameters, the order, dropout and augmentation (default 1)"},
    {"engine", 0, OPT_CHOICE, "NAME", engine_names, AT(engine), "Training",
     "cuda (default if there is an NVIDIA GPU; an unusable one is an error), cpu, or ref: plain "
     "and slow, the reference for tests of the others"},
    {"threads", 't', OPT_COUNT, "N", NULL, AT(threads), "Training",
     "threads (default: as many as this process may use)", .least = 1},
    {"precision", 0, OPT_CHOICE, "P", engine_precisions, AT(precision), "Training",
     "f32 (default), tf32 (the default on GPUs that have it), or bf16"},
    {"with", 0, OPT_TEXT, "FRAMEWORK", NULL, AT(with), "Training",
     "train the workload with another framework: pytorch, keras:tensorflow, keras:jax or "
     "keras:torch; gpt2 with pytorch, pytorch:compile or transformers (see FARE_PYTHON); after "
     "pytorch or keras, :plain trains the LSTMs of imdb, tweets and textgen cell by cell, without "
     "a fused layer"},
    {"steps", 0, OPT_COUNT, "N", NULL, AT(steps), "Sampling", "train exactly N steps", .least = 1},
    {"sample", 0, OPT_FLAG, NULL, NULL, AT(sample), "Sampling",
     "stop a command once its total time is known; without it, a command runs to its end"},
    MEASURING_SAMPLE(struct run_options, measure),
    {"checkpoint", 0, OPT_TEXT, "DIR", NULL, AT(checkpoint), "Checkpoints",
     "write checkpoints (safetensors) to this folder, at the end of each epoch and of the run"},
    {"checkpoint-every", 0, OPT_COUNT, "N", NULL, AT(checkpoint_every), "Checkpoints",
     "also after every N steps", .least = 1},
    {"resume", 0, OPT_FLAG, NULL, NULL, AT(resume), "Checkpoints",
     "continue from the newest checkpoint in that folder"},
    {"from", 0, OPT_TEXT, "FILE", NULL, AT(from), "Checkpoints",
     "start from the parameters in a safetensors file: fare's, or for inception one with the "
     "tensor "
     "names of timm, TF-Slim or Keras"},
    {"save", 0, OPT_TEXT, "DIR|s3://BUCKET/PREFIX", NULL, AT(save), "Saving",
     "save its checkpoints there, and resume from the newest one: on this machine or on another"},
    {"checkpoints", 0, OPT_TEXT, "DIR", NULL, AT(checkpoints), "Saving",
     "where a command writes its checkpoints: a folder or a file (default: from the command's own "
     "options, such as --output_dir)"},
    {"notice", 0, OPT_TEXT, "SOURCES", NULL, AT(notice), "Saving",
     "what announces that the machine is taken away: auto (default: this cloud and SIGTERM), none, "
     "or some of aws,gcp,azure,signal:USR1@120,file:PATH"},
    {"on-notice", 0, OPT_TEXT, "SIGNAL|COMMAND", NULL, AT(on_notice), "Saving",
     "ask a command for a checkpoint by this signal (USR1, TERM ...) or shell command; FARE_EVENTS "
     "and the file FARE_NOTICE ask too"},
    {"save-every", 0, OPT_DURATION, "TIME", NULL, AT(save_every_ns), "Saving",
     "time between two saves (default: the best one, from the measured cost)", .least = 1},
    {"mtbi", 0, OPT_DURATION, "TIME", NULL, AT(between_ns), "Saving",
     "mean time between interruptions, for the best interval (default: from imported traces of "
     "such "
     "machines or AWS's spot advisor, if it is a spot machine of the book, else 6h, assumed)",
     .least = 1},
    {"keep-saves", 0, OPT_COUNT, "N", NULL, AT(keep), "Saving",
     "complete checkpoints to keep there (default 3)", .least = 1, .was = "keep"},
    {"job", 0, OPT_TEXT, "NAME", NULL, AT(job), "Saving",
     "the job's name there (default: from the command and its arguments)"},
    {"lease", 0, OPT_DURATION, "TIME", NULL, AT(lease_ns), "Saving",
     "a machine that cannot reach the store for this long ends its job; another may take over "
     "after twice the time (default 30s)",
     .least = 1},
    {"start-over", 0, OPT_FLAG, NULL, NULL, AT(start_over), "Saving",
     "train from the beginning; existing checkpoints are neither used nor deleted"},
    {"checkpoint-patience", 0, OPT_DURATION, "TIME", NULL, AT(patience_ns), "Saving",
     "if there are checkpoints and none can be used, try again for this long, then end with exit "
     "code 74 (default 10m)",
     .least = 1},
    {"retry", 0, OPT_COUNT, "N", NULL, AT(retry), "Saving",
     "restart a command that failed, up to N times, with growing pauses"},
    {"idle", 0, OPT_DURATION, "TIME", NULL, AT(idle_ns), "Saving",
     "end a command that has used neither GPU nor CPU for this long", .least = 1},
    {"then", 0, OPT_TEXT, "poweroff|COMMAND", NULL, OF(then), "Saving",
     "when the run has ended, however it ended: turn the machine off, or run this shell command"},
    {"generate", 0, OPT_COUNT, "N", NULL, AT(generate), "Single workloads",
     "textgen, gpt2: print N characters or tokens from the trained net", .least = 1},
    {"size", 0, OPT_CHOICE, "SIZE", NULL, AT(variant.size), "Single workloads",
     "gpt2: number of parameters (default 124m); 3m is for a quick test", .choice = gpt2_size_name},
    {"context", 0, OPT_COUNT, "N", NULL, AT(variant.context), "Single workloads",
     "gpt2: tokens in a sequence, at most 1024 (the default)", .least = 1},
    {"micro-batch", 0, OPT_COUNT, "N", NULL, AT(micro_batch), "Single workloads",
     "gpt2: sequences of a step to compute at a time (default: as many as memory holds)",
     .least = 1},
    {"hard-gates", 0, OPT_FLAG, NULL, NULL, AT(variant.hard_gates), "Single workloads",
     "imdb, tweets, textgen: hard-sigmoid gates, as old Keras had them on CPUs"},
    {"auxiliary", 0, OPT_FLAG, NULL, NULL, AT(variant.auxiliary), "Single workloads",
     "inception: train the auxiliary head too"},
    {"n", 0, OPT_COUNT, "N", NULL, AT(n), "Single workloads", "l1: vectors in the first set",
     .least = 1},
    {"m", 0, OPT_COUNT, "N", NULL, AT(m), "Single workloads", "l1: vectors in the second set",
     .least = 1},
    {"dim", 0, OPT_COUNT, "N", NULL, AT(dim), "Single workloads",
     "l1: numbers in a vector (defaults 8192, 8192, 512)", .least = 1},
    MEASURING_COMMAND(struct run_options, measure),
    MEASURING_RECORD(struct run_options, measure),
    FLEET_ROWS(OF),
    CURRENCY_ROW(AT(currency), "Money"),
    POWER_ROWS(OF, "Money"),
    {NULL},
};
#undef AT
#undef OF

static const struct cmd_example examples[] = {
    {"fare run mlp", "a sample: the step time here, and how long the whole training would take"},
    {"fare run cnn --within 1% --max-time 5m", "a longer sample, for a narrower interval"},
    {"fare run cifar --batch 32,64,128,256", "at which batch size do gains stop?"},
    {"fare run inception --gpus 1,2,4", "is it worth renting more GPUs?"},
    {"mpirun -n 4 fare run cifar", "four processes, on one machine or several, as one run"},
    {"fare run mlp --repeat 5", "how much do runs differ from each other?"},
    {"fare run cnn --full --data ~/mnist", "all twelve epochs, on MNIST's own files"},
    {"fare run mlp --full --repeat 3 --gate", "in CI: does it still reach its accuracy?"},
    {"fare run --gate loss=2.1 -- python train.py", "the same for your own training"},
    {"fare run all --max-time 10s", "a sample of every workload, in one table"},
    {"fare run imdb --full --checkpoint runs --resume", "continue where the last run was cut off"},
    {"fare run textgen --full --generate 400", "train on a text, then write one like it"},
    {"fare run mlp --with pytorch", "the same training in PyTorch, for comparison"},
    {"fare run mlp --with keras:jax", "and in Keras 3 on JAX"},
    {"fare run -- python train.py", "your own training, to its end, with time left and bill"},
    {"fare run -- torchrun --nproc-per-node 8 train.py",
     "eight processes as one run: calculation, communication, waiting"},
    {"srun -N2 fare run -- python train.py", "the same, started on two machines of a Slurm job"},
    {"fare run --sample -- python train.py", "the same, stopped once its total time is known"},
    {"fare run --save s3://bucket/bert -- python train.py --output_dir out --resume {resume}",
     "on spot machines: the same line resumes it on the next one"},
    {"fare run cnn --full --save /mnt/nfs/cnn --then poweroff", "the same for a native workload"},
    {"fare run mlp --on ssh:alice@box1,ssh:box2", "on two other machines, side by side"},
    {"fare run --on ssh:@hosts --sweep lr=0.1,0.01 --sweep seed=1..8 -- python train.py --lr {lr} "
     "--seed {seed}",
     "sixteen trainings over the hosts of a file"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_EVENTS",
     "Where a command reports its progress, as JSON lines, and with --save finds notices; fare "
     "sets it to a file, unless you set it to a path or fd:N"},
    {"FARE_RESUME, FARE_CHECKPOINTS, FARE_NOTICE",
     "With --save, set for a command: the checkpoint to resume from, the folder for checkpoints, "
     "and a file that says when to write one"},
    {"FARE_PYTHON", "The Python that --with uses (default: python3)"},
    {"KERAS_BACKEND", "The backend of --with keras (default: tensorflow)"},
    {"FARE_SSH", "The program for --on ssh, with options, split at spaces (default: ssh)"},
    {"FARE_BUNDLE", "The bundle's archive that --on copies to other machines"},
    {"FARE_JOIN", "Seconds to wait for the other processes of mpirun or srun (default: 60)"},
    {"FARE_JOIN_HOST",
     "With a command on several machines: the one with rank 0, if its processes do not find it"},
    {"FARE_JOIN_SECRET_FILE, FARE_JOIN_SECRET",
     "With a command on several machines: a file with mode 600, or a value, by which its fare "
     "processes know each other (default: mpirun's, or a file in your home folder)"},
    {"FARE_LEDGER", "Where runs are kept: a file (SQLite) or a postgresql:// URL"},
    {"FARE_ORDERED",
     "When this machine was ordered for the run, in seconds since 1970: the run pays for its boot "
     "(--on sky sets it)"},
    {"FARE_PROJECT", "The project that pays for runs"},
    {NULL, NULL},
};

static int check_job(const char *job, struct err *err)
{
    size_t len = job ? strlen(job) : 1;
    if (len == 0 || len > JOB_MAX)
        return err_set(err, ERR_USAGE, "--job: a job's name has 1 to %d bytes, not %zu", JOB_MAX,
                       len);
    if (job && job[0] == '.')
        return err_set(err, ERR_USAGE, "--job '%s': a job's name cannot begin with a dot", job);
    return 0;
}

// A notice alone saves nothing: without a place for checkpoints these options are refused.
static int check_saving(const struct measure_options *o, struct err *err)
{
    const char *name = o->save                ? NULL
                       : o->notice            ? "notice"
                       : o->on_notice         ? "on-notice"
                       : o->checkpoints       ? "checkpoints"
                       : o->save_every_ns > 0 ? "save-every"
                       : o->between_ns > 0    ? "mtbi"
                       : o->keep > 0          ? "keep-saves"
                       : o->job               ? "job"
                       : o->lease_ns > 0      ? "lease"
                       : o->start_over        ? "start-over"
                       : o->patience_ns > 0   ? "checkpoint-patience"
                                              : NULL;
    if (!name)
        return check_job(o->job, err);
    err_set(err, ERR_USAGE, "--%s needs --save, the place for checkpoints", name);
    return err_hint(err, "--save DIR or --save s3://BUCKET/PREFIX keeps them; docs/saving.md");
}

// `first` of the `names` is the first workload's.
static int check_options(const struct run_options *given, size_t names, const char *first,
                         struct err *err)
{
    const struct measure_options *o = &given->measure;
    if (o->resume && !o->checkpoint)
        return err_set(err, ERR_USAGE,
                       "--resume needs --checkpoint DIR, the folder to resume from");
    if (o->checkpoint_every > 0 && !o->checkpoint)
        return err_set(err, ERR_USAGE, "--checkpoint-every needs --checkpoint DIR");
    if (o->resume && o->from)
        return err_set(err, ERR_USAGE, "--resume and --from exclude each other");
    if (given->gate && !o->full)
        return err_set(err, ERR_USAGE, "--gate needs --full: a sample has no result to check");
    if (o->full && o->steps > 0)
        return err_set(err, ERR_USAGE, "--steps is for samples; a full training has --epochs");
    if (o->checkpoint && (given->repeat > 1 || (given->batches && strchr(given->batches, ','))))
        return err_set(err, ERR_USAGE, "--checkpoint is for one run, not for several");
    if (o->save && (!o->full || names != 1 || given->repeat > 1 ||
                    (given->batches && strchr(given->batches, ','))))
        return err_set(err, ERR_USAGE,
                       "--save is for one whole training: it needs --full, and one "
                       "workload");
    if (o->save && names == 1 && strcmp(first, workload_l1.name) == 0)
        return err_set(err, ERR_USAGE, "--save: %s has no checkpoints", first);
    if (names == 0) {
        err_set(err, ERR_USAGE, "'fare run' needs a workload, or 'all'");
        return err_hint(err, "'fare workloads' lists them; 'fare run mlp' is a quick one");
    }
    return 0;
}

// A command has no target of its own, and a sample no result.
static int check_limit(const struct run_options *given, bool command, struct err *err)
{
    struct gate gate;
    TRY(gate_parse(given->gate, &gate, err));
    if (command && given->measure.sample)
        return err_set(err, ERR_USAGE, "--gate is not for --sample, which has no result to check");
    if (!command || gate.what)
        return 0;
    err_set(err, ERR_USAGE, "--gate needs a limit for a command: fare knows no target of it");
    return err_hint(err, "--gate accuracy=0.9 or --gate loss=2.1");
}

// "32,64,128"; without the option one zero: the default.
static int read_numbers(const char *option, const char *text, int64_t most, int64_t *numbers,
                        size_t *count, struct err *err)
{
    *count = 0;
    if (!text)
        numbers[(*count)++] = 0;
    while (text && *text) {
        char *end;
        errno = 0;
        long long number = strtoll(text, &end, 10);
        if (end == text || errno != 0 || number < 1 || number > most ||
            (*end != ',' && *end != '\0') || *count == RUNS_MAX)
            return err_set(err, ERR_USAGE,
                           "%s: expected numbers from 1 to %lld with commas between them", option,
                           (long long)most);
        numbers[(*count)++] = number;
        text = *end == ',' ? end + 1 : end;
    }
    return *count > 0 ? 0 : err_set(err, ERR_USAGE, "%s: expected a number", option);
}

// How many processes train together, run by run.
static int read_ranks(const struct run_options *o, int64_t *ranks, size_t *count, struct err *err)
{
    return o->gpus ? read_numbers("--gpus", o->gpus, GROUP_SIZE_MAX, ranks, count, err)
                   : read_numbers("--ranks", o->ranks, GROUP_SIZE_MAX, ranks, count, err);
}

// A script or program was given as a workload: suggest '--' before it.
static void hint_at_dashes(const struct opt_rest *rest, struct err *err)
{
    const char *first = rest->args[0];
    size_t len = strlen(first);
    const char *end = len > 3 ? first + len - 3 : "";
    const char *with = strcmp(end, ".py") == 0 ? "python" : strcmp(end, ".sh") == 0 ? "bash" : "";
    bool command = *with || strchr(first, '/') || proc_in_path(first);
    for (size_t i = 0; i < rest->count; i++)
        command |= access(rest->args[i], F_OK) == 0;
    if (!command)
        return;
    SCOPED(buf_release) struct buf line = {0};
    buf_adds(&line, with);
    for (size_t i = 0; i < rest->count; i++)
        buf_printf(&line, "%s%s", line.len > 0 ? " " : "", rest->args[i]);
    err->hint[0] = '\0'; // instead of the list of workloads
    err_hint(err, "to measure a command, put it after '--': fare run -- %s", buf_str(&line));
}

// The workloads of the command line, in its order; "all" is every one.
static int pick(const struct opt_rest *rest, const struct workload **picked, size_t *count,
                struct err *err)
{
    *count = 0;
    for (size_t i = 0; i < rest->count; i++) {
        bool all = strcmp(rest->args[i], "all") == 0;
        for (size_t w = 0; all && workloads[w] && *count < RUNS_MAX; w++)
            picked[(*count)++] = workloads[w];
        if (all)
            continue;
        const struct workload *one = workload_find(rest->args[i], err);
        if (!one && i == 0)
            hint_at_dashes(rest, err);
        if (!one)
            return ERR_USAGE;
        if (*count < RUNS_MAX)
            picked[(*count)++] = one;
    }
    return 0;
}

static void print_epochs(struct out *out, const struct run *run)
{
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        char time[24] = "-", right[48] = "";
        if (e->train_ns.known)
            clock_words(e->train_ns.v, time, sizeof time);
        if (e->train_accuracy.known)
            snprintf(right, sizeof right, ", %.2f %% right while training",
                     e->train_accuracy.v * 100);
        out_printf(out, "%-10s epoch %lld: %s, loss %.4f%s", run->workload, (long long)e->epoch.v,
                   time, e->train_loss.v, right);
        if (e->test_accuracy.known)
            out_printf(out, ", %.2f %% held out", e->test_accuracy.v * 100);
        out_printf(out, "\n");
    }
}

static int run_one(const struct cmd_call *call, struct measure *m, const struct workload *workload,
                   int64_t batch, int64_t ranks, struct err *err)
{
    const struct measure_what what = {.workload = workload, .batch = batch, .ranks = (int)ranks};
    int rc = measure_run(m, &what, err);
    if (rc == 0 && !m->o->json) {
        out_printf(call->out, "%s", buf_str(&m->words));
        if (m->o->full && m->runs.runs.count > 0)
            print_epochs(call->out, &m->runs.runs.items[m->runs.runs.count - 1]);
    }
    buf_reset(&m->words);
    return rc;
}

// `own` is m->o: each full repetition has its own seed.
static int run_all(const struct cmd_call *call, struct measure *m, struct measure_options *own,
                   struct err *err)
{
    const struct run_options *o = call->options;
    const struct workload *picked[RUNS_MAX];
    int64_t batches[RUNS_MAX], ranks[RUNS_MAX];
    size_t count = 0, batch_count = 0, rank_count = 0;
    int64_t repeat = o->repeat > 1 ? o->repeat : 1;
    bool left_out = false;
    TRY(read_numbers("--batch", o->batches, 1 << 20, batches, &batch_count, err));
    TRY(read_ranks(o, ranks, &rank_count, err));
    TRY(pick(call->rest, picked, &count, err));
    TRY(measure_open(m, m->o, call->desk, err));
    run_text_says(m, !m->o->json);
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < batch_count * rank_count; b++)
            for (int64_t r = 0; r < repeat; r++)
                if (measure_over(m)) {
                    left_out = true;
                } else {
                    own->seed = o->measure.seed + (own->full ? r : 0);
                    TRY(run_one(call, m, picked[i], batches[b / rank_count], ranks[b % rank_count],
                                err));
                }
    measure_say_spent(m, left_out);
    return 0;
}

static void check_gate(const struct cmd_call *call, const struct measure *m)
{
    const struct run_options *o = call->options;
    struct gate gate;
    SCOPED(buf_release) struct buf says = {0};
    if (!o->gate || m->exit_code != 0 || gate_parse(o->gate, &gate, NULL) != 0) // checked before
        return;
    if (!gate_passed(&gate, &m->runs, &says))
        *call->exit_code = GATE_EXIT;
    out_complain(buf_str(&says));
}

// The electricity of each run's whole training, or of the run if that is unknown. A command's goes
// to stderr: stdout belongs to it.
static int say_power(const struct cmd_call *call, const struct measure *m, struct err *err)
{
    const struct run_options *o = call->options;
    struct power_given given;
    TRY(value_power(&o->power, &given, err));
    if (given.busy_mw < 0 && given.kwh < 0)
        return 0;
    int rc = 0;
    for (size_t i = 0; i < m->runs.runs.count && rc == 0; i++) {
        const struct run *run = &m->runs.runs.items[i];
        struct bill_time time;
        struct power power;
        struct buf text = {0};
        bool whole = bill_time_of(run, &time);
        rc = power_of_run(call->desk->market, run, &given, &power, err);
        buf_printf(&text, "power for %s: ", whole ? "the whole training" : "this run");
        power_words(&power, whole ? time.total_ns : run->phases.wall_ns.v, given.kwh, &text);
        if (rc == 0 && call->rest->command)
            out_complain(buf_str(&text));
        else if (rc == 0)
            out_row(call->out, run->workload, "%s", buf_str(&text));
        buf_drop(&call->out->text, &text);
    }
    return rc;
}

static int print(const struct cmd_call *call, struct measure *m, int rc, struct err *err)
{
    run_text_says(m, false);
    if (rc == 0)
        rc = repeat_group(&m->runs, err);
    if (rc == 0) {
        *call->exit_code = m->exit_code;
        check_gate(call, m);
    }
    if (m->o->json && m->begun) {
        struct err unprinted = {0};
        int printed = out_record(call->out, runs_fields, &m->runs, &unprinted);
        return rc != 0 ? rc : printed;
    }
    if (rc != 0)
        return rc;
    run_text_table(call->out, m->runs.runs.items, m->runs.runs.count);
    run_text_notes(call->out, &m->runs, &m->plan);
    run_text_bills(call->out, m);
    run_scaling(call->out, &m->runs, m->price ? measure_price_hour(m->price) : 0);
    TRY(say_power(call, m, err));
    if (measure_interrupted(m))
        out_printf(call->out, "Interrupted: these are the figures so far.\n");
    return 0;
}

// ---- elsewhere

#define LIMIT_SLACK_NS (INT64_C(600) * NS_PER_S) // over --max-time, for all that is not sampling

// The time limit of a measurement elsewhere, from what it does; 0: none.
static int64_t usual_limit(const struct run_options *o, bool command)
{
    const struct measure_options *m = &o->measure;
    if (m->full || m->steps > 0 || (command && !m->sample && m->max_time_ns == 0))
        return 0;
    int64_t each = m->max_time_ns > 0 ? m->max_time_ns : MEASURE_MAX_TIME_S * NS_PER_S;
    return each * (o->repeat > 1 ? o->repeat : 1) * (o->batches ? RUNS_MAX : 1) + LIMIT_SLACK_NS;
}

static int64_t numbers_in(const char *list)
{
    int64_t count = 1;
    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

// The runs of one task at most. A lost lease starts a saved one again: allow for some.
static int64_t runs_most(const struct run_options *o)
{
    int64_t lists = numbers_in(o->batches) * numbers_in(o->gpus) * numbers_in(o->ranks);
    int64_t starts = 1 + o->measure.retry + (o->measure.save ? 10 : 0), repeat = o->repeat;
    int64_t runs = 0;
    bool over = __builtin_mul_overflow(lists * (repeat > 1 ? repeat : 1), starts, &runs);
    return over || runs > FLEET_RUNS_MOST ? FLEET_RUNS_MOST : runs;
}

static int run_elsewhere(const struct cmd_call *call, struct err *err)
{
    static const char *const except[] = {"ledger", "no-ledger", NULL};
    const struct run_options *o = call->options;
    const struct workload *picked[RUNS_MAX];
    const char *names[RUNS_MAX];
    size_t count = 0;
    bool command = call->rest->command != NULL;
    if (o->then)
        return err_set(err, ERR_USAGE, "--then is not for other machines: they are still needed");
    if (o->measure.no_ledger)
        return err_set(err, ERR_USAGE, "--no-ledger: records from elsewhere are kept in one");
    if (o->gate)
        return err_set(err, ERR_USAGE, "--gate is for this machine");
    if (!command) {
        TRY(check_options(o, call->rest->count, call->rest->count > 0 ? call->rest->args[0] : "",
                          err));
        TRY(pick(call->rest, picked, &count, err));
    }
    for (size_t i = 0; i < count; i++)
        names[i] = picked[i]->name;
    char **arguments = fleet_arguments(options, o, &defaults, except, err);
    if (!arguments)
        return ERR_MEMORY;
    const struct fleet_job job = {.o = &o->fleet,
                                  .workloads = names,
                                  .workload_count = count,
                                  .arguments = arguments,
                                  .limit_ns = usual_limit(o, command),
                                  .runs = runs_most(o)};
    int rc = fleet_run(call, &job, err);
    fleet_arguments_free(arguments);
    return rc;
}

// ---- several processes

static int check_ranks(const struct cmd_call *call, int64_t most, struct err *err)
{
    const struct run_options *o = call->options;
    const struct measure_options *m = &o->measure;
    if (most < 2)
        return 0;
    if (m->with)
        return err_set(err, ERR_USAGE, "--%s is for fare's own engines, not for --with",
                       o->gpus ? "gpus" : "ranks");
    for (size_t i = 0; i < call->rest->count; i++)
        if (strcmp(call->rest->args[i], workload_l1.name) == 0)
            return err_set(err, ERR_USAGE, "%s trains nothing that could be divided",
                           workload_l1.name);
    if (m->engine && strcmp(m->engine, o->gpus ? "cuda" : "cpu") != 0)
        return err_set(err, ERR_USAGE, "--%s: the engine '%s' cannot train in several processes",
                       o->gpus ? "gpus" : "ranks", m->engine);
    return 0;
}

// The processes that train together. Ranks other than 0 return when all is done: 1.
static int open_ranks(const struct cmd_call *call, struct measure_options *o, struct err *err)
{
    const struct run_options *given = call->options;
    int64_t ranks[RUNS_MAX], most = 0;
    size_t count;
    if (given->gpus && given->ranks)
        return err_set(err, ERR_USAGE, "either --gpus or --ranks, not both");
    TRY(read_ranks(given, ranks, &count, err));
    for (size_t i = 0; i < count; i++)
        most = ranks[i] > most ? ranks[i] : most;
    int started = group_joinable();
    if (started > 1 && most > started)
        return err_set(err, ERR_USAGE, "--%s %lld: only %d processes were started",
                       given->gpus ? "gpus" : "ranks", (long long)most, started);
    TRY(check_ranks(call, started > 1 ? started : most, err));
    if (given->gpus || given->ranks)
        o->engine = given->gpus ? "cuda" : "cpu";
    TRY(ranks_open(&o->group, (int)most, err));
    if (o->group)
        o->apart = false; // the processes stay together
    if (group_place(o->group).rank == 0)
        return 0;
    bool forked = strcmp(group_kind(o->group), "local") == 0;
    int rc = ranks_follow(o->group, o, err);
    group_free(o->group);
    if (rc != 0 &&
        !forked) // mpirun ends all when the first one fails: rank 0 is to write its record
        clock_sleep_ns(FAILED_NS);
    if (rc != 0 || forked)
        _exit(rc != 0); // rank 0 says what there is to say
    return 1;
}

// A command's processes are its launcher's business; those of fare itself are one run.
static int join_ranks(const struct run_options *given, struct measure_options *o, struct err *err)
{
    if (given->gpus || (given->ranks && strcmp(given->ranks, "1") != 0)) {
        err_set(err, ERR_USAGE, "--%s is for fare's own workloads", given->gpus ? "gpus" : "ranks");
        return err_hint(err, "a command's launcher has an option of its own: fare run -- torchrun "
                             "--nproc-per-node 2 train.py");
    }
    o->alone = given->ranks != NULL;
    return measuring_joins(o, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct run_options *given = call->options;
    struct measure_options o = given->measure;
    struct measure m = {.o = &o};
    struct err after = {0};
    o.json = given->common.json;
    o.apart = given->repeat > 1;
    struct power_given power;
    int rc = value_power(&given->power, &power, err); // before anything runs
    if (rc == 0)
        rc = local_check(call->desk->market, o.currency, err);
    if (rc != 0)
        return rc;
    if (call->rest->command && call->rest->count > 0)
        return err_set(err, ERR_USAGE, "either a workload or a command after '--', not both");
    TRY(given->gate ? check_limit(given, call->rest->command, err) : 0);
    TRY(call->rest->command ? 0 : measuring_without_command(&given->measure, err));
    TRY(check_saving(&given->measure, err));
    if (fleet_wanted(&given->fleet))
        return run_elsewhere(call, err);
    const char *frame = getenv("FARE_FRAME");
    char key[TASK_KEY_BYTES] = "";
    int64_t began_s = clock_date_s();
    if (frame) { // not for a fare inside of the command
        snprintf(key, sizeof key, "%s", frame);
        unsetenv("FARE_FRAME");
    }
    if (!call->rest->command) {
        rc = open_ranks(call, &o, err);
        if (rc != 0)
            return rc > 0 ? 0 : rc;
    }
    if (call->rest->command) {
        rc = join_ranks(given, &o, err);
        if (rc == 0)
            rc = measuring_command(call, &m, false, err);
        if (rc == 0 && !o.follows)
            check_gate(call, &m);
        if (rc == 0 && o.follows) {
            // the first process prints
        } else if (rc == 0 && o.json)
            rc = out_record(call->out, runs_fields, &m.runs, err);
        else if (rc == 0) {
            run_text_command(call->out, &m, true);
            rc = say_power(call, &m, err);
        }
    } else {
        rc = check_options(given, call->rest->count,
                           call->rest->count > 0 ? call->rest->args[0] : "", err);
        if (rc == 0)
            rc = print(call, &m, run_all(call, &m, &o, err), err);
    }
    const struct runs *runs = &m.runs;
    const struct run *last = runs->runs.count > 0 ? &runs->runs.items[runs->runs.count - 1] : NULL;
    if (given->then && rc != ERR_USAGE && then_run(given->then, last, &after) != 0 && rc == 0) {
        rc = after.code;
        *err = after;
    }
    ranks_close(o.group);
    if (*key)
        fleet_frame(key, runs, rc == 0 ? *call->exit_code : cmd_exit_code(rc), began_s);
    measure_close(&m);
    buf_lost_forget(); // a line on the screen; the record was checked
    return rc;
}

const struct command cmd_run = {
    .name = "run",
    .group = "Measure",
    .summary = "train a workload, or run a command, and measure it",
    .arguments = "NAME...|all|-- COMMAND...",
    .about =
        "Trains native workloads (see 'fare workloads') with fare's own engines. By default it "
        "trains a sample, until the total time of the training is known well enough. "
        "--full trains all of it, with the definition's epochs, and checks the result "
        "against that of a correct run, and the projections against the time it took. "
        "Ctrl-C ends a training cleanly, prints what was measured so far and exits with "
        "130. 'fare run -- COMMAND' measures your own program, to its own end: its "
        "processes, time, exit code and, if it shows them, steps and losses, with a projection of "
        "the time left (see docs/measuring-a-command.md). Only --sample, --max-time and "
        "--max-spend end it early. Every run is kept in the ledger: 'fare runs' lists "
        "them.",
    .options = options,
    .options_size = sizeof(struct run_options),
    .defaults = &defaults,
    .max_args = 64,
    .takes_command = true,
    .examples = examples,
    .variables = variables,
    .run = run,
};
