// SPDX-License-Identifier: Apache-2.0
// run: train a workload and say how fast and how well.
#include "cmd/cmd.h"

#include <string.h>

#include "base/clock.h"
#include "cmd/run_command.h"
#include "cmd/training.h"

struct run_options {
    struct cmd_common common;
    struct training_options training;
    struct run_command_options command; // of other programs: run_command.h
};

static const char *const engines[] = {"cpu", "ref", NULL};
static const char *const precisions[] = {"f32", "bf16", NULL};

#define AT(member) offsetof(struct run_options, training.member)
static const struct opt options[] = {
    {"full", 0, OPT_FLAG, NULL, NULL, AT(full), NULL,
     "train to the end; without it a short sample is trained"},
    {"data", 0, OPT_TEXT, "DIR", NULL, AT(data), NULL,
     "folder with the data; without it, what 'fare workloads data get' fetched, or a set that is "
     "made on the spot"},
    {"seed", 0, OPT_COUNT, "N", NULL, AT(seed), NULL,
     "seed of the parameters, the order, dropout and augmentation (default 1)"},
    {"epochs", 0, OPT_COUNT, "N", NULL, AT(epochs), NULL,
     "epochs of a full training, in place of the definition's"},
    {"steps", 0, OPT_COUNT, "N", NULL, AT(steps), NULL,
     "steps of the sample, in place of the workload's own"},
    {"engine", 0, OPT_CHOICE, "NAME", engines, AT(engine), "How",
     "cpu (default), or ref: plain, slow, the truth the others are tested against"},
    {"threads", 't', OPT_COUNT, "N", NULL, AT(threads), "How",
     "threads (default: as many as this process may use)"},
    {"precision", 0, OPT_CHOICE, "P", precisions, AT(precision), "How",
     "f32 (default), or bf16 where it really works"},
    {"with", 0, OPT_TEXT, "FRAMEWORK", NULL, offsetof(struct run_options, command.with), "How",
     "train the workload with another framework: pytorch"},
    {"checkpoint", 0, OPT_TEXT, "DIR", NULL, AT(checkpoint), "Checkpoints",
     "write checkpoints to this folder (safetensors), at the end of each epoch and of the run"},
    {"checkpoint-every", 0, OPT_COUNT, "N", NULL, AT(checkpoint_every), "Checkpoints",
     "and after every N steps"},
    {"resume", 0, OPT_FLAG, NULL, NULL, AT(resume), "Checkpoints",
     "go on from the newest checkpoint in that folder"},
    {"from", 0, OPT_TEXT, "FILE", NULL, AT(from), "Checkpoints",
     "start from the parameters in a safetensors file, as far as they fit"},
    {"generate", 0, OPT_COUNT, "N", NULL, AT(generate), "Of single workloads",
     "textgen: print N characters from the trained net"},
    {"n", 0, OPT_COUNT, "N", NULL, AT(n), "Of single workloads", "l1: vectors in the first set"},
    {"m", 0, OPT_COUNT, "N", NULL, AT(m), "Of single workloads", "l1: vectors in the second set"},
    {"dim", 0, OPT_COUNT, "N", NULL, AT(dim), "Of single workloads",
     "l1: numbers in a vector (defaults 8192, 8192, 512)"},
    RUN_COMMAND_OPTIONS(struct run_options, command),
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare run mlp", "a few seconds of training: how fast is this machine"},
    {"fare run cnn --full --data ~/mnist", "all twelve epochs, on MNIST's own files"},
    {"fare run all", "a sample of every workload, in one table"},
    {"fare run imdb --full --checkpoint runs --resume", "go on where the last run was cut off"},
    {"fare run textgen --full --generate 400", "train on a text, then write one like it"},
    {"fare run mlp --with pytorch", "the same training in PyTorch, to compare with"},
    {"fare run --total-steps 20000 -- python train.py", "your own, ended when its time is known"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_EVENTS",
     "Where a command tells its progress, as JSON lines: set for it by fare to a file "
     "of its own; a path or fd:N of yours is used instead"},
    {"FARE_PYTHON", "The Python that --with uses (default: python3)"},
    {NULL, NULL},
};

static int check_options(const struct training_options *o, size_t names, struct err *err)
{
    if (o->resume && !o->checkpoint)
        return err_set(err, ERR_USAGE,
                       "--resume needs --checkpoint DIR, the folder to resume from");
    if (o->checkpoint_every > 0 && !o->checkpoint)
        return err_set(err, ERR_USAGE, "--checkpoint-every needs --checkpoint DIR");
    if (o->resume && o->from)
        return err_set(err, ERR_USAGE, "--resume and --from cannot both say where to start");
    if (o->full && o->steps > 0)
        return err_set(err, ERR_USAGE, "--steps is for samples; a full training has --epochs");
    if (names == 0) {
        err_set(err, ERR_USAGE, "'fare run' needs a workload, or 'all'");
        return err_hint(err, "'fare workloads' lists them; 'fare run mlp' is a quick one");
    }
    return 0;
}

// The workloads of the command line, in its order; "all" is every one.
static int pick(const struct opt_rest *rest, const struct workload **picked, size_t *count,
                size_t room, struct err *err)
{
    *count = 0;
    for (size_t i = 0; i < rest->count; i++) {
        bool all = strcmp(rest->args[i], "all") == 0;
        for (size_t w = 0; all && workloads[w] && *count < room; w++)
            picked[(*count)++] = workloads[w];
        if (all)
            continue;
        const struct workload *one = workload_find(rest->args[i], err);
        if (!one)
            return ERR_USAGE;
        if (*count < room)
            picked[(*count)++] = one;
    }
    return 0;
}

static void print_epochs(struct out *out, const struct run *run)
{
    if (!run->full.known || !run->full.v)
        return;
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        char time[24] = "";
        if (e->train_ns.known)
            clock_words(e->train_ns.v, time, sizeof time);
        out_printf(out, "%-10s epoch %lld: %s%sloss %.4f", run->workload, (long long)e->epoch.v,
                   time, time[0] ? ", " : "", e->train_loss.v);
        if (e->train_accuracy.known)
            out_printf(out, ", %.2f %% right while training", e->train_accuracy.v * 100);
        if (e->test_accuracy.known)
            out_printf(out, ", %.2f %% held out", e->test_accuracy.v * 100);
        out_printf(out, "\n");
    }
}

static int run_all(const struct cmd_call *call, const struct workload *const *picked, size_t count,
                   struct runs *runs, struct err *err)
{
    const struct run_options *o = call->options;
    struct buf says = {0};
    int rc = text_set(&runs->schema, RUNS_SCHEMA, err);
    runs->runs.known = true;
    for (size_t i = 0; i < count && rc == 0 && !training_stop; i++) {
        struct run *run = LIST_ADD(&runs->runs, err);
        if (!run) {
            rc = ERR_MEMORY;
            break;
        }
        if (o->command.with)
            rc = run_framework(picked[i], &o->command, &o->training, o->common.json, run, &says,
                               err);
        else
            rc = training_run(picked[i], &o->training, run, &says, err);
        if (rc != 0)
            err_context(err, "%s", picked[i]->name);
        if (!o->common.json && rc == 0) {
            out_printf(call->out, "%s", buf_str(&says));
            print_epochs(call->out, run);
        }
        buf_reset(&says);
    }
    buf_release(&says);
    return rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct run_options *given = call->options;
    struct run_options o = *given;
    if (o.training.seed == 0)
        o.training.seed = 1;
    o.training.n = o.training.n ? o.training.n : 8192;
    o.training.m = o.training.m ? o.training.m : 8192;
    o.training.dim = o.training.dim ? o.training.dim : 512;
    const struct workload *picked[64];
    size_t count = 0;
    if (call->rest->command && call->rest->count == 0)
        return run_command(call, &o.command, o.training.full, o.common.json, err);
    if (call->rest->command)
        return err_set(err, ERR_USAGE, "either a workload or a command after '--', not both");
    int rc = run_command_unused(&o.command, err);
    if (rc == 0)
        rc = check_options(&o.training, call->rest->count, err);
    if (rc == 0)
        rc = pick(call->rest, picked, &count, sizeof picked / sizeof *picked, err);
    if (rc != 0)
        return rc;
    training_catch();
    struct runs runs = {0};
    const struct cmd_call inner = {call->commands, &o, call->rest, call->out};
    rc = run_all(&inner, picked, count, &runs, err);
    if (o.common.json) {
        struct err print = {0};
        int printed = out_record(call->out, runs_fields, &runs, &print);
        rc = rc != 0 ? rc : printed;
    } else if (rc == 0) {
        training_table(call->out, runs.runs.items, runs.runs.count);
        if (training_stop)
            out_printf(call->out, "Stopped: these are the figures up to then.\n");
    }
    record_release(runs_fields, &runs);
    return rc;
}

const struct command cmd_run = {
    .name = "run",
    .group = "Measure",
    .summary = "train a workload and say how fast and how well",
    .arguments = "NAME...|all|-- COMMAND...",
    .about = "Trains native workloads (see 'fare workloads') with fare's own engines. By default a "
             "short sample is trained, enough to tell the speed; --full trains all of it, with "
             "the definition's epochs, and checks whether the result is what a correct run "
             "reaches. Ctrl-C ends a training cleanly, with what was measured so far. "
             "After '--' comes a program of yours, which is measured in the same way: its "
             "processes, time, exit code and, where it tells them, steps and losses (see "
             "docs/measuring-a-command.md).",
    .options = options,
    .options_size = sizeof(struct run_options),
    .max_args = 64,
    .takes_command = true,
    .examples = examples,
    .variables = variables,
    .run = run,
};
