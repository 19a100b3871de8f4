// SPDX-License-Identifier: Apache-2.0
#include "measure/gate.h"

#include <stdlib.h>
#include <string.h>

#include "measure/repeat.h"
#include "workload/workload.h"

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
