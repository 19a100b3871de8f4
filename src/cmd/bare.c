// SPDX-License-Identifier: Apache-2.0
// bare: `fare` without a command, the main job: checks this machine, samples the workloads that
// make sense on it, and writes the report. Also the options of the program as a whole.
#include "cmd/cmd.h"

#include <string.h>
#include <unistd.h>

#include "advise/comparable.h"
#include "advise/sources.h"
#include "base/fs.h"
#include "cmd/check.h"
#include "cmd/measuring.h"
#include "cmd/prices.h"
#include "cmd/values.h"
#include "cmd/run_text.h"
#include "bill/market.h"
#include "record/bill.h"
#include "record/compare.h"
#include "record/dispatch.h"
#include "record/device.h"
#include "record/offer.h"
#include "record/price_import.h"
#include "record/provider.h"
#include "record/schedule.h"
#include "record/site.h"
#include "record/spending.h"
#include "record/workload.h"
#include "view/gpu.h"
#include "view/html.h"
#include "view/page.h"
#include "view/quote.h"
#include "serve/serve.h"
#include "version.h"

struct bare_options {
    struct cmd_common common;
    bool version;
    bool manual;
    bool json_keys;
    const char *completion;
    struct measure_options measure;
    struct power_options power;
    const char *report;
    bool no_report;
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

#define AT(member) offsetof(struct bare_options, member)
static const struct opt options[] = {
    MEASURING_SAMPLE(struct bare_options, measure),
    MEASURING_COMMAND(struct bare_options, measure),
    MEASURING_RECORD(struct bare_options, measure),
    CURRENCY_ROW(AT(measure.currency), "Money"),
    POWER_ROWS(AT, "Money"),
    {"report", 0, OPT_TEXT, "FILE", NULL, AT(report), "Report",
     "write the report to this file (default: report.html in XDG_DATA_HOME/fare or "
     "~/.local/share/fare)"},
    {"no-report", 0, OPT_FLAG, NULL, NULL, AT(no_report), "Report",
     "write no report; without --report this is also the effect of --json and --no-ledger"},
    {"version", 'V', OPT_FLAG, NULL, NULL, AT(version), "About fare", "print the version"},
    {"man", 0, OPT_FLAG, NULL, NULL, AT(manual), "About fare",
     "print the manual page: fare --man | man -l -"},
    {"completion", 0, OPT_CHOICE, "SHELL", shells, AT(completion), "About fare",
     "print completions for bash, zsh or fish"},
    {"json-keys", 0, OPT_FLAG, NULL, NULL, AT(json_keys), "About fare",
     "print the keys of --json and their meaning, as a Markdown table"},
    {NULL},
};
#undef AT

#define SAMPLE_S 6 // for each workload: a minute for all

static const struct bare_options defaults = {
    .measure = {.seed = 1, .n = 4096, .m = 4096, .dim = 512, .sample_s = SAMPLE_S},
    .power = POWER_DEFAULTS};

static const struct cmd_example examples[] = {
    {"fare", "check this machine, and sample what it can train"},
    {"fare -- python train.py", "the cost of your own training, from a sample of it"},
    {"fare check --json", "just the machine, for scripts"},
    {"source <(fare --completion bash)", "complete commands and options in this shell"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_LIBC", "If set to bundle, the bundle uses the C library it contains, even if the "
                  "system's is newer"},
    {NULL, NULL},
};

// A step of a heavy workload takes ten seconds on two cores, half a second on forty, and hundredths
// of one on a GPU.
static bool makes_sense(const struct workload *workload, const struct machine *machine,
                        const struct engine *engine)
{
    const struct machine_cpu *cpu = &machine->cpu;
    return !workload->heavy || engine->gpu || (cpu->usable_cpus.known && cpu->usable_cpus.v >= 32);
}

// If the GPU cannot be used, says so and measures the CPU.
static int choose_engine(struct measure_options *o, const struct engine **engine, struct err *err)
{
    struct engine_options how = {0};
    struct err why = {0};
    TRY(engine_choose(NULL, NULL, &how, engine, err));
    if ((*engine)->gpu && (*engine)->available(&how, &why) != 0) {
        struct buf line = {0};
        buf_printf(&line, "%s; the figures below are the CPU's\n", why.text);
        out_complain(buf_str(&line));
        buf_release(&line);
        o->engine = "cpu";
        TRY(engine_choose(o->engine, NULL, &how, engine, err));
    }
    return 0;
}

// A failed run becomes a row with its problem, and the next one starts; the same holds if the GPU
// runs out of memory. Without a record, our own memory ran out.
static int sample_one(struct measure *m, const struct workload *workload, struct err *err)
{
    const struct measure_what what = {.workload = workload};
    struct err why = {0};
    size_t before = m->runs.runs.count;
    int rc = measure_run(m, &what, &why);
    buf_reset(&m->words);
    return rc == ERR_MEMORY && m->runs.runs.count == before ? err_memory(err) : 0;
}

static int sample(struct measure *m, const struct measure_options *o, struct desk *desk,
                  const struct engine *engine, struct err *err)
{
    int rc = measure_open(m, o, desk, err);
    if (rc == 0)
        run_text_says(m, true);
    bool left_out = false;
    for (size_t i = 0; rc == 0 && workloads[i]; i++) {
        if (!makes_sense(workloads[i], m->machine, engine))
            continue;
        left_out |= measure_over(m);
        if (!left_out)
            rc = sample_one(m, workloads[i], err);
    }
    if (rc == 0)
        measure_say_spent(m, left_out);
    run_text_says(m, false);
    return rc;
}

// ---- the quotes

// One for each run whose whole training is known.
struct money {
    struct quote_job *jobs;
    size_t count;
};

static int quote_one(struct quote_job *job, const struct run *run, struct ledger *ledger,
                     struct err *err)
{
    int rc = run->workload ? quote_load_like(job, run, ledger, err)
                           : quote_load_run(job, run, ledger, err);
    out_complain(buf_str(&job->says));
    if (rc == 0)
        rc = quote_assemble(job, err);
    if (rc == 0)
        rc = text_set(&job->quote.run, run->id, err);
    return rc;
}

// Fills report->quotes too, in JSON and of several with few bills of each; they stay the jobs'.
// `ledger` may be null; `currency` (optional) is shown beside USD. The caller releases `money`,
// even after a failure, and before the report.
static int money_make(struct money *money, struct report *report, struct ledger *ledger,
                      struct market *market, const struct bare_options *o, struct err *err)
{
    size_t count = report->runs.count, rows = count > 1        ? VERDICT_ROWS_EACH
                                              : o->common.json ? VERDICT_ROWS
                                                               : SIZE_MAX;
    money->jobs = calloc(count + 1, sizeof *money->jobs);
    int rc = money->jobs ? 0 : err_memory(err);
    report->quotes.known = true;
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const struct run *run = &report->runs.items[i];
        struct bill_time time;
        if (!bill_time_of(run, &time))
            continue;
        const struct quote_job ask = {.ask = {.market = market,
                                              .max_age = QUOTE_MAX_AGE,
                                              .wishes.currency = o->measure.currency,
                                              .estimates = true,
                                              .most_estimates = PAGE_ESTIMATES,
                                              .most_misfits = PAGE_MISFITS / count}};
        struct quote_job *job = &money->jobs[money->count];
        struct err why = {0};
        *job = ask;
        rc = quote_one(job, run, ledger, &why);
        if (rc == ERR_IO || rc == ERR_TIMEOUT) { // no ledger: other runs tell nothing then
            out_complain(why.text);
            ledger = NULL;
            why = (struct err){0};
            quote_release(job);
            *job = ask;
            rc = quote_one(job, run, NULL, &why);
        }
        if (rc != 0) {
            quote_release(job);
            return err_pass(err, rc, &why);
        }
        money->count++;
        struct quote *few = LIST_ADD(&report->quotes, err);
        rc = few ? verdict_shorten(&job->quote, rows, few, err) : ERR_MEMORY;
    }
    return rc;
}

static void money_release(struct money *money, struct report *report)
{
    for (size_t i = 0; i < report->quotes.count; i++) {
        free(report->quotes.items[i].bills.items);
        free(report->quotes.items[i].estimates.items);
        report->quotes.items[i] = (struct quote){0};
    }
    for (size_t i = 0; i < money->count; i++)
        quote_release(&money->jobs[i]);
    free(money->jobs);
}

static void show_quotes(const struct cmd_call *call, const struct report *report,
                        const struct power_given *power)
{
    SCOPED(doc_release) struct doc doc = {0};
    view_rented(&doc, report, call->desk->market, power);
    out_printf(call->out, doc.count > 0 ? "\n" : "");
    out_doc(call->out, &doc);
}

static void print_samples(const struct cmd_call *call, const struct report *report,
                          const struct engine *engine, bool interrupted,
                          const struct power_given *power)
{
    struct out *out = call->out;
    out_printf(out, "\n");
    run_text_table(out, report->runs.items, report->runs.count);
    for (size_t i = 0; i < report->runs.count; i++)
        if (report->runs.items[i].problem)
            out_row(out, report->runs.items[i].workload, "%s", report->runs.items[i].problem);
    for (size_t i = 0; workloads[i]; i++)
        if (!makes_sense(workloads[i], &report->machine, engine))
            out_row(out, workloads[i]->name,
                    "left out: too much for this processor. 'fare run %s' trains it anyway.",
                    workloads[i]->name);
    if (interrupted)
        out_printf(out, "Interrupted: these are the figures so far.\n");
    show_quotes(call, report, power);
}

// The ledger; null with --no-ledger, or if there is none.
static struct ledger *ledger_of(const struct cmd_call *call)
{
    const struct bare_options *o = call->options;
    struct ledger *ledger = NULL;
    return o->measure.no_ledger || desk_ledger(call->desk, &ledger, NULL) != 0 ? NULL : ledger;
}

// A missing book or missing rules must not lose the measurement.
static int price(const struct cmd_call *call, struct report *report, struct money *money,
                 struct err *err)
{
    const struct bare_options *o = call->options;
    struct err why = {0};
    int rc = prices_renew(NULL, NULL, &why); // when nothing is measured any more
    if (rc == 0)
        rc = money_make(money, report, ledger_of(call), call->desk->market, o, &why);
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
    TRY(folder_data(path, err));
    TRY(fs_mkdirs_private(buf_str(path), err));
    buf_adds(path, "/report.html");
    return buf_check(path, err);
}

static int make_report(const struct cmd_call *call, const struct report *report,
                       const struct money *money, struct err *err)
{
    const struct bare_options *o = call->options;
    struct out *out = call->out;
    const struct page_ask ask = {.market = call->desk->market,
                                 .runs = report->runs.items,
                                 .run_count = report->runs.count,
                                 .jobs = money->jobs,
                                 .job_count = money->count};
    SCOPED(page_release) struct page page = {0};
    SCOPED(buf_release) struct buf text = {0}, path = {0};
    TRY(page_make(&ask, &page, err));
    html_page(&text, &page);
    TRY(report_path(o, &path, err));
    TRY(report_write(out, buf_str(&path), &text, err));
    if (!o->common.json && strcmp(buf_str(&path), "-") != 0)
        out_printf(out, "%sThe report, with plots: %s\n",
                   out->fd == STDERR_FILENO ? "fare: " : "\n", buf_str(&path));
    return 0;
}

// The measurement is already printed and kept, so failing to write the report is only a warning.
static void add_report(const struct cmd_call *call, const struct report *report,
                       const struct money *money)
{
    const struct bare_options *o = call->options;
    struct err why = {0};
    bool wanted = o->report || !(o->common.json || o->measure.no_ledger);
    if (o->no_report || !wanted || report->runs.count == 0)
        return;
    if (make_report(call, report, money, &why) != 0)
        out_complain(why.text);
}

// The runs of `m` become the report's.
static void take_runs(struct measure *m, struct report *report)
{
    memcpy(&report->runs, &m->runs.runs, sizeof report->runs);
    memset(&m->runs.runs, 0, sizeof m->runs.runs);
}

// Looks at the machine, which stays the desk's.
static int inspect(const struct cmd_call *call, struct report *report, struct err *err)
{
    const struct bare_options *o = call->options;
    const struct inspect_options how = {.no_cloud = o->measure.no_cloud, .libraries = true};
    const struct machine *machine;
    TRY(text_set(&report->schema, REPORT_SCHEMA, err));
    TRY(desk_machine(call->desk, &how, &machine, err));
    report->machine = *machine;
    return 0;
}

static void release(struct report *report)
{
    report->machine = (struct machine){0};
    record_release(report_fields, report);
}

static int main_job(const struct cmd_call *call, const struct bare_options *o, struct err *err)
{
    struct measure_options own = o->measure;
    struct out *out = call->out;
    struct report report = {0};
    struct money money = {0};
    struct measure m = {0};
    const struct engine *engine = NULL;
    struct power_given power;
    int rc = local_check(call->desk->market, own.currency, err); // before anything runs
    if (rc == 0)
        rc = inspect(call, &report, err);
    if (rc == 0 && !o->common.json) {
        check_text(out, &report.machine);
        rc = out_write(out, err); // something to read while the samples train
    }
    if (rc == 0)
        rc = value_power(&o->power, &power, err);
    if (rc == 0)
        rc = choose_engine(&own, &engine, err);
    if (rc == 0)
        rc = sample(&m, &own, call->desk, engine, err);
    take_runs(&m, &report);
    if (rc == 0)
        rc = price(call, &report, &money, err);
    if (rc == 0 && o->common.json)
        rc = out_record(out, report_fields, &report, err);
    else if (rc == 0)
        print_samples(call, &report, engine, measure_interrupted(&m), &power);
    if (rc == 0)
        add_report(call, &report, &money);
    *call->exit_code = rc == 0 ? m.exit_code : 0;
    measure_close(&m);
    money_release(&money, &report);
    release(&report);
    return rc;
}

static int quote_command(const struct cmd_call *call, const struct bare_options *o,
                         struct report *report, const struct power_given *power, struct err *err)
{
    const struct run *run = &report->runs.items[0];
    struct money money = {0};
    bool failed = run->ended && strcmp(run->ended, "failed") == 0;
    int rc = failed ? 0 : price(call, report, &money, err);
    if (rc == 0 && o->common.json)
        rc = out_record(call->out, report_fields, report, err);
    else if (rc == 0)
        show_quotes(call, report, power);
    if (rc == 0 && !failed)
        add_report(call, report, &money);
    money_release(&money, report);
    return rc;
}

// The user's own training: a sample, its quote and the report, without the machine.
static int sample_command(const struct cmd_call *call, const struct bare_options *o,
                          struct err *err)
{
    struct measure_options own = o->measure;
    struct measure m = {.o = &own};
    struct report report = {0};
    struct power_given power;
    own.json = o->common.json;
    own.sample_s = 0;
    own.sample = true;
    int rc = value_power(&o->power, &power, err);
    if (rc == 0)
        rc = local_check(call->desk->market, own.currency, err);
    if (rc == 0)
        rc = measuring_joins(&own, err);
    if (rc == 0)
        rc = inspect(call, &report, err);
    if (rc == 0)
        rc = measuring_command(call, &m, true, err);
    buf_lost_forget(); // a line on the screen; the record was checked
    if (rc == 0 && !own.json && !own.follows)
        run_text_command(call->out, &m, false);
    if (rc == 0 && !own.follows) {
        take_runs(&m, &report);
        rc = quote_command(call, o, &report, &power, err);
    }
    measure_close(&m);
    release(&report);
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
        {"fare run --on TARGET --json", DISPATCH_SCHEMA, dispatch_fields},
        {"fare runs RUN --against RUN --json", COMPARISON_SCHEMA, comparison_fields},
        {"fare runs --estimates --json", PAST_SCHEMA, past_summary_fields},
        {"fare runs --by KEY --json", SPENDING_SCHEMA, spending_fields},
        {"fare runs --budgets --json", BUDGETS_SCHEMA, budgets_fields},
        {"fare quote --json", QUOTE_SCHEMA, quote_fields},
        {"fare prices --json", OFFERS_SCHEMA, offers_fields},
        {"fare prices PROVIDER --json", PROVIDER_SCHEMA, provider_fields},
        {"fare prices devices --json", DEVICES_SCHEMA, device_list_fields},
        {"fare prices import --json", PRICE_IMPORT_SCHEMA, price_import_fields},
        {"fare compare --json", COMPARE_SCHEMA, compare_fields},
        {"fare report --json", PAGE_SCHEMA, page_fields},
        {"fare report --plot KIND --json", PLOT_SCHEMA, plot_fields},
        {"fare report --site DIR", SITE_SCHEMA, site_index_fields}, // DIR/site.json
        {"fare serve --json", SERVING_SCHEMA, serving_fields},
        {"fare report --gpu NAME --json", GPU_SCHEMA, gpu_model_fields},
        {"fare cron --json", SCHEDULE_SCHEMA, schedule_fields},
        {"fare workloads --json", WORKLOADS_SCHEMA, workload_list_fields},
        {"fare workloads models --json", MODELS_SCHEMA, model_list_fields},
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
    if (o->version && o->common.json)
        out_printf(call->out,
                   "{\n  \"schema\": \"fare.version/1\",\n  \"version\": \"%s\",\n  \"build\": "
                   "\"%s\"\n}\n",
                   FARE_VERSION, FARE_BUILD);
    else if (o->version)
        out_printf(call->out, "fare %s (build %s)\n", FARE_VERSION, FARE_BUILD);
    else if (o->manual)
        cmd_manual(call->out, call->commands);
    else if (o->completion)
        cmd_completion(call->out, o->completion);
    else if (o->json_keys)
        document_keys(call->out);
    else if (call->rest->command)
        return sample_command(call, o, err);
    else if (measuring_without_command(&o->measure, err) != 0)
        return ERR_USAGE;
    else
        return main_job(call, o, err);
    return 0;
}

const struct command cmd_bare = {
    .name = NULL,
    .group = "",
    .summary = "what a training run will cost, before you pay for it",
    .arguments = "[-- COMMAND...]",
    .about =
        "Without a command fare does its main job, in about a minute: it checks this machine, "
        "trains a sample of each workload that makes sense on it, projects the whole trainings, "
        "compares this machine with those that can be rented, and writes a report "
        "with plots. 'fare -- COMMAND' does the same for your own training: it finds the steps "
        "in its output, stops it once its total time is known, and quotes the whole; "
        "'fare run -- COMMAND' runs it to the end.",
    .options = options,
    .options_size = sizeof(struct bare_options),
    .defaults = &defaults,
    .takes_command = true,
    .examples = examples,
    .variables = variables,
    .run = run,
};
