// SPDX-License-Identifier: Apache-2.0
#include "measure/measure.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advise/spend/budget.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/money.h"
#include "base/proc.h"
#include "base/units.h"
#include "bill/market.h"
#include "follow/child.h"
#include "ledger/journal.h"
#include "ledger/ledger.h"
#include "machine/probe.h"
#include "measure/code.h"
#include "measure/provenance.h"
#include "measure/ranks.h"
#include "measure/runner.h"
#include "measure/sampling.h"
#include "measure/saving.h"
#include "record/mask.h"
#include "record/read.h"
#include "record/spending.h"

// ==== budgets ====
// What is left of the team's budgets (advise/spend/budget.h) when a run starts and when it
// ends.
//
// Budgets warn. The ledger is asked in a child process that is killed after two seconds: a database
// that is down, locked or slow neither stops nor delays a run. Without an answer nothing is said.

enum { ASK_MS = 2000 };

struct asking {
    struct ledger *ledger;
    struct market *market;
    struct budget_whose whose;
};

static int ask(void *context)
{
    const struct asking *a = context;
    struct budgets budgets = {0};
    SCOPED(buf_release) struct buf text = {0}, says = {0};
    ledger_only_look(a->ledger);
    int rc = ledger_connect(a->ledger, &says, NULL);
    if (rc == 0)
        rc = budget_states(a->ledger, a->market, &a->whose, &budgets, NULL);
    if (rc == 0)
        rc = record_to_line(budgets_fields, &budgets, &text, NULL);
    if (rc == 0)
        rc = fs_write_fd(STDOUT_FILENO, buf_str(&text), text.len, "the pipe", NULL);
    (void)!fs_write_fd(STDERR_FILENO, buf_str(&says), says.len, "the pipe", NULL);
    record_release(budgets_fields, &budgets);
    ledger_disconnect(a->ledger);
    return rc != 0;
}

// The budgets that `run` counts towards, by its project, user and host. `says` gets what opening
// the ledger had to say; it is not connected afterwards.
static int measure_budget_read(struct ledger *ledger, struct market *market, const struct run *run,
                               struct budgets *out, struct buf *says, struct err *err)
{
    struct asking a = {ledger, market, {run->project, run->user, run->host}};
    const struct proc_options options = {.timeout_ms = ASK_MS, .keep_max = 4 << 20};
    struct proc proc = {0};
    SCOPED(proc_result_release) struct proc_result result = {0};
    int rc = 0;
    // Somebody whose names are all unknown still counts towards the budget of all.
    if (!a.whose.project && !a.whose.user && !a.whose.host)
        a.whose.project = "";
    ledger_disconnect(ledger); // the child connects
    if (proc_start_call(&proc, ask, &a, &options, NULL) == 0 &&
        proc_finish(&proc, &result, NULL) == 0) {
        buf_adds(says, buf_str(&result.err_text));
        if (result.exited && result.exit_code == 0 && result.out.len > 0)
            rc = record_from_text(budgets_fields, buf_str(&result.out), result.out.len, out, err);
    }
    return rc == ERR_MEMORY ? rc : 0;
}

// The least that is left of them, in nano-USD; false: there is none, or a rate is missing. Below 0:
// one is exceeded.
static bool measure_budget_left(const struct budgets *budgets, struct market *market,
                                int64_t *nano_usd)
{
    bool any = false;
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        int64_t left;
        if (budget_left_usd(&budgets->budgets.items[i], market, &left, NULL) != 0)
            continue;
        *nano_usd = !any || left < *nano_usd ? left : *nano_usd;
        any = true;
    }
    return any;
}

// At the start, a line each: what is left, and how long that lasts at `hour` (nano-USD; 0:
// unknown).
static void measure_budget_say(const struct budgets *budgets, struct market *market, int64_t hour,
                               struct buf *says)
{
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        const struct budget_state *state = &budgets->budgets.items[i];
        int64_t left = 0, ns = 0;
        char price[MONEY_BYTES], words[24];
        budget_words(state, says);
        if (hour > 0 && budget_left_usd(state, market, &left, NULL) == 0 && left > 0 &&
            money_scale(left, 3600 * NS_PER_S, hour, MONEY_DOWN, &ns, NULL) == 0) {
            money_short(hour, price);
            clock_words(ns, words, sizeof words);
            buf_printf(says, ": %s at %s USD an hour", words, price);
        }
        buf_addc(says, '\n');
    }
}

// At the end, a line for each that is nearly spent, or will be at this rate.
static void measure_budget_warn(const struct budgets *budgets, struct buf *says)
{
    for (size_t i = 0; i < budgets->budgets.count; i++) {
        const struct budget_state *state = &budgets->budgets.items[i];
        bool over = state->projected.known && state->amount.known &&
                    state->projected.nano > state->amount.nano;
        if (state->share.v < BUDGET_LOW && !over)
            continue;
        budget_words(state, says);
        if (over)
            buf_printf(says, "; at this rate %s %s at the end of the %s",
                       money_brief(state->projected).s, state->currency, state->period);
        buf_addc(says, '\n');
    }
}

// ==== the runs ====

#define ROW(name) &runner_##name,
static const struct runner *const runners[] = {RUNNERS(ROW)};
#undef ROW

// Leaves time to stop before the next billing unit begins.
#define SPEND_MARGIN_NS (200 * NS_PER_MS)

// A ledger that does not answer delays a command by two seconds at most: this, half of it before
// the start, and what fare does besides.
#define LEDGER_WAIT_NS (1800 * NS_PER_MS)

static volatile sig_atomic_t interrupted; // the signal's number
static volatile sig_atomic_t apart_pid;   // a run in a separate process and group

static void on_signal(int number)
{
    interrupted = number;
    if (apart_pid > 0) {
        kill(apart_pid, number);
        kill(apart_pid, SIGCONT); // it may be stopped
    }
}

// The first signal ends the run, a second one the program; but a run that is saved is saved to the
// end, however often a scheduler sends SIGTERM. Ignored signals stay ignored (nohup).
static void catch_signals(const struct measure_options *o)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    interrupted = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bool once = numbers[i] == SIGINT || !o->save;
        struct sigaction before, action = {.sa_handler = on_signal,
                                           .sa_flags = SA_RESTART | (once ? (int)SA_RESETHAND : 0)};
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

// ---- the plan

static int check(const struct measure_options *o, struct err *err)
{
    if (o->full && (o->within || o->max_time_ns > 0 || (o->max_spend && !o->save)))
        return err_set(err, ERR_USAGE,
                       "--within, --max-time and --max-spend are for samples, not for --full");
    if (o->save && (o->sample || o->steps > 0))
        return err_set(err, ERR_USAGE, "--save is for whole trainings, not for samples");
    if (o->max_spend && !o->offer) {
        err_set(err, ERR_USAGE, "--max-spend needs --offer for the price of this machine");
        return err_hint(err, "'fare prices TEXT' searches offers");
    }
    return 0;
}

static int read_within(const char *text, double *within, struct err *err)
{
    *within = MEASURE_WITHIN;
    if (!text)
        return 0;
    char *end;
    double percent = strtod(text, &end);
    if (end == text || (strcmp(end, "%") != 0 && *end != '\0') || !(percent >= 0.1) ||
        !(percent <= 100))
        return err_set(err, ERR_USAGE, "--within '%s': expected a percentage from 0.1%% to 100%%",
                       text);
    *within = percent / 100;
    return 0;
}

// The time when --max-spend is spent, if use of the machine began at plan.start_ns.
static int set_deadline(struct measure *m, struct err *err)
{
    const struct measure_options *o = m->o;
    int64_t budget = 0, ns = 0;
    if (!o->max_spend)
        return 0;
    bool left = strcmp(o->max_spend, "budget") == 0;
    if (left && !measure_budget_left(&m->budgets, m->desk->market, &budget)) {
        err_set(err, ERR_USAGE, "--max-spend budget: the ledger has no budget for this run");
        return err_hint(err, "'fare runs --budgets' lists them");
    }
    if (left && budget <= 0)
        return err_set(err, ERR_USAGE, "--max-spend budget: the budget is spent");
    if (!left && (money_parse(o->max_spend, &budget, NULL) != 0 || budget <= 0))
        return err_set(err, ERR_USAGE,
                       "--max-spend '%.40s': expected an amount such as 0.50, or 'budget'",
                       o->max_spend);
    money_text(budget, m->max_spend);
    if (!left)
        snprintf(m->max_spend, sizeof m->max_spend, "%.40s", o->max_spend);
    TRY(measure_price_longest(m->desk->market, o->offer, budget, m->ordered_ns, &ns, &m->says,
                              err));
    if (ns == 0)
        return err_set(err, ERR_USAGE, "%s USD is not enough to start %s", m->max_spend, o->offer);
    int64_t margin_ns = ns / 50 < SPEND_MARGIN_NS ? ns / 50 : SPEND_MARGIN_NS;
    m->plan.until_ns = m->plan.start_ns + ns - margin_ns;
    return 0;
}

// A command runs to its own end unless a sample is asked for, whose limits sampling.h has.
static void plan_run(const struct measure *m, const struct measure_what *what,
                     struct run_plan *plan)
{
    const struct measure_options *o = m->o;
    *plan = m->plan;
    if (what->command)
        plan->full = !o->sample;
    if (what->command && !o->within)
        plan->within = MEASURE_WITHIN_CMD;
    if (plan->full)
        plan->within = 0;
    if ((plan->full || what->command) && !plan->max_s_given)
        plan->max_s = 0;
}

// ---- before the runs

// Without a ledger, or one that has no name, there are none.
static int read_budgets(struct measure *m, const struct run *run, struct budgets *out,
                        struct err *err)
{
    struct ledger *ledger;
    if (m->o->no_ledger || desk_ledger(m->desk, &ledger, NULL) != 0)
        return 0;
    return measure_budget_read(ledger, m->desk->market, run, out, &m->says, err);
}

// The price needs a record with a machine and a date, before there are runs.
static int open_price(struct measure *m, struct err *err)
{
    SCOPED(run_release) struct run run = {0};
    TRY(provenance_set(m->o, &m->secrets, m->machine, &run, err));
    TRY(provenance_boot(m->machine, true, false, &run, err));
    m->ordered_ns = run_ordered_ns(&run);
    TRY(measure_price_open(&m->price, m->desk->market, m->o->offer, m->o->currency, &run, err));
    TRY(read_budgets(m, &run, &m->budgets, err));
    measure_budget_say(&m->budgets, m->desk->market, m->price ? measure_price_hour(m->price) : 0,
                       &m->says);
    return 0;
}

// Refuses a ledger that cannot work before the training, not after it. A database that is down or
// locked may be back by then: until it is, the run stays in the spool.
static int check_ledger(struct measure *m, struct err *err)
{
    const char *named = m->o->ledger;
    struct ledger *ledger;
    struct err why = {0};
    if (m->o->no_ledger || !named)
        return 0;
    int rc = desk_ledger(m->desk, &ledger, &why);
    if (rc == 0)
        rc = ledger_make(ledger, &m->says, &why);
    if (rc == ERR_TIMEOUT || (rc == ERR_IO && strstr(named, "://"))) {
        buf_printf(&m->says, "the ledger cannot be reached now: %s\n", why.text);
        return 0;
    }
    if (rc == 0 || rc == ERR_MEMORY)
        return rc == 0 ? 0 : err_memory(err);
    err_pass(err, rc, &why);
    return err_hint(err, "%s", why.hint[0] ? why.hint : "--no-ledger measures without keeping it");
}

int measure_open(struct measure *m, const struct measure_options *o, struct desk *desk,
                 struct err *err)
{
    *m = (struct measure){.o = o, .desk = desk};
    m->plan = (struct run_plan){.full = o->full,
                                .steps = o->steps,
                                .max_s = o->sample_s > 0 ? o->sample_s : MEASURE_MAX_TIME_S,
                                .max_s_given = o->max_time_ns > 0,
                                .start_ns = clock_now_ns(),
                                .stop = &interrupted};
    if (o->max_time_ns > 0)
        m->plan.max_s = (double)o->max_time_ns / 1e9;
    m->runs.runs.known = true;
    TRY(check(o, err));
    ledger_wait_at_most(LEDGER_WAIT_NS / 2);
    TRY(check_ledger(m, err));
    TRY(read_within(o->within, &m->plan.within, err));
    TRY(secrets_init(&m->secrets, o->secrets.items, o->secrets.count, err));
    TRY(text_set(&m->runs.schema, RUNS_SCHEMA, err));
    const struct inspect_options inspect = {.no_cloud = o->no_cloud};
    TRY(desk_machine(desk, &inspect, &m->machine, err));
    TRY(open_price(m, err));
    return set_deadline(m, err);
}

void measure_close(struct measure *m)
{
    measure_price_close(m->price);
    secrets_release(&m->secrets);
    record_release(runs_fields, &m->runs);
    record_release(budgets_fields, &m->budgets);
    buf_release(&m->says);
    buf_release(&m->words);
}

// ---- a run in a separate process

struct apart {
    const struct runner *runner;
    struct session *session;
};

static int run_in_child(void *context)
{
    struct apart *a = context;
    struct err err = {0};
    SCOPED(buf_release) struct buf text = {0};
    catch_signals(a->session->o);
    signal(SIGTTOU, SIG_IGN); // it draws its line from the terminal's background
    int rc = a->runner->run(a->session, &err);
    session_release(a->session);
    if (rc == 0)
        rc = record_to_text(run_fields, a->session->run, &text, &err);
    if (rc == 0)
        rc = fs_write_fd(STDOUT_FILENO, buf_str(&text), text.len, "the pipe", &err);
    if (rc != 0)
        (void)!fs_write_fd(STDERR_FILENO, err.text, strlen(err.text), "the pipe", NULL);
    return rc != 0;
}

// If the process was killed, the journal has the last record.
static void take_journal(const struct journal *journal, struct run *run)
{
    SCOPED(buf_release) struct buf text = {0};
    struct run part = {0};
    if (journal && journal_read(journal, &text, NULL) == 0 &&
        record_from_text(run_fields, buf_str(&text), text.len, &part, NULL) == 0) {
        record_release(run_fields, run);
        *run = part;
    } else {
        record_release(run_fields, &part);
    }
}

static int run_apart(const struct runner *runner, struct session *s, struct err *err)
{
    // We read its stderr, so it draws on a copy of ours.
    s->watch.fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    s->watch.group = getpgrp();
    struct apart a = {runner, s};
    int64_t began_ns = clock_now_ns();
    struct proc proc = {0};
    SCOPED(proc_result_release) struct proc_result result = {0};
    const struct proc_options how = {.keep_max = 64 << 20};
    int rc = proc_start_call(&proc, run_in_child, &a, &how, err);
    apart_pid = proc.pid;
    if (s->watch.fd >= 0)
        close(s->watch.fd);
    if (rc == 0)
        rc = proc_finish(&proc, &result, err);
    apart_pid = 0;
    watch_told(&s->watch, (double)(clock_now_ns() - began_ns) / 1e9);
    if (rc != 0)
        return rc;
    struct run told = {0};
    if (result.exited && result.exit_code == 0 &&
        record_from_text(run_fields, buf_str(&result.out), result.out.len, &told, NULL) == 0) {
        record_release(run_fields, s->run);
        *s->run = told;
    } else {
        SCOPED(buf_release) struct buf words = {0};
        record_release(run_fields, &told);
        take_journal(s->journal, s->run);
        proc_result_words(&result, &words);
        rc = err_set(err, ERR_FAIL, "%s",
                     result.err_text.len > 0 ? buf_str(&result.err_text) : buf_str(&words));
    }
    return rc;
}

// ---- a run

static struct journal *open_journal(struct measure *m, const struct run *run)
{
    struct ledger *ledger;
    struct journal *journal = NULL;
    if (m->o->no_ledger || desk_ledger(m->desk, &ledger, NULL) != 0)
        return NULL;
    if (journal_open(&journal, ledger, run->id, NULL) != 0)
        journal = NULL; // the end of the run reports whether it was kept
    return journal;
}

// After the run was kept.
static void warn(struct measure *m, const struct run *run)
{
    SCOPED(budgets_release) struct budgets now = {0};
    if (m->budgets.budgets.count > 0 && m->kept && read_budgets(m, run, &now, NULL) == 0)
        measure_budget_warn(&now, &m->says);
}

static void keep(struct measure *m, const struct run *run, struct journal *journal)
{
    struct ledger *ledger;
    struct err err = {0};
    int rc = 0;
    if (!m->o->no_ledger && run->id) {
        ledger_wait_at_most(LEDGER_WAIT_NS);
        rc = desk_ledger(m->desk, &ledger, &err);
        if (rc == 0) {
            rc = ledger_record(ledger, run, &m->says, &err);
            ledger_disconnect(ledger); // the next run may take days
        }
        if (rc != 0)
            buf_printf(&m->says, "the run was not kept: %s\n", err.text);
    }
    m->kept = rc == 0 && !m->o->no_ledger && run->id;
    journal_close(journal, rc != 0, &m->says);
}

static const struct runner *runner_of(const struct session *s)
{
    size_t i = 0;
    while (!runners[i]->takes(s)) // the last one takes everything
        i++;
    return runners[i];
}

static int run_session(struct session *s, bool apart, struct err *err)
{
    const struct runner *runner = runner_of(s);
    int rc = apart && runner->in_process ? run_apart(runner, s, err) : runner->run(s, err);
    session_release(s);
    return rc;
}

// With --save: the run between the lease and the last checkpoint.
static int run_saved(struct measure *m, struct session *s, struct err *err)
{
    int rc = saving_open(&s->saving, s, m->price, err);
    m->again = false;
    m->done = rc == 0 && saving_done(s->saving);
    if (m->done)
        buf_printf(&m->says, "it is finished already: another --save starts it again\n");
    if (rc == 0 && !m->o->json) { // before the job's own output
        watch_say(&s->watch, buf_str(s->says), false);
        buf_reset(s->says);
    }
    if (rc == 0 && !m->done) {
        rc = run_session(s, false, err);
        int finished = saving_finish(s->saving, s, rc == 0 ? err : NULL);
        rc = rc == 0 ? finished : rc;
        const char *by = saving_by(s->saving);
        m->again = by && strcmp(by, "lease") == 0;
        if (!saving_told(s->saving)) // else the record comes first, and then the end
            signals_release();
    }
    buf_adds(&m->says, buf_str(&m->words));
    buf_reset(&m->words);
    saving_free(s->saving);
    s->saving = NULL;
    return rc;
}

int measure_run(struct measure *m, const struct measure_what *what, struct err *err)
{
    struct run *run = LIST_ADD(&m->runs.runs, err);
    if (!run)
        return ERR_MEMORY;
    if (!m->begun && what->workload) // signals are passed on to a command
        catch_signals(m->o);
    if (!m->begun)
        m->begun_ns = clock_now_ns();
    struct live_price price;
    struct session s = {.o = m->o,
                        .workload = what->workload,
                        .command = what->command,
                        .batch = what->batch,
                        .run = run,
                        .secrets = &m->secrets,
                        .says = &m->words,
                        .price = &price,
                        .watch = {.number = m->o->apart ? (int64_t)m->runs.runs.count : 0,
                                  .before_s = (double)(clock_now_ns() - m->begun_ns) / 1e9,
                                  .told_s = m->told_s}};
    plan_run(m, what, &s.plan);
    int rc = provenance_set(m->o, &m->secrets, m->machine, run, err);
    if (rc == 0 && what->command)
        rc = code_describe(what->command, &run->code, err);
    if (rc == 0)
        rc = mask_run(&m->secrets, run, err);
    if (rc == 0)
        rc = provenance_boot(m->machine, !m->begun, !m->o->no_ledger, run, err);
    measure_price_begin(m->price, run, &price);
    s.has_left = measure_budget_left(&m->budgets, m->desk->market, &s.left_usd);
    if (rc == 0) {
        s.journal = open_journal(m, run);
        rc = what->workload ? ranks_lead(m->o->group, m->o, what, what->ranks, err) : 0;
    }
    if (rc == 0)
        rc = m->o->save ? run_saved(m, &s, err) : run_session(&s, m->o->apart, err);
    if (rc != 0)
        group_fail(m->o->group, err->text);
    m->begun = true;
    m->told_s = s.watch.told_s;
    m->plan.start_ns = 0; // set when the next run begins
    if (rc != 0 && what->workload)
        err_context(err, "%s", what->workload->name);
    if (run->ended && strcmp(run->ended, "interrupted") == 0 && !interrupted && what->workload)
        interrupted = SIGINT; // a script got the signal: start no further runs
    m->exit_code =
        interrupted && s.exit_code != MEASURE_INTERRUPTED ? 128 + interrupted : s.exit_code;
    if (run->ended && measure_price_spent(m->price, run, rc == 0 ? err : NULL) != 0 && rc == 0)
        rc = ERR_MEMORY;
    int masked = run->ended ? mask_run(&m->secrets, run, rc == 0 ? err : NULL) : 0;
    rc = rc == 0 ? masked : rc;
    if (run->ended && masked == 0) {
        keep(m, run, s.journal);
        warn(m, run);
    } else {
        journal_close(s.journal, false, &m->says);
        record_release(run_fields, run);
        m->runs.runs.count--;
    }
    return rc;
}

// ---- how they ended

bool measure_over(const struct measure *m)
{
    return run_plan_over(&m->plan);
}

bool measure_interrupted(const struct measure *m)
{
    return run_plan_interrupted(&m->plan);
}

void measure_say_spent(struct measure *m, bool left_out)
{
    size_t count = m->runs.runs.count;
    const char *ended = count > 0 ? m->runs.runs.items[count - 1].ended : NULL;
    if (m->plan.until_ns > 0 && !interrupted &&
        (left_out || (ended && strcmp(ended, "stopped") == 0)))
        buf_printf(&m->says, "stopped: --max-spend %s USD is spent on %s\n", m->max_spend,
                   m->o->offer);
}

static bool stopped_by(const struct run *run, enum sampling_end end)
{
    return run->stopped_by && strcmp(run->stopped_by, sampling_word(end)) == 0;
}

bool measure_stop_words(const struct run_plan *plan, const struct run *run, struct buf *out)
{
    const struct run_projection *p = &run->projection;
    bool timed = stopped_by(run, SAMPLING_TIME);
    if (stopped_by(run, SAMPLING_NO_TOTAL))
        buf_adds(out, "stopped: its step time is known, its total is not");
    else if (stopped_by(run, SAMPLING_NO_PROGRESS))
        buf_printf(out, "stopped: no progress was seen in %g min (--max-time waits longer)",
                   SAMPLING_LIMIT_S / 60);
    else if (stopped_by(run, SAMPLING_IDLE))
        buf_adds(out, "stopped: it used neither GPU nor CPU for the time of --idle");
    if (out->len > 0)
        return true;
    if (!timed && !stopped_by(run, SAMPLING_WITHIN))
        return false;
    char limit[24];
    if (plan->max_s < 120)
        snprintf(limit, sizeof limit, "%g s", plan->max_s);
    else
        clock_words((int64_t)(plan->max_s * 1e9), limit, sizeof limit);
    buf_adds(out, "stopped");
    bool command = !run->workload && !plan->max_s_given;
    if (timed && command && p->load_s.known && p->after_s.v - p->load_s.v > SAMPLING_S + 5)
        buf_printf(out, " at the time limit, after an evaluation or checkpoint under way");
    else if (timed)
        buf_printf(out, " at the time limit (%s%s)", limit, command ? " after the first step" : "");
    if (p->wall_s.known && p->low_s.known && p->high_s.known && p->wall_s.v > 0) {
        double percent = units_half_width(p->low_s.v, p->high_s.v, p->wall_s.v);
        char low[24], high[24];
        clock_words((int64_t)(p->low_s.v * 1e9), low, sizeof low);
        clock_words((int64_t)(p->high_s.v * 1e9), high, sizeof high);
        if (percent > 50)
            buf_printf(out, ": total time known only to be %s to %s", low, high);
        else
            buf_printf(out, ": total time known to ±%.*f %%", percent < 1.95 ? 1 : 0, percent);
    }
    return true;
}
