// SPDX-License-Identifier: Apache-2.0
// runs: list runs, show one, compare two, delete.
#include "cmd/runs.h"

#include <string.h>

#include "advise/comparable.h"
#include "base/tree.h"
#include "ledger/ledger.h"
#include "ledger/spend.h"
#include "record/read.h"
#include "advise/spend/spend.h"

enum { LAST = 20 };

static const struct cmd_example examples[] = {
    {"fare runs", "the newest 20"},
    {"fare runs last", "the newest on a page: where the time went, steps, resources"},
    {"fare runs --since 3w --gpu h100", "those of the last three weeks on that GPU"},
    {"fare runs --workload cnn --gpu h100 --sort step", "the fastest CNN on that GPU first"},
    {"fare runs --estimates",
     "how far off estimates would have been, and how often in their interval"},
    {"fare runs --by project,month", "who spent what, beside imported invoices"},
    {"fare runs --budget project:bert=300/month", "a budget; 'fare runs --budgets' lists them"},
    {"fare runs 3f9a2c --against published-2017-mnist-cnn-k80-tensorflow",
     "can the two be compared?"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    LEDGER_VARIABLE,
    {NULL, NULL},
};

struct ledger_filter runs_which(const struct runs_options *o)
{
    struct ledger_filter filter = {
        .name = o->name,
        .workload = o->workload,
        .framework = o->framework,
        .ended = o->ended,
        .gpu = o->gpu,
        .machine = o->machine,
        .host = o->host,
        .user = o->user,
        .since = o->since,
        .labels = o->label.items,
        .label_count = o->label.count,
        .limit = o->last,
    };
    if (o->sort)
        ledger_sort_parse(o->sort, &filter.sort); // the option table has its words
    return filter;
}

static int join(struct ledger *ledger, bool writes, struct err *err)
{
    SCOPED(buf_release) struct buf says = {0};
    int rc = writes ? ledger_make(ledger, &says, err) : ledger_connect(ledger, &says, err);
    out_complain(buf_str(&says));
    return rc;
}

int runs_connect(struct ledger *ledger, struct err *err)
{
    return join(ledger, false, err);
}

int runs_open(struct desk *desk, bool writes, struct ledger **ledger, struct err *err)
{
    TRY(desk_ledger(desk, ledger, err));
    int rc = join(*ledger, writes, err);
    const char *dir;
    size_t waiting = rc != 0 ? ledger_spooled(*ledger, &dir) : 0;
    if (waiting > 0)
        err_hint(err, "%zu run%s in '%s' wait%s until it can be reached", waiting,
                 waiting == 1 ? "" : "s", dir, waiting == 1 ? "s" : "");
    return rc;
}

int runs_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err)
{
    TRY(run_shipped_name(word) ? 0 : runs_connect(ledger, err));
    TRY(published_or_ledger(NULL, ledger, word, text, err));
    return runs_check(word, buf_str(text), err);
}

int runs_check(const char *id, const char *text, struct err *err)
{
    int rc = record_from_text(run_fields, text, strlen(text), NULL, err);
    if (rc == ERR_FORMAT)
        err_context(err, "run %s is damaged", id);
    return rc;
}

void runs_say_added(const struct cmd_call *call, const char *verb, int64_t added, int64_t there,
                    int64_t left_out)
{
    const struct runs_options *o = call->options;
    struct out *out = call->out;
    if (o->common.json) {
        out_printf(out, "{\n  \"schema\": \"" CHANGES_SCHEMA "\",\n  \"%s\": %lld", verb,
                   (long long)added);
        if (there >= 0)
            out_printf(out, ",\n  \"there\": %lld", (long long)there);
        if (left_out >= 0)
            out_printf(out, ",\n  \"left_out\": %lld", (long long)left_out);
        out_printf(out, "\n}\n");
        return;
    }
    out_printf(out, "%s %lld run%s", verb, (long long)added, added == 1 ? "" : "s");
    if (there > 0)
        out_printf(out, "; %lld %s there already", (long long)there, there == 1 ? "was" : "were");
    if (left_out > 0)
        out_printf(out, "; %lld %s left out", (long long)left_out, left_out == 1 ? "was" : "were");
    out_printf(out, "\n");
}

// ---- as JSON: the texts as they are kept, keys of a newer fare included

static int add_json(void *arg, const char *id, const char *text, struct err *err)
{
    json_t *json = json_loads(text, 0, NULL);
    if (!json)
        return err_set(err, ERR_FORMAT, "run %s is not JSON", id);
    return json_array_append_new(arg, json) == 0 ? 0 : err_memory(err);
}

static int print_json(struct out *out, json_t *json, struct err *err)
{
    int rc = json_to_text(json, JSON_INDENT(2), &out->text, err);
    out_printf(out, "\n");
    return rc;
}

// Without a ledger: the published ones.
static int json_list(const struct cmd_call *call, struct ledger *ledger,
                     const struct ledger_filter *filter, struct err *err)
{
    json_t *array = json_array();
    json_t *json = json_pack("{s:s, s:O}", "schema", RUNS_SCHEMA, "runs", array);
    int rc = array && json ? 0 : err_memory(err);
    if (rc == 0)
        rc = ledger ? ledger_each(ledger, filter, add_json, array, err)
                    : runs_published(call->options, add_json, array, err);
    if (rc == 0)
        rc = print_json(call->out, json, err);
    json_decref(json);
    json_decref(array);
    return rc;
}

// ---- lists

static void say_empty(struct out *out, struct ledger *ledger, bool filtered)
{
    if (filtered)
        out_wrap(out, 0, "No such run in the ledger. 'fare runs --all' lists them all.");
    else
        out_wrap(out, 0,
                 "No runs in the ledger yet. 'fare run mlp' makes one in a few seconds; 'fare runs "
                 "--published' lists published results.");
    out_styled(out, OUT_DIM, "The ledger is %s", ledger_name(ledger));
    out_printf(out, "\n");
}

static int print_list(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct runs_options *o = call->options;
    const struct ledger_filter all = runs_which(o);
    struct ledger_filter filter = all;
    if (filter.limit == 0 && !o->all)
        filter.limit = LAST;
    if (o->by)
        return runs_spending(call, ledger, &all, err);
    if (o->estimates)
        return runs_estimates(call, ledger, &all, err);
    if (o->common.json)
        return json_list(call, ledger, &filter, err);
    // One more than is shown, to know whether there are more.
    size_t shown =
        filter.sort == LEDGER_STARTED && filter.limit > 0 ? (size_t)filter.limit : SIZE_MAX;
    if (shown != SIZE_MAX)
        filter.limit++;
    SCOPED(runs_release) struct runs runs = {0};
    TRY(ledger_list(ledger, &filter, &runs, err));
    bool more = runs.runs.count > shown;
    bool filtered = filter.name || filter.workload || filter.framework || filter.ended ||
                    filter.gpu || filter.machine || filter.host || filter.user || filter.since ||
                    filter.label_count > 0;
    if (runs.runs.count == 0)
        say_empty(call->out, ledger, filtered);
    else
        runs_table(call->out, runs.runs.items, more ? shown : runs.runs.count);
    if (more)
        out_printf(call->out, "The newest %zu; --all lists them all.\n", shown);
    return 0;
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct runs *runs = arg;
    struct run *run = LIST_ADD(&runs->runs, err);
    return run ? record_from_text(run_fields, text, strlen(text), run, err) : ERR_MEMORY;
}

static int print_published(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    if (o->common.json)
        return json_list(call, NULL, NULL, err);
    SCOPED(runs_release) struct runs runs = {0};
    TRY(runs_published(o, add_run, &runs, err));
    if (runs.runs.count == 0)
        out_wrap(call->out, 0, "No such published result. 'fare runs --published' lists them all.");
    else
        runs_published_table(call->out, runs.runs.items, runs.runs.count);
    return 0;
}

// ---- one run, and two

static int load(struct ledger *ledger, const char *word, struct run *run, struct buf *text,
                struct err *err)
{
    TRY(runs_find(ledger, word, text, err));
    return record_from_text(run_fields, buf_str(text), text->len, run, err);
}

static int against(const struct cmd_call *call, const struct run *a, const struct run *b,
                   struct err *err)
{
    const struct runs_options *o = call->options;
    struct comparison comparison;
    int rc = comparison_make(a, b, COMPARISON_PAIR, &comparison, err);
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
        for (size_t i = 0; i < comparison.reasons.count; i++)
            out_bullet(call->out, comparison.reasons.items[i]);
    }
    comparison_release(&comparison);
    return rc;
}

// A page or record is shown without it if it cannot be made.
static int find_past(struct ledger *ledger, struct market *market, const char *text,
                     const struct run *run, struct past_estimate *past, struct err *err)
{
    struct err why = {0};
    int rc = run->id && !run_shipped_name(run->id)
                 ? runs_past(ledger, market, text, run->id, past, &why)
                 : 0;
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        out_complain(why.text);
    return 0;
}

// What invoices say of it, likewise.
static int find_invoiced(struct ledger *ledger, struct market *market, const struct run *run,
                         struct spending_row *invoiced, struct err *err)
{
    struct err why = {0};
    int rc = run->id && !run_shipped_name(run->id)
                 ? spend_of_run(ledger, market, run->id, invoiced, &why)
                 : 0;
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0)
        out_complain(why.text);
    return 0;
}

static int add_member(json_t *json, const char *key, const struct field *fields, const void *record,
                      struct err *err)
{
    SCOPED(buf_release) struct buf line = {0};
    int rc = record_to_line(fields, record, &line, err);
    json_t *member = rc == 0 ? json_loads(buf_str(&line), 0, NULL) : NULL;
    if (rc == 0 && json_object_set_new(json, key, member) != 0)
        rc = err_memory(err);
    return rc;
}

// The record as it is kept, with the estimate and the invoice beside it.
static int print_record(struct out *out, const char *text, const struct past_estimate *past,
                        const struct spending_row *invoiced, struct err *err)
{
    json_t *kept = json_loads(text, 0, NULL);
    json_t *json = json_pack("{s:s}", "schema", RUN_SCHEMA); // first, also of a record without
    int rc = kept && json && json_object_update(json, kept) == 0 ? 0 : err_memory(err);
    if (rc == 0 && past->run)
        rc = add_member(json, "estimated", past_estimate_fields, past, err);
    if (rc == 0 && invoiced->invoiced_usd.known)
        rc = add_member(json, "invoiced", spending_row_fields, invoiced, err);
    if (rc == 0)
        rc = print_json(out, json, err);
    json_decref(kept);
    json_decref(json);
    return rc;
}

static int print_run(const struct cmd_call *call, struct ledger *ledger, struct err *err)
{
    const struct runs_options *o = call->options;
    SCOPED(run_release) struct run run = {0}, other = {0};
    struct past_estimate past = {0};
    struct spending_row invoiced = {0};
    SCOPED(buf_release) struct buf text = {0}, second = {0};
    int rc = load(ledger, call->rest->args[0], &run, &text, err);
    if (rc == 0 && o->against) {
        rc = load(ledger, o->against, &other, &second, err);
        if (rc == 0)
            rc = against(call, &run, &other, err);
    } else if (rc == 0) {
        rc = find_past(ledger, call->desk->market, buf_str(&text), &run, &past, err);
        if (rc == 0)
            rc = find_invoiced(ledger, call->desk->market, &run, &invoiced, err);
        if (rc == 0 && o->common.json)
            rc = print_record(call->out, buf_str(&text), &past, &invoiced, err);
        else if (rc == 0)
            rc = o->all ? runs_page(call->out, &run, &past, &invoiced, err)
                        : runs_brief(call->out, &run, &invoiced, err);
    }
    record_release(spending_row_fields, &invoiced);
    record_release(past_estimate_fields, &past);
    return rc;
}

// ---- the subcommands

static int list(const struct cmd_call *call, struct err *err)
{
    const struct runs_options *o = call->options;
    if (o->published)
        return print_published(call, err);
    if (o->budgets || o->budget.count > 0)
        return runs_budgets(call, err);
    if (o->format && !o->by)
        return err_set(err, ERR_USAGE, "--format is for --by and --budgets; lists have --json");
    struct ledger *ledger;
    TRY(runs_open(call->desk, false, &ledger, err));
    return print_list(call, ledger, err);
}

static int show(const struct cmd_call *call, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    struct ledger *ledger;
    if (rest->count != 1) {
        err_set(err, ERR_USAGE, "'fare runs show' shows one run");
        return rest->count == 0 ? err_hint(err, "'fare runs' lists them; 'last' is the newest")
                                : err_hint(err, "to compare them: fare runs %s --against %s",
                                           rest->args[0], rest->args[1]);
    }
    // Published results can be read without a ledger.
    bool shipped = run_shipped_name(rest->args[0]);
    TRY(shipped ? desk_ledger(call->desk, &ledger, err)
                : runs_open(call->desk, false, &ledger, err));
    return print_run(call, ledger, err);
}

// The lines of an invoice, by its file.
static int delete_invoice(const struct cmd_call *call, const char *file, struct err *err)
{
    const struct runs_options *o = call->options;
    const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
    struct ledger *ledger;
    int64_t removed = 0;
    TRY(runs_open(call->desk, false, &ledger, err));
    TRY(ledger_charge_remove(ledger, name, &removed, err));
    if (removed == 0)
        TRY(err_set(err, ERR_MISSING, "no line of an invoice was imported from '%s'", name));
    if (o->common.json)
        runs_say_added(call, "deleted", removed, -1, -1);
    else
        out_printf(call->out, "deleted %s of invoices\n", units_count(removed, "line").s);
    return 0;
}

static int delete_runs(const struct cmd_call *call, struct err *err)
{
    const struct opt_rest *rest = call->rest;
    const struct runs_options *o = call->options;
    struct ledger *ledger;
    if (o->invoice && rest->count == 0)
        return delete_invoice(call, o->invoice, err);
    if (rest->count == 0) {
        err_set(err, ERR_USAGE, "'fare runs delete' needs the id of a run");
        return err_hint(err, "'fare runs' lists them");
    }
    TRY(runs_open(call->desk, false, &ledger, err));
    for (size_t i = 0; i < rest->count; i++) {
        SCOPED(buf_release) struct buf id = {0};
        TRY(ledger_delete(ledger, rest->args[i], &id, err));
        if (!o->common.json)
            out_printf(call->out, "deleted %s\n", buf_str(&id));
    }
    if (o->common.json)
        runs_say_added(call, "deleted", (int64_t)rest->count, -1, -1);
    return 0;
}

#define AT(member) offsetof(struct runs_options, member)
static const struct opt list_options[] = {
    LEDGER_ROW,
    {"published", 0, OPT_FLAG, NULL, NULL, AT(published), NULL,
     "list the published results that come with fare, instead of the ledger"},
    {"estimates", 0, OPT_FLAG, NULL, NULL, AT(estimates), NULL,
     "show how far off an estimate would have been for each of the newest 200, made from your "
     "other runs of its training"},
    {"by", 0, OPT_TEXT, "KEY,...", NULL, AT(by), "Who spent what",
     "sum runs, time, GPU-hours and bills by user, host, project, offer or month"},
    {"budget", 0, OPT_TEXTS, "WHOSE=AMOUNT/PERIOD", NULL, AT(budget), "Who spent what",
     "set a budget for the team: project:bert=300/month, user=50EUR/week (each user), "
     "all=1000/month; 'none' as the amount removes it; may be given several times"},
    {"budgets", 0, OPT_FLAG, NULL, NULL, AT(budgets), "Who spent what",
     "list the budgets, what is spent of them, and what will be spent by the end of the period "
     "at this rate"},
    {"format", 'f', OPT_CHOICE, "NAME", runs_formats, AT(format), "Who spent what",
     "with --by: table (default), csv, md or json"},
    CURRENCY_ROW(AT(currency), "Who spent what"),
    RUNS_WHICH,
    {NULL},
};

static const struct command runs_list = {
    .name = "runs list",
    .summary = "list runs, the newest first",
    .about = "Lists the newest 20 runs in the ledger, or those that the options select. 'fare runs "
             "RUN' shows one: type the text in its first column.",
    .options = list_options,
    .options_size = sizeof(struct runs_options),
    .run = list,
};

static const struct opt show_options[] = {
    LEDGER_ROW,
    {"against", 0, OPT_TEXT, "RUN", NULL, AT(against), NULL,
     "show whether the two runs can be compared, and why not"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), NULL,
     "all that is known: the plots, the phases, what was used, and where the figures are from"},
    {NULL},
};

static const struct command runs_show = {
    .name = "runs show",
    .summary = "show one run on a page, or whether two can be compared",
    .arguments = "RUN",
    .about = "Shows how long it takes, what came out, where the time went, the noise and the cost; "
             "with --all everything needed to judge the run. RUN is an id, the beginning of one "
             "(or of the part after its date or "
             "'import-'), 'last', a name, or a published result.",
    .options = show_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .run = show,
};

static const struct opt delete_options[] = {
    LEDGER_ROW,
    {"invoice", 0, OPT_TEXT, "FILE", NULL, AT(invoice), NULL,
     "instead of runs: the lines of invoices that were imported from the file of this name"},
    {NULL},
};

static const struct command runs_delete = {
    .name = "runs delete",
    .summary = "remove runs, or an invoice, from the ledger",
    .arguments = "RUN...",
    .about = "They are gone for good: export them first if they may be needed.",
    .options = delete_options,
    .options_size = sizeof(struct runs_options),
    .max_args = 4096,
    .run = delete_runs,
};

static const struct command *const subcommands[] = {
    &runs_list,   &runs_show,   &runs_export, &runs_import, &runs_push,
    &runs_delete, &runs_resume, &runs_cancel, NULL,
};

const struct command cmd_runs = {
    .name = "runs",
    .group = "Measure",
    .summary = "measured runs: list, show, compare, export, import, push, resume",
    .arguments = "[RUN]",
    .about = "Every run is kept in the ledger: your SQLite file, or a team's PostgreSQL "
             "database. 'fare runs' lists the newest ones and 'fare runs RUN' shows one; the other "
             "commands move runs between ledgers and files.",
    .subcommands = subcommands,
    .with_argument = &runs_show,
    .examples = examples,
    .variables = variables,
};
