// SPDX-License-Identifier: Apache-2.0
#include "record/judge.h"

#include "base/clock.h"

#define ROUNDED 1.001 // tolerance: others may have rounded a part up

static int judge_interval(const char *what, struct maybe_real low, struct maybe_real value,
                          struct maybe_real high, struct err *err)
{
    if (low.known && high.known && low.v > high.v)
        return err_set(err, ERR_FORMAT, "%s: the interval ends (%.12g) before it begins (%.12g)",
                       what, high.v, low.v);
    if (low.known && high.known && value.known &&
        (value.v * ROUNDED < low.v || value.v > high.v * ROUNDED))
        return err_set(err, ERR_FORMAT, "%s: %.12g is outside its interval, %.12g to %.12g", what,
                       value.v, low.v, high.v);
    return 0;
}

static int judge_phases(const struct run_phases *p, struct err *err)
{
    const struct {
        const char *name;
        struct maybe_int ns;
    } parts[] = {{"setup_ns", p->setup_ns},       {"kernels_ns", p->kernels_ns},
                 {"load_ns", p->load_ns},         {"device_ns", p->device_ns},
                 {"warmup_ns", p->warmup_ns},     {"train_ns", p->train_ns},
                 {"evaluate_ns", p->evaluate_ns}, {"checkpoint_ns", p->checkpoint_ns},
                 {"idle_ns", p->idle_ns}};
    double sum = 0, wall = (double)p->wall_ns.v * ROUNDED;
    for (size_t i = 0; p->wall_ns.known && i < sizeof parts / sizeof *parts; i++) {
        if (!parts[i].ns.known)
            continue;
        sum += (double)parts[i].ns.v;
        if ((double)parts[i].ns.v > wall)
            return err_set(err, ERR_FORMAT, "phases: %s (%lld) is longer than wall_ns (%lld)",
                           parts[i].name, (long long)parts[i].ns.v, (long long)p->wall_ns.v);
    }
    if (p->wall_ns.known && sum > wall)
        return err_set(err, ERR_FORMAT, "phases: their sum (%.0f) is longer than wall_ns (%lld)",
                       sum, (long long)p->wall_ns.v);
    return 0;
}

static int judge_projection(const struct run_projection *p, struct maybe_real whole,
                            struct err *err)
{
    const struct {
        const char *name;
        struct maybe_real s;
    } parts[] = {{"train_s", p->train_s},
                 {"evaluate_s", p->evaluate_s},
                 {"checkpoint_s", p->checkpoint_s},
                 {"load_s", p->load_s}};
    if (p->wall_s.known)
        whole = p->wall_s;
    for (size_t i = 0; whole.known && i < sizeof parts / sizeof *parts; i++)
        if (parts[i].s.known && parts[i].s.v > whole.v * ROUNDED)
            return err_set(err, ERR_FORMAT,
                           "projection: %s (%.12g) is longer than the whole (%.12g s)",
                           parts[i].name, parts[i].s.v, whole.v);
    // A sample longer than its own projection has its time as the lower end.
    return judge_interval("projection", p->low_s, (struct maybe_real){0}, p->high_s, err);
}

static int judge_date(const char *started, int64_t now_s, struct err *err)
{
    int64_t date;
    if (!started)
        return 0;
    if (!clock_parse(started, &date))
        return err_set(err, ERR_FORMAT, "started: '%.40s' is not a date", started);
    if (date > now_s + 86400)
        return err_set(err, ERR_FORMAT, "started: '%.40s' is in the future", started);
    return 0;
}

int run_judge(const char *started, struct maybe_bool full, const struct run_phases *phases,
              const struct run_projection *projection, const struct run_steady *steady,
              int64_t now_s, struct err *err)
{
    struct maybe_real took = {0};
    if (full.known && full.v && phases->wall_ns.known)
        took = some_real((double)phases->wall_ns.v / 1e9);
    TRY(judge_phases(phases, err));
    TRY(judge_projection(projection, took, err));
    TRY(judge_interval("steady", steady->low_ms, steady->step_ms, steady->high_ms, err));
    return judge_date(started, now_s, err);
}
