// SPDX-License-Identifier: Apache-2.0
// compare: runs side by side, relative to a base, in time and money.
#include "cmd/cmd.h"

#include <stdlib.h>
#include <string.h>

#include "advise/compare.h"
#include "advise/selector.h"
#include "cmd/runs.h"
#include "cmd/values.h"
#include "ledger/ledger.h"
#include "ledger/row.h"
#include "bill/market.h"
#include "view/compare.h"

struct compare_cmd_options {
    struct cmd_common common;
    const char *ledger, *base, *workload, *published;
    const char *date, *rule, *format, *kind;
    bool spot;
    struct opt_texts price, offer, estimate;
    struct power_options power;
    const char *currency;
};

static const struct compare_cmd_options defaults = {.power = POWER_DEFAULTS};

static const char *const formats[] = {"table", "csv", "md", "json", NULL};

#define AT(member) offsetof(struct compare_cmd_options, member)
static const struct opt options[] = {
    {"base", 'b', OPT_TEXT, "SELECTOR", NULL, AT(base), NULL,
     "compare with this (default: the machine and framework with the most workloads, the oldest "
     "of them)"},
    {"format", 'f', OPT_CHOICE, "NAME", formats, AT(format), NULL,
     "table (default), csv, md or json"},
    LEDGER_ROW,
    {"workload", 'w', OPT_TEXT, "NAME", NULL, AT(workload), "Which", "runs of this workload"},
    {"published", 0, OPT_TEXT, "SET", NULL, AT(published), "Which",
     "published results that come with fare, instead of the ledger: 2017-keras-backends "
     "or 2018-tweets, say"},
    {"estimate", 'e', OPT_TEXTS, "GPU|OFFER", NULL, AT(estimate), "Which",
     "add a row for this GPU, or this offer of the book, estimated from the runs; may be given "
     "several times"},
    {"price", 'p', OPT_TEXTS, "SELECTOR=USD_PER_HOUR", NULL, AT(price), "Cost",
     "hourly price of those machines, overriding all others; may be given several times"},
    {"offer", 'o', OPT_TEXTS, "SELECTOR=OFFER", NULL, AT(offer), "Cost",
     "those machines are this offer of the book: aws/p3.2xlarge; may be given several times"},
    {"kind", 0, OPT_CHOICE, "KIND", offer_kinds, AT(kind), "Cost",
     "on-demand, spot or monthly prices of the machines (default: what the run paid)"},
    SPOT_WORD(AT(spot), "Cost"),
    {"date", 'd', OPT_TEXT, "DATE", NULL, AT(date), "Cost",
     "prices and billing rules of this date, instead of the date of the run"},
    {"rule", 'r', OPT_CHOICE, "RULE", value_compare_rules, AT(rule), "Cost",
     "paid (default): as the provider charges, with units and minimums; prorated: rate × time; "
     "published: as comparisons print it, in the provider's units but without fees and with months "
     "in parts, beside what is charged"},
    CURRENCY_ROW(AT(currency), "Cost"),
    POWER_ROWS(AT, "Cost"),
    {NULL},
};
#undef AT

static const struct cmd_example examples[] = {
    {"fare compare", "everything in the ledger, workload by workload"},
    {"fare compare --workload cnn --base h100+fare", "everything relative to that"},
    {"fare compare 3f9a2c 81d04e", "two runs"},
    {"fare compare --estimate b200 --estimate aws/g6e.xlarge", "and machines nobody measured"},
    {"fare compare --published 2017-keras-backends --base k80+tensorflow --rule prorated",
     "a published comparison, figure by figure"},
    {"fare compare --published 2018-tweets --rule published",
     "providers of 2018, costs as printed and as charged"},
    {"fare compare --published 2017-keras-backends --price k80=0.23 --price p100=0.74",
     "the same at other prices"},
    {"fare compare --format md >table.md", "to paste into a page"},
    {NULL, NULL},
};

static const struct cmd_variable variables[] = {
    LEDGER_VARIABLE,
    {NULL, NULL},
};

static int add(void *arg, const char *id, const char *text, struct err *err)
{
    int rc = comparing_add(arg, text, strlen(text), err);
    if (rc == ERR_FORMAT)
        err_context(err, "run %s", id);
    return rc;
}

// ---- runs named one by one

struct words {
    const char **items; // as given; "last" replaced by its id
    char **ids;         // of "last", to be freed
    struct buf *texts;  // the records, if all were found
    size_t count;
    bool all;
};

static void words_release(struct words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        if (words->ids)
            free(words->ids[i]);
        if (words->texts)
            buf_release(&words->texts[i]);
    }
    free(words->items);
    free(words->ids);
    free(words->texts);
}

// Whether a word is a run's id, so that the ledger need not be walked.
static int find_word(struct words *words, size_t i, struct ledger *ledger, struct err *err)
{
    struct err why = {0};
    struct run row;
    const char *word = words->items[i];
    bool last = strcmp(word, "last") == 0;
    int rc = runs_find(ledger, word, &words->texts[i], &why);
    if (rc == ERR_MISSING && !last) {
        words->all = false;
        return 0;
    }
    if (rc != 0) {
        *err = why;
        return rc;
    }
    rc = row_read(buf_str(&words->texts[i]), words->texts[i].len, &row, err);
    if (rc != 0)
        return rc;
    words->all &= last || selector_is_id(word, row.id);
    if (last) {
        words->ids[i] = strdup(row.id);
        words->items[i] = words->ids[i];
        rc = words->ids[i] ? 0 : err_memory(err);
    }
    row_release(&row);
    return rc;
}

static int words_init(struct words *words, const struct opt_rest *rest, struct ledger *ledger,
                      struct err *err)
{
    size_t capacity = rest->count > 0 ? rest->count : 1;
    words->items = calloc(capacity, sizeof *words->items);
    words->ids = calloc(capacity, sizeof *words->ids);
    words->texts = calloc(capacity, sizeof *words->texts);
    if (!words->items || !words->ids || !words->texts)
        return err_memory(err);
    words->count = rest->count;
    words->all = rest->count > 0;
    int rc = 0;
    for (size_t i = 0; i < rest->count; i++)
        words->items[i] = rest->args[i];
    for (size_t i = 0; i < rest->count && rc == 0 && ledger; i++)
        rc = find_word(words, i, ledger, err);
    words->all &= ledger != NULL;
    return rc;
}

static int add_all(const struct cmd_call *call, struct ledger *ledger, const struct words *words,
                   struct comparing *comparing, struct err *err)
{
    const struct compare_cmd_options *o = call->options;
    if (o->published)
        return published_set(NULL, o->published, add, comparing, err);
    int rc = 0;
    for (size_t i = 0; i < words->count && rc == 0; i++) {
        bool published = run_shipped_name(words->items[i]);
        if ((words->all || published) && words->texts[i].len > 0)
            rc = add(comparing, words->items[i], buf_str(&words->texts[i]), err);
    }
    if (words->all || rc != 0)
        return rc;
    struct ledger_filter filter = {.workload = o->workload, .heads = true};
    rc = runs_connect(ledger, err);
    return rc == 0 ? ledger_each(ledger, &filter, add, comparing, err) : rc;
}

static int print(const struct cmd_call *call, const struct compare *compare, const char *ledger,
                 struct err *err)
{
    const struct compare_cmd_options *o = call->options;
    const char *format;
    struct out *out = call->out;
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    if (strcmp(format, "json") == 0)
        return out_record(out, compare_fields, compare, err);
    if (strcmp(format, "csv") == 0) {
        compare_csv(&out->text, compare);
        return 0;
    }
    SCOPED(doc_release) struct doc doc = {0};
    view_compare(&doc, compare);
    if (strcmp(format, "md") == 0)
        doc_markdown(&out->text, &doc, 2);
    else if (compare->runs.v > 0)
        out_doc(out, &doc);
    else if (o->workload)
        out_wrap(out, 0, "No run of that workload. 'fare runs --all' lists the ledger.");
    else
        out_wrap(out, 0,
                 "No runs in the ledger yet. 'fare run mlp' makes one in a few seconds; 'fare "
                 "compare --published 2017-keras-backends' compares published results.");
    if (strcmp(format, "table") == 0 && compare->runs.v == 0 && ledger) {
        out_styled(out, OUT_DIM, "The ledger is %s", ledger);
        out_printf(out, "\n");
    }
    return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct compare_cmd_options *o = call->options;
    struct ledger *ledger = NULL;
    SCOPED(words_release) struct words words = {0};
    struct comparing *comparing = NULL;
    struct compare compare = {0};
    struct market *market = call->desk->market;
    const char *word;
    enum offer_kind kind;
    struct power_given power;
    TRY(word_kind(o->kind, o->spot, &word, err));
    TRY(value_power(&o->power, &power, err));
    TRY(local_check(market, o->currency, err));
    bool kinds = word && offer_kind_parse(word, &kind);
    int rc = o->published ? 0 : desk_ledger(call->desk, &ledger, err);
    if (rc == 0)
        rc = words_init(&words, call->rest, ledger, err);
    struct compare_options wanted = {
        .base = o->base,
        .workload = o->workload,
        .words = words.items,
        .word_count = words.count,
        .power = power.busy_mw >= 0 || power.kwh >= 0 ? &power : NULL,
        .currency = o->currency,
        .published = o->rule && strcmp(o->rule, "published") == 0,
        .estimates = o->estimate.items,
        .estimate_count = o->estimate.count,
        .pricing = {.market = market,
                    .prices = o->price.items,
                    .price_count = o->price.count,
                    .offers = o->offer.items,
                    .offer_count = o->offer.count,
                    .kind = kinds ? &kind : NULL,
                    .date = o->date,
                    .prorated = o->rule && strcmp(o->rule, "prorated") == 0},
    };
    if (rc == 0)
        rc = comparing_new(&comparing, &wanted, err);
    if (rc == 0)
        rc = add_all(call, ledger, &words, comparing, err);
    if (rc == 0)
        rc = comparing_finish(comparing, &compare, err);
    if (rc == 0)
        rc = print(call, &compare, ledger ? ledger_name(ledger) : NULL, err);
    record_release(compare_fields, &compare);
    comparing_free(comparing);
    return rc;
}

const struct command cmd_compare = {
    .name = "compare",
    .group = "Price",
    .summary = "runs side by side, in time and money, relative to a base",
    .arguments = "[RUN...]",
    .about =
        "Prints one table per workload, with a row for each machine and framework: its time, its "
        "cost and both relative to a base, with intervals if several runs or a projection give "
        "one, and whether the difference could be chance. Runs of another training are listed "
        "separately, with the reasons. RUN and SELECTOR are a run's id, a label key=value, a "
        "machine or GPU, a framework, or machine+framework; RUN can also be a name or a workload. "
        "The price of a machine is that of --price, --offer, an import, or the book; otherwise "
        "its cost is unknown. With --kwh, machines without a price show the cost of their "
        "electricity instead.",
    .options = options,
    .options_size = sizeof(struct compare_cmd_options),
    .defaults = &defaults,
    .max_args = 4096,
    .examples = examples,
    .variables = variables,
    .run = run,
};
