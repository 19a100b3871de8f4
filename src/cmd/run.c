// SPDX-License-Identifier: Apache-2.0
// run: train a workload and say how fast and how well.
#include "cmd/cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cmd/check.h"
#include "measure/measure.h"
#include "measure/framework.h"
#include "cmd/training.h"
#include "measure/watch.h"
#include "measure/repeat.h"

struct run_options {
    struct cmd_common common;
    struct measure_options measure;
    struct native_options training;
    struct run_command_options command; // of other programs: run_command.h
    const char *batches;                // "32,64,128"
    int64_t repeat;
};

#define RUNS_MAX 64

static const struct run_options defaults = {
    .training = {.seed = 1, .n = 8192, .m = 8192, .dim = 512}};

static const char *const engines[] = {"cuda", "cpu", "ref", NULL};
static const char *const precisions[] = {"f32", "tf32", "bf16", NULL};

#define AT(member) offsetof(struct run_options, training.member)
#define OF(member) offsetof(struct run_options, member)
static const struct opt options[] = {
    {"full", 0, OPT_FLAG, NULL, NULL, AT(full), NULL,
     "train to the end; without it a sample is trained"},
    {"steps", 0, OPT_COUNT, "N", NULL, AT(steps), "Sampling", "make just so many steps instead",
     .least = 1},
    {"repeat", 0, OPT_COUNT, "N", NULL, OF(repeat), "Sampling",
     "run N times, each in a fresh process, and report the spread between them", .least = 1},
    {"data", 0, OPT_TEXT, "DIR", NULL, AT(data), NULL,
     "folder with the data; without it, what 'fare workloads data get' fetched, or a set that is "
     "made on the spot"},
    {"seed", 0, OPT_COUNT, "N", NULL, AT(seed), NULL,
     "seed of the parameters, the order, dropout and augmentation (default 1)"},
    {"epochs", 0, OPT_COUNT, "N", NULL, AT(epochs), NULL,
     "epochs of a full training, in place of the definition's", .least = 1},
    {"batch", 0, OPT_TEXT, "N,...", NULL, OF(batches), "How",
     "samples per step, in place of the definition's; several are run one after the other, to "
     "show where the device saturates"},
    {"engine", 0, OPT_CHOICE, "NAME", engines, AT(engine), "How",
     "cuda (default where there is an NVIDIA GPU; one that cannot be used is an error), cpu, or "
     "ref: plain, slow, the truth the others are tested against"},
    {"threads", 't', OPT_COUNT, "N", NULL, AT(threads), "How",
     "threads (default: as many as this process may use)", .least = 1},
    {"precision", 0, OPT_CHOICE, "P", precisions, AT(precision), "How",
     "f32 (default), tf32 (GPUs; the default there), or bf16 where it really works"},
    {"with", 0, OPT_TEXT, "FRAMEWORK", NULL, offsetof(struct run_options, command.with), "How",
     "train the workload with another framework: pytorch"},
    {"checkpoint", 0, OPT_TEXT, "DIR", NULL, AT(checkpoint), "Checkpoints",
     "write checkpoints to this folder (safetensors), at the end of each epoch and of the run"},
    {"checkpoint-every", 0, OPT_COUNT, "N", NULL, AT(checkpoint_every), "Checkpoints",
     "and after every N steps", .least = 1},
    {"resume", 0, OPT_FLAG, NULL, NULL, AT(resume), "Checkpoints",
     "go on from the newest checkpoint in that folder"},
    {"from", 0, OPT_TEXT, "FILE", NULL, AT(from), "Checkpoints",
     "start from the parameters in a safetensors file, as far as they fit"},
    {"generate", 0, OPT_COUNT, "N", NULL, AT(generate), "Of single workloads",
     "textgen: print N characters from the trained net", .least = 1},
    {"hard-gates", 0, OPT_FLAG, NULL, NULL, AT(variant.hard_gates), "Of single workloads",
     "imdb, tweets, textgen: hard-sigmoid gates, as old Keras had them on CPUs"},
    {"auxiliary", 0, OPT_FLAG, NULL, NULL, AT(variant.auxiliary), "Of single workloads",
     "inception: train the auxiliary head too"},
    {"n", 0, OPT_COUNT, "N", NULL, AT(n), "Of single workloads", "l1: vectors in the first set",
     .least = 1},
    {"m", 0, OPT_COUNT, "N", NULL, AT(m), "Of single workloads", "l1: vectors in the second set",
     .least = 1},
    {"dim", 0, OPT_COUNT, "N", NULL, AT(dim), "Of single workloads",
     "l1: numbers in a vector (defaults 8192, 8192, 512)", .least = 1},
    RUN_COMMAND_OPTIONS(struct run_options, command),
    MEASURE_OPTIONS(struct run_options, measure),
    {NULL},
};
#undef AT
#undef OF

static const struct cmd_example examples[] = {
    {"fare run mlp", "a sample: what a step takes here, and how long all of it would take"},
    {"fare run cnn --within 1% --max-time 5m", "a longer one, to know it better"},
    {"fare run cifar --batch 32,64,128,256", "where does more work per step stop to pay?"},
    {"fare run mlp --repeat 5", "how much do runs differ from each other?"},
    {"fare run cnn --full --data ~/mnist", "all twelve epochs, on MNIST's own files"},
    {"fare run all --max-time 10s", "a sample of every workload, in one table"},
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
    {"FARE_LEDGER", "Where runs are kept: a file (SQLite) or a postgresql:// URL"},
    {NULL, NULL},
};

static int check_options(const struct run_options *given, size_t names, struct err *err)
{
    const struct native_options *o = &given->training;
    if (o->resume && !o->checkpoint)
        return err_set(err, ERR_USAGE,
                       "--resume needs --checkpoint DIR, the folder to resume from");
    if (o->checkpoint_every > 0 && !o->checkpoint)
        return err_set(err, ERR_USAGE, "--checkpoint-every needs --checkpoint DIR");
    if (o->resume && o->from)
        return err_set(err, ERR_USAGE, "--resume and --from cannot both say where to start");
    if (o->full && o->steps > 0)
        return err_set(err, ERR_USAGE, "--steps is for samples; a full training has --epochs");
    if (o->checkpoint && (given->repeat > 1 || (given->batches && strchr(given->batches, ','))))
        return err_set(err, ERR_USAGE, "--checkpoint is for one run, not for several");
    if (names == 0) {
        err_set(err, ERR_USAGE, "'fare run' needs a workload, or 'all'");
        return err_hint(err, "'fare workloads' lists them; 'fare run mlp' is a quick one");
    }
    return 0;
}

// "32,64,128"; without the option one zero: the definition's.
static int read_batches(const char *text, int64_t *batches, size_t *count, struct err *err)
{
    *count = 0;
    if (!text)
        batches[(*count)++] = 0;
    while (text && *text) {
        char *end;
        errno = 0;
        long long batch = strtoll(text, &end, 10);
        if (end == text || errno != 0 || batch < 1 || batch > 1 << 20 ||
            (*end != ',' && *end != '\0') || *count == RUNS_MAX)
            return err_set(err, ERR_USAGE,
                           "--batch: expected numbers from 1 to 1048576 with commas between them");
        batches[(*count)++] = batch;
        text = *end == ',' ? end + 1 : end;
    }
    return *count > 0 ? 0 : err_set(err, ERR_USAGE, "--batch: expected a number");
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

struct session { // of `fare run`
    const struct run_options *o;
    struct machine machine;
    int64_t start_ns; // of the next run
    struct out *out;
    struct runs runs;
    struct buf says; // warnings
    struct watch_price price;
    bool left_out; // a run for which there was no money left
};

static bool spent(const struct session *session)
{
    const struct run *runs = session->runs.runs.items;
    size_t count = session->runs.runs.count;
    const char *ended = count > 0 ? runs[count - 1].ended : NULL;
    return session->o->training.until_ns > 0 && !training_stop &&
           (session->left_out || (ended && strcmp(ended, "stopped") == 0));
}

static int run_one(struct session *session, const struct workload *workload, int64_t batch,
                   struct err *err)
{
    const struct run_options *o = session->o;
    struct run *run = LIST_ADD(&session->runs.runs, err);
    if (!run)
        return ERR_MEMORY;
    struct native_options how = o->training;
    how.batch = batch;
    how.start_ns = session->start_ns;
    struct buf says = {0};
    bool first = session->start_ns != 0;
    int rc = measure_begin(&o->measure, &session->machine, first, run, err);
    session->start_ns = 0; // the next one begins when it begins
    if (rc == 0)
        how.journal = measure_journal(&o->measure, run);
    if (rc == 0 && first) {
        watch_price_open(&session->price, &o->measure, run);
        if (!o->common.json)
            watch_price_say(&session->price);
    }
    how.price = &session->price.live;
    if (rc == 0 && o->command.with)
        rc = run_framework(workload, &o->command, &how, o->common.json, run, &says, err);
    else if (rc == 0)
        rc = o->repeat > 1 ? training_run_apart(workload, &how, run, err)
                           : training_run(workload, &how, run, &says, err);
    if (rc != 0)
        err_context(err, "%s", workload->name);
    bool is_run = rc != ERR_USAGE || run->ended;
    session->price.live.before_ns = 0; // the first run's
    if (is_run)
        measure_keep(&o->measure, run, how.journal, &session->says);
    else
        journal_close(how.journal, false, &session->says);
    if (!o->common.json && rc == 0) {
        out_printf(session->out, "%s", buf_str(&says));
        if (o->training.full)
            print_epochs(session->out, run);
    }
    if (!is_run) {
        record_release(run_fields, run);
        session->runs.runs.count--;
    }
    buf_release(&says);
    return rc;
}

static int run_all(struct session *session, const struct workload *const *picked, size_t count,
                   const int64_t *batches, size_t batch_count, struct err *err)
{
    int64_t repeat = session->o->repeat > 1 ? session->o->repeat : 1;
    int rc = text_set(&session->runs.schema, RUNS_SCHEMA, err);
    session->runs.runs.known = true;
    for (size_t i = 0; i < count; i++)
        for (size_t b = 0; b < batch_count; b++)
            for (int64_t r = 0; r < repeat && rc == 0; r++)
                if (training_over(&session->o->training))
                    session->left_out = true;
                else
                    rc = run_one(session, picked[i], batches[b], err);
    return rc;
}

static int set_up(const struct cmd_call *call, struct run_options *o, struct session *session,
                  struct err *err)
{
    *o = *(const struct run_options *)call->options;
    session->o = o;
    session->out = call->out;
    session->start_ns = clock_now_ns();
    int rc = check_options(o, call->rest->count, err);
    if (rc == 0)
        rc = measure_check(&o->measure, o->training.full, err);
    o->training.max_s = measure_max_s(&o->measure, MEASURE_MAX_TIME_S);
    if (rc == 0)
        rc = measure_until(&o->measure, &o->training.until_ns, err);
    if (rc == 0)
        rc = measure_within(&o->measure, &o->training.within, err);
    return rc;
}

static void print_bills(struct out *out, const struct session *session)
{
    for (size_t i = 0; i < session->runs.runs.count; i++) {
        const struct run *run = &session->runs.runs.items[i];
        struct buf bill = {0};
        if (watch_price_bill(&session->price, run, &bill))
            out_row(out, run->workload, "%s", buf_str(&bill));
        out->text.failed |= bill.failed;
        buf_release(&bill);
    }
}

static int run(const struct cmd_call *call, struct err *err)
{
    struct run_options o;
    struct session session = {0};
    const struct workload *picked[RUNS_MAX];
    int64_t batches[RUNS_MAX];
    size_t count = 0, batch_count = 0;
    const struct run_options *given = call->options;
    if (call->rest->command && call->rest->count > 0)
        return err_set(err, ERR_USAGE, "either a workload or a command after '--', not both");
    if (call->rest->command) {
        struct runs runs = {0};
        int ended = run_command(call, &given->command, &given->measure, given->training.full,
                                given->common.json, &runs, err);
        record_release(runs_fields, &runs);
        return ended;
    }
    int rc = run_command_unused(&given->command, err);
    if (rc == 0)
        rc = set_up(call, &o, &session, err);
    if (rc == 0)
        rc = read_batches(o.batches, batches, &batch_count, err);
    if (rc == 0)
        rc = pick(call->rest, picked, &count, RUNS_MAX, err);
    if (rc != 0)
        return rc;
    const struct check_options check = {
        .common = o.common, .no_cloud = o.measure.no_cloud, .no_libraries = true};
    rc = check_machine(&check, &session.machine, err);
    training_catch();
    if (rc == 0)
        rc = run_all(&session, picked, count, batches, batch_count, err);
    if (rc == 0 && spent(&session))
        measure_say_spent(&o.measure, &session.says);
    out_complain(buf_str(&session.says));
    buf_release(&session.says);
    if (rc == 0)
        rc = repeat_group(&session.runs, err);
    if (o.common.json) {
        struct err print = {0};
        int printed = out_record(call->out, runs_fields, &session.runs, &print);
        rc = rc != 0 ? rc : printed;
    } else if (rc == 0) {
        training_table(call->out, session.runs.runs.items, session.runs.runs.count);
        training_notes(call->out, &session.runs);
        print_bills(call->out, &session);
        if (training_stop)
            out_printf(call->out, "Stopped: these are the figures up to then.\n");
    }
    watch_price_close(&session.price);
    record_release(runs_fields, &session.runs);
    machine_release(&session.machine);
    return rc;
}

const struct command cmd_run = {
    .name = "run",
    .group = "Measure",
    .summary = "train a workload and say how fast and how well",
    .arguments = "NAME...|all|-- COMMAND...",
    .about = "Trains native workloads (see 'fare workloads') with fare's own engines. By default a "
             "sample is trained, until the time of the whole training is known well enough; "
             "--full trains all of it, with the definition's epochs, and checks whether the "
             "result is what a correct run reaches, and how far the projections were off. Ctrl-C "
             "ends a training cleanly, with what was measured so far. After '--' comes a program "
             "of yours, which is measured in the same way: its processes, time, exit code and, "
             "where it tells them, steps and losses (see docs/measuring-a-command.md). Every run "
             "is kept in the ledger: 'fare runs' lists them.",
    .options = options,
    .options_size = sizeof(struct run_options),
    .defaults = &defaults,
    .max_args = 64,
    .takes_command = true,
    .examples = examples,
    .variables = variables,
    .run = run,
};
