// SPDX-License-Identifier: Apache-2.0
#include "measure/after.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "train/workload/workload.h"

#define RETRY_SAME 3 // as often may the same error occur at the same step

#define SATURATED 1.05 // a larger batch must train this many times the samples/s to count

// The step time: of the steady part if there is one.
static struct maybe_real step_ms_of(const struct run *run)
{
    return run->steady.step_ms.known ? run->steady.step_ms : run->step_ms;
}

// Repetitions: the same workload, batch and number of ranks. Runs of commands are never alike.
static bool repeat_alike(const struct run *a, const struct run *b)
{
    return a->workload && b->workload && strcmp(a->workload, b->workload) == 0 &&
           a->batch.known == b->batch.known && a->batch.v == b->batch.v && a->ranks.v == b->ranks.v;
}

// The first run of its group, which represents it.
static bool repeat_first(const struct runs *runs, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (repeat_alike(&runs->runs.items[i], &runs->runs.items[at]))
            return false;
    return true;
}

// What full runs like the one at `at` reached: those with a known accuracy.
struct outcomes {
    double *accuracies;
    size_t count, judged, reached;
};

static void look_at_outcomes(const struct runs *runs, size_t at, struct outcomes *o)
{
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!repeat_alike(run, &runs->runs.items[at]) || !run->full.v)
            continue;
        if (run->test_accuracy.known)
            o->accuracies[o->count++] = run->test_accuracy.v;
        o->judged += run->reached.known;
        o->reached += run->reached.known && run->reached.v;
    }
}

static void add_outcomes(struct run_group *group, struct outcomes *o)
{
    size_t n = o->count;
    if (o->judged > 0)
        group->reached = some_int((int64_t)o->reached);
    if (n < 2)
        return;
    group->accuracy = some_real(stats_mean(o->accuracies, n));
    group->accuracy_spread = some_real(stats_stddev(o->accuracies, n));
    group->low_accuracy = some_real(stats_quantile_of(o->accuracies, n, 0));
    group->high_accuracy = some_real(stats_quantile_of(o->accuracies, n, 1));
}

static int add_group(struct runs *runs, size_t at, double *steps, double *rates, struct err *err)
{
    size_t n = 0, m = 0;
    const struct run *first = &runs->runs.items[at];
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!repeat_alike(run, first) || !step_ms_of(run).known || run_failed(run) ||
            run_stopped(run))
            continue;
        steps[n++] = step_ms_of(run).v;
        if (run->samples_per_s.known)
            rates[m++] = run->samples_per_s.v;
    }
    struct run_group *group = LIST_ADD(&runs->groups, err);
    if (!group)
        return ERR_MEMORY;
    group->batch = first->batch;
    group->ranks = first->ranks;
    group->runs = some_int((int64_t)n);
    if (n > 1)
        group->spread = some_real(stats_stddev(steps, n) / stats_mean(steps, n));
    if (n > 0) {
        group->low_ms = some_real(stats_quantile_of(steps, n, 0));
        group->high_ms = some_real(stats_quantile_of(steps, n, 1));
        group->step_ms = some_real(stats_median_of(steps, n));
    }
    if (m > 0)
        group->samples_per_s = some_real(stats_median_of(rates, m));
    struct outcomes outcomes = {.accuracies = steps};
    look_at_outcomes(runs, at, &outcomes);
    add_outcomes(group, &outcomes);
    return text_set(&group->workload, first->workload, err);
}

// Whether a larger batch gains; unknown for the largest one tried.
static void mark_saturated(struct runs *runs)
{
    for (size_t i = 0; i < runs->groups.count; i++) {
        struct run_group *group = &runs->groups.items[i];
        bool larger = false, beaten = false;
        for (size_t k = 0; k < runs->groups.count; k++) {
            const struct run_group *other = &runs->groups.items[k];
            if (strcmp(other->workload, group->workload) != 0 || other->batch.v <= group->batch.v ||
                !other->samples_per_s.known || !group->samples_per_s.known)
                continue;
            larger = true;
            beaten |= other->samples_per_s.v > SATURATED * group->samples_per_s.v;
        }
        if (larger)
            group->saturated = some_bool(!beaten);
    }
}

// What more ranks gain over the fewest.
static void mark_scaling(struct runs *runs)
{
    for (size_t i = 0; i < runs->groups.count; i++) {
        struct run_group *group = &runs->groups.items[i];
        const struct run_group *base = group;
        bool several = false;
        for (size_t k = 0; k < runs->groups.count; k++) {
            const struct run_group *other = &runs->groups.items[k];
            if (strcmp(other->workload, group->workload) != 0 || other->batch.v != group->batch.v ||
                !other->step_ms.known)
                continue;
            several |= other->ranks.v != group->ranks.v;
            base = other->ranks.v < base->ranks.v ? other : base;
        }
        if (!several || !group->step_ms.known || group->step_ms.v <= 0)
            continue;
        int64_t fewest = base->ranks.known ? base->ranks.v : 1;
        int64_t ranks = group->ranks.known ? group->ranks.v : 1;
        group->speed_up = some_real(base->step_ms.v / group->step_ms.v);
        group->efficiency = some_real(group->speed_up.v * (double)fewest / (double)ranks);
    }
}

int repeat_group(struct runs *runs, struct err *err)
{
    size_t count = runs->runs.count, kinds = 0, names = 0;
    for (size_t i = 0; i < count; i++) {
        kinds += repeat_first(runs, i);
        bool seen = false;
        for (size_t k = 0; k < i; k++)
            seen |= runs->runs.items[k].workload && runs->runs.items[i].workload &&
                    strcmp(runs->runs.items[k].workload, runs->runs.items[i].workload) == 0;
        names += !seen;
    }
    if (kinds == count && names == count)
        return 0;
    SCOPED(free_pointer) double *steps = malloc(count * sizeof *steps);
    SCOPED(free_pointer) double *rates = malloc(count * sizeof *rates);
    TRY(steps && rates ? 0 : err_memory(err));
    for (size_t i = 0; i < count; i++)
        if (runs->runs.items[i].workload && repeat_first(runs, i))
            TRY(add_group(runs, i, steps, rates, err));
    mark_saturated(runs);
    mark_scaling(runs);
    return 0;
}

// ---- Gates

static const char *const figures[] = {"accuracy", "loss", "test_loss"};
enum { FIGURES = sizeof figures / sizeof *figures };

// ---- the threshold

bool gate_is_threshold(const char *word)
{
    bool named = false;
    for (size_t i = 0; i < FIGURES; i++)
        named |= strcmp(word, figures[i]) == 0; // the shell took the rest: "loss<2"
    return named || strpbrk(word, "<>=") || strspn(word, "0123456789.") > 0;
}

static int bad(const char *text, struct err *err)
{
    err_set(err, ERR_USAGE, "--gate %s: expected a threshold", text);
    return err_hint(err, "--gate accuracy=0.9 (at least), --gate loss=2.1 or test_loss=2.1 (at "
                         "most), --gate 98%%; put < and > in quotes");
}

static bool parse_bound(const char *text, bool accuracy, double *bound)
{
    char *end;
    if (strspn(text, "0123456789.") == 0)
        return false;
    *bound = strtod(text, &end);
    if (accuracy && *end == '%') {
        *bound /= 100;
        end++;
    }
    return *end == '\0' && (!accuracy || *bound <= 1);
}

int gate_parse(const char *text, struct gate *gate, struct err *err)
{
    *gate = (struct gate){0};
    if (*text == '\0')
        return 0;
    size_t len = strcspn(text, "<>=");
    const char *bound = text[len] ? text + len : text; // a bare number is an accuracy
    gate->what = bound == text ? figures[0] : NULL;
    for (size_t i = 0; i < FIGURES && !gate->what; i++)
        if (strlen(figures[i]) == len && memcmp(figures[i], text, len) == 0)
            gate->what = figures[i];
    if (!gate->what)
        return bad(text, err);
    bool accuracy = gate->what == figures[0];
    if (*bound == (accuracy ? '>' : '<')) // which way is known: "=" is enough
        bound++;
    if (*bound == '=')
        bound++;
    return parse_bound(bound, accuracy, &gate->bound) ? 0 : bad(text, err);
}

// ---- the result

static bool at_the_end(const struct run *run)
{
    return run->full.v || (run->ended && strcmp(run->ended, "finished") == 0);
}

// The last that was reported. A test's accuracy counts before one of the training data.
static struct maybe_real figure_of(const struct run *run, const char *what)
{
    struct maybe_real of_training = {0}, of_test = {0};
    for (size_t i = 0; i < run->epoch_list.count; i++) {
        const struct run_epoch *e = &run->epoch_list.items[i];
        of_training = e->train_accuracy.known ? e->train_accuracy : of_training;
        of_test = e->test_loss.known ? e->test_loss : of_test;
    }
    if (strcmp(what, "test_loss") == 0)
        return of_test;
    if (strcmp(what, "loss") == 0)
        return run->latest_loss.known ? run->latest_loss : run->last_loss;
    return run->test_accuracy.known ? run->test_accuracy : of_training;
}

// The mean over the runs like the one at `at`.
static struct maybe_real mean_of(const struct runs *runs, size_t at, const char *what)
{
    double sum = 0;
    size_t count = 0;
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (i != at && !repeat_alike(run, &runs->runs.items[at]))
            continue;
        struct maybe_real figure = figure_of(run, what);
        if (!at_the_end(run) || !figure.known)
            return (struct maybe_real){0};
        sum += figure.v;
        count++;
    }
    return some_real(sum / (double)count);
}

static bool meets(const struct gate *gate, const struct runs *runs, size_t at, struct buf *says)
{
    const struct run *run = &runs->runs.items[at];
    bool accuracy = gate->what == figures[0];
    struct maybe_real mean = mean_of(runs, at, gate->what);
    bool passed = mean.known && (accuracy ? mean.v >= gate->bound : mean.v <= gate->bound);
    buf_printf(says, "gate: ");
    if (run->workload)
        buf_printf(says, "%s, ", run->workload);
    if (!at_the_end(run))
        buf_printf(says, "missed, it did not run to its end\n");
    else if (!mean.known)
        buf_printf(says, "missed, no %s was seen\n", gate->what);
    else
        buf_printf(says, "%s %.6g, %s %.6g: %s\n", gate->what, mean.v,
                   accuracy ? "at least" : "at most", gate->bound, passed ? "passed" : "missed");
    return passed;
}

// ---- a workload's own target

static bool reaches(const struct runs *runs, size_t at, struct buf *says)
{
    const struct run *first = &runs->runs.items[at];
    const struct workload *workload = first->workload ? workload_find(first->workload, NULL) : NULL;
    double sum = 0;
    size_t count = 0, reached = 0;
    for (size_t i = at; i < runs->runs.count; i++) {
        const struct run *run = &runs->runs.items[i];
        if (!repeat_alike(run, first) || !run->reached.known)
            continue;
        count++;
        reached += run->reached.v;
        sum += run->test_accuracy.v;
    }
    if (count == 0)
        buf_printf(says,
                   "gate: %s, missed, it has no target: targets are for the whole public set and "
                   "the definition's batch and epochs; --gate accuracy=0.9 gives one\n",
                   first->workload ? first->workload : "a command");
    bool by_mean = workload && workload->metric == WORKLOAD_ACCURACY && count > 1;
    bool passed = by_mean ? sum / (double)count >= workload->reach : count > 0 && reached == count;
    if (count > 0)
        buf_printf(says, "gate: %s, its own target: %s\n", first->workload,
                   passed ? "passed" : "missed");
    return passed;
}

bool gate_passed(const struct gate *gate, const struct runs *runs, struct buf *says)
{
    size_t count = runs->runs.count;
    bool passed = count > 0;
    for (size_t i = 0; i < count; i++) {
        bool command = !runs->runs.items[i].workload;
        if (command ? i + 1 < count : !repeat_first(runs, i))
            continue;
        passed &= gate->what ? meets(gate, runs, i, says) : reaches(runs, i, says);
    }
    return passed;
}

// ---- Another try

#define FIRST_NS (1 * NS_PER_S)
#define MOST_NS  (300 * NS_PER_S)

static bool is_usage(const struct run *run)
{
    int64_t code = run->exit_code.known ? run->exit_code.v : 0;
    return code == 2 || code == 126 || code == 127;
}

// The position of the training when it ended; steps count from its start, or from the checkpoint.
static int64_t step_of(const struct run *run)
{
    const struct run_saving *s = &run->saving;
    const struct run_attempt *last =
        s->attempts.count > 0 ? &s->attempts.items[s->attempts.count - 1] : NULL;
    int64_t from = last && last->from_step.known ? last->from_step.v : 0;
    return from + (run->steps.known ? run->steps.v : 0);
}

bool retry_again(struct retry *r, int64_t most, const struct run *run, int64_t *pause_ns,
                 struct buf *says)
{
    const char *problem = run->problem ? run->problem : "";
    if (most <= 0 || !run->ended || strcmp(run->ended, "failed") != 0)
        return false;
    if (is_usage(run)) {
        buf_printf(says, "not started again: %s means that its arguments or its file are wrong\n",
                   problem);
        return false;
    }
    bool same = r->made > 0 && r->step == step_of(run) && strcmp(r->problem, problem) == 0;
    r->same = same ? r->same + 1 : 1;
    r->step = step_of(run);
    snprintf(r->problem, sizeof r->problem, "%s", problem);
    if (r->same >= RETRY_SAME) {
        buf_printf(says, "not started again: the same error (%s) came %d times at the same step\n",
                   problem, r->same);
        return false;
    }
    if (r->made >= most) {
        buf_printf(says, "not started again: it was, %lld times (--retry)\n", (long long)most);
        return false;
    }
    *pause_ns = FIRST_NS;
    for (int64_t i = 0; i < r->made && *pause_ns < MOST_NS; i++)
        *pause_ns *= 2;
    *pause_ns = *pause_ns < MOST_NS ? *pause_ns : MOST_NS;
    r->made++;
    char pause[24];
    clock_words(*pause_ns, pause, sizeof pause);
    buf_printf(says, "it failed (%s); start %lld of %lld more in %s\n", problem, (long long)r->made,
               (long long)most, pause);
    return true;
}

// ---- After the run

static int start(char *const *argv, const struct run *run)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        if (run && run->ended)
            setenv("FARE_ENDED", run->ended, 1);
        if (run && run->id)
            setenv("FARE_RUN", run->id, 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int power_off(const struct run *run, struct err *err)
{
    static char stop_pod[] = "runpodctl stop pod \"$RUNPOD_POD_ID\"";
    static char sh[] = "sh", c[] = "-c", systemctl[] = "systemctl", poweroff[] = "poweroff",
                shutdown[] = "shutdown", halt[] = "-h", now[] = "now";
    char *const pod[] = {sh, c, stop_pod, NULL};
    char *const ways[][4] = {
        {systemctl, poweroff, NULL}, {shutdown, halt, now, NULL}, {poweroff, NULL}};
    bool done = getenv("RUNPOD_POD_ID") && start(pod, run) == 0;
    for (size_t i = 0; !done && i < sizeof ways / sizeof *ways; i++)
        done = start(ways[i], run) == 0;
    if (done)
        return 0;
    err_set(err, ERR_FAIL, "cannot turn the machine off: systemctl, shutdown and poweroff failed");
    return err_hint(err, "--then COMMAND can do it another way");
}

int then_run(const char *what, const struct run *run, struct err *err)
{
    if (strcmp(what, "poweroff") == 0)
        return power_off(run, err);
    static char sh[] = "sh", c[] = "-c";
    SCOPED(free_pointer) char *command = strdup(what);
    if (!command)
        return err_memory(err);
    char *const argv[] = {sh, c, command, NULL};
    int code = start(argv, run);
    return code == 0 ? 0
                     : err_set(err, ERR_FAIL, "--then: '%s' ended with exit code %d", what, code);
}
