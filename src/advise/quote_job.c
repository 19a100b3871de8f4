// SPDX-License-Identifier: Apache-2.0
#include "advise/quote_job.h"

#include <stdlib.h>
#include <string.h>

#include "advise/comparable.h"
#include "base/tree.h"
#include "bill/price_rule.h"
#include "ledger/published.h"
#include "record/read.h"
#include "workload/workload.h"

#define EVIDENCE 400 // of the newest runs of a workload

// ---- the runs

static int add_run(void *job_, const char *id, const char *text, struct err *err)
{
    (void)id;
    struct quote_job *job = job_;
    struct run run = {0};
    int rc = record_from_text(run_fields, text, strlen(text), &run, err);
    bool wanted = rc == 0 && run.workload && strcmp(run.workload, job->workload) == 0;
    for (size_t i = 0; wanted && i < job->runs.count; i++)
        wanted = strcmp(job->runs.items[i].id, run.id) != 0;
    struct run *kept = wanted ? LIST_ADD(&job->runs, err) : NULL;
    if (kept) {
        *kept = run;
        return 0;
    }
    record_release(run_fields, &run);
    return wanted ? ERR_MEMORY : rc;
}

// The run that was asked for: the first of the evidence.
static int add_asked(struct quote_job *job, const char *text, size_t len, struct err *err)
{
    struct run *run = LIST_ADD(&job->runs, err);
    int rc = run ? record_from_text(run_fields, text, len, run, err) : ERR_MEMORY;
    if (rc == 0)
        rc = text_set(&job->workload, run->workload ? run->workload : run->name, err);
    return rc;
}

static int add_named(struct quote_job *job, struct ledger *ledger, const char *word,
                     struct err *err)
{
    struct buf text = {0};
    int rc = published_or_ledger(ledger, word, &text, err);
    if (rc == 0)
        rc = add_asked(job, buf_str(&text), text.len, err);
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

static int64_t epochs_of(const struct run *run)
{
    return run->epochs.known ? run->epochs.v : 0;
}

// A whole training of more or fewer epochs is another one.
static bool same_length(const struct quote_job *job, const struct run *run)
{
    int64_t epochs = job->asked ? epochs_of(&job->runs.items[0]) : job->epochs;
    return epochs == 0 || epochs_of(run) == 0 || epochs_of(run) == epochs;
}

// Of the others only what can be compared with the one asked for.
static int choose_evidence(struct quote_job *job, struct err *err)
{
    job->evidence = calloc(job->runs.count + 1, sizeof *job->evidence);
    job->against = calloc(job->runs.count + 1, sizeof *job->against);
    if (!job->evidence || !job->against)
        return err_memory(err);
    for (size_t i = 0; i < job->runs.count; i++) {
        const struct run *run = &job->runs.items[i];
        struct comparison *c = &job->against[i];
        bool other = i > 0 && job->asked;
        if (other) {
            int rc = comparison_make(&job->runs.items[0], run, c, err);
            if (rc != 0)
                return rc;
        }
        bool failed = run_failed(run) && !(job->asked && i == 0); // the one asked for says so
        if (!failed && c->verdict != COMPARABLE_NOT && same_length(job, run))
            job->evidence[job->evidence_count++] = (struct quote_evidence){run, other ? c : NULL};
    }
    job->ask.asked = job->asked;
    job->ask.evidence = job->evidence;
    job->ask.evidence_count = job->evidence_count;
    return 0;
}

// The other runs of the workload. `ledger` may be null.
static int add_others(struct quote_job *job, struct ledger *ledger, struct err *err)
{
    struct ledger_filter filter = {.workload = job->workload, .limit = EVIDENCE};
    int rc = ledger ? ledger_each(ledger, &filter, add_run, job, err) : 0;
    if (rc == 0)
        rc = published_each(NULL, add_run, job, err);
    return rc == 0 ? choose_evidence(job, err) : rc;
}

int quote_load(struct quote_job *job, const char *word, const char *where, struct err *err)
{
    struct ledger *ledger = NULL;
    bool none = where && !*where;
    int rc = none ? 0 : ledger_new(&ledger, where, err);
    if (rc == 0 && ledger)
        rc = ledger_connect(ledger, &job->says, err);
    if (rc == 0 && quote_is_workload(word)) {
        rc = text_set(&job->workload, word, err);
        job->epochs = workload_find(word, NULL)->recipe.epochs;
    } else if (rc == 0)
        rc = add_named(job, ledger, word ? word : "last", err);
    if (rc == 0 && !job->workload)
        rc = text_set(&job->workload, "command", err);
    if (rc == 0)
        rc = add_others(job, ledger, err);
    ledger_free(ledger);
    return rc;
}

int quote_load_run(struct quote_job *job, const struct run *run, const char *where, struct err *err)
{
    struct ledger *ledger = NULL;
    struct buf text = {0};
    job->asked = true;
    int rc = where && !*where ? 0 : ledger_new(&ledger, where, err);
    if (rc == 0 && ledger)
        rc = ledger_connect(ledger, &job->says, err);
    if (rc == 0)
        rc = record_to_line(run_fields, run, &text, err);
    if (rc == 0)
        rc = add_asked(job, buf_str(&text), text.len, err);
    if (rc == 0 && !job->workload)
        rc = text_set(&job->workload, "command", err);
    if (rc == 0)
        rc = add_others(job, ledger, err);
    buf_release(&text);
    ledger_free(ledger);
    return rc;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

int quote_load_runs(struct quote_job *job, const struct run *runs, size_t count, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct buf text = {0};
        if (!same_name(runs[i].workload, runs[0].workload))
            continue;
        rc = record_to_line(run_fields, &runs[i], &text, err);
        if (rc == 0 && job->runs.count == 0)
            rc = add_asked(job, buf_str(&text), text.len, err);
        else if (rc == 0)
            rc = add_run(job, runs[i].id, buf_str(&text), err);
        buf_release(&text);
    }
    if (rc == 0 && !job->workload)
        rc = text_set(&job->workload, "command", err);
    job->epochs = count > 0 ? epochs_of(&runs[0]) : 0;
    return rc == 0 ? choose_evidence(job, err) : rc;
}

// How many samples it trained on; 0: unknown.
static int64_t rows_of(const struct run *run)
{
    int64_t rows = run->data.train_samples.known ? run->data.train_samples.v : 0;
    for (size_t i = 0; rows == 0 && i < run->labels.count; i++)
        if (run->labels.items[i].key && strcmp(run->labels.items[i].key, "data_rows") == 0 &&
            !text_int(run->labels.items[i].value, &rows))
            rows = 0;
    return rows;
}

// A training on more data takes longer: not what was sampled here.
static void drop_other_data(struct quote_job *job, const struct run *run)
{
    size_t kept = 0;
    int64_t rows = rows_of(run);
    for (size_t i = 0; i < job->evidence_count; i++) {
        const struct run *other = job->evidence[i].run;
        int64_t theirs = rows_of(other);
        bool as_many = rows == 0 || theirs == 0 || theirs == rows;
        bool alike = !run->recipe || !other->recipe || strcmp(run->recipe, other->recipe) == 0;
        if (as_many && alike)
            job->evidence[kept++] = job->evidence[i];
    }
    job->evidence_count = kept;
    job->ask.evidence_count = kept;
}

int quote_load_like(struct quote_job *job, const struct run *run, const char *ledger,
                    struct err *err)
{
    struct err why = {0};
    int rc = quote_load(job, run->workload, ledger, &why);
    if (rc == ERR_MEMORY)
        return err_memory(err);
    if (rc != 0) { // a ledger that is locked or gone: what is published is there
        quote_release(job);
        *job = (struct quote_job){.asked = false};
        rc = quote_load(job, run->workload, "", err);
    }
    if (rc == 0)
        drop_other_data(job, run);
    return rc;
}

int quote_open(struct quote_job *job, const char *book, struct err *err)
{
    int rc = book_open(&job->book, book, err);
    if (rc == 0)
        rc = devices_open(&job->devices, err);
    if (rc == 0)
        rc = tariff_book_open(&job->tariffs, err);
    if (rc == 0)
        rc = currencies_open(&job->currencies, err);
    if (rc == 0)
        rc = rates_open(&job->rates, NULL, err);
    job->ask.book = job->book;
    job->ask.devices = job->devices;
    job->ask.context.tariffs = job->tariffs;
    job->ask.context.currencies = job->currencies;
    job->ask.context.rates = job->rates;
    job->ask.context.book = job->book;
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
        price_rule_name(offer, name, sizeof name);
        u->provider[i] = true;
        u->offer[i] = rates_fits(row, offer->provider, name);
    }
    return 0;
}

static void say_unused(struct quote_job *job, const struct unused *u)
{
    for (size_t i = 0; i < rates_count(job->rates); i++) {
        const struct rates_row *row = rates_row(job->rates, i);
        if (u->offer[i] || !rates_holds(row, job->ask.context.day))
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
    size_t count = rates_count(job->rates);
    struct book_filter any = {.day = job->ask.context.day};
    buf_reset(&job->says);
    if (count == 0)
        return 0;
    struct unused u = {.rates = job->rates, .provider = calloc(2 * count, sizeof *u.provider)};
    if (!u.provider)
        return err_memory(err);
    u.offer = u.provider + count;
    int rc = book_each(job->book, &any, try_offer, &u, err);
    if (rc == 0)
        say_unused(job, &u);
    free(u.provider);
    return rc == 0 ? buf_check(&job->says, err) : rc;
}

void quote_own_power(struct quote_job *job)
{
    if (job->wishes.own.busy_mw >= 0 || job->runs.count == 0)
        return;
    double watts = 0;
    const struct run_use *use = &job->runs.items[0].use;
    for (size_t i = 0; i < use->gpu_list.count; i++)
        watts += use->gpu_list.items[i].power_w.known ? use->gpu_list.items[i].power_w.v : 0;
    double wall_s = (double)job->runs.items[0].phases.wall_ns.v / 1e9;
    if (use->cpu_energy_j.known && wall_s > 0)
        watts += use->cpu_energy_j.v / wall_s;
    if (watts > 0 && watts < 1e6)
        job->wishes.own.busy_mw = (int64_t)(watts * 1000);
}

void quote_release(struct quote_job *job)
{
    for (size_t i = 0; i < job->runs.count; i++)
        record_release(run_fields, &job->runs.items[i]);
    for (size_t i = 0; job->against && i < job->runs.count; i++)
        comparison_release(&job->against[i]);
    free(job->against);
    buf_release(&job->says);
    free(job->runs.items);
    free(job->evidence);
    free(job->workload);
    record_release(quote_fields, &job->quote);
    book_close(job->book);
    devices_close(job->devices);
    tariff_book_close(job->tariffs);
    currencies_close(job->currencies);
    rates_close(job->rates);
}
