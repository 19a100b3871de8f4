// SPDX-License-Identifier: Apache-2.0
// runs: what was measured: lists, one run, two held against each other.
#include "cmd/runs.h"

#include <float.h>
#include <string.h>

#include "advise/comparable.h"
#include "ledger/published.h"
#include "record/read.h"

enum { LAST = 20 };

static const char *const sorts[] = {"started", "step", "wall", "name", NULL};
static const char *const formats[] = {"fare", "keras-csv", "dawnbench", "mllog", "hyperfine", NULL};
static const char *const ends[] = {"finished", "sampled", "stopped", "interrupted",
                                   "failed",   "killed",  NULL};

#define AT(member) offsetof(struct runs_options, member)
static const struct opt options[] = {
    {"ledger", 0, OPT_TEXT, "URL", NULL, AT(ledger), NULL,
     "a file (SQLite) or postgresql://USER@HOST/DATABASE, instead of FARE_LEDGER or the user's "
     "own"},
    {"against", 0, OPT_TEXT, "RUN", NULL, AT(against), NULL,
     "say whether the two runs can be compared, and why not"},
    {"published", 0, OPT_FLAG, NULL, NULL, AT(published), NULL,
     "list the published results that come with fare, instead of the ledger"},
    {"workload", 0, OPT_TEXT, "NAME", NULL, AT(workload), "Which",
     "those of this workload; import: what was trained"},
    {"framework", 0, OPT_TEXT, "NAME", NULL, AT(framework), "Which",
     "those trained by this; import: by what it was trained"},
    {"gpu", 0, OPT_TEXT, "NAME", NULL, AT(gpu), "Which",
     "those whose GPU's name has this in it; import: the GPU's name"},
    {"machine", 0, OPT_TEXT, "NAME", NULL, AT(machine), "Which",
     "those whose machine, instance type, processor or fingerprint has this in it; import: the "
     "machine's name"},
    {"name", 0, OPT_TEXT, "NAME", NULL, AT(name), "Which", "those of this name"},
    {"ended", 0, OPT_CHOICE, "HOW", ends, AT(ended), "Which",
     "those that ended so: finished, sampled, stopped or failed"},
    {"label", 0, OPT_TEXTS, "KEY=VALUE", NULL, AT(label), "Which",
     "those with this label, which may be given several times; import: a label to add"},
    {"since", 0, OPT_TEXT, "DATE", NULL, AT(since), "Which", "those started on this date or later"},
    {"last", 'n', OPT_COUNT, "N", NULL, AT(last), "Which", "the newest N of them (default 20)",
     .least = 1},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Which", "all of them"},
    {"sort", 0, OPT_CHOICE, "BY", sorts, AT(sort), "Which",
     "started (default, newest first), step or wall (shortest first), or name"},
    {"output", 'o', OPT_TEXT, "FILE", NULL, AT(output), "Export and import",
     "export: write to this file, whole or not at all"},
    {"format", 0, OPT_CHOICE, "NAME", formats, AT(format), "Export and import",
     "import: fare, keras-csv, dawnbench, mllog or hyperfine, instead of what the file looks like"},
    {"gpus", 0, OPT_COUNT, "N", NULL, AT(gpus), "Export and import", "import: how many GPUs",
     .least = 1},
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(provider), "Export and import",
     "import: who rented the machine out, aws or gcp, say"},
    {"price-per-hour", 0, OPT_TEXT, "USD", NULL, AT(price_per_hour), "Export and import",
     "import: what the machine cost, kept as a label"},
    {"started", 0, OPT_TEXT, "DATE", NULL, AT(started), "Export and import",
     "import: when it was trained"},
    {"token-file", 0, OPT_TEXT, "FILE", NULL, AT(token_file), "Export and import",
     "push: a file with the server's token"},
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare runs", "the last twenty"},
    {"fare runs last", "the newest on a page: where the time went, steps, use"},
    {"fare runs --workload cnn --gpu h100 --sort step", "the fastest CNN on that GPU first"},
    {"fare runs 3f9a2c --against published-2017-mnist-cnn-k80-tensorflow",
     "can the two be compared?"},
    {"fare runs export -o runs.jsonl", "all of them, one JSON object per line"},
    {"fare runs import runs.jsonl --ledger postgresql://team@db/fare", "and into the team's"},
    {"fare runs push http://box:8732 last --token-file token", "the newest to a 'fare serve'"},
    {"fare runs import mnist_mlp_tensorflow.csv --machine p2.xlarge --price-per-hour 0.90",
     "a log of Keras"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    {"FARE_LEDGER", "The ledger: a file for SQLite, or a postgresql:// URL. Without it, ledger.db "
                    "in XDG_DATA_HOME/fare or ~/.local/share/fare"},
    {NULL, NULL},
};

void runs_filter(const struct runs_options *o, struct ledger_filter *filter)
{
    *filter = (struct ledger_filter){
        .name = o->name,
        .workload = o->workload,
        .framework = o->framework,
        .ended = o->ended,
        .gpu = o->gpu,
        .machine = o->machine,
        .since = o->since,
        .labels = o->label.items,
        .label_count = o->label.count,
        .limit = o->last,
    };
    static const enum ledger_sort values[] = {LEDGER_STARTED, LEDGER_STEP, LEDGER_WALL,
                                              LEDGER_NAME};
    for (size_t i = 0; o->sort && sorts[i]; i++)
        if (strcmp(sorts[i], o->sort) == 0)
            filter->sort = values[i];
}

static int join(struct ledger *ledger, bool writes, struct err *err)
{
    struct buf says = {0};
    int rc = writes ? ledger_make(ledger, &says, err) : ledger_connect(ledger, &says, err);
    out_complain(buf_str(&says));
    buf_release(&says);
    return rc;
}

int runs_connect(struct ledger *ledger, struct err *err)
{
    return join(ledger, false, err);
}

int runs_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err)
{
    int rc = strncmp(word, "published-", 10) == 0 ? 0 : runs_connect(ledger, err);
    return rc == 0 ? published_or_ledger(ledger, word, text, err) : rc;
}

// ---- as JSON: the texts as they are kept, keys of a newer fare included

static int add_json(void *arg, const char *id, const char *text, struct err *err)
{
    json_t *json = json_loads(text, 0, NULL);
    if (!json)
        return err_set(err, ERR_FORMAT, "run %s is not JSON", id);
    return json_array_append_new(arg, json) == 0 ? 0 : err_memory(err);
}

static int add_dump(const char *bytes, size_t len, void *out)
{
    buf_add(out, bytes, len);
    return 0;
}

static int print_json(struct out *out, json_t *json, struct err *err)
{
    int rc = json_dump_callback(json, add_dump, &out->text,
                                JSON_INDENT(2) | JSON_REAL_PRECISION(DBL_DIG));
    out_printf(out, "\n");
    return rc == 0 ? 0 : err_memory(err);
}

static int json_list(struct out *out, struct ledger *ledger, const struct ledger_filter *filter,
                     struct err *err)
{
    json_t *array = json_array();
    json_t *json = json_pack("{s:s, s:O}", "schema", RUNS_SCHEMA, "runs", array);
    int rc = array && json ? 0 : err_memory(err);
    if (rc == 0)
        rc = ledger ? ledger_each(ledger, filter, add_json, array, err)
                    : published_each(NULL, add_json, array, err);
    if (rc == 0)
        rc = print_json(out, json, err);
    json_decref(json);
    json_decref(array);
    return rc;
}

// ---- lists

static void say_empty(struct out *out, struct ledger *ledger, bool filtered)
{
    if (filtered)
        out_wrap(out, 0, "No run like that in the ledger. 'fare runs --all' lists them all.");
    else
        out_wrap(out, 0,
                 "No runs in the ledger yet. 'fare run mlp' makes one in a few seconds; 'fare runs "
                 "--published' lists results that others published.");
    out_styled(out, OUT_DIM, "The ledger is %s", ledger_name(ledger));
    out_printf(out, "\n");
}

static int list(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct runs_options *o = call->options;
    struct ledger_filter filter;
    runs_filter(o, &filter);
    if (filter.limit == 0 && !o->all)
        filter.limit = LAST;
    if (o->common.json)
        return json_list(call->out, ledger, &filter, err);
    // One more than is shown tells whether there are more.
    size_t shown =
        filter.sort == LEDGER_STARTED && filter.limit > 0 ? (size_t)filter.limit : SIZE_MAX;
    if (shown != SIZE_MAX)
        filter.limit++;
    struct runs runs = {0};
    int rc = ledger_list(ledger, &filter, &runs, err);
    bool more = runs.runs.count > shown;
    bool filtered = filter.name || filter.workload || filter.framework || filter.ended ||
                    filter.gpu || filter.machine || filter.since || filter.label_count > 0;
    if (rc == 0 && runs.runs.count == 0)
        say_empty(call->out, ledger, filtered);
    else if (rc == 0)
        runs_table(call->out, runs.runs.items, more ? shown : runs.runs.count);
    if (rc == 0 && more)
        out_printf(call->out, "The newest %zu; --all lists them all.\n", shown);
    record_release(runs_fields, &runs);
    return rc;
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct runs *runs = arg;
    struct run *run = LIST_ADD(&runs->runs, err);
    return run ? record_from_text(run_fields, text, strlen(text), run, err) : ERR_MEMORY;
}

static int published(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    if (o->common.json)
        return json_list(call->out, NULL, NULL, err);
    struct runs runs = {0};
    int rc = published_each(NULL, add_run, &runs, err);
    if (rc == 0)
        runs_published_table(call->out, runs.runs.items, runs.runs.count);
    record_release(runs_fields, &runs);
    return rc;
}

// ---- one run, and two

static int load(struct ledger *ledger, const char *word, struct run *run, struct buf *text,
                struct err *err)
{
    int rc = runs_find(ledger, word, text, err);
    if (rc == 0)
        rc = record_from_text(run_fields, buf_str(text), text->len, run, err);
    return rc;
}

static int against(const struct cmd_call *call, const struct run *a, const struct run *b,
                   struct err *err)
{
    const struct runs_options *o = call->options;
    struct comparison comparison;
    int rc = comparison_make(a, b, &comparison, err);
    if (rc == 0 && o->common.json) {
        rc = out_record(call->out, comparison_fields, &comparison, err);
    } else if (rc == 0) {
        static const enum out_style styles[] = {OUT_GREEN, OUT_YELLOW, OUT_YELLOW, OUT_RED};
        const struct run pair[] = {*a, *b};
        runs_table(call->out, pair, 2);
        out_printf(call->out, "\n");
        out_styled(call->out, styles[comparison.verdict], "%c%s", comparison.words[0] - 'a' + 'A',
                   comparison.words + 1);
        out_printf(call->out, "%s\n",
                   comparison.reasons.count ? ":" : " training, measured the same way");
        for (size_t i = 0; i < comparison.reasons.count; i++) {
            out_printf(call->out, "  - ");
            out_wrap_here(call->out, 4, comparison.reasons.items[i]);
        }
    }
    comparison_release(&comparison);
    return rc;
}

static int show(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct runs_options *o = call->options;
    struct run run = {0}, other = {0};
    struct buf text = {0}, second = {0};
    json_t *json = NULL;
    int rc = load(ledger, call->rest->args[0], &run, &text, err);
    if (rc == 0 && o->against) {
        rc = load(ledger, o->against, &other, &second, err);
        if (rc == 0)
            rc = against(call, &run, &other, err);
    } else if (rc == 0 && o->common.json) {
        json = json_loads(buf_str(&text), 0, NULL);
        rc = json ? print_json(call->out, json, err) : err_memory(err);
    } else if (rc == 0) {
        runs_page(call->out, &run);
    }
    json_decref(json);
    record_release(run_fields, &run);
    record_release(run_fields, &other);
    buf_release(&text);
    buf_release(&second);
    return rc;
}

static int delete (const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    if (rest->count < 2) {
        err_set(err, ERR_USAGE, "'fare runs delete' needs the id of a run");
        return err_hint(err, "'fare runs' lists them");
    }
    int rc = 0;
    for (size_t i = 1; i < rest->count && rc == 0; i++) {
        struct buf id = {0};
        rc = ledger_delete(ledger, rest->args[i], &id, err);
        if (rc == 0)
            out_printf(call->out, "deleted %s\n", buf_str(&id));
        buf_release(&id);
    }
    return rc;
}

static int dispatch(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    const struct runs_options *o = call->options;
    const char *first = rest->count > 0 ? rest->args[0] : NULL;
    if (first && strcmp(first, "import") == 0)
        return runs_import(call, ledger, err);
    if (first && strcmp(first, "export") == 0)
        return runs_export(call, ledger, err);
    if (first && strcmp(first, "push") == 0)
        return runs_push(call, ledger, err);
    if (first && strcmp(first, "delete") == 0)
        return delete (call, ledger, err);
    if (rest->count > 1) {
        err_set(err, ERR_USAGE, "'fare runs' shows one run at a time");
        return err_hint(err, "to hold them against each other: fare runs %s --against %s", first,
                        rest->args[1]);
    }
    if (o->against && !first)
        return err_set(err, ERR_USAGE,
                       "--against needs a run to hold against it: fare runs RUN "
                       "--against RUN");
    return first ? show(call, ledger, err) : list(call, ledger, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    if (o->published && call->rest->count == 0)
        return published(call, err);
    struct ledger *ledger = NULL;
    int rc = ledger_new(&ledger, o->ledger, err);
    if (rc != 0)
        return rc;
    bool shipped = call->rest->count == 1 && strncmp(call->rest->args[0], "published-", 10) == 0;
    bool imports = call->rest->count > 1 && strcmp(call->rest->args[0], "import") == 0;
    if (!shipped) // what comes with fare can be read where there is no ledger
        rc = join(ledger, imports, err);
    const char *dir;
    size_t waiting = rc != 0 ? ledger_spooled(ledger, &dir) : 0;
    if (waiting > 0)
        err_hint(err, "%zu run%s in '%s' wait%s until it can be reached", waiting,
                 waiting == 1 ? "" : "s", dir, waiting == 1 ? "s" : "");
    if (rc == 0)
        rc = dispatch(call, ledger, err);
    ledger_free(ledger);
    return rc;
}

const struct command cmd_runs = {
    .name = "runs",
    .group = "Measure",
    .summary = "what was measured: list, show, compare, export, import, push",
    .arguments = "[RUN] | export [RUN...] | import FILE... | push URL [RUN...] | delete RUN...",
    .about =
        "Every run is kept in the ledger: a SQLite file of the user's, or a team's PostgreSQL. "
        "Lists the newest, or shows one on a page: where the time went, the steps, what was used, "
        "and everything needed to judge it. RUN is an id, the beginning of one (or of what "
        "follows its date or 'import-'), 'last', a name, or a published result. 'export' writes "
        "JSON lines, "
        "'import' reads them (twice adds nothing), and logs of other programs: Keras's CSVLogger, "
        "DAWNBench, MLPerf, hyperfine. 'push' sends them to a 'fare serve' elsewhere.",
    .options = options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .examples = examples,
    .variables = variables,
    .run = run,
};
