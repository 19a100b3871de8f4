// SPDX-License-Identifier: Apache-2.0
// The result of a user's command, for a person.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"
#include "cmd/run_text.h"
#include "view/account.h"
#include "view/run_words.h"

static bool whole(const struct run *run)
{
    return run->full.known && run->full.v;
}

// ---- what was measured

// "train finished after 4 min 05 s", "train ran 60.4 s; stopped at the time limit (60 s)"
static void add_end(struct buf *to, const struct measure *m, const struct run *run)
{
    char time[24] = "an unknown time";
    SCOPED(buf_release) struct buf why = {0};
    if (run->phases.wall_ns.known)
        clock_words(run->phases.wall_ns.v, time, sizeof time);
    if (measure_stop_words(&m->plan, run, &why))
        buf_printf(to, "%s ran %s; %s", run->name, time, buf_str(&why));
    else
        buf_printf(to, "%s %s after %s", run->name, run->ended, time);
    buf_printf(to, "%s%s\n", run->problem ? ": " : "", run->problem ? run->problem : "");
}

// "steps", "epochs" or "samples", and one of them.
static const char *counted(const struct run *run)
{
    return run->progress.counts ? run->progress.counts : "steps";
}

static struct units_text one(const struct run *run)
{
    struct units_text out;
    snprintf(out.s, sizeof out.s, "%.*s", (int)strlen(counted(run)) - 1, counted(run));
    return out;
}

static bool counts(const struct run *run, const char *what)
{
    return strcmp(counted(run), what) == 0;
}

static void add_speed(struct buf *to, const struct run *run)
{
    if (!run->steps.known)
        return;
    if (run->steps.v == 0 && run->step_ms.known) // parts of one were seen
        buf_printf(to, "less than one %s", one(run).s);
    else
        buf_adds(to, units_count(run->steps.v, one(run).s).s);
    if (run->total_steps.known)
        buf_printf(to, " of %lld", (long long)run->total_steps.v);
    if (run->step_ms.known && !counts(run, "samples"))
        buf_printf(to, ", %s each", units_step(run->step_ms.v).s);
    if (run->samples_per_s.known)
        buf_printf(to, ", %.0f samples/s", run->samples_per_s.v);
    struct maybe_real loss = run->latest_loss.known ? run->latest_loss : run->last_loss;
    if (loss.known)
        buf_printf(to, ", loss %.4g", loss.v);
    if (run->test_accuracy.known)
        buf_printf(to, ", %.2f %% accuracy", run->test_accuracy.v * 100);
    buf_addc(to, '\n');
}

static void add_step_times(struct buf *to, const struct out *out, const struct run *run)
{
    double low, high;
    if (run->step_plot_ms.count < 2)
        return;
    out_blocks(to, run->step_plot_ms.items, run->step_plot_ms.count,
               (size_t)out->width - strlen("fare: "), out->unicode, &low, &high);
    buf_printf(to, "\n%s took %s to %s\n", counted(run), units_step(low).s, units_step(high).s);
}

// ---- how far to trust it

static void add_ranks(struct buf *to, const struct run *run)
{
    size_t before = to->len;
    run_words_ranks(run, to);
    if (to->len > before)
        buf_addc(to, '\n');
}

// "the GPU waits 36 % of each step for data; a faster GPU will not help"
static void add_account(struct buf *to, const struct run *run)
{
    if (!run->account.busy_share.known)
        return;
    account_sentence(&run->account, to);
    buf_addc(to, '\n');
}

static void add_missing(struct buf *to, const struct run *run)
{
    if (!run->steps.known && !run->progress.source && run->problem == NULL)
        buf_adds(to,
                 "no progress was seen, so only the time was measured: match lines of its output "
                 "with --step-pattern REGEX, or let it report its steps (Python: 'fare workloads "
                 "python-helper'; others: FARE_EVENTS, docs/measuring-a-command.md)\n");
}

static void add_checks(struct buf *to, const struct run *run)
{
    SCOPED(buf_release) struct buf checks = {0};
    run_words_checks(run, &checks);
    if (checks.len > 0)
        buf_printf(to, "its projections on the way were off by %s\n", buf_str(&checks));
    to->failed |= checks.failed;
}

// ---- the last line

static void add_no_total(struct buf *to, const struct run *run)
{
    buf_printf(to, "%s were seen", counted(run));
    if (run->step_ms.known && run->step_ms.v > 0)
        buf_printf(to, " (%s)", units_pace(1e3 / run->step_ms.v, one(run).s).s);
    buf_printf(to, ", but not how many the whole training has: give %s--total-epochs N%s",
               counts(run, "steps") ? "--total-steps N, or " : "",
               counts(run, "steps") ? " if it reports epochs" : "");
}

static void add_figure(struct buf *to, const struct measure *m, const struct run *run)
{
    const struct run_projection *p = &run->projection;
    struct buf cost = {0};
    double wall_s = whole(run) ? (double)run->phases.wall_ns.v / 1e9 : p->wall_s.v;
    if (whole(run)) {
        buf_printf(to, "%s took %s", run->name, units_time(wall_s).s);
    } else if (p->wall_s.known) {
        buf_printf(to, "the whole training takes %s", units_time(wall_s).s);
        if (p->low_s.known && p->high_s.known)
            buf_printf(to, " (between %s and %s)", units_time(p->low_s.v).s,
                       units_time(p->high_s.v).s);
    } else if (run->steps.known && !run->total_steps.known) {
        add_no_total(to, run);
        return;
    } else {
        buf_adds(to, "the time of the whole training is unknown");
        return;
    }
    if (measure_price_amount(m->price, run, wall_s, &cost))
        buf_printf(to, " and cost%s %s", whole(run) ? "" : "s", buf_str(&cost));
    buf_drop(to, &cost);
}

// Where the interval is wide because the sample was short.
static void add_longer(struct buf *to, const struct run *run)
{
    const struct run_projection *p = &run->projection;
    if (whole(run) || run->problem || !p->longer_s.known || !p->wall_s.known)
        return;
    double until_s = p->after_s.v + p->longer_s.v, step_s = until_s < 120 ? 10 : 60;
    if (until_s >= p->low_s.v) {
        buf_adds(to, "the sample was too short for a narrow interval; a longer one would take as "
                     "long as the training\n");
        return;
    }
    buf_printf(to,
               "the sample was too short for a narrow interval: sample about %s longer "
               "(--max-time %.0fs) for ±20 %%\n",
               units_time(p->longer_s.v).s, ceil(until_s / step_s) * step_s);
}

static void add_last(struct buf *to, const struct measure *m, const struct run *run, bool next)
{
    bool failed = run->problem != NULL;
    bool known = !failed && (whole(run) || run->projection.wall_s.known);
    if (!failed)
        add_figure(to, m, run);
    if (m->kept)
        buf_printf(to, "%skept as %s", failed ? "" : "; ", run->id);
    bool rate = !failed && !known && run->steps.known && !run->total_steps.known;
    if (m->kept && (next || rate))
        buf_printf(to, "; next: fare %s last%s%s", known || rate ? "quote" : "runs",
                   rate ? counts(run, "steps") ? " --total-steps N" : " --total-epochs N" : "",
                   m->o->ledger ? ", with the same --ledger" : "");
    if (m->kept || !failed)
        buf_addc(to, '\n');
}

void run_text_command(const struct out *out, const struct measure *m, bool next)
{
    if (m->runs.runs.count == 0) { // it was finished before
        out_complain(buf_str(&m->says));
        return;
    }
    const struct run *run = &m->runs.runs.items[m->runs.runs.count - 1];
    SCOPED(buf_release) struct buf text = {0};
    add_end(&text, m, run);
    add_speed(&text, run);
    if (whole(run) || next) // a sample before a quote says less
        add_step_times(&text, out, run);
    run_words_progress(run, &text);
    if (run->progress.source)
        buf_addc(&text, '\n');
    add_ranks(&text, run);
    add_account(&text, run);
    if (measure_price_bill(m->price, run, &text))
        buf_addc(&text, '\n');
    for (size_t i = 0; i < run->taints.count; i++)
        buf_printf(&text, "%s\n", run->taints.items[i]);
    buf_printf(&text, "%s%s", buf_str(&m->words), buf_str(&m->says));
    add_checks(&text, run);
    add_missing(&text, run);
    add_longer(&text, run);
    if (run->phases.wall_ns.known)
        add_last(&text, m, run, next);
    out_complain(buf_str(&text));
}
