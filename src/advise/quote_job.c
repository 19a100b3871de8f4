// SPDX-License-Identifier: Apache-2.0
#include "advise/quote_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "advise/evidence.h"
#include "advise/quote_parts.h"
#include "base/clock.h"
#include "base/money.h"
#include "base/units.h"
#include "follow/counters.h"
#include "record/read.h"

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

const char *const quote_precisions[] = {"fp32", "tf32", "bf16", "fp16", "fp8", NULL};

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
    SCOPED(buf_release) struct buf text = {0};
    int rc = market_run(job->ask.market, ledger, word, &text, err);
    struct run *run = rc == 0 ? LIST_ADD(&job->runs, err) : NULL;
    if (rc == 0)
        rc = run ? record_from_text(run_fields, buf_str(&text), text.len, run, err) : ERR_MEMORY;
    if (rc == 0)
        rc = set_asked(job, run, err);
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
    TRY(evidence_choose(&ask, job->evidence, job->against, &job->evidence_count, err));
    job->ask.asked = job->asked;
    job->ask.evidence = job->evidence;
    job->ask.evidence_count = job->evidence_count;
    return 0;
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
    bool asked = own->kwh >= 0 || job->wishes.buy;
    if (!asked || job->runs.count == 0 || job->ask.own_gpu)
        return 0;
    TRY(power_of_run(job->ask.market, &job->runs.items[0], &given, &job->wishes.power, err));
    own->busy_mw = job->wishes.power.mw;
    return 0;
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
    const struct advice_wishes *w = &job->wishes;
    if (w->deadline_ns.known || w->budget.known || w->runs > 1 || w->use_ns_a_month > 0)
        job->ask.most_estimates = 0; // any of them may be the answer
    TRY(quote_make(&job->ask, q, err));
    if (q->given) // no offer lacks a measurement
        q->not_measured = (struct maybe_int){0};
    return advice_make(&job->ask, &job->wishes, q, err);
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
    modelled_close(job->model);
    record_release(quote_fields, &job->quote);
}

// ---- an offer by its name, and the time of a training
// The bill of one offer that is named: by a run on such a machine, by an estimate, or with the time
// of a run that is assumed.

static int add_bill(struct quote_search *s, const struct candidate *c, const char *basis,
                    struct err *err)
{
    return quote_add_bill(s->ask, c, basis, &s->leaving, err);
}

// For a workload: other trainings that were measured on the offer.
static int add_other_trainings(struct quote_search *s, const struct offer *offer,
                               const struct proof_match best[QUOTE_TRAININGS], struct err *err)
{
    for (size_t i = 1; i < QUOTE_TRAININGS; i++)
        if (best[i].proof) {
            const struct candidate c = {.offer = *offer, .proof = best[i].proof, .match = best[i]};
            TRY(add_bill(s, &c, NULL, err));
        }
    return 0;
}

// Names another run of the same training that was measured on such a machine.
static int note_assumed(const struct quote_search *s, const struct candidate *c, struct bill *bill,
                        struct err *err)
{
    struct proof_match best[QUOTE_TRAININGS];
    const struct proof *other = proofs_find(&s->proofs, &c->offer, best);
    struct buf text = {0};
    if (!other || other == c->proof)
        return 0;
    buf_printf(&text, "run %s was measured on such a machine: 'fare quote %s --offer %s'",
               other->run->id, other->run->id, bill->offer);
    return texts_take(&bill->notes, &text, err);
}

// The estimate for a machine with other GPUs. `*done`: it has one, or would not work there. A run
// that is named keeps its time on a processor that nobody knows.
static int add_named_estimate(struct quote_search *s, struct candidate *c, bool *done,
                              struct err *err)
{
    const struct estimated *e = NULL;
    char why[EVIDENCE_WHY];
    TRY(estimates_find(s->estimates, &c->offer, &e, err));
    *done = e && (estimated_known(e) || e->estimate.kind == ESTIMATE_IMPOSSIBLE) &&
            !(s->ask->asked && e->estimate.unknown_processor);
    if (!*done)
        return 0;
    const char *reason = estimated_known(e) ? proof_no_memory(e->proof, &c->offer, why) : NULL;
    if (!estimated_known(e) || reason)
        return quote_leave_out(&s->leaving, &c->offer, reason ? reason : e->estimate.reason,
                               reason ? why : e->estimate.why, true, err);
    c->proof = e->proof;
    c->estimated = e;
    s->quote->estimated = some_int(1);
    TRY(add_bill(s, c, NULL, err));
    return s->quote->estimates.count > 0 ? note_assumed(s, c, &s->quote->estimates.items[0], err)
                                         : 0;
}

static int refuse_assumed(const struct quote_search *s, const struct candidate *c, const char *used,
                          struct err *err)
{
    const struct run *run = c->proof->run;
    if (used && !*c->offer.gpu) {
        err_set(err, ERR_USAGE,
                "%s has no GPU, and run %s was measured on %lld × %.100s: that tells nothing about "
                "the time on a processor",
                s->ask->offer, run->id, (long long)c->proof->gpus, used);
        return err_hint(err, "measure the training on any CPU for a minute, for example with "
                             "CUDA_VISIBLE_DEVICES= fare -- python train.py: fare estimates "
                             "machines without a GPU from that run");
    }
    char had[160] = "without a GPU";
    if (used)
        snprintf(had, sizeof had, "on %lld × %.100s", (long long)c->proof->gpus, used);
    err_set(err, ERR_USAGE, "%s has %g × %.60s, but run %s was measured %s", s->ask->offer,
            c->offer.gpus_milli / 1000.0, c->offer.gpu, run->id, had);
    return err_hint(err, "a quote for it needs a run on such a machine: measure one there, or "
                         "import one with 'fare runs import'");
}

// Other GPUs get an estimate or none. So does another processor; if it is not known, its time may
// be assumed.
static int check_assumed(struct quote_search *s, struct candidate *c, bool *done, struct err *err)
{
    const char *used = c->proof->gpus > 0 ? evidence_gpu(c->proof->run) : NULL;
    bool same_gpu = used && c->proof->device && c->offer.gpus_milli >= 1000 &&
                    strcasecmp(c->offer.gpu, c->proof->device->name) == 0;
    if (same_gpu || run_unknown_device(c->proof->run)) // fewer GPUs are a misfit
        return 0;
    if (s->estimates)
        TRY(add_named_estimate(s, c, done, err));
    if (*done || (!*c->offer.gpu && !used))
        return 0;
    return refuse_assumed(s, c, used, err);
}

// Whether the run may have been measured on that machine: nothing says that it was another.
static bool may_be(const struct proof *p, const struct offer *offer)
{
    const struct run_machine *m = &p->run->machine;
    return !m->provider || !m->instance_type || evidence_measured_on(p->run, offer);
}

// One offer. A named run keeps its own time, measured on such a machine or assumed, unless it is
// known to be another machine and a run on this one is known. A workload has the time of a run on
// such a machine, or else that of its first run, assumed.
int quote_add_named(struct quote_search *s, struct err *err)
{
    const struct quote_ask *ask = s->ask;
    struct candidate c = {.proof = NULL};
    struct proof_match best[QUOTE_TRAININGS];
    char why[EVIDENCE_WHY];
    TRY(book_find(s->book, ask->offer, s->day, &c.offer, err));
    c.ends_s = quote_ends_after_s(s, &c.offer);
    const char *reason = quote_not_offered(&c.offer, s->day, why);
    if (!reason && ask->model && !*c.offer.gpu) {
        snprintf(why, sizeof why, "a model's description tells the time on GPUs alone");
        reason = ESTIMATE_NO_GPU;
    }
    if (reason)
        return quote_leave_out(&s->leaving, &c.offer, reason, why, true, err);
    const struct proof *first = s->proofs.count > 0 ? &s->proofs.items[0] : NULL;
    const struct proof *nearest = proofs_find(&s->proofs, &c.offer, best);
    // A bought machine is the run's, and this one is rented.
    if (!ask->asked || ask->own ||
        (nearest && !may_be(first, &c.offer) && evidence_measured_on(nearest->run, &c.offer)))
        c.match = best[0];
    c.proof = c.match.proof;
    if (ask->asked && !c.proof)
        c.proof = first && first->asked ? first : NULL;
    if (!ask->asked)
        TRY(add_other_trainings(s, &c.offer, best, err));
    if (!c.proof && s->quote->others.count > 0)
        return 0;
    bool assumed = ask->asked ? c.proof && !proof_fits(&s->proofs, c.proof, &c.offer) : !c.proof;
    if (!c.proof && !ask->asked)
        c.proof = first;
    if (!c.proof)
        return 0;
    bool done = false;
    if (assumed)
        TRY(check_assumed(s, &c, &done, err));
    if (done)
        return 0;
    reason = proof_too_large(&s->proofs, c.proof, &c.offer, why);
    if (!reason)
        reason = quote_too_late(c.ends_s, (double)c.proof->time.total_ns / 1e9, why);
    if (reason)
        return quote_leave_out(&s->leaving, &c.offer, reason, why, true, err);
    TRY(add_bill(s, &c, assumed ? "assumed" : NULL, err));
    if (s->quote->bills.count == 0)
        return 0;
    if (c.offer.kind == OFFER_SPOT && !strchr(ask->offer, ':'))
        TRY(texts_add(&s->quote->bills.items[0].notes, "the book has only its spot price", err));
    return assumed ? note_assumed(s, &c, &s->quote->bills.items[0], err) : 0;
}

// From a bill back to its offer, and times of runs on offers.

struct exact {
    const struct bill *bill;
    struct offer *offer;
    bool found;
};

static bool equal(const char *text, const char *offers)
{
    return strcmp(text ? text : "", offers) == 0;
}

static int match_exact(void *arg, const struct offer *offer, struct err *err)
{
    (void)err;
    struct exact *e = arg;
    if (!equal(e->bill->provider, offer->provider) || !equal(e->bill->name, offer->name) ||
        !equal(e->bill->region, offer->region) || !equal(e->bill->zone, offer->zone) ||
        !equal(e->bill->kind, offer_kind_word(offer->kind)))
        return 0;
    *e->offer = *offer;
    e->found = true;
    return 1;
}

int quote_offer(const struct quote_ask *ask, const struct bill *bill, struct offer *offer,
                struct err *err)
{
    if (ask->own && equal(bill->provider, "own"))
        return own_offer(ask->own, bill->name, offer, err);
    int day = wishes_day(&ask->wishes);
    struct exact exact = {.bill = bill, .offer = offer};
    const struct book_filter filter = {.provider = bill->provider,
                                       .name = bill->name,
                                       .spelled = true,
                                       .day = day ? day : book_today()};
    const struct book *book;
    int rc = market_book(ask->market, &book, err);
    if (rc == 0)
        rc = book_each(book, &filter, match_exact, &exact, err);
    if (rc < 0 || exact.found)
        return rc < 0 ? rc : 0;
    return err_set(err, ERR_MISSING, "'%s' is no longer in the book", bill->offer);
}

int quote_time(const struct quote_ask *ask, const struct run *run, const struct offer *offer,
               struct bill_time *time, bool *known, struct err *err)
{
    return bill_time_on(ask->market, run, evidence_measured_on(run, offer), offer, &ask->startup,
                        time, known, err);
}

bool quote_base(const struct quote_ask *ask, struct bill_time *time)
{
    return !ask->model && ask->evidence_count > 0 && bill_time_of(ask->evidence[0].run, time);
}

// ---- what people ask, in words

int word_bad(const char *name, const char *text, const char *expected, struct err *err)
{
    return err_set(err, ERR_USAGE, "'%s' takes %s, not '%.40s'", name, expected, text);
}

int word_amount(const char *name, const char *text, int64_t *nano, struct err *err)
{
    if (text && (money_parse(text, nano, NULL) != 0 || *nano < 0))
        return word_bad(name, text, "an amount such as 2.50", err);
    return 0;
}

int word_kind(const char *kind, bool spot, const char **out, struct err *err)
{
    if (spot && kind && strcmp(kind, "spot") != 0)
        return err_set(err, ERR_USAGE, "--spot and --kind %s exclude each other", kind);
    *out = spot ? "spot" : kind;
    return 0;
}

#define GPUS_MAX 1000000

static bool ends_in_digit(const char *text)
{
    size_t len = strlen(text);
    return len > 0 && text[len - 1] >= '0' && text[len - 1] <= '9';
}

// "21d", or "20d-22d". "20-22d" would be 20 seconds to 22 days, and is refused.
static int read_range(const char *name, const char *text, struct quote_given *out, struct err *err)
{
    char first[64];
    size_t len = strcspn(text, "-");
    const char *last = text[len] ? text + len + 1 : text;
    snprintf(first, sizeof first, "%.*s", (int)len, text);
    bool good = len < sizeof first && clock_parse_duration(first, &out->low_ns) &&
                clock_parse_duration(last, &out->high_ns) && out->low_ns > 0 &&
                out->low_ns <= out->high_ns && ends_in_digit(first) == ends_in_digit(last);
    return good ? 0 : word_bad(name, text, "a time such as 21d or 350ms, or a range: 20d-22d", err);
}

// "8", or "8+": offers with more fit too. For a run also "any"; 0: as many as it used.
static int read_gpus(const char *name, const char *text, bool run, struct quote_given *out,
                     struct err *err)
{
    char number[24];
    size_t len = text ? strlen(text) : 0;
    out->gpus = run ? 0 : 1;
    if (run && text && strcmp(text, "any") == 0) {
        out->gpus = QUOTE_GPUS_ANY;
        return 0;
    }
    out->or_more = len > 1 && text[len - 1] == '+';
    snprintf(number, sizeof number, "%.*s", (int)(len - out->or_more), text ? text : "");
    if (text && (len >= sizeof number || !text_int(number, &out->gpus) || out->gpus < 1 ||
                 out->gpus > GPUS_MAX))
        return word_bad(name, text,
                        run ? "a number such as 8, 8+ for at least that many, or any"
                            : "a number such as 8, or 8+ for at least that many",
                        err);
    return 0;
}

bool quote_has_time(const struct quote_words *w)
{
    return w->time || w->steps > 0 || w->step_time;
}

bool quote_has_no_run(const struct quote_words *w)
{
    return quote_has_time(w) || w->model;
}

// With a model, or without one.
static int check_model(const struct quote_words *w, bool page, const char *word, struct err *err)
{
    const char *model = page ? "model" : "--model";
    const char *time = w->time        ? page ? "time" : "--time"
                       : w->steps > 0 ? page ? "steps" : "--steps"
                       : w->step_time ? page ? "step_time" : "--step-time"
                                      : NULL;
    const char *alone = w->method         ? "method"
                        : w->tokens       ? "tokens"
                        : w->seq > 0      ? "seq"
                        : w->batch_tokens ? page ? "batch_tokens" : "batch-tokens"
                        : w->rank > 0     ? "rank"
                        : w->layout       ? "layout"
                                          : NULL;
    if (!w->model && alone) {
        err_set(err, ERR_USAGE, "%s%s is for a model, and none is named", page ? "" : "--", alone);
        return err_hint(err, "such as %s llama-3-8b", model);
    }
    if (w->model && time) {
        err_set(err, ERR_USAGE, "%s and %s exclude each other", time, model);
        return err_hint(err, "a time that you know is surer than a model's description");
    }
    if (w->model && word) {
        err_set(err, ERR_USAGE, "%s is for a training without a run, but '%.60s' names one", model,
                word);
        return err_hint(err, "leave out one of the two");
    }
    if (w->model && w->measured)
        return err_set(err, ERR_USAGE, "%s and %s exclude each other: nothing was measured",
                       page ? "measured" : "--measured", model);
    return 0;
}

static int check_alone(const struct quote_words *w, bool page, const char *word, const char *offer,
                       struct err *err)
{
    const char *time = page ? "time" : "--time", *steps = page ? "steps" : "--steps";
    const char *step_time = page ? "step_time" : "--step-time";
    if (word) {
        err_set(err, ERR_USAGE, "%s is for a training without a run, but '%.60s' names one",
                w->time        ? time
                : w->steps > 0 ? steps
                               : step_time,
                word);
        return err_hint(err, "leave out one of the two");
    }
    if (w->time && (w->steps > 0 || w->step_time)) {
        err_set(err, ERR_USAGE, "%s and %s exclude each other", time,
                w->steps > 0 ? steps : step_time);
        return err_hint(err, "%s is the whole training; %s × %s is too", time, steps, step_time);
    }
    if (!w->time && !w->step_time) {
        err_set(err, ERR_USAGE, "%s is missing: how long does a step take?", step_time);
        return err_hint(err, "such as %s 350ms", step_time);
    }
    if (!w->time && w->steps <= 0) {
        err_set(err, ERR_USAGE, "%s is missing: how many steps does the training have?", steps);
        return err_hint(err, "such as %s 60000", steps);
    }
    if (!w->gpu && !offer) {
        err_set(err, ERR_USAGE, "on which machine does the training take that long?");
        return err_hint(err, page ? "name a GPU, such as h100"
                                  : "add --gpu h100 --gpus 8, say, or --offer PROVIDER/NAME");
    }
    return 0;
}

int quote_words_given(const struct quote_words *w, bool page, const char *word, const char *offer,
                      struct quote_given *out, struct err *err)
{
    const char *gpus = page ? "gpus" : "--gpus";
    *out = (struct quote_given){
        .gpu = w->gpu, .precision = w->precision, .steps = w->steps > 0 ? w->steps : 0};
    TRY(check_model(w, page, word, err));
    if (!quote_has_no_run(w) && w->precision) {
        err_set(err, ERR_USAGE, "%s is for a time or a model that you give",
                page ? "precision" : "--precision");
        return err_hint(err, "a run has its own precision");
    }
    if (!quote_has_time(w))
        return read_gpus(gpus, w->gpus, true, out, err);
    TRY(check_alone(w, page, word, offer, err));
    TRY(read_gpus(gpus, w->gpus, false, out, err));
    return w->time ? read_range(page ? "time" : "--time", w->time, out, err)
                   : read_range(page ? "step_time" : "--step-time", w->step_time, out, err);
}

int quote_words_take(const struct quote_words *w, bool page, struct quote_job *job, struct err *err)
{
    static const enum offer_kind kinds[] = {OFFER_ON_DEMAND, OFFER_SPOT, OFFER_MONTHLY};
    const char *kind;
    TRY(word_kind(w->kind, w->spot, &kind, err));
    for (size_t i = 0; kind && offer_kinds[i]; i++)
        if (strcmp(kind, offer_kinds[i]) == 0)
            job->ask.kind = &kinds[i];
    job->ask.region = w->region;
    job->ask.estimates = !w->measured;
    if (job->ask.gpu && strchr(job->ask.gpu, ',')) {
        TRY(quote_take_gpus(job, job->ask.gpu, false, err));
        job->ask.gpu = NULL;
    }
    if (w->deadline_ns >= 0)
        job->wishes.deadline_ns = some_int(w->deadline_ns);
    if (w->idle_ns == 0 || w->idle_ns >= 24 * 3600 * NS_PER_S)
        return err_set(err, ERR_USAGE, "'%s' takes a time of less than a day, such as 12h",
                       page ? "idle_per_day" : "--idle-per-day");
    job->wishes.idle_ns_a_day = w->idle_ns > 0 ? w->idle_ns : 0;
    if (w->hours_per_month > 720)
        return err_set(err, ERR_USAGE, "'%s' takes 1 to 720: a month of 30 days",
                       page ? "hours_per_month" : "--hours-per-month");
    if (w->hours_per_month > 0)
        job->wishes.use_ns_a_month = w->hours_per_month * 3600 * NS_PER_S;
    job->wishes.budget.known = w->budget;
    return word_amount(page ? "budget" : "--budget", w->budget, &job->wishes.budget.v, err);
}

int offer_words_take(const struct offer_words *w, bool page, const struct devices *devices,
                     struct book_filter *f, enum offer_kind *kind, int64_t *max_rate,
                     struct err *err)
{
    const struct device *device = w->gpu ? device_find(devices, w->gpu) : NULL;
    int64_t gpus = 0;
    const char *word = NULL;
    *max_rate = -1;
    *f = (struct book_filter){.text = w->text,
                              .provider = w->provider,
                              .region = w->region,
                              // else the name: catalogues have more GPUs than devices.csv
                              .gpu = device ? device->name : w->gpu};
    if (w->gpus && (money_parse(w->gpus, &gpus, NULL) != 0 || gpus < 0))
        return word_bad(page ? "gpus" : "--gpus", w->gpus, "a number of 0 or more", err);
    TRY(word_amount(page ? "max_price" : "--max-price", w->max_price, max_rate, err));
    TRY(word_kind(w->kind, w->spot, &word, err));
    f->without_gpu = w->gpus && gpus == 0;
    gpus /= MONEY_UNIT / 1000;
    f->gpus_milli = gpus > INT32_MAX ? INT32_MAX : (int)gpus;
    f->max_rate = *max_rate > 0 ? *max_rate : 0;
    if (word && !offer_kind_parse(word, kind))
        return word_bad("kind", word, "on-demand, spot or monthly", err);
    f->kind = word ? kind : NULL;
    return 0;
}
