// SPDX-License-Identifier: Apache-2.0
// quote: the cost of a training on every machine that it was measured on or can be estimated for.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/quote_job.h"
#include "advise/verdict.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "bill/market.h"
#include "cmd/cmd.h"
#include "cmd/prices.h"
#include "cmd/out.h"
#include "cmd/values.h"
#include "ledger/ledger.h"
#include "measure/after.h"
#include "record/read.h"
#include "record/run.h"
#include "view/page.h"
#include "view/quote.h"

struct quote_options {
    struct cmd_common common;
    const char *ledger, *book, *format;
    struct quote_words words;
    const char *offer, *provider;
    int64_t total_steps, total_epochs;
    bool all, more, full_names, pinned;
    const char *explain, *fail_above;
    const char *date, *rule, *hour_of_mine, *currency;
    int64_t max_age, commit, used_ns, boot_ns, image_ns, download_ns, setup_ns, storage, keep_ns,
        egress, ingress;
    int64_t runs;
    const char *trace, *bid;
    int64_t mtbi_ns, checkpoint_ns, every_ns;
    struct own_options own;
};

#define PIN_BILLS  200  // the cheapest are kept; the rest is quickly computed again
#define JSON_ROWS  100  // of measured and estimated bills together, and of others
#define JSON_BILLS 2000 // longer lists are written bill by bill
#define WRITE_AT   ((size_t)1 << 20)
#define ESTIMATES  20 // bills of estimates behind a table without --all
#define GB         INT64_C(1000000000)
#define DAY_NS     (86400 * NS_PER_S)

static const char *const formats[] = {"table", "json", "focus", NULL};

static const struct quote_options defaults = {.max_age = QUOTE_MAX_AGE * DAY_NS,
                                              .boot_ns = -1,
                                              .image_ns = -1,
                                              .download_ns = -1,
                                              .setup_ns = -1,
                                              .keep_ns = -1,
                                              .mtbi_ns = -1,
                                              .checkpoint_ns = -1,
                                              .every_ns = -1,
                                              .runs = -1,
                                              .total_steps = -1,
                                              .total_epochs = -1,
                                              .words = QUOTE_WORDS,
                                              .own = OWN_DEFAULTS};

#define AT(member)      offsetof(struct quote_options, member)
#define WORD_AT(member) AT(words.member)
static const struct opt options[] = {
    LEDGER_ROW,
    BOOK_ROW,
    {"format", 0, OPT_CHOICE, "NAME", formats, AT(format), NULL,
     "table, json, or focus: rows of a FOCUS cost export (CSV)"},
    {"pinned", 0, OPT_FLAG, NULL, NULL, AT(pinned), NULL,
     "list earlier quotes of this run, with the prices they used"},
    {"total-steps", 0, OPT_COUNT, "N", NULL, AT(total_steps), "Run",
     "steps of the whole training, if the command's output did not say, or for a longer or shorter "
     "one",
     .least = 1},
    {"total-epochs", 0, OPT_COUNT, "N", NULL, AT(total_epochs), "Run", "the same in epochs",
     .least = 1},
    QUOTE_WORDS_TIME(WORD_AT),
    QUOTE_WORDS_MODEL(WORD_AT),
    {"offer", 0, OPT_TEXT, "OFFER", NULL, AT(offer), "Where",
     "price only this offer, line by line, treating the run's machine as one"},
    QUOTE_WORDS_GPU(WORD_AT),
    {"provider", 0, OPT_TEXT, "NAME", NULL, AT(provider), "Where", "only this provider's"},
    QUOTE_WORDS_WHERE(WORD_AT),
    {"more", 0, OPT_FLAG, NULL, NULL, AT(more), "Where",
     "one row for each machine that may be named, not only a few"},
    {"all", 'a', OPT_FLAG, NULL, NULL, AT(all), "Where",
     "every region and every offer, not only the cheapest of each machine, and why the others "
     "are left out"},
    {"long", 0, OPT_FLAG, NULL, NULL, AT(full_names), "Where",
     "offers by their full names, with region and zone"},
    QUOTE_WORDS_MEASURED(WORD_AT),
    {"explain", 0, OPT_TEXT, "OFFER|GPU", NULL, AT(explain), "Where",
     "how the estimate for this offer, or the cheapest one with this GPU, comes about: source, "
     "split, factors, class"},
    {"boot", 0, OPT_DURATION, "TIME", NULL, AT(boot_ns), "Start-up",
     "from ordering the machine until it is ready (default: as measured on such a machine, or "
     "the provider's typical time); 0 leaves start-up out"},
    {"image-time", 0, OPT_DURATION, "TIME", NULL, AT(image_ns), "Start-up",
     "pulling a container image or copying files", .was = "image"},
    {"download", 0, OPT_DURATION, "TIME", NULL, AT(download_ns), "Start-up",
     "downloading the data (default: not counted)"},
    {"install", 0, OPT_DURATION, "TIME", NULL, AT(setup_ns), "Start-up",
     "installing packages (default: not counted)"},
    {"mtbi", 0, OPT_DURATION, "TIME", NULL, AT(mtbi_ns), "Spot",
     "mean time between interruptions of spot machines (default: from imported traces of such "
     "machines or AWS's spot advisor, else unknown)"},
    {"trace", 0, OPT_TEXT, "FILE", NULL, AT(trace), "Spot",
     "replay this availability trace: lines of index,time,x, where x is 1 while no spot machine is "
     "available"},
    {"bid", 0, OPT_TEXT, "USD", NULL, AT(bid), "Spot",
     "replay the offer's price history: the machine is taken away while an hour costs more"},
    {"checkpoint-time", 0, OPT_DURATION, "TIME", NULL, AT(checkpoint_ns), "Spot",
     "time to write a checkpoint (default: as measured, or estimated from the parameters)"},
    {"save-every", 0, OPT_DURATION, "TIME", NULL, AT(every_ns), "Spot",
     "time between two checkpoints (default: the best by Daly's formula)",
     .was = "checkpoint-every"},
    {"date", 0, OPT_TEXT, "DATE", NULL, AT(date), "Price",
     "use the prices and rules of this date instead of the newest"},
    {"max-age", 0, OPT_DURATION, "TIME", NULL, AT(max_age), "Price",
     "only prices seen within this time: 30d, or just 30 (default 730d)", .bare_ns = DAY_NS},
    {"rule", 0, OPT_CHOICE, "RULE", value_rules, AT(rule), "Price",
     "paid: as the provider charges (default); prorated: rate × exact time, without units, "
     "minimums and fees"},
    {"commit", 0, OPT_COUNT, "MONTHS", NULL, AT(commit), "Price",
     "use the N-month commitment rate, if offered", .least = 1},
    {"used-before", 0, OPT_DURATION, "TIME", NULL, AT(used_ns), "Price",
     "time already used on this machine this month, for sustained-use discounts and caps"},
    {"storage", 0, OPT_BYTES, "SIZE", NULL, AT(storage), "Price", "size of an extra disk"},
    {"keep", 0, OPT_DURATION, "TIME", NULL, AT(keep_ns), "Price",
     "keep the machine this long from its start, stopped after the training (default: delete it "
     "then)"},
    {"egress", 0, OPT_BYTES, "SIZE", NULL, AT(egress), "Price", "data that leaves the provider"},
    {"ingress", 0, OPT_BYTES, "SIZE", NULL, AT(ingress), "Price", "data that enters the provider"},
    CURRENCY_ROW(AT(currency), "Price"),
    {"hour-of-mine", 0, OPT_TEXT, "USD", NULL, AT(hour_of_mine), "Price",
     "the value of an hour of your time; the cost of waiting is shown beside the total"},
    QUOTE_WORDS_ADVICE(WORD_AT),
    {"fail-above", 0, OPT_TEXT, "LIMIT", NULL, AT(fail_above), "Advice",
     "exit with 3 unless the offer named, else the cheapest, is sure to stay below it, at the end "
     "of its interval: 500USD or 6h. Unknown bills and lower bounds (≥) fail"},
    {"runs", 0, OPT_COUNT, "N", NULL, AT(runs), "Advice",
     "for N trainings, compare one fast machine with several cheap ones in parallel", .least = 1},
    OWN_ROWS("Advice"),
    {NULL},
};
#undef WORD_AT
#undef AT

static const struct cmd_example examples[] = {
    {"fare quote", "the last run, on every offer that fits it"},
    {"fare quote tweets", "published results of that workload, at today's prices"},
    {"fare quote --time 21d --gpu h100 --gpus 8", "a time that you know already, without a run"},
    {"fare quote --model llama-3-8b --method lora --tokens 50M", "before there is a script"},
    {"fare quote --steps 60000 --step-time 350ms --gpu a100", "the same, from its steps"},
    {"fare quote cnn --explain runpod/h100", "how an estimate comes about"},
    {"fare quote cnn --gpus any --deadline 1h",
     "the cheapest number of GPUs that finishes in time"},
    {"fare quote --offer aws/p3.2xlarge --storage 100GB --egress 5GB", "one bill, line by line"},
    {"fare quote cnn --deadline 1h --kind spot", "the cheapest spot machine that finishes in time"},
    {"fare quote --offer aws/p3.2xlarge:spot --mtbi 6h --deadline 2d",
     "spot with its interruptions, beside on demand"},
    {"fare quote last --fail-above 500USD", "in CI: exit code 3 if it may cost more"},
    {"fare quote --buy 2500 --watts 400 --kwh 0.30", "rent or buy"},
    {"fare quote published-2018-tweets-aws-p3-2xlarge --date 2018-02-01 --rule prorated",
     "at the prices of another day"},
    {NULL, NULL},
};

// ---- options

static struct maybe_int given(int64_t value)
{
    return value >= 0 ? some_int(value) : (struct maybe_int){0};
}

static int64_t whole_gb(int64_t bytes)
{
    return bytes / GB + (bytes % GB > 0);
}

// Options that select offers conflict with --offer.
static int check_named(const struct quote_options *o, struct err *err)
{
    const struct {
        bool given;
        const char *option, *instead;
    } choices[] = {
        {o->words.region, "--region", "name the region with the offer: PROVIDER/NAME@REGION"},
        {o->words.kind || o->words.spot, o->words.kind ? "--kind" : "--spot",
         "name the kind with the offer: PROVIDER/NAME:spot"},
        {o->provider, "--provider", "name the provider with the offer: PROVIDER/NAME"},
        {o->words.gpu && !o->own.buy, "--gpu", "use only one of the two"},
        {o->words.gpus, "--gpus", "the offer has its own number of GPUs"},
        {o->max_age != defaults.max_age, "--max-age",
         "the price is used whatever its age, and marked OLD"},
        {o->all, "--all", "use only one of the two"},
    };
    for (size_t i = 0; o->offer && i < sizeof choices / sizeof *choices; i++)
        if (choices[i].given) {
            err_set(err, ERR_USAGE, "'%s' selects among offers, but '--offer' names one",
                    choices[i].option);
            return err_hint(err, "%s", choices[i].instead);
        }
    return 0;
}

static int read_options(struct quote_job *job, const struct quote_options *o, struct err *err)
{
    struct wishes *c = &job->ask.wishes;
    int day = 0;
    struct advice_wishes *w = &job->wishes;
    job->ask.startup = (struct startup_given){.boot_ns = given(o->boot_ns),
                                              .image_ns = given(o->image_ns),
                                              .download_ns = given(o->download_ns),
                                              .setup_ns = given(o->setup_ns)};
    job->ask.offer = o->offer;
    // A given time is for that GPU; --buy buys one.
    job->ask.gpu = quote_has_time(&o->words) || o->own.buy ? NULL : o->words.gpu;
    job->ask.own_gpu = quote_has_time(&o->words) || !o->own.buy ? NULL : o->words.gpu;
    job->ask.provider = o->provider;
    job->ask.every_region = o->all;
    job->more = o->more;
    job->full_names = o->full_names;
    job->ask.max_age = (int)(o->max_age / DAY_NS);
    TRY(quote_words_take(&o->words, false, job, err));
    c->prorated = o->rule && strcmp(o->rule, "prorated") == 0;
    c->commit_months = o->commit;
    c->used_ns = o->used_ns;
    c->storage_gb = whole_gb(o->storage);
    c->keep_ns = given(o->keep_ns);
    c->egress_bytes = o->egress;
    c->ingress_bytes = o->ingress;
    c->currency = o->currency;
    w->runs = o->runs > 0 ? o->runs : 0;
    w->buy = o->own.buy;
    if (o->runs > 1000000)
        return err_set(err, ERR_USAGE, "'--runs' takes 1 to a million");
    TRY(check_named(o, err));
    TRY(value_day(o->date, &day, err));
    c->start_s = day * INT64_C(86400);
    job->date = o->date;
    TRY(word_amount("--hour-of-mine", o->hour_of_mine, &c->hour_of_mine.v, err));
    c->hour_of_mine.known = o->hour_of_mine;
    struct own_options own = o->own;
    own.hours_per_month = o->words.hours_per_month;
    return value_own(&own, true, &w->own, err);
}

// ---- a gate, for CI

struct limit {
    bool money;
    int64_t value; // nano-USD or ns
};

static int read_limit(const char *text, struct limit *out, struct err *err)
{
    const size_t len = strlen(text);
    char amount[32];
    out->money = len > 3 && len < sizeof amount && strcmp(text + len - 3, "USD") == 0;
    snprintf(amount, sizeof amount, "%.*s", out->money ? (int)len - 3 : 0, text);
    if (out->money ? money_parse(amount, &out->value, NULL) == 0 && out->value >= 0
                   : clock_parse_duration(text, &out->value) && strspn(text, "0123456789.") < len)
        return 0;
    return word_bad("--fail-above", text, "an amount such as 500USD, or a time such as 6h", err);
}

// The offer named is judged, else the one that leads.
static bool stays_below(const struct quote_job *job, const struct limit *limit)
{
    const struct bill *bill = verdict_of_quote(&job->quote).leader;
    if (job->ask.offer && quote_count(&job->quote) == 1)
        bill = quote_at(&job->quote, 0);
    return bill && !bill_is_bound(bill) && !bill_price_doubtful(bill) &&
           (limit->money ? verdict_within(bill, limit->value)
                         : verdict_in_time(bill, (double)limit->value / 1e9)) == VERDICT_KEEPS;
}

static void check_limit(const struct cmd_call *call, const struct quote_job *job)
{
    const struct quote_options *o = call->options;
    struct limit limit;
    char text[120];
    if (!o->fail_above || read_limit(o->fail_above, &limit, NULL) != 0 || stays_below(job, &limit))
        return;
    snprintf(text, sizeof text, "not sure to stay below --fail-above %.40s", o->fail_above);
    out_complain(text);
    *call->exit_code = GATE_EXIT;
}

static int take_total(const struct quote_options *o, const char *word, struct quote_job *job,
                      struct err *err)
{
    job->total_steps = o->total_steps > 0 ? o->total_steps : 0;
    job->total_epochs = o->total_epochs > 0 ? o->total_epochs : 0;
    const char *option = job->total_steps ? "--total-steps" : "--total-epochs";
    if (job->total_steps == 0 && job->total_epochs == 0)
        return 0;
    if (job->total_steps && job->total_epochs)
        return err_set(err, ERR_USAGE, "--total-steps and --total-epochs exclude each other");
    if (quote_is_workload(word))
        return err_set(err, ERR_USAGE, "%s is for a command's run, and '%s' is a workload", option,
                       word);
    if (quote_has_no_run(&o->words))
        return err_set(err, ERR_USAGE, "%s is for a run; without one use %s", option,
                       o->words.model ? "--tokens" : "--steps");
    return 0;
}

// ---- together

// The other options that distinguish quotes: "storage 10 GB boot 1 min 00 s".
static void add_sizes(const struct quote_options *o, struct buf *key)
{
    const struct {
        const char *name;
        int64_t bytes;
    } sizes[] = {{"egress", o->egress}, {"ingress", o->ingress}};
    const struct {
        const char *name;
        int64_t ns;
    } times[] = {{"boot", o->boot_ns},         {"image", o->image_ns},
                 {"download", o->download_ns}, {"install", o->setup_ns},
                 {"keep", o->keep_ns},         {"used", o->used_ns ? o->used_ns : -1},
                 {"mtbi", o->mtbi_ns},         {"checkpoint", o->checkpoint_ns},
                 {"every", o->every_ns}};
    if (o->storage > 0)
        buf_printf(key, " storage %lld GB", (long long)whole_gb(o->storage));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].bytes > 0)
            buf_printf(key, " %s %s", sizes[i].name, units_bytes(sizes[i].bytes).s);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char words[48];
        clock_words(times[i].ns, words, sizeof words);
        if (times[i].ns >= 0)
            buf_printf(key, " %s %s", times[i].name, words);
    }
    if (o->commit > 0)
        buf_printf(key, " committed %s", units_count(o->commit, "month").s);
}

// Keeps the quote with the run, including the prices used. It replaces a quote of the same day and
// rule. A ledger that refuses it causes only a warning.
static void pin(const struct quote_job *job, const struct quote_options *o, struct ledger *ledger)
{
    struct err err = {0};
    SCOPED(buf_release) struct buf line = {0}, key = {0};
    char made[CLOCK_ISO_BYTES];
    const char *id = job->quote.run;
    if (!job->asked || !id || run_shipped_name(id))
        return;
    struct quote pinned = job->quote; // shares its texts
    if (pinned.bills.count == 0)
        return;
    if (pinned.bills.count > PIN_BILLS)
        pinned.bills.count = PIN_BILLS;
    if (pinned.others.count > PIN_BILLS)
        pinned.others.count = PIN_BILLS;
    if (pinned.estimates.count > PIN_BILLS)
        pinned.estimates.count = PIN_BILLS;
    clock_iso(clock_date_s(), made);
    made[10] = '\0';
    buf_printf(&key, "%s %s", made, job->quote.rule);
    const char *const parts[] = {o->offer,
                                 o->words.gpu,
                                 o->provider,
                                 o->words.region,
                                 o->words.spot ? "spot" : o->words.kind,
                                 o->date};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i])
            buf_printf(&key, " %.80s", parts[i]);
    if (o->trace)
        buf_printf(&key, " trace %.80s", o->trace);
    if (o->bid)
        buf_printf(&key, " bid %.20s", o->bid);
    if (o->words.gpus)
        buf_printf(&key, " %.20s GPUs", o->words.gpus);
    add_sizes(o, &key);
    if (job->total_steps > 0 || job->total_epochs > 0)
        buf_printf(&key, " %s",
                   units_count(job->total_steps > 0 ? job->total_steps : job->total_epochs,
                               job->total_steps > 0 ? "step" : "epoch")
                       .s);
    int rc = record_to_line(quote_fields, &pinned, &line, &err);
    if (rc == 0)
        rc = buf_check(&key, &err);
    if (rc == 0)
        rc = ledger_pin(ledger, id, buf_str(&key), buf_str(&line), &err);
    if (rc != 0)
        out_complain(err.text);
}

// Writes bills one by one, each on a line: thousands of them might not fit in memory.
static int print_json(struct out *out, struct quote *quote, struct err *err)
{
    static const char list[] = "\"bills\":[";
    SCOPED(buf_release) struct buf frame = {0};
    size_t count = quote->bills.count;
    if (count <= JSON_BILLS)
        return out_record(out, quote_fields, quote, err);
    quote->bills.count = 0;
    int rc = record_to_line(quote_fields, quote, &frame, err);
    quote->bills.count = count;
    const char *at = strstr(buf_str(&frame), list);
    if (rc == 0)
        buf_add(&out->text, buf_str(&frame), (size_t)(at - buf_str(&frame)) + strlen(list));
    for (size_t i = 0; i < count && rc == 0; i++) {
        buf_adds(&out->text, i ? ",\n" : "\n");
        rc = record_to_line(bill_fields, &quote->bills.items[i], &out->text, err);
        if (rc == 0 && out->text.len > WRITE_AT)
            rc = out_write(out, err);
    }
    if (rc == 0)
        out_printf(out, "\n%s\n", at + strlen(list));
    return rc;
}

// Without --all the first rows, with all that are named.
static int print_first(struct out *out, struct quote *quote, struct err *err)
{
    struct quote few;
    int rc = verdict_shorten(quote, JSON_ROWS, &few, err);
    if (rc == 0) {
        few.others = quote->others;
        if (few.others.count > JSON_ROWS)
            few.others.count = JSON_ROWS;
        rc = print_json(out, &few, err);
    }
    free(few.bills.items);
    free(few.estimates.items);
    return rc;
}

struct pinned {
    struct out *out;
    bool json;
    bool corrected; // the run had a boot that was none (record/run.h)
    size_t count, false_boots;
    struct table table;
};

// Whether a bill of such a run has that boot: it is neither a default nor given with --boot.
static bool has_false_boot(const struct bill *bill, const char *made)
{
    const struct bill_item *first = bill->items.count > 0 ? bill->items.items : NULL;
    return first && first->what && strcmp(first->what, "boot") == 0 && first->how &&
           !first->assumed && !strstr(first->how, "assumed") && // quotes until 2026-11
           !strstr(made, " boot ");
}

static int show_pinned(void *arg, const char *made, const char *text, struct err *err)
{
    struct pinned *p = arg;
    struct quote quote = {0};
    char cost[MONEY_BYTES], interval[MONEY_INTERVAL_BYTES];
    if (p->json) {
        out_printf(p->out, "%s{\"made\":\"%.10s\",\"quote\":%s}", p->count++ ? ",\n" : "", made,
                   text);
        return 0;
    }
    int rc = record_from_text(quote_fields, text, strlen(text), &quote, err);
    if (rc == 0 && quote.bills.count > 0) {
        const struct bill *cheap = verdict_of_quote(&quote).cheapest;
        const struct bill *b = cheap ? cheap : quote.bills.items;
        bill_amount(b, cost, interval);
        const char *const cells[] = {cheap ? b->offer : "unknown, at least", cost,
                                     b->price_date ? b->price_date : "-", made};
        table_row(&p->table, OUT_PLAIN, cells, NULL);
        p->count++;
        p->false_boots += p->corrected && has_false_boot(b, made);
    }
    record_release(quote_fields, &quote);
    return rc;
}

static int list_pinned(const struct cmd_call *call, const char *word, struct err *err)
{
    const struct quote_options *o = call->options;
    SCOPED(quote_release) struct quote_job job = {.asked = true, .ask.market = call->desk->market};
    struct ledger *ledger;
    static const struct table_column columns[] = {{"cheapest offer", TABLE_LEFT, 0, 30},
                                                  {"USD", TABLE_POINT},
                                                  {"price of", TABLE_LEFT, 1},
                                                  {"quoted", TABLE_LEFT, 0, 24}};
    struct pinned pinned = {
        .out = call->out, .json = o->common.json, .table = {.columns = columns, .count = 4}};
    int rc = desk_ledger(call->desk, &ledger, err);
    if (rc == 0)
        rc = quote_load(&job, word, ledger, err);
    out_complain(buf_str(&job.says));
    if (rc == 0 && pinned.json)
        out_printf(call->out, "{\"schema\":\"fare.quotes/1\",\"quotes\":[");
    if (rc == 0)
        pinned.corrected = run_corrected(&job.runs.items[0], "boot");
    if (rc == 0)
        rc = ledger_pinned(ledger, job.runs.items[0].id, show_pinned, &pinned, err);
    if (rc == 0 && pinned.json)
        out_printf(call->out, "]}\n");
    else if (rc == 0 && pinned.count == 0)
        out_printf(call->out, "No earlier quotes of this run. 'fare quote RUN' makes one.\n");
    else if (rc == 0)
        table_print(&pinned.table, call->out);
    if (rc == 0 && pinned.false_boots > 0)
        out_wrapf(call->out, 0,
                  "%s with a boot that was none: an earlier fare counted the time that the machine "
                  "was up before the run. 'fare quote RUN' makes a new one.",
                  units_count((int64_t)pinned.false_boots, "quote").s);
    buf_release(&pinned.table.rows);
    return rc;
}

// The cheapest offer with a GPU, or the first of those that cannot lead. The quote owns the text.
static int offer_with(struct out *out, struct quote_job *job, const char *gpu, const char **offer,
                      struct err *err)
{
    job->ask.gpu = gpu;
    TRY(quote_assemble(job, err));
    const struct verdict_quote verdict = verdict_of_quote(&job->quote);
    const struct bill *bill = verdict.leader;
    if (!bill && quote_count(&job->quote) > 0)
        bill = quote_at(&job->quote, 0);
    if (!bill) {
        err_set(err, ERR_MISSING, "no offer that fits has the GPU '%.60s'", gpu);
        return err_hint(err, "--explain takes a GPU or an offer: h100, PROVIDER/NAME");
    }
    *offer = bill->offer;
    out_wrapf(out, 0, "%s: %s, the %s offer with it", gpu, bill->offer,
              verdict.leader ? "cheapest" : "first");
    out_printf(out, "\n");
    return 0;
}

static int explain(struct out *out, struct quote_job *job, const char *offer, struct err *err)
{
    if (!strchr(offer, '/'))
        TRY(offer_with(out, job, offer, &offer, err));
    SCOPED(doc_release) struct doc doc = {0};
    SCOPED(buf_release) struct buf text = {0};
    TRY(quote_explain(&job->ask, offer, &text, err));
    TRY(buf_check(&text, err));
    view_explained(&doc, buf_str(&text));
    out_doc(out, &doc);
    return 0;
}

static void show(struct out *out, const struct quote_job *job)
{
    SCOPED(doc_release) struct doc doc = {0};
    view_quote(&doc, job);
    out_doc(out, &doc);
}

// ---- spot
// Spot machines in a quote: their options.

static int quote_take_spot(const struct quote_options *o, struct availability *trace,
                           struct spot_ask *out, struct err *err)
{
    if (o->mtbi_ns == 0)
        return err_set(err, ERR_USAGE, "'--mtbi' takes a time above 0");
    if (o->every_ns == 0)
        return err_set(err, ERR_USAGE, "'--save-every' takes a time above 0");
    if ((o->mtbi_ns > 0) + (o->trace != NULL) + (o->bid != NULL) > 1)
        return err_set(err, ERR_USAGE, "'--mtbi', '--trace' and '--bid' exclude each other");
    TRY(word_amount("--bid", o->bid, &out->hazard.bid, err));
    if (o->bid && out->hazard.bid == 0)
        return err_set(err, ERR_USAGE, "'--bid' takes an amount above 0");
    if (o->trace) {
        TRY(availability_open(o->trace, trace, err));
        out->hazard.trace = trace;
    }
    out->hazard.mean_ns = o->mtbi_ns > 0 ? o->mtbi_ns : 0;
    if (o->checkpoint_ns >= 0)
        out->checkpoint_ns = some_int(o->checkpoint_ns);
    if (o->every_ns > 0)
        out->every_ns = some_int(o->every_ns);
    if (o->words.deadline_ns >= 0)
        out->deadline_ns = some_int(o->words.deadline_ns);
    out->rows = o->offer != NULL;
    return 0;
}

static bool has_spot(const struct bill *bills, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bills[i].kind && strcmp(bills[i].kind, "spot") == 0)
            return true;
    return false;
}

static void quote_say_unused(const struct quote_options *o, const struct quote *quote)
{
    const struct {
        const char *name;
        bool given;
    } spots[] = {{"mtbi", o->mtbi_ns > 0},
                 {"trace", o->trace},
                 {"bid", o->bid},
                 {"checkpoint-time", o->checkpoint_ns >= 0},
                 {"save-every", o->every_ns > 0}};
    if (has_spot(quote->bills.items, quote->bills.count) ||
        has_spot(quote->others.items, quote->others.count) ||
        has_spot(quote->estimates.items, quote->estimates.count))
        return;
    for (size_t i = 0; i < sizeof spots / sizeof *spots; i++)
        if (spots[i].given) {
            char text[120];
            snprintf(text, sizeof text,
                     "'--%s' is for spot machines, and none is quoted: it "
                     "changes nothing",
                     spots[i].name);
            out_complain(text);
        }
}

// ---- the command

// Reads the options, and gathers the runs or takes the time that was given.
static int load(const struct cmd_call *call, const struct quote_given *given,
                struct availability *trace, struct ledger **ledger, struct quote_job *job,
                struct err *err)
{
    const struct quote_options *o = call->options;
    TRY(prices_renew(o->book, o->date, err));
    TRY(read_options(job, o, err));
    TRY(quote_take_spot(o, trace, &job->ask.spot, err));
    TRY(local_check(job->ask.market, o->currency, err));
    if (o->words.model)
        return quote_load_model(job, given, &o->words, false, err);
    if (quote_has_time(&o->words))
        return quote_load_given(job, given, err);
    TRY(desk_ledger(call->desk, ledger, err));
    return quote_load(job, call->rest->count > 0 ? call->rest->args[0] : NULL, *ledger, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
    const struct quote_options *o = call->options;
    const char *word = call->rest->count > 0 ? call->rest->args[0] : NULL;
    SCOPED(quote_release)
    struct quote_job job = {.asked = !quote_is_workload(word) && !quote_has_no_run(&o->words),
                            .ask.market = call->desk->market};
    struct ledger *ledger = NULL;
    struct quote_given given;
    struct limit limit;
    SCOPED(availability_release) struct availability trace = {0};
    if (call->rest->count > 1) {
        err_set(err, ERR_USAGE, "'fare quote' takes one run or workload");
        return err_hint(err, "'fare compare' compares several");
    }
    TRY(quote_words_given(&o->words, false, word, o->offer, &given, err));
    TRY(take_total(o, word, &job, err));
    TRY(o->fail_above ? read_limit(o->fail_above, &limit, err) : 0);
    job.ask.gpus = quote_has_time(&o->words) ? 0 : (int)given.gpus; // quote_load_given() has it
    job.ask.exact_gpus = !given.or_more && given.gpus > 0;
    if (o->pinned && quote_has_no_run(&o->words))
        return err_set(err, ERR_USAGE, "--pinned lists quotes of a run, and %s has none",
                       o->words.model       ? "--model"
                       : o->words.time      ? "--time"
                       : o->words.steps > 0 ? "--steps"
                                            : "--step-time");
    if (o->pinned)
        return list_pinned(call, word, err);
    const char *format;
    TRY(value_format(o->common.json, o->format, "table", &format, err));
    int rc = load(call, &given, &trace, &ledger, &job, err);
    out_complain(buf_str(&job.says));
    TRY(rc);
    if (o->explain)
        return explain(call->out, &job, o->explain, err);
    TRY(quote_check_rates(&job, err));
    out_complain(buf_str(&job.says));
    if (strcmp(format, "table") == 0 && !o->all && !o->more)
        job.ask.most_estimates = ESTIMATES;
    TRY(quote_assemble(&job, err));
    quote_say_unused(o, &job.quote);
    if (strcmp(format, "json") == 0) {
        TRY((o->all ? print_json : print_first)(call->out, &job.quote, err));
    } else if (strcmp(format, "focus") == 0) {
        focus_head(&call->out->text);
        TRY(focus_bill(&call->out->text, &job, err));
    } else {
        show(call->out, &job);
    }
    pin(&job, o, ledger);
    check_limit(call, &job);
    return 0;
}

const struct command cmd_quote = {
    .name = "quote",
    .group = "Price",
    .summary = "the cost on rented machines: bills, deadline, budget, rent or buy",
    .arguments = "[RUN | WORKLOAD]",
    .about = "Prices a training on the machines of the book, from the run named (default: the last "
             "one) and from other runs of the same training, imported and published ones included. "
             "The short answer has a few machines; --more has all that may be called cheapest or "
             "fastest, --all every offer. A run gives the time on machines with the same GPU, as "
             "many of them and enough memory; a run on CPUs on its own instance type, or on the "
             "same processor with as many virtual CPUs. Other machines get an estimate, with an "
             "interval that held for 90 % of public trainings; from a run on a CPU alone, GPUs get "
             "a lower bound (≥). --explain shows how an estimate comes about, --measured leaves "
             "estimates out. --gpus asks for another number of GPUs than the run used. --time, or "
             "--steps and --step-time, price a time that you know already, without a run, on every "
             "offer with exactly these GPUs. Each provider's own rules apply: units, minimums, "
             "fees, caps; tax is left out. Prices come from the book ('fare prices'). The bill of "
             "a spot machine is the mean over many replays with interruptions, its interval 10 to "
             "90 % of them; ≥ is a lower bound: the interruption rate is unknown.",
    .options = options,
    .options_size = sizeof(struct quote_options),
    .defaults = &defaults,
    .max_args = 4096,
    .examples = examples,
    .run = run,
};
