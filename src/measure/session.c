// SPDX-License-Identifier: Apache-2.0
#include "measure/session.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/money.h"
#include "base/words.h"
#include "record/mask.h"
#include "record/read.h"
#include "run/peak.h"

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

static int fill(const struct session *s, struct run *part, struct err *err)
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
    struct words line = words("this run will cost about %s USD, more than the %s USD left of its "
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
    struct buf text = {0};
    struct err ignored = {0};
    int rc = record_copy(run_fields, s->run, &part, &ignored);
    if (rc == 0)
        rc = fill(s, &part, &ignored);
    if (rc == 0)
        rc = cut_off(s, &part, &ignored);
    if (rc == 0)
        rc = mask_run(s->secrets, &part, &ignored);
    if (rc == 0)
        rc = record_to_line(run_fields, &part, &text, &ignored);
    if (rc == 0)
        journal_put(s->journal, &text);
    buf_release(&text);
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
    watch_end(&s->watch);
    journal_rest(s->journal);
    sampler_free(s->sampler);
    meter_free(s->meter);
    s->sampler = NULL;
    s->meter = NULL;
}
