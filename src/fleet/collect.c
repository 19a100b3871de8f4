// SPDX-License-Identifier: Apache-2.0
#include "fleet/dispatch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/money.h"
#include "measure/measure.h"
#include "record/read.h"

int64_t collect_cost(const struct place *place, double run_s)
{
    int64_t cost;
    if (place->hour_nano < 0 || !(run_s >= 0) || run_s > 9e9)
        return -1;
    if (money_scale(place->hour_nano, (int64_t)(run_s * 1e3), 3600 * 1000, MONEY_HALF_UP, &cost,
                    NULL) != 0)
        return -1;
    return cost;
}

// What the end of a task takes from a record.
static struct record_part outcome_part = {.of = run_fields, .members = "id problem labels"};

// What is made of the records of a task.
struct collecting {
    const struct dispatch *dispatch;
    struct task *task;
    struct ledger *ledger;
    struct buf problem;
    bool good;      // one has no problem
    size_t refused; // records that nobody asked for
};

// fare gave it the label.
static bool is_asked(const struct collecting *c, const struct run *outcome)
{
    const char *dispatch = run_label(outcome, "dispatch");
    return dispatch && strcmp(dispatch, c->dispatch->id) == 0;
}

// One line of the reply: a run. One that cannot be imported is a problem; the others are.
static int add_record(struct collecting *c, const char *line, size_t len, struct err *err)
{
    struct run outcome = {0};
    struct err why = {0};
    bool added;
    int rc = ledger_check(line, len, &why);
    if (rc == 0)
        rc = record_from_checked(record_part(&outcome_part), line, len, &outcome, &why);
    bool asked = rc == 0 && is_asked(c, &outcome);
    c->refused += rc == 0 && !asked;
    if (asked)
        rc = ledger_import_add(c->ledger, line, len, &added, &why);
    if (asked && rc == 0)
        rc = texts_add(&c->task->now.records, outcome.id, &why);
    c->good |= asked && rc == 0 && !outcome.problem;
    if (asked && rc == 0 && outcome.problem && c->problem.len == 0)
        buf_adds(&c->problem, outcome.problem);
    record_release(record_part(&outcome_part), &outcome);
    if (rc == ERR_FORMAT && c->problem.len == 0)
        buf_printf(&c->problem, "its record cannot be used: %s", why.text);
    if (rc != 0 && rc != ERR_FORMAT)
        *err = why;
    return rc == ERR_FORMAT ? 0 : rc;
}

static int add_reply_line(struct collecting *c, const char *at, size_t len, struct err *err)
{
    SCOPED(buf_release) struct buf one = {0}; // the ledger takes texts that end with a NUL
    buf_add(&one, at, len);
    TRY(buf_check(&one, err));
    return add_record(c, buf_str(&one), len, err);
}

// A host may send anything. Taken are at most as many records as the task makes, and only those
// of this dispatch.
static int add_records(struct collecting *c, const struct buf *records, struct err *err)
{
    const char *at = buf_str(records), *end = at + records->len;
    int64_t left = c->dispatch->runs.known ? c->dispatch->runs.v : FLEET_RUNS_MOST;
    int rc = ledger_import_begin(c->ledger, err);
    if (rc != 0)
        return rc;
    while (rc == 0 && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = newline ? (size_t)(newline - at) : (size_t)(end - at);
        if (len > 0 && left-- > 0)
            rc = add_reply_line(c, at, len, err);
        else
            c->refused += len > 0;
        at += len + 1;
    }
    if (rc == 0)
        rc = ledger_import_end(c->ledger, err);
    else
        ledger_import_abandon(c->ledger);
    return rc;
}

// The last line of its output, which says best what went wrong; of fare's own complaint, which has
// a hint below it, the last two.
static void add_output(struct buf *to, const struct buf *words, int lines)
{
    size_t end = words->len, begin;
    const char *text = buf_str(words);
    while (end > 0 && strchr(" \r\n\t", text[end - 1]))
        end--;
    for (begin = end; begin > 0; begin--)
        if ((text[begin - 1] == '\n' || text[begin - 1] == '\r') && --lines == 0)
            break;
    if (end > begin)
        buf_printf(to, ": %.*s", (int)(end - begin < 300 ? end - begin : 300), text + begin);
}

// Of a command that failed: the last line of its own output, above fare's words.
static void add_own_words(struct buf *to, const struct buf *words)
{
    const char *text = buf_str(words), *found = NULL;
    size_t found_len = 0;
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\r\n");
        if (len > 0 && strncmp(line, "fare: ", 6) != 0) {
            found = line;
            found_len = len;
        }
        line += len + (line[len] != '\0');
    }
    if (found && found != text) // the first line may be cut
        buf_printf(to, ": %.*s", (int)(found_len < 300 ? found_len : 300), found);
}

static void judge_end(const struct task *task, const struct task_report *report,
                      struct buf *problem)
{
    if (report->limit) {
        buf_reset(problem);
        buf_adds(problem, "ended at the time limit");
    } else if (report->code < 0 && report->words.len > 0 && problem->len == 0) {
        buf_printf(problem, "%.*s", (int)(report->words.len < 300 ? report->words.len : 300),
                   buf_str(&report->words));
    } else if (report->code != 0 && problem->len > 0) {
        add_own_words(problem, &report->words);
    } else if (report->code != 0) {
        buf_printf(problem, "'fare run' there ended with exit code %d", report->code);
        add_output(problem, &report->words, report->code == 2 ? 2 : 1);
    } else if (task->now.records.count == 0 && problem->len == 0) {
        buf_adds(problem, "no record came back");
        add_output(problem, &report->words, 1);
    }
}

// Only a task with --save is interrupted and started again.
static bool saves(const struct dispatch *dispatch)
{
    static const char option[] = "--save=";
    for (size_t i = 0; i < dispatch->arguments.count; i++)
        if (strncmp(dispatch->arguments.items[i], option, sizeof option - 1) == 0)
            return true;
    return false;
}

int collect_end(const struct dispatch *dispatch, struct task *task, const struct place *place,
                const struct task_report *report, struct ledger *ledger, bool *again,
                struct err *err)
{
    struct collecting c = {.dispatch = dispatch, .task = task, .ledger = ledger};
    for (size_t i = 0; i < task->now.records.count; i++)
        free(task->now.records.items[i]);
    task->now.records.count = 0;
    int rc = add_records(&c, &report->records, err);
    if (c.good && report->code == 0) // --retry: one that failed was made again
        buf_reset(&c.problem);
    *again = report->code == MEASURE_INTERRUPTED && saves(dispatch);
    if (rc == 0)
        judge_end(task, report, &c.problem);
    if (rc == 0 && c.refused > 0)
        buf_printf(&c.problem, "%sit sent %zu record%s that nobody asked for; refused",
                   c.problem.len > 0 ? "; " : "", c.refused, c.refused == 1 ? "" : "s");
    task->now.exit_code = (struct maybe_int){report->code, report->code >= 0};
    if (report->run_s >= 0)
        task->now.run_s = some_real(report->run_s);
    if (report->queue_s >= 0)
        task->now.queue_s = some_real(report->queue_s);
    int64_t cost = collect_cost(place, report->run_s);
    if (rc == 0 && cost >= 0)
        task->now.cost = some_money(cost);
    bool failed = c.problem.len > 0;
    if (rc == 0)
        rc = text_take(&task->now.problem, &c.problem, err);
    if (rc == 0)
        rc = task_set_state(task, failed ? TASK_FAILED : TASK_DONE, err);
    buf_release(&c.problem);
    return rc;
}

// ---- sums

// The price an hour that a task to come will have: of its place if it has one, else the mean.
static double hour_of(const struct task *task, const struct places *places, struct index *names,
                      double mean)
{
    const char *name = task->now.place ? task->now.place : task->bound;
    size_t number = places->count;
    if (!name || index_number(names, name, strlen(name), &number, NULL) != 0 ||
        number >= places->count)
        return mean;
    return (double)places->items[number].hour_nano;
}

static bool mean_price(const struct places *places, struct index *names, double *mean)
{
    double sum = 0;
    for (size_t i = 0; i < places->count; i++) {
        const struct place *place = &places->items[i];
        size_t number;
        if (place->hour_nano < 0 ||
            index_number(names, place->name, strlen(place->name), &number, NULL) != 0)
            return false;
        sum += (double)place->hour_nano;
    }
    *mean = sum / (double)(places->count > 0 ? places->count : 1);
    return places->count > 0;
}

void collect_bill(const struct dispatch *dispatch, const struct places *places,
                  struct collect_bill *bill)
{
    SCOPED(index_release) struct index names = {0};
    double run_s = 0, hours = 0, mean = 0;
    size_t ended = 0;
    bool known = mean_price(places, &names, &mean);
    *bill = (struct collect_bill){0, -1};
    for (size_t i = 0; i < dispatch->tasks.count && known; i++) {
        const struct task *task = &dispatch->tasks.items[i];
        if (!task_over(task)) {
            hours += hour_of(task, places, &names, mean);
        } else if (task->now.run_s.known) {
            known = task->now.cost.known;
            ended++;
            run_s += task->now.run_s.v;
            money_sum(&bill->so_far, task->now.cost.nano);
        }
    }
    if (!known)
        bill->so_far = -1;
    double rest = ended > 0 ? run_s / (double)ended / 3600 * hours : 0;
    if (known && ended > 0 && rest < 9e17)
        bill->projected = bill->so_far + llround(rest);
}
