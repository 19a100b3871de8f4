// SPDX-License-Identifier: Apache-2.0
// runs export and import: records as JSON lines, and other programs' logs.
#include "cmd/runs.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/progress.h"
#include "ledger/import_file.h"

enum { FLUSH_BYTES = 1 << 20 };

// ---- import

// The length of the folder that all files share.
static size_t shared_folder(const struct opt_rest *rest)
{
    const char *first = rest->args[0], *slash = strrchr(first, '/');
    size_t len = slash ? (size_t)(slash - first) + 1 : 0;
    for (size_t i = 1; i < rest->count; i++)
        while (len > 0 && strncmp(first, rest->args[i], len) != 0)
            do
                len--;
            while (len > 0 && first[len - 1] != '/');
    return len;
}

// Of several files each names its run: its path below the folder they share, without extension.
static void name_of(const char *path, struct buf *name)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    buf_reset(name);
    if (strcmp(path, "-") != 0)
        buf_add(name, path, (size_t)(base - path) + import_stem_len(base));
}

// Whether this file was given before: the lines of an invoice would count twice.
static int is_again(struct index *seen, const char *path, bool *again, struct err *err)
{
    struct stat st;
    size_t before = seen->count, number = before;
    *again = false;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    struct short_text key =
        short_text("%llu %llu", (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
    TRY(index_number(seen, key.s, strlen(key.s), &number, err));
    *again = number < before;
    return 0;
}

static int import_each(struct import_job *m, const struct opt_rest *rest, int *fds, struct err *err)
{
    SCOPED(buf_release) struct buf name = {0};
    SCOPED(index_release) struct index seen = {0};
    size_t folder = shared_folder(rest);
    int rc = 0;
    for (size_t i = 0; i < rest->count && rc == 0; i++) {
        bool again;
        rc = is_again(&seen, rest->args[i], &again, err);
        if (rc != 0 || again)
            continue;
        if (rest->count > 1)
            name_of(rest->args[i] + folder, &name);
        rc = buf_check(&name, err);
        m->known.name = name.len > 0 ? buf_str(&name) : NULL;
        if (rc == 0) {
            rc = import_file(m, rest->args[i], fds[i], err);
            fds[i] = -1;
        }
    }
    m->known.name = NULL;
    return rc;
}

static int import_in_one(struct import_job *m, const struct opt_rest *rest, int *fds,
                         struct err *err)
{
    TRY(ledger_import_begin(m->ledger, err));
    int rc = import_each(m, rest, fds, err);
    int64_t charges = m->charges + m->changed + m->charges_there;
    if (rc == 0 && m->refused > 0 && m->added + m->there + charges == 0) {
        *err = m->refusal;
        rc = err->code;
    }
    if (rc != 0) {
        ledger_import_abandon(m->ledger);
        return rc;
    }
    return ledger_import_end(m->ledger, err);
}

static void say_charges(const struct cmd_call *call, const struct import_job *m)
{
    out_printf(call->out, "added %s of invoices", units_count(m->charges, "line").s);
    if (m->changed > 0)
        out_printf(call->out, "; %lld had another amount before", (long long)m->changed);
    if (m->charges_there > 0)
        out_printf(call->out, "; %lld %s there already", (long long)m->charges_there,
                   m->charges_there == 1 ? "was" : "were");
    out_printf(call->out, "\n");
}

static void say_imported(const struct cmd_call *call, const struct import_job *m)
{
    const struct runs_options *o = call->options;
    int64_t charges = m->charges + m->changed + m->charges_there;
    out_complain(buf_str(&m->says));
    if (o->common.json && charges > 0) {
        out_printf(call->out,
                   "{\n  \"schema\": \"" CHANGES_SCHEMA "\",\n  \"added\": %lld,\n  \"there\": "
                   "%lld,\n  \"left_out\": %lld,\n  \"charges\": {\n    \"added\": %lld,\n    "
                   "\"changed\": %lld,\n    "
                   "\"there\": %lld\n  }\n}\n",
                   (long long)m->added, (long long)m->there, (long long)m->refused,
                   (long long)m->charges, (long long)m->changed, (long long)m->charges_there);
        return;
    }
    if (!o->common.json)
        out_printf(call->out, "%s", buf_str(&m->ids));
    if (!o->common.json && m->named > IMPORT_IDS_MOST)
        out_printf(call->out, "... and %lld more\n", (long long)m->named - IMPORT_IDS_MOST);
    if (charges > 0)
        say_charges(call, m);
    if (charges == 0 || m->added + m->there + m->refused > 0)
        runs_say_added(call, "added", m->added, m->there, m->refused);
}

static void say_progress(void *arg, int64_t done, int64_t total)
{
    progress_update(arg, done, total);
}

static int import_files(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct runs_options *o = call->options;
    SCOPED(import_job_release)
    struct import_job m = {.ledger = ledger,
                           .format = o->format,
                           .known = {.workload = o->workload,
                                     .framework = o->framework,
                                     .machine = o->machine,
                                     .gpu = o->gpu,
                                     .gpus = o->gpus,
                                     .provider = o->provider,
                                     .price_per_hour = o->price_per_hour,
                                     .price_per_gpu_hour = o->price_per_gpu_hour,
                                     .started = o->started,
                                     .labels = o->label.items,
                                     .label_count = o->label.count}};
    struct progress progress = {0};
    size_t opened = 0, count = call->rest->count;
    progress_begin(&progress, STDERR_FILENO, "runs", PROGRESS_COUNT, 0);
    m.progress = say_progress;
    m.progress_arg = &progress;
    int *fds = malloc(count * sizeof *fds);
    int rc = fds ? 0 : err_memory(err);
    for (; opened < count && rc == 0; opened++)
        rc = import_open(&m, call->rest->args[opened], &fds[opened], err);
    progress_end(&progress);
    if (rc == 0)
        rc = import_in_one(&m, call->rest, fds, err);
    for (size_t i = 0; i < opened; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(fds);
    if (rc == 0) {
        say_imported(call, &m);
    } else {
        rc = err_hint(err, "nothing was imported");
    }
    return rc;
}

static int import(const struct cmd_call *call, struct err *err)
{
    struct ledger *ledger;
    if (call->rest->count == 0) {
        err_set(err, ERR_USAGE, "'fare runs import' needs a file");
        return err_hint(err,
                        "a file from 'fare runs export', a log of another program, or a site's "
                        "address or folder");
    }
    TRY(runs_open(call->desk, true, &ledger, err));
    return import_files(call, ledger, err);
}

#define AT(member) offsetof(struct runs_options, member)
static const struct opt import_options[] = {
    LEDGER_ROW,
    {"format", 0, OPT_CHOICE, "NAME", NULL, AT(format), NULL,
     "the files' format, instead of guessing it", .choice = import_file_format},
    {"workload", 0, OPT_TEXT, "NAME", NULL, AT(workload), "What a log leaves out", "the workload"},
    {"framework", 0, OPT_TEXT, "NAME", NULL, AT(framework), "What a log leaves out",
     "the framework"},
    {"machine", 0, OPT_TEXT, "NAME", NULL, AT(machine), "What a log leaves out",
     "the machine's name"},
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(gpu), "What a log leaves out", "the GPU's name"},
    {"gpus", 0, OPT_COUNT, "N", NULL, AT(gpus), "What a log leaves out", "the number of GPUs",
     .least = 1},
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(provider), "What a log leaves out",
     "the provider of the machine, such as aws or gcp"},
    {"price-per-hour", 0, OPT_TEXT, "USD", NULL, AT(price_per_hour), "What a log leaves out",
     "the machine's price, kept as a label"},
    {"price-per-gpu-hour", 0, OPT_TEXT, "USD", NULL, AT(price_per_gpu_hour),
     "What a log leaves out", "the price of each of a run's GPUs, instead of the machine's"},
    {"started", 0, OPT_TEXT, "DATE", NULL, AT(started), "What a log leaves out",
     "the date of the training"},
    {"label", 0, OPT_TEXTS, "KEY=VALUE", NULL, AT(label), "What a log leaves out",
     "a label to add; may be given several times"},
    {NULL},
};

static const struct cmd_example import_examples[] = {
    {"fare runs import runs.jsonl --ledger postgresql://team@db/fare", "into the team's ledger"},
    {"fare runs import mnist_mlp_tensorflow.csv --machine p2.xlarge --price-per-hour 0.90",
     "a log of Keras"},
    {"fare runs import - <result_0.txt", "a log from standard input"},
    {"fare runs import jobs.txt --price-per-gpu-hour 1.20",
     "jobs of a Slurm cluster: the output of sacct --parsable2"},
    {"fare runs import https://example.org/runs/", "a site of 'fare report --site'"},
    {"fare runs import invoice.csv", "a provider's invoice (FOCUS), beside the predicted bills"},
    {NULL, NULL},
};

const struct command runs_import = {
    .name = "runs import",
    .summary = "add runs from files, sites, and logs of other programs",
    .arguments = "FILE|SITE...",
    .about = "Reads files of 'fare runs export', logs of Keras (CSVLogger), DAWNBench, MLPerf and "
             "hyperfine, Slurm's accounting (sacct) and invoices (FOCUS) into the ledger: all of "
             "them, or none if one is wrong. '-' is standard input. SITE is the address or the "
             "folder of "
             "a site of 'fare report --site'; only runs that are not in the ledger are fetched. "
             "Runs and lines of invoices "
             "already in the ledger are not added again. For logs it prints the id and the name of "
             "the first 20 runs; several logs are named by their files.",
    .options = import_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = import_examples,
    .run = import,
};

// ---- export

struct exporting {
    struct out *out;
    struct fs_writer *writer; // null: to stdout
};

static int put(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct exporting *e = arg;
    if (!e->writer) {
        buf_adds(&e->out->text, text);
        buf_addc(&e->out->text, '\n');
        return e->out->text.len > FLUSH_BYTES ? out_write(e->out, err) : 0;
    }
    TRY(fs_add(e->writer, text, strlen(text), err));
    return fs_add(e->writer, "\n", 1, err);
}

struct visit {
    ledger_visit_fn *fn;
    void *arg;
};

// A damaged record would spoil the file or the push that has it.
static int visit_whole(void *arg, const char *id, const char *text, struct err *err)
{
    const struct visit *v = arg;
    TRY(runs_check(id, text, err));
    return v->fn(v->arg, id, text, err);
}

int runs_each(const struct cmd_call *call, struct ledger *ledger, size_t first, ledger_visit_fn *fn,
              void *arg, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    if (rest->count == first) {
        const struct ledger_filter filter = runs_which(call->options);
        struct visit whole = {fn, arg};
        return ledger_each(ledger, &filter, visit_whole, &whole, err);
    }
    for (size_t i = first; i < rest->count; i++) {
        SCOPED(buf_release) struct buf text = {0};
        TRY(runs_find(ledger, rest->args[i], &text, err));
        TRY(fn(arg, rest->args[i], buf_str(&text), err));
    }
    return 0;
}

static int export(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    struct ledger *ledger;
    struct fs_writer writer;
    struct exporting e = {call->out, NULL};
    int rc = runs_open(call->desk, false, &ledger, err);
    if (rc == 0 && o->output) {
        rc = fs_begin(&writer, o->output, 0666, err);
        e.writer = rc == 0 ? &writer : NULL;
    }
    if (rc == 0)
        rc = runs_each(call, ledger, 0, put, &e, err);
    if (e.writer && rc == 0)
        rc = fs_commit(&writer, err);
    else if (e.writer)
        fs_abandon(&writer);
    return rc;
}

static const struct opt export_options[] = {
    LEDGER_ROW,
    {"output", 'o', OPT_TEXT, "FILE", NULL, AT(output), NULL,
     "write to this file, whole or not at all; '-' is standard output (default)"},
    RUNS_WHICH,
    {NULL},
};

static const struct cmd_example export_examples[] = {
    {"fare runs export -o runs.jsonl", "all of them"},
    {"fare runs export last", "the newest, to standard output"},
    {NULL, NULL},
};

const struct command runs_export = {
    .name = "runs export",
    .summary = "write runs as JSON lines",
    .arguments = "[RUN...]",
    .about = "Writes runs as JSON, one object per line, as they are kept: the runs named, "
             "those that the options select, or all.",
    .options = export_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = export_examples,
    .run = export,
};
