// SPDX-License-Identifier: Apache-2.0
#include "view/run_words.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/units.h"

#define STRAGGLES   1.05 // times the fastest rank's calculation: worth a word
#define TREND_SHOWN 0.05 // a smaller change of the step time is not worth a word

// ---- its machine before it began, and what was put right

struct word {
    const char *name, *words;
};

static const char *words_of(const struct word *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (name && strcmp(name, list[i].name) == 0)
            return list[i].words;
    return NULL;
}

void run_words_boot(const struct run *run, struct buf *out)
{
    static const struct word from[] = {{RUN_BOOT_ORDERED, "from fare's order"},
                                       {"metadata", "from its launch"},
                                       {"kernel", "from the start of its kernel"}};
    static const struct word to[] = {{"fare", "until its first task began"},
                                     {"cloud-init", "until cloud-init finished"},
                                     {"boot target", "until its boot target was reached"},
                                     {"sshd", "until sshd was started"}};
    const char *began = words_of(from, sizeof from / sizeof *from, run->boot_from);
    const char *ended = words_of(to, sizeof to / sizeof *to, run->boot_to);
    char time[32];
    if (!run->phases.boot_ns.known)
        return;
    clock_words(run->phases.boot_ns.v, time, sizeof time);
    buf_printf(out, "%s%s%s%s%s; %scharged to this run", time, began || ended ? ", " : "",
               began ? began : "", began && ended ? " " : "", ended ? ended : "",
               run_ordered_ns(run) > 0 ? "" : "not ");
}

void run_words_idle(const struct run *run, struct buf *out)
{
    char time[32];
    if (!run->idle_before_ns.known)
        return;
    clock_words(run->idle_before_ns.v, time, sizeof time);
    buf_printf(out, "idle for %s since the machine %s; not billed", time,
               run->phases.boot_ns.known ? "was ready" : "was started");
}

// Faults of earlier builds are single words (record/run.h); others are members that were left
// out, with the reason (ledger/row.h).
void run_words_corrected(const struct run *run, struct buf *out)
{
    size_t faults = 0, said = 0;
    for (size_t i = 0; i < run->corrected.count; i++)
        faults += !strchr(run->corrected.items[i], ' ');
    for (size_t i = 0; i < run->corrected.count; i++)
        if (!strchr(run->corrected.items[i], ' ')) {
            buf_printf(out, "%s%s",
                       said == 0           ? ""
                       : said + 1 < faults ? ", "
                                           : " and ",
                       run->corrected.items[i]);
            said++;
        }
    if (faults > 0)
        buf_adds(out, ", recorded wrongly before");
    if (run_corrected(run, "cost"))
        buf_adds(out, run->spent.usd.known || run->live.bill_usd.known
                          ? "; the cost is computed again"
                          : "; the cost is unknown");
    for (size_t i = 0; i < run->corrected.count; i++)
        if (strchr(run->corrected.items[i], ' '))
            buf_printf(out, "%sleft out: %s", out->len ? "; " : "", run->corrected.items[i]);
}

// ---- how it trained

void run_words_l1(const struct run *run, struct buf *out)
{
    if (run->l1_transfer_ms.known && run->l1_transfer_ms.v > 0)
        buf_printf(out, "%stransfer %s", out->len > 0 ? ", " : "",
                   units_step(run->l1_transfer_ms.v).s);
    if (run->l1_calculation_ms.known)
        buf_printf(out, "%scalculation %s", out->len > 0 ? ", " : "",
                   units_step(run->l1_calculation_ms.v).s);
}

// Where a step's time goes; of a command as far as its exchanges were seen.
static void add_parts(const struct run *run, struct buf *out)
{
    const struct run_parallel *t = &run->parallel;
    if (run->step_communication_ms.known)
        buf_printf(out, "; a step: %s ms calculation, %s communication, %s waiting",
                   units_number(run->step_calculation_ms.v).s,
                   units_number(run->step_communication_ms.v).s,
                   units_number(run->step_waiting_ms.v).s);
    else if (t->exchange_ms.known)
        buf_printf(out,
                   "; a step: %s ms calculation, %s communication and waiting, by %lld of the "
                   "ranks",
                   units_number(run->step_calculation_ms.v).s, units_number(t->exchange_ms.v).s,
                   (long long)t->ranks_seen.v);
    else if (t->ranks_seen.known)
        buf_adds(out, "; communication and waiting are unknown");
    if (t->slowest_rank.known && t->most_ms.v >= t->least_ms.v * STRAGGLES)
        buf_printf(out, "; rank %lld is the slowest: %s ms of calculation, the fastest %s",
                   (long long)t->slowest_rank.v, units_number(t->most_ms.v).s,
                   units_number(t->least_ms.v).s);
}

void run_words_ranks(const struct run *run, struct buf *out)
{
    if (!run->ranks.known)
        return;
    buf_printf(out, "%s", units_count(run->ranks.v, "rank").s);
    if (run->nodes.known && run->nodes.v > 1)
        buf_printf(out, " on %s", units_count(run->nodes.v, "machine").s);
    add_parts(run, out);
}

void run_words_tokens(const struct run *run, struct buf *out)
{
    if (!run->tokens_per_s.known)
        return;
    const int64_t memory = run->use.gpu_memory_peak_bytes.known ? run->use.gpu_memory_peak_bytes.v
                           : run->peak_memory_bytes.known       ? run->peak_memory_bytes.v
                                                                : 0;
    buf_printf(out, "%.0f tokens/s", run->tokens_per_s.v);
    if (run->use.mfu.known)
        buf_printf(out, ", MFU %.1f %% (operations ÷ time ÷ dense bf16 peak)",
                   run->use.mfu.v * 100);
    if (run->use.joules_per_mtoken.known)
        buf_printf(out, ", %.4g J per million tokens", run->use.joules_per_mtoken.v);
    if (memory > 0)
        buf_printf(out, ", %s %s", run->use.gpu_memory_peak_bytes.known ? "GPU memory" : "memory",
                   units_bytes(memory).s);
    if (run->step_flops.known && run->step_tokens.known && run->step_tokens.v > 0)
        buf_printf(out,
                   "; a token takes %.4g MFLOP: 6 × parameters + 12 × layers × width × context",
                   run->step_flops.v / (double)run->step_tokens.v / 1e6);
}

// ---- how far to trust it

// Totals that stand beside the steps themselves have no row.
static const char *total_words(const char *total_from)
{
    static const struct word rows[] = {{"log", "announced in the output"},
                                       {"arguments", "from the command's arguments"},
                                       {"option", "given"},
                                       {"time left", "derived from the time left that it prints"}};
    return words_of(rows, sizeof rows / sizeof *rows, total_from);
}

static bool whole(const struct run *run)
{
    return run->full.known && run->full.v;
}

static void add_too_late(struct buf *to, const struct run *run)
{
    buf_printf(to, "progress (%s) was reported only %s, so only the time was measured",
               run->progress.source, whole(run) ? "at the end" : "once");
    if (whole(run))
        buf_adds(to, ": some bars, such as rich's, are drawn only in a terminal");
}

// "the step time is not steady: it rose from 380 ms to 520 ms"
static void add_trend(struct buf *to, const struct run *run, bool unsteady)
{
    size_t n = run->step_plot_ms.count, third = n / 3;
    double first = 0, last = 0;
    for (size_t i = 0; i < third; i++) {
        first += run->step_plot_ms.items[i] / (double)third;
        last += run->step_plot_ms.items[n - 1 - i] / (double)third;
    }
    if (third < 2 || !(first > 0) || fabs(last / first - 1) < TREND_SHOWN)
        return;
    buf_printf(to, "%s %s from %s to %s", unsteady ? ": it" : "; the step time",
               last > first ? "rose" : "fell", units_step(first).s, units_step(last).s);
}

void run_words_progress(const struct run *run, struct buf *to)
{
    const struct run_progress *p = &run->progress;
    const char *total = total_words(p->total_from);
    if (!p->source)
        return;
    if (!run->steps.known) {
        add_too_late(to, run);
        return;
    }
    buf_printf(to, "%s%s from %s", p->counts ? p->counts : "steps",
               p->total_from && !total ? " and their total" : "", p->source);
    if (p->counter)
        buf_printf(to, " ('%s')", p->counter);
    if (total)
        buf_printf(to, ", their total %s", total);
    for (size_t i = 0; i < p->unseen.count && !whole(run); i++)
        buf_printf(to, "%s%s", i == 0 ? "; not seen yet, which widens the interval: " : ", ",
                   p->unseen.items[i]);
    bool unsteady = p->unsteady.known && p->unsteady.v;
    if (unsteady)
        buf_adds(to, "; the step time is not steady");
    if (unsteady || (p->lengthens.known && p->lengthens.v))
        add_trend(to, run, unsteady);
    if (p->lengthens.known && p->lengthens.v && !whole(run))
        buf_adds(to, "; steps generate answers and take longer as these lengthen: the upper end "
                     "allows for it");
}

// The earliest check after `after_s`; null: none.
static const struct run_projection *next_check(const struct run *run, double after_s)
{
    const struct run_projection *next = NULL;
    for (size_t i = 0; i < run->checks.count; i++) {
        const struct run_projection *c = &run->checks.items[i];
        if (c->error.known && c->after_s.known && c->after_s.v > after_s &&
            (!next || c->after_s.v < next->after_s.v))
            next = c;
    }
    return next;
}

void run_words_checks(const struct run *run, struct buf *to)
{
    const struct run_projection *c = NULL;
    while ((c = next_check(run, c ? c->after_s.v : -1)) != NULL)
        buf_printf(to, "%s%+.1f %% after %s%s", to->len > 0 ? ", " : "", c->error.v * 100,
                   units_time(c->after_s.v).s,
                   c->covered.known && !c->covered.v ? " (outside its interval)" : "");
}
