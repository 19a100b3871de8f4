// SPDX-License-Identifier: Apache-2.0
// Replays and policies for test_second.py: a job on each line of stdin, its results on stdout.
//
//   trace FILE                                  loads a trace for the jobs that follow
//   prices AT_S:NANO,... UNTIL_S                 a price history for them; "prices -": none
//   replay WORK INTERVAL CHECKPOINT FIRST RESTART NOTICE LIFE DEADLINE COUNT RULE RATE DEMAND
//       prints "wall charged demand lost interruptions nano finished" of each of COUNT replays;
//       RULE is second, hour-free (first hour) or hour-partial; DEADLINE 0: no fall-back
//   policy PAST DEADLINE WORK DELAY RESERVE SPOT START...
//       learns from the first PAST samples, starts in those that follow;
//       prints "greedy uniform planned best" as "finished:spot:demand:starts:end" each, best as its
//       cost, for each start
//   promise PAST DEADLINE WORK DELAY RESERVE SPOT
//       prints the number of starts, and of those from which greedy, uniform and planned are late
//   past FILE                                   the samples that "relative" with PAST -1 learns
//   from relative PAST DEADLINE WORK DELAY RESERVE SPOT STARTS
//       prints the mean costs of these and of hindsight, over that of on demand alone, and how many
//       of the three were late; from starts whose deadline the trace has
//   bench COUNT                                 seconds for COUNT replays over two years of prices
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "advise/spot/policy.h"
#include "advise/spot/replay.h"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != 0) {                                                                         \
            fprintf(stderr, "%s: %s\n", #call, err.text);                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct availability trace, elsewhere;
static struct replay_prices prices;
static bool has_prices;
static struct err err;

static struct rule rule_of(const char *word, int64_t rate)
{
    struct rule rule = {.rate = rate,
                        .per_ns = 3600 * NS_PER_S,
                        .unit_ns = NS_PER_S,
                        .monthly_cap = -1,
                        .gb_bytes = 1000000000,
                        .storage_month_ns = 2592000 * NS_PER_S,
                        .decimals = 9};
    if (strcmp(word, "second") != 0)
        rule.spot_first_hour_free = strcmp(word, "hour-free") == 0;
    if (strcmp(word, "hour-partial") == 0) {
        rule.unit_ns = 3600 * NS_PER_S;
        rule.spot_partial_free = true;
    }
    return rule;
}

static void read_prices(char *text)
{
    struct spot_series series = {0};
    char *changes = strtok_r(text, " \n", &text), *until = strtok_r(NULL, " \n", &text), *at;
    replay_prices_release(&prices);
    has_prices = strcmp(changes, "-") != 0;
    if (!has_prices)
        return;
    series.changes = calloc(strlen(changes), sizeof *series.changes);
    while ((at = strtok_r(changes, ",", &changes))) {
        struct spot_change *c = &series.changes[series.count++];
        sscanf(at, "%" SCNd64 ":%" SCNd64, &c->at_s, &c->nano_usd);
    }
    series.until_s = strtoll(until, NULL, 10);
    MUST(replay_prices_init(&prices, &series, &err));
    free(series.changes);
}

static void replay(const char *line)
{
    struct replay r = {.trace = &trace, .prices = has_prices ? &prices : NULL};
    char word[32];
    int64_t rate, demand;
    if (sscanf(line,
               "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64
               " %" SCNd64 " %zu %31s %" SCNd64 " %" SCNd64,
               &r.work_ns, &r.interval_ns, &r.checkpoint_ns, &r.first_ns, &r.restart_ns,
               &r.notice_ns, &r.life_ns, &r.deadline_ns, &r.count, word, &rate, &demand) != 12)
        exit(2);
    struct rule rule = rule_of(word, rate), on_demand = rule_of("second", demand);
    r.rule = &rule;
    r.demand = r.deadline_ns > 0 ? &on_demand : NULL;
    for (size_t i = 0; i < r.count; i++) {
        struct replay_result x;
        MUST(replay_one(&r, i, &x, &err));
        printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %d\n",
               x.wall_ns, x.charged_ns, x.demand_ns, x.lost_ns, x.interruptions, x.nano,
               x.finished);
    }
}

static char *read_job(char *line, struct policy_job *job)
{
    int used = 0;
    int64_t past;
    *job = (struct policy_job){.past = trace.samples};
    if (sscanf(line, "%" SCNd64 " %zu %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%n", &past,
               &job->deadline, &job->work, &job->delay, &job->reserve, &job->spot_price,
               &used) != 6)
        exit(2);
    if (past < 0) {
        job->past = elsewhere.samples;
        job->past_ticks = elsewhere.sample_count;
        past = 0;
    } else {
        job->past_ticks = (size_t)past;
    }
    job->available = trace.samples + past;
    job->ticks = trace.sample_count - (size_t)past;
    return line + used;
}

static void policies(char *line)
{
    struct policy_job job;
    struct policy_plan *plan;
    line = read_job(line, &job);
    MUST(policy_plan_new(&job, &plan, &err));
    for (char *at; (at = strtok_r(line, " \n", &line));) {
        size_t start = strtoull(at, NULL, 10);
        int64_t best;
        for (int p = POLICY_GREEDY; p <= POLICY_PLANNED; p++) {
            struct policy_result x;
            policy_run((enum policy)p, &job, plan, start, &x);
            printf("%d:%" PRId64 ":%" PRId64 ":%" PRId64 ":%" PRId64 " ", x.finished, x.spot_units,
                   x.demand_units, x.starts, x.end);
        }
        MUST(policy_best(&job, start, &best, &err));
        printf("%" PRId64 "\n", best);
    }
    policy_plan_free(plan);
}

static void promise(char *line)
{
    struct policy_job job;
    struct policy_plan *plan;
    read_job(line, &job);
    MUST(policy_plan_new(&job, &plan, &err));
    printf("%zu", job.ticks);
    for (int p = POLICY_GREEDY; p <= POLICY_PLANNED; p++) {
        size_t late = 0;
        struct policy_result x;
        for (size_t start = 0; start < job.ticks; start++) {
            policy_run((enum policy)p, &job, plan, start, &x);
            late += !x.finished || x.end > (int64_t)job.deadline * POLICY_UNITS;
        }
        printf(" %zu", late);
    }
    printf("\n");
    policy_plan_free(plan);
}

static void relative(char *line)
{
    struct policy_job job;
    struct policy_plan *plan;
    double sums[POLICIES] = {0};
    size_t starts = strtoull(read_job(line, &job), NULL, 10), late = 0;
    size_t last = job.ticks > job.deadline ? job.ticks - job.deadline + 1 : job.ticks;
    MUST(policy_plan_new(&job, &plan, &err));
    for (size_t i = 0; i < starts; i++) {
        size_t start = last * i / starts;
        int64_t best;
        for (int p = POLICY_GREEDY; p <= POLICY_PLANNED; p++) {
            struct policy_result x;
            policy_run((enum policy)p, &job, plan, start, &x);
            late += !x.finished;
            sums[p] += x.cost;
        }
        MUST(policy_best(&job, start, &best, &err));
        sums[POLICY_BEST] += best;
    }
    for (int p = 0; p < POLICIES; p++)
        printf("%s %.4f, ", policy_words[p],
               sums[p] / starts / ((double)(job.work + job.delay) * POLICY_DEMAND));
    printf("late %zu\n", late);
    policy_plan_free(plan);
}

// 100 hours over two years of prices that change every 40 minutes, and of interruptions every five
// hours or so.
static void bench(size_t count)
{
    enum { CHANGES = 26000, SAMPLES = 105120 };
    static struct spot_change changes[CHANGES];
    struct spot_series series = {.changes = changes, .count = CHANGES, .until_s = CHANGES * 2426};
    struct buf text = {0};
    struct rng rng;
    rng_init(&rng, 1);
    for (int i = 0; i < CHANGES; i++)
        changes[i] = (struct spot_change){i * INT64_C(2426),
                                          300000000 + (int64_t)rng_below(&rng, 100000000)};
    for (int i = 0; i < SAMPLES; i++) {
        char iso[CLOCK_ISO_BYTES];
        clock_iso(1640995200 + i * INT64_C(600), iso);
        buf_printf(&text, "%d,%s,%d\n", i, iso, rng_below(&rng, 30) == 0);
    }
    MUST(replay_prices_init(&prices, &series, &err));
    MUST(availability_read("made", buf_str(&text), text.len, &trace, &err));
    struct rule rule = rule_of("hour-free", 300000000);
    struct replay r = {.work_ns = 100 * 3600 * NS_PER_S,
                       .interval_ns = 1800 * NS_PER_S,
                       .checkpoint_ns = 60 * NS_PER_S,
                       .first_ns = 300 * NS_PER_S,
                       .restart_ns = 300 * NS_PER_S,
                       .trace = &trace,
                       .prices = &prices,
                       .rule = &rule,
                       .count = count};
    struct replay_summary s;
    int64_t start = clock_now_ns();
    MUST(replay_all(&r, &s, &err));
    printf("%.4f %zu %.2f\n", (double)(clock_now_ns() - start) / 1e9, s.finished,
           s.mean_interruptions);
    buf_release(&text);
}

int main(void)
{
    char *line = NULL, word[32];
    size_t cap = 0;
    int used;
    while (getline(&line, &cap, stdin) > 0) {
        if (sscanf(line, "%31s%n", word, &used) != 1)
            continue;
        char *rest = line + used + 1;
        if (strcmp(word, "trace") == 0) {
            rest[strcspn(rest, "\n")] = '\0';
            availability_release(&trace);
            MUST(availability_open(rest, &trace, &err));
        } else if (strcmp(word, "past") == 0) {
            rest[strcspn(rest, "\n")] = '\0';
            availability_release(&elsewhere);
            MUST(availability_open(rest, &elsewhere, &err));
        } else if (strcmp(word, "prices") == 0) {
            read_prices(rest);
        } else if (strcmp(word, "replay") == 0) {
            replay(rest);
        } else if (strcmp(word, "policy") == 0) {
            policies(rest);
        } else if (strcmp(word, "promise") == 0) {
            promise(rest);
        } else if (strcmp(word, "relative") == 0) {
            relative(rest);
        } else if (strcmp(word, "bench") == 0) {
            bench(strtoull(rest, NULL, 10));
        }
        fflush(stdout);
    }
    availability_release(&trace);
    availability_release(&elsewhere);
    replay_prices_release(&prices);
    free(line);
    return 0;
}
