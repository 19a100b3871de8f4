// SPDX-License-Identifier: Apache-2.0
#include "measure/session.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/money.h"
#include "base/secret.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ledger/journal.h"
#include "tables/device.h"
#include "record/mask.h"
#include "record/run.h"
#include "machine/sample/sampler.h"

#define SESSION_SHARE 0.0008

#define MOST_S 3.15e9 // a hundred years: the longest projection

// Whether the run ends before the training does, and whether its time decides that, not its steps.
static bool is_part(const struct run_plan *plan)
{
    return !plan->full || plan->max_s > 0;
}

static bool is_timed(const struct run_plan *plan)
{
    return plan->max_s > 0 && plan->steps == 0;
}

static double left_of(const struct run_plan *plan, const struct meter_outlook *o,
                      const struct live *live)
{
    double whole_s = o->wall_s > 0 ? fmax(o->wall_s - o->elapsed_s, 0) : -1;
    if (is_timed(plan)) {
        double left_s = fmax(plan->max_s - o->elapsed_s, 0);
        return whole_s >= 0 ? fmin(left_s, whole_s) : left_s;
    }
    if (!is_part(plan) && whole_s >= 0)
        return whole_s;
    if (o->steps <= 0 || live->steps <= 0)
        return -1;
    // At the mean pace so far.
    return fmax(
        (o->elapsed_s - o->before_s) / (double)o->steps * (double)(live->steps - live->step), 0);
}

static int64_t cost_of(const struct live_price *price, double seconds)
{
    int64_t nano = -1;
    if (!price || !price->cost || !(seconds >= 0) || seconds > MOST_S ||
        price->cost(price->price, (int64_t)(seconds * 1e9), &nano, NULL) != 0)
        return -1;
    return nano;
}

void live_look(const struct run_plan *plan, const struct live_price *price,
               const struct meter *meter, int64_t step, int64_t steps, struct live *out)
{
    struct meter_outlook o;
    meter_outlook(meter, &o);
    *out = (struct live){.elapsed_s = o.elapsed_s, .step = step, .steps = steps};
    out->left_s = left_of(plan, &o, out);
    out->whole_s = o.wall_s;
    out->half_s = o.half_s;
    out->timed = is_timed(plan);
    out->at_most = out->timed && plan->within > 0;
    double until_s = (double)(plan->until_ns - clock_now_ns()) / 1e9;
    if (plan->until_ns > 0 && (out->left_s < 0 || until_s < out->left_s)) {
        out->left_s = fmax(until_s, 0);
        out->at_most = out->timed = true;
    }
    out->bill = cost_of(price, o.elapsed_s);
    out->projected = out->left_s >= 0 ? cost_of(price, o.elapsed_s + out->left_s) : -1;
    out->whole = is_part(plan) && o.wall_s > 0 ? cost_of(price, o.wall_s) : -1;
}

double live_share(const struct live *live)
{
    double share = -1, end_s = live->elapsed_s + live->left_s;
    if (live->timed && end_s > 0)
        share = live->elapsed_s / end_s;
    else if (!live->timed && live->steps > 0)
        share = (double)live->step / (double)live->steps;
    return share > 1 ? 1 : share;
}

static struct maybe_money unless_negative(int64_t nano)
{
    return nano < 0 ? (struct maybe_money){0} : some_money(nano);
}

int live_fill(const struct live *live, const struct live_price *price, struct run_live *out,
              struct err *err)
{
    char now[CLOCK_ISO_BYTES];
    double share = live_share(live);
    clock_iso(clock_date_s(), now);
    out->elapsed_s = some_real(live->elapsed_s);
    if (share >= 0)
        out->share = some_real(share);
    if (live->left_s >= 0 && live->left_s < MOST_S)
        out->left_s = some_real(live->left_s);
    if (live->at_most)
        out->at_most = some_bool(true);
    TRY(text_set(&out->at, now, err));
    if (live->bill < 0)
        return 0;
    out->usd_per_hour = unless_negative(price->hour);
    out->bill_usd = some_money(live->bill);
    out->projected_usd = unless_negative(live->projected);
    out->whole_usd = unless_negative(live->whole);
    return text_set(&out->offer, price->offer, err);
}

// ---- The line on the terminal

// The end time in local time: "10:32", with the day if it is not today.
static const char *end_words(double left_s, char *out, size_t size)
{
    time_t now = (time_t)clock_date_s(), then = now + (time_t)left_s;
    struct tm today, that;
    out[0] = '\0';
    if (left_s < 0 || left_s > 100 * 86400.0 || !localtime_r(&now, &today) ||
        !localtime_r(&then, &that))
        return NULL;
    bool other = today.tm_yday != that.tm_yday || today.tm_year != that.tm_year;
    return strftime(out, size, other ? "%b %e %H:%M" : "%H:%M", &that) > 0 ? out : NULL;
}

static void money_words(struct watch *w, const struct live *live)
{
    char bill[MONEY_BYTES], projected[MONEY_BYTES];
    struct progress_view *view = &w->progress.view;
    view->cost = view->costs = NULL;
    if (live->bill < 0)
        return;
    money_short(live->bill, bill);
    snprintf(w->cost, sizeof w->cost, "%s USD", bill);
    view->cost = w->cost;
    if (live->projected < 0)
        return;
    money_short(live->projected, projected);
    snprintf(w->costs, sizeof w->costs, "%s of %s USD", bill, projected);
    view->costs = w->costs;
}

static void begin_watch(struct watch *w, const struct live *live)
{
    tzset(); // now, not during the training
    progress_begin(&w->progress, w->fd > 0 ? w->fd : STDERR_FILENO, w->name, PROGRESS_TIME, 0);
    w->progress.group = w->group;
    w->progress.begun_ns = clock_now_ns() - (int64_t)(live->elapsed_s * 1e9);
    w->begun = true;
}

void watch_show(struct watch *w, const struct live *live, const char *note)
{
    struct progress_view *view = &w->progress.view;
    if (!w->name || (w->begun && !progress_due(&w->progress)))
        return;
    if (!w->begun)
        begin_watch(w, live);
    if (!w->progress.on)
        return;
    bool counted = !live->timed && live->steps > 0;
    snprintf(w->note, sizeof w->note, "%s", note);
    view->note = w->note;
    view->unit = counted ? PROGRESS_COUNT : PROGRESS_TIME;
    view->left_ns = live->left_s >= 0 ? (int64_t)(live->left_s * 1e9) + 1 : -1;
    view->at_most = live->at_most;
    view->end = end_words(live->left_s, w->end, sizeof w->end);
    money_words(w, live);
    if (counted)
        progress_update(&w->progress, live->step, live->steps);
    else if (live->timed) // in milliseconds
        progress_update(&w->progress, (int64_t)(live->elapsed_s * 1e3),
                        (int64_t)((live->elapsed_s + live->left_s) * 1e3) + 1);
    else
        progress_update(&w->progress, 0, 0);
}

// ---- in logs

#define WATCH_MOST_S 300.0
#define PATIENCE_S   5.0 // for the end of the command's line

static double next_s(double told_s)
{
    static const double first_s[] = {10, 30, 60};
    for (size_t i = 0; i < sizeof first_s / sizeof *first_s; i++)
        if (told_s < first_s[i])
            return first_s[i];
    return told_s + fmin(told_s, WATCH_MOST_S);
}

bool watch_due(const struct watch *w, double elapsed_s)
{
    return w->before_s + elapsed_s >= next_s(w->told_s);
}

void watch_told(struct watch *w, double elapsed_s)
{
    while (watch_due(w, elapsed_s))
        w->told_s = next_s(w->told_s);
}

static void add_time(struct buf *out, double seconds, double half_s, const char *after)
{
    char time[24];
    clock_words((int64_t)(fmin(seconds, 9e9) * 1e9), time, sizeof time);
    buf_printf(out, "%s%s", time, after);
    double percent = seconds > 0 ? half_s / seconds * 100 : 0;
    if (percent > 0 && percent < 100)
        buf_printf(out, " (± %.*f %%)", percent < 1.95 ? 1 : 0, percent);
    else if (percent >= 100)
        buf_adds(out, " (still uncertain)");
}

static const char *noun_of(const struct live *live)
{
    return live->noun ? live->noun : "step";
}

bool watch_place(const struct live *live, struct buf *out)
{
    // Steps are counted when they end; an epoch is long, so the one that runs is named.
    bool epochs = strcmp(noun_of(live), "epoch") == 0;
    bool within = epochs && (live->steps == 0 || live->step < live->steps);
    if (live->step <= 0 && !(epochs && live->rate > 0))
        return false;
    buf_printf(out, "%s%s %lld", within ? "in " : "", noun_of(live),
               (long long)live->step + within);
    if (live->steps > 0)
        buf_printf(out, " of %lld", (long long)live->steps);
    return true;
}

void watch_words(const struct live *live, struct buf *out)
{
    char bill[MONEY_BYTES], end[MONEY_BYTES];
    bool sample = live->timed && live->at_most;
    buf_adds(out, "after ");
    add_time(out, live->elapsed_s, 0, ": ");
    if (!watch_place(live, out))
        buf_adds(out, "no progress seen");
    else if (live->steps > 0)
        buf_printf(out, " (%d %%)", (int)(100 * (double)live->step / (double)live->steps));
    if (live->steps <= 0 && live->rate > 0)
        buf_printf(out, ", %s", units_pace(live->rate, noun_of(live)).s);
    if (live->loss.known)
        buf_printf(out, ", loss %.4g", live->loss.v);
    if (sample && live->whole_s > 0) {
        buf_adds(out, ", the whole training takes ");
        add_time(out, live->whole_s, live->half_s, "");
    }
    if (live->left_s >= 0) {
        buf_adds(out, sample ? ", at most " : ", ");
        add_time(out, live->left_s, live->timed ? 0 : live->half_s,
                 sample ? " left of the sample" : " left");
    }
    int64_t all = sample ? live->whole : live->projected;
    if (live->bill < 0)
        return;
    money_short(live->bill, bill);
    money_short(all, end);
    if (all >= 0)
        buf_printf(out, ", %s of %s USD", bill, end);
    else
        buf_printf(out, ", %s USD", bill);
}

bool watch_tell(struct watch *w, const struct live *live, bool within_a_line)
{
    int fd = w->fd > 0 ? w->fd : STDERR_FILENO;
    if (!watch_due(w, live->elapsed_s - (within_a_line ? PATIENCE_S : 0)) || isatty(fd) ||
        poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 0) <= 0)
        return false;
    SCOPED(buf_release) struct buf line = {0};
    buf_printf(&line, "%sfare: %s", within_a_line ? "\n" : "", w->name);
    if (w->number > 0)
        buf_printf(&line, ", run %lld,", (long long)w->number);
    buf_addc(&line, ' ');
    watch_words(live, &line);
    buf_addc(&line, '\n');
    ssize_t put = line.failed ? -1 : write(fd, line.data, line.len);
    w->told_s = w->before_s + live->elapsed_s;
    return put > 0;
}

bool watch_say(struct watch *w, const char *lines, bool within_a_line)
{
    int fd = w->fd > 0 ? w->fd : STDERR_FILENO;
    SCOPED(buf_release) struct buf text = {0};
    buf_adds(&text, within_a_line ? "\n" : "");
    for (size_t len; *lines; lines += len + (lines[len] == '\n')) {
        len = strcspn(lines, "\n");
        buf_printf(&text, "fare: %.*s\n", (int)len, lines);
    }
    if (text.len > 0) // it may hold a name from a store
        utf8_calm(text.data, text.len, "\n\t");
    watch_hide(w);
    ssize_t put = text.failed || poll(&(struct pollfd){fd, POLLOUT, 0}, 1, 0) <= 0
                      ? -1
                      : write(fd, text.data, text.len);
    return put > 0;
}

void watch_hide(struct watch *w)
{
    progress_hide(&w->progress);
}

// ---- The share of the GPUs' speed

// l1 takes two instructions for each difference: a subtraction, and an addition of its absolute
// value. A peak counts two operations for an instruction.
#define L1_OPERATIONS 4

// Of the GPUs used, in FLOP/s; 0: unknown, or of several kinds.
static double peak_of(const struct run_use *use, const char *precision)
{
    struct devices *devices = NULL;
    int64_t sum = 0;
    if (devices_open(&devices, NULL) != 0)
        return 0;
    for (size_t i = 0; i < use->gpu_list.count; i++) {
        const struct device *device = device_find(devices, use->gpu_list.items[i].name);
        int gflops = device ? device_gflops(device, precision) : 0;
        if (gflops <= 0 || (sum > 0 && gflops != sum / (int64_t)i)) {
            sum = 0;
            break;
        }
        sum += gflops;
    }
    devices_close(devices);
    // The list has all sampled GPUs; the run may have used fewer.
    return (double)sum / (double)use->gpu_list.count * (double)use->gpus.v * 1e9;
}

void peak_derive(struct run *run)
{
    struct run_use *use = &run->use;
    bool l1 = run->l1_pairs_per_s.known && !run->l1_share_of_peak.known;
    if ((!use->flops_per_s.known && !l1) || !use->gpus.known || use->gpus.v <= 0 ||
        use->gpu_list.count == 0)
        return;
    double peak = peak_of(use, l1 ? "f32" : run->precision);
    if (peak > 0 && l1)
        run->l1_share_of_peak = some_real(run->l1_pairs_per_s.v * L1_OPERATIONS / peak);
    else if (peak > 0)
        use->share_of_peak = some_real(use->flops_per_s.v / peak);
    double bf16 = run->step_tokens.known ? peak_of(use, "bf16") : 0;
    if (bf16 > 0)
        use->mfu = some_real(use->flops_per_s.v / bf16);
}

// ---- The run

// After a kill up to a fiftieth of the run is missing, and never more than a minute.
#define LEAST_NS (2 * NS_PER_S)
#define MOST_NS  (60 * NS_PER_S)
#define PARTS    50

int session_start(struct session *s, pid_t pid, bool gpus, int64_t before_ns, struct err *err)
{
    extern char **environ;
    s->start_ns = (s->plan.start_ns ? s->plan.start_ns : clock_now_ns()) - before_ns;
    s->keep_ns = 0;
    s->stopped = false;
    TRY(meter_new(&s->meter, s->start_ns, err));
    const struct sampler_options options = {.root = "",
                                            .env = pid ? environ : NULL,
                                            .pid = pid,
                                            .start_ns = s->start_ns,
                                            .no_gpus = !gpus,
                                            .cpus = s->run->machine.usable_cpus.v};
    return sampler_start(&s->sampler, &options, err);
}

void session_look(const struct session *s, struct live *live)
{
    live_look(&s->plan, s->price, s->meter, s->step, s->steps, live);
    live->noun = s->noun;
    live->rate = s->rate;
    live->loss = s->loss;
}

bool session_due(const struct session *s)
{
    return s->journal && clock_now_ns() >= s->keep_ns;
}

static int session_fill(const struct session *s, struct run *part, struct err *err)
{
    struct live live;
    if (!s->meter) // before it began
        return 0;
    session_look(s, &live);
    TRY(live_fill(&live, s->price, &part->live, err));
    TRY(s->fill ? s->fill(s, part, err) : meter_peek(s->meter, part, err));
    return s->sampler && !s->stopped ? sampler_peek(s->sampler, part, err) : 0;
}

static void derive(struct run *run)
{
    run_derive(run);
    peak_derive(run);
}

static int cut_off(const struct session *s, struct run *part, struct err *err)
{
    char words[64], time[24];
    clock_words(s->start_ns ? clock_now_ns() - s->start_ns : 0, time, sizeof time);
    snprintf(words, sizeof words, "cut off; this is its first %s", time);
    part->full = some_bool(false);
    derive(part);
    TRY(text_set(&part->ended, "killed", err));
    return text_set(&part->problem, words, err);
}

// Once, when the bill of the whole run is known to exceed what is left of a budget.
static void warn(struct session *s)
{
    struct live live;
    char projected[MONEY_BYTES], left[MONEY_BYTES];
    if (!s->has_left || s->left_usd <= 0 || !s->meter)
        return;
    session_look(s, &live);
    if (live.projected <= s->left_usd)
        return;
    s->has_left = false;
    money_short(live.projected, projected);
    money_short(s->left_usd, left);
    struct short_text line =
        short_text("this run will cost about %s USD, more than the %s USD left of its "
                   "budget\n",
                   projected, left);
    watch_say(&s->watch, line.s, false);
}

void session_keep(struct session *s)
{
    if (!s->journal)
        return;
    warn(s);
    int64_t before_ns = clock_thread_ns(); // thread time: excludes other processes
    struct run part = {0};
    SCOPED(buf_release) struct buf text = {0};
    struct err ignored = {0};
    int rc = record_copy(run_fields, s->run, &part, &ignored);
    if (rc == 0)
        rc = session_fill(s, &part, &ignored);
    if (rc == 0)
        rc = cut_off(s, &part, &ignored);
    if (rc == 0)
        rc = mask_run(s->secrets, &part, &ignored);
    if (rc == 0)
        rc = record_to_line(run_fields, &part, &text, &ignored);
    if (rc == 0)
        journal_put(s->journal, &text);
    record_release(run_fields, &part);
    int64_t now_ns = clock_now_ns(), wait_ns = (now_ns - s->start_ns) / PARTS;
    wait_ns = wait_ns < LEAST_NS ? LEAST_NS : wait_ns > MOST_NS ? MOST_NS : wait_ns;
    int64_t least_ns = (int64_t)((double)(clock_thread_ns() - before_ns) / SESSION_SHARE);
    s->keep_ns = now_ns + (wait_ns > least_ns ? wait_ns : least_ns);
}

int session_stop(struct session *s, struct err *err)
{
    if (!s->sampler || s->stopped)
        return 0;
    s->stopped = true;
    return sampler_finish(s->sampler, s->run, err);
}

int session_finish(struct session *s, struct err *err)
{
    int rc = session_stop(s, err);
    if (s->sampler)
        sampler_steady(s->sampler, s->run);
    derive(s->run);
    return rc;
}

void session_release(struct session *s)
{
    progress_end(&s->watch.progress);
    journal_rest(s->journal);
    sampler_free(s->sampler);
    meter_free(s->meter);
    s->sampler = NULL;
    s->meter = NULL;
}
