// SPDX-License-Identifier: Apache-2.0
// bare: `fare` without a command, the main job. This is the one place that says what that is: to
// check this machine, to sample the workloads that make sense on it, and to write the report. Also
// the options that belong to the program as a whole.
#include "cmd/cmd.h"

#include <string.h>
#include <unistd.h>

#include "advise/comparable.h"
#include "base/folders.h"
#include "base/fs.h"
#include "base/money.h"
#include "cmd/check.h"
#include "cmd/money.h"
#include "cmd/values.h"
#include "cmd/report.h"
#include "cmd/run_command.h"
#include "cmd/training.h"
#include "cmd/watch.h"
#include "record/bill.h"
#include "record/compare.h"
#include "record/offer.h"
#include "record/price_import.h"
#include "record/schedule.h"
#include "record/workload.h"
#include "report/html.h"
#include "report/page.h"
#include "serve/serve.h"
#include "version.h"

struct bare_options {
    struct cmd_common common;
    bool version;
    bool manual;
    bool json_keys;
    const char *completion;
    struct run_command_options command;
    struct measure_options measure;
    const char *kwh;
    const char *report;
    bool no_report;
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

#define AT(member) offsetof(struct bare_options, member)
static const struct opt options[] = {
    MEASURE_OPTIONS(struct bare_options, measure),
    RUN_COMMAND_OPTIONS(struct bare_options, command),
    {"kwh", 0, OPT_TEXT, "USD", NULL, AT(kwh), "Money",
     "the price of a kilowatt-hour here, for the power of the trainings"},
    {"report", 0, OPT_TEXT, "FILE", NULL, AT(report), "Report",
     "write the report there (default: report.html in XDG_DATA_HOME/fare or ~/.local/share/fare)"},
    {"no-report", 0, OPT_FLAG, NULL, NULL, AT(no_report), "Report",
     "write none; nor is one written with --json or --no-ledger, unless --report says where"},
    {"version", 'V', OPT_FLAG, NULL, NULL, AT(version), "About fare", "print the version"},
    {"man", 0, OPT_FLAG, NULL, NULL, AT(manual), "About fare",
     "print the manual page: fare --man | man -l -"},
    {"completion", 0, OPT_CHOICE, "SHELL", shells, AT(completion), "About fare",
     "print completions for bash, zsh or fish"},
    {"json-keys", 0, OPT_FLAG, NULL, NULL, AT(json_keys), "About fare",
     "print what the keys of --json mean, as a Markdown table"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare", "check this machine, and sample what it can train"},
    {"fare -- python train.py", "measure a training of your own"},
    {"fare check --json", "just the machine, for scripts"},
    {"source <(fare --completion bash)", "complete commands and options in this shell"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_LIBC", "If set to bundle, the bundle uses the C library it carries even where the "
                  "system's is newer"},
    {NULL, NULL},
};

// A step of a heavy workload takes ten seconds on two cores, and half a second on forty.
static bool makes_sense(const struct workload *workload, const struct machine *machine)
{
    const struct machine_cpu *cpu = &machine->cpu;
    return !workload->heavy || (cpu->usable_cpus.known && cpu->usable_cpus.v >= 32);
}

#define SAMPLE_S 6 // for each workload: a minute for all

static int sample_one(const struct workload *workload, const struct native_options *how,
                      struct run *run, struct err *err)
{
    struct buf says = {0};
    struct err why = {0};
    int rc = training_run(workload, how, run, &says, &why);
    buf_release(&says);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    // One that fails is a row that says so; the others may still tell something.
    if (rc != 0 && !run->workload)
        return text_set(&run->workload, workload->name, err);
    return 0;
}

static int sample(const struct measure_options *o, struct report *report, struct err *err)
{
    struct native_options how = {.seed = 1, .n = 4096, .m = 4096, .dim = 512};
    struct watch_price price = {0};
    struct buf says = {0};
    how.max_s = measure_max_s(o, SAMPLE_S);
    int rc = measure_until(o, &how.until_ns, err);
    if (rc == 0)
        rc = measure_within(o, &how.within, err);
    struct err gpu = {0};
    if (native_check_gpu(&gpu) != 0) { // what the machine has besides is still worth a look
        how.engine = "cpu";
        buf_printf(&says, "%s; what follows is the CPU's\n", gpu.text);
        out_complain(buf_str(&says));
        buf_reset(&says);
    }
    training_catch();
    report->runs.known = true;
    for (size_t i = 0; rc == 0 && workloads[i] && !training_over(&how); i++) {
        if (!makes_sense(workloads[i], &report->machine))
            continue;
        struct run *one = LIST_ADD(&report->runs, err);
        rc = one ? measure_begin(o, &report->machine, i == 0, one, err) : ERR_MEMORY;
        if (rc != 0)
            break;
        how.journal = measure_journal(o, one);
        if (report->runs.count == 1) {
            watch_price_open(&price, o, one);
            watch_price_say(&price);
        }
        how.price = &price.live;
        rc = sample_one(workloads[i], &how, one, err);
        measure_keep(o, one, how.journal, &says);
        price.live.before_ns = 0; // the first run's
    }
    watch_price_close(&price);
    if (rc == 0 && !training_stop && training_over(&how))
        measure_say_spent(o, &says);
    out_complain(buf_str(&says));
    buf_release(&says);
    return rc;
}

static void print_samples(struct out *out, const struct report *report, int64_t kwh)
{
    out_printf(out, "\n");
    training_table(out, report->runs.items, report->runs.count);
    for (size_t i = 0; i < report->runs.count; i++)
        if (report->runs.items[i].problem)
            out_row(out, report->runs.items[i].workload, "%s", report->runs.items[i].problem);
    for (size_t i = 0; workloads[i]; i++)
        if (!makes_sense(workloads[i], &report->machine))
            out_row(out, workloads[i]->name,
                    "left out: too much for this processor. 'fare run %s' trains it all the same.",
                    workloads[i]->name);
    if (training_stop)
        out_printf(out, "Stopped: these are the figures up to then.\n");
    money_show(out, report, kwh);
}

// Without a book or rules the measurement is still one.
static int price(struct report *report, const struct measure_options *o, struct err *err)
{
    struct err why = {0};
    int rc = money_make(report, o->no_ledger ? "" : o->ledger, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        out_complain(why.text);
    return 0;
}

// ---- the report

static int report_path(const struct bare_options *o, struct buf *path, struct err *err)
{
    if (o->report) {
        buf_adds(path, o->report);
        return buf_check(path, err);
    }
    int rc = folder_data(path, err);
    if (rc == 0)
        rc = fs_mkdirs(buf_str(path), err);
    buf_adds(path, "/report.html");
    return rc == 0 ? buf_check(path, err) : rc;
}

static int make_report(const struct bare_options *o, const struct run *runs, size_t count,
                       struct out *out, struct err *err)
{
    const struct page_ask ask = {
        .ledger = o->measure.no_ledger ? "" : o->measure.ledger, .runs = runs, .run_count = count};
    struct page page = {0};
    struct buf text = {0}, path = {0};
    int rc = page_make(&ask, &page, err);
    if (rc == 0)
        html_page(&text, &page);
    if (rc == 0)
        rc = report_path(o, &path, err);
    if (rc == 0)
        rc = report_write(out, buf_str(&path), &text, err);
    if (rc == 0 && !o->common.json && strcmp(buf_str(&path), "-") != 0)
        out_printf(out, "%sThe report, with plots: %s\n",
                   out->fd == STDERR_FILENO ? "fare: " : "\n", buf_str(&path));
    buf_release(&text);
    buf_release(&path);
    record_release(page_fields, &page);
    return rc;
}

// What was measured is told and kept already: a report that cannot be written is a warning.
static void add_report(const struct bare_options *o, const struct run *runs, size_t count,
                       struct out *out)
{
    struct err why = {0};
    bool wanted = o->report || !(o->common.json || o->measure.no_ledger);
    if (o->no_report || !wanted || count == 0)
        return;
    if (make_report(o, runs, count, out, &why) != 0)
        out_complain(why.text);
}

static int main_job(const struct bare_options *o, struct out *out, struct err *err)
{
    const struct check_options check = {.common = o->common, .no_cloud = o->measure.no_cloud};
    struct report report = {0};
    int64_t kwh = -1;
    int rc = text_set(&report.schema, REPORT_SCHEMA, err);
    if (rc == 0)
        rc = check_machine(&check, &report.machine, err);
    if (rc == 0 && !o->common.json) {
        check_text(out, &report.machine);
        rc = out_write(out, err); // there is something to read while the samples train
    }
    if (rc == 0)
        rc = value_amount("kwh", o->kwh, &kwh, err);
    if (rc == 0)
        rc = sample(&o->measure, &report, err);
    if (rc == 0)
        rc = price(&report, &o->measure, err);
    if (rc == 0 && o->common.json)
        rc = out_record(out, report_fields, &report, err);
    else if (rc == 0)
        print_samples(out, &report, kwh);
    if (rc == 0)
        add_report(o, report.runs.items, report.runs.count, out);
    record_release(report_fields, &report);
    return rc;
}

// The user's own training: the same, but the machine is not told.
static int measure_command(const struct cmd_call *call, const struct bare_options *o,
                           struct err *err)
{
    struct runs runs = {0};
    int rc = run_command(call, &o->command, &o->measure, false, o->common.json, &runs, err);
    if (rc == 0)
        add_report(o, runs.runs.items, runs.runs.count, call->out);
    record_release(runs_fields, &runs);
    return rc;
}

static void document_keys(struct out *out)
{
    static const struct {
        const char *command, *schema;
        const struct field *fields;
    } records[] = {
        {"fare check --json", MACHINE_SCHEMA, machine_fields},
        {"fare run --json", RUNS_SCHEMA, runs_fields},
        {"fare runs RUN --against RUN --json", COMPARISON_SCHEMA, comparison_fields},
        {"fare quote --json", QUOTE_SCHEMA, quote_fields},
        {"fare prices --json", OFFERS_SCHEMA, offers_fields},
        {"fare prices import --json", PRICE_IMPORT_SCHEMA, price_import_fields},
        {"fare compare --json", COMPARE_SCHEMA, compare_fields},
        {"fare report --json", PAGE_SCHEMA, page_fields},
        {"fare serve --json", SERVING_SCHEMA, serving_fields},
        {"fare cron --json", SCHEDULE_SCHEMA, schedule_fields},
        {"fare workloads --json", WORKLOADS_SCHEMA, workload_list_fields},
    };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        out_printf(out, "\n### `%s`: `%s`\n\n| key | kind | meaning |\n|---|---|---|\n",
                   records[i].command, records[i].schema);
        record_document(records[i].fields, "", &out->text);
    }
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct bare_options *o = call->options;
    if (o->version)
        out_printf(call->out, "fare %s (build %s)\n", FARE_VERSION, FARE_BUILD);
    else if (o->manual)
        cmd_manual(call->out, call->commands);
    else if (o->completion)
        cmd_completion(call->out, o->completion);
    else if (o->json_keys)
        document_keys(call->out);
    else if (call->rest->command)
        return measure_command(call, o, err);
    else if (run_command_unused(&o->command, err) != 0)
        return ERR_USAGE;
    else
        return main_job(o, call->out, err);
    return 0;
}

const struct command cmd_bare = {
    .name = NULL,
    .group = "",
    .summary = "what a training run will cost, before you pay for it",
    .arguments = "[-- COMMAND...]",
    .about =
        "Run without a command, fare does its main job: it checks this machine, says what will "
        "spoil a measurement or cost money, trains a sample of each workload that makes "
        "sense on it; then it says what the whole trainings take here, and what they cost on "
        "machines to rent on which they were measured, and writes a report with plots. That takes "
        "about a minute. With a command after "
        "'--', it measures that one, "
        "as 'fare run' does.",
    .options = options,
    .options_size = sizeof(struct bare_options),
    .takes_command = true,
    .examples = examples,
    .variables = variables,
    .run = run,
};
