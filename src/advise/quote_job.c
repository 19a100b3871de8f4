// SPDX-License-Identifier: Apache-2.0
#include "advise/quote_job.h"

#include <stdlib.h>
#include <string.h>

#include "advise/evidence.h"
#include "record/read.h"
#include "follow/counters.h"

#define EVIDENCE 400 // of the newest runs of a workload, or of a command's name

// ---- the runs

// The command that is asked about; null: a workload is.
static const struct run *command_of(const struct quote_job *job)
{
    return job->runs.count > 0 && !job->runs.items[0].workload ? &job->runs.items[0] : NULL;
}

static bool is_wanted(const struct quote_job *job, const struct run *run)
{
    const struct run *command = command_of(job);
    bool wanted = command ? !run->workload && comparable_command(command, run)
                          : run->workload && strcmp(run->workload, job->workload) == 0;
    for (size_t i = 0; wanted && i < job->runs.count; i++)
        wanted = strcmp(job->runs.items[i].id, run->id) != 0; // not there yet
    return wanted;
}

static bool has_total(const struct quote_job *job)
{
    return job->total_steps > 0 || job->total_epochs > 0;
}

// Takes the run, or releases one that is not wanted; `rc` says whether it could be read.
static int take_run(struct quote_job *job, struct run *run, int rc, struct err *err)
{
    bool wanted = rc == 0 && is_wanted(job, run);
    if (wanted && has_total(job) && !run->workload) { // one that cannot have that total is left out
        struct err why = {0};
        int whole = total_later(run, job->total_steps, job->total_epochs, &why);
        wanted = whole == 0;
        rc = whole == ERR_MEMORY ? err_memory(err) : rc;
    }
    struct run *added = wanted ? LIST_ADD(&job->runs, err) : NULL;
    if (added) {
        *added = *run;
        return 0;
    }
    record_release(run_fields, run);
    return wanted ? ERR_MEMORY : rc;
}

static int add_run(void *job, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct run run = {0};
    return take_run(job, &run, record_from_text(run_fields, text, strlen(text), &run, err), err);
}

// They stay the market's.
static int add_published(struct quote_job *job, struct err *err)
{
    const struct published *all;
    TRY(market_published(job->ask.market, &all, err));
    for (size_t i = 0; i < published_count(all); i++) {
        const struct run *run = published_run(all, i);
        if (!is_wanted(job, run))
            continue;
        struct run *added = LIST_ADD(&job->runs, err);
        if (!added)
            return ERR_MEMORY;
        *added = *run;
        job->lent++;
    }
    return run_history_lend(&job->history, all, err);
}

static int set_asked(struct quote_job *job, struct run *run, struct err *err)
{
    if (has_total(job))
        TRY(total_later(run, job->total_steps, job->total_epochs, err));
    const char *name = run->workload ? run->workload : run->name;
    return text_set(&job->workload, name ? name : "command", err);
}

// The run asked for comes first.
static int add_copy(struct quote_job *job, const struct run *run, struct err *err)
{
    struct run copy = {0};
    if (job->runs.count > 0)
        return take_run(job, &copy, record_copy(run_fields, run, &copy, err), err);
    struct run *asked = LIST_ADD(&job->runs, err);
    TRY(asked ? record_copy(run_fields, run, asked, err) : ERR_MEMORY);
    return set_asked(job, asked, err);
}

static int add_named(struct quote_job *job, struct ledger *ledger, const char *word,
                     struct err *err)
{
    struct buf text = {0};
    int rc = market_run(job->ask.market, ledger, word, &text, err);
    struct run *run = rc == 0 ? LIST_ADD(&job->runs, err) : NULL;
    if (rc == 0)
        rc = run ? record_from_text(run_fields, buf_str(&text), text.len, run, err) : ERR_MEMORY;
    if (rc == 0)
        rc = set_asked(job, run, err);
    buf_release(&text);
    return rc;
}

bool quote_is_workload(const char *word)
{
    for (size_t i = 0; word && workloads[i]; i++)
        if (strcmp(workloads[i]->name, word) == 0)
            return true;
    return false;
}

// `reference`: see evidence.h; null: the workload as defined.
static int choose_evidence(struct quote_job *job, const struct run *reference, bool any_data,
                           struct err *err)
{
    job->evidence = calloc(job->runs.count + 1, sizeof *job->evidence);
    job->against = calloc(job->runs.count + 1, sizeof *job->against);
    if (!job->evidence || !job->against)
        return err_memory(err);
    const struct evidence_ask ask = {.runs = job->runs.items,
                                     .count = job->runs.count,
                                     .reference = reference,
                                     .workload = workload_find(job->workload, NULL),
                                     .asked = job->asked,
                                     .any_data = any_data};
    int rc = evidence_choose(&ask, job->evidence, job->against, &job->evidence_count, err);
    job->ask.asked = job->asked;
    job->ask.evidence = job->evidence;
    job->ask.evidence_count = job->evidence_count;
    return rc;
}

// Adds the other runs of the workload or command and chooses among all. `ledger` may be null.
static int add_others(struct quote_job *job, struct ledger *ledger, const struct run *like,
                      struct err *err)
{
    struct ledger_filter filter = {.limit = EVIDENCE, .heads = true}; // nothing needs the lists
    *(command_of(job) ? &filter.name : &filter.workload) = job->workload;
    TRY(ledger ? ledger_each(ledger, &filter, add_run, job, err) : 0);
    TRY(run_history_load(&job->history, ledger, NULL, NULL, err));
    TRY(add_published(job, err));
    job->ask.history = &job->history;
    const struct run *reference = job->asked ? &job->runs.items[0] : like;
    return choose_evidence(job, reference, like != NULL, err);
}

static int load(struct quote_job *job, const char *word, const struct run *like,
                struct ledger *ledger, struct err *err)
{
    TRY(ledger ? ledger_connect(ledger, &job->says, err) : 0);
    TRY(quote_is_workload(word) ? text_set(&job->workload, word, err)
                                : add_named(job, ledger, word ? word : "last", err));
    return add_others(job, ledger, like, err);
}

int quote_load(struct quote_job *job, const char *word, struct ledger *ledger, struct err *err)
{
    return load(job, word, NULL, ledger, err);
}

int quote_load_run(struct quote_job *job, const struct run *run, struct ledger *ledger,
                   struct err *err)
{
    job->asked = true;
    TRY(ledger ? ledger_connect(ledger, &job->says, err) : 0);
    TRY(add_copy(job, run, err));
    return add_others(job, ledger, NULL, err);
}

int quote_load_runs(struct quote_job *job, const struct run *runs, size_t count, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const char *a = runs[i].workload, *b = runs[0].workload;
        if (a && b ? strcmp(a, b) == 0 : a == b)
            rc = add_copy(job, &runs[i], err);
    }
    const struct run *reference = quote_is_workload(job->workload) ? NULL : job->runs.items;
    return rc == 0 ? choose_evidence(job, reference, false, err) : rc;
}

int quote_load_like(struct quote_job *job, const struct run *run, struct ledger *ledger,
                    struct err *err)
{
    struct err why = {0};
    const struct quote_ask ask = job->ask;
    int rc = load(job, run->workload, run, ledger, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0) { // the ledger is locked or gone: use published runs
        quote_release(job);
        *job = (struct quote_job){.ask = ask};
        rc = load(job, run->workload, run, NULL, err);
    }
    return rc;
}

struct unused {
    const struct rates *rates;
    bool *provider, *offer; // known, of each row
};

static int try_offer(void *arg, const struct offer *offer, struct err *err)
{
    struct unused *u = arg;
    char name[256];
    (void)err;
    for (size_t i = 0; i < rates_count(u->rates); i++) {
        const struct rates_row *row = rates_row(u->rates, i);
        if (u->offer[i] || strcmp(row->provider, offer->provider) != 0)
            continue;
        rates_name(offer, name, sizeof name);
        u->provider[i] = true;
        u->offer[i] = rates_fits(row, offer->provider, name);
    }
    return 0;
}

static void say_unused(struct quote_job *job, const struct unused *u)
{
    for (size_t i = 0; i < rates_count(u->rates); i++) {
        const struct rates_row *row = rates_row(u->rates, i);
        if (u->offer[i] || !rates_holds(row, wishes_day(&job->ask.wishes)))
            continue;
        if (u->provider[i])
            buf_printf(&job->says, "rates.csv, line %zu: the book has no '%.100s' of %.100s",
                       row->line, row->offer, row->provider);
        else
            buf_printf(&job->says, "rates.csv, line %zu: the book has no provider '%.100s'",
                       row->line, row->provider);
        buf_adds(&job->says, ", so this row changes no bill\n");
    }
}

int quote_check_rates(struct quote_job *job, struct err *err)
{
    const struct book_filter any = {.day = wishes_day(&job->ask.wishes)};
    const struct book *book;
    struct unused u = {0};
    buf_reset(&job->says);
    int rc = market_rates(job->ask.market, &u.rates, err);
    if (rc == 0)
        rc = market_book(job->ask.market, &book, err);
    size_t count = rc == 0 && u.rates ? rates_count(u.rates) : 0;
    if (count == 0)
        return rc;
    u.provider = calloc(2 * count, sizeof *u.provider);
    if (!u.provider)
        return err_memory(err);
    u.offer = u.provider + count;
    rc = book_each(book, &any, try_offer, &u, err);
    if (rc == 0)
        say_unused(job, &u);
    free(u.provider);
    return rc == 0 ? buf_check(&job->says, err) : rc;
}

static int own_power(struct quote_job *job, struct err *err)
{
    struct own_machine *own = &job->wishes.own;
    if (own->use_s_a_month == 0) // a page: nothing was given
        own->busy_mw = own->idle_mw = own->kwh = -1;
    const struct power_given given = {own->busy_mw, own->kwh};
    if (job->runs.count == 0 || job->ask.own_gpu)
        return 0;
    TRY(power_of_run(job->ask.market, &job->runs.items[0], &given, &job->wishes.power, err));
    own->busy_mw = job->wishes.power.mw;
    return 0;
}

static size_t keep_bills(struct bill *bills, size_t count, size_t most)
{
    const struct bill *cheap = verdict_of_bills(bills, count, VERDICT_COST).winner.bill,
                      *fast = verdict_of_bills(bills, count, VERDICT_TIME).winner.bill;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (i < most || &bills[i] == cheap || &bills[i] == fast)
            bills[kept++] = bills[i];
        else
            record_release(bill_fields, &bills[i]);
    return kept;
}

void quote_keep(struct quote *quote, size_t bills, size_t estimates)
{
    quote->bills.count = keep_bills(quote->bills.items, quote->bills.count, bills);
    quote->estimates.count = keep_bills(quote->estimates.items, quote->estimates.count, estimates);
}

int quote_assemble(struct quote_job *job, struct err *err)
{
    struct quote *q = &job->quote;
    job->wishes.power.mw = -1;
    job->ask.wishes.clock = CLOCK_MEAN; // nobody knows when it will be started
    TRY(own_power(job, err));
    if (job->wishes.buy && (job->asked || q->given || job->ask.own_gpu))
        job->ask.own = &job->wishes.own;
    TRY(TEXTS_SET(err, {&q->schema, QUOTE_SCHEMA}, {&q->workload, job->workload},
                  {&q->run, job->asked ? job->runs.items[0].id : NULL}, {&q->date, job->date},
                  {&q->rule, job->ask.wishes.prorated ? "prorated" : "paid"}));
    size_t most = job->ask.most_estimates;
    const struct advice_wishes *w = &job->wishes;
    if (w->deadline_ns.known || w->budget.known || w->runs > 1 || w->use_ns_a_month > 0)
        job->ask.most_estimates = 0; // any of them may be the answer
    TRY(quote_make(&job->ask, q, err));
    if (q->given) // no offer lacks a measurement
        q->not_measured.known = false;
    TRY(advice_make(&job->ask, &job->wishes, q, err));
    if (most > job->ask.most_estimates)
        quote_keep(q, SIZE_MAX, most);
    return 0;
}

void quote_release(struct quote_job *job)
{
    for (size_t i = 0; i + job->lent < job->runs.count; i++)
        record_release(run_fields, &job->runs.items[i]);
    for (size_t i = 0; job->against && i < job->runs.count; i++)
        comparison_release(&job->against[i]);
    for (size_t i = 0; i < job->evidence_count; i++)
        free(job->evidence[i].label);
    free(job->against);
    buf_release(&job->says);
    free(job->runs.items);
    free(job->evidence);
    free(job->workload);
    run_history_release(&job->history);
    record_release(quote_fields, &job->quote);
}
