// SPDX-License-Identifier: Apache-2.0
// Cost of the sampler; bench_sampler.py builds and runs it:
//     bench_sampler cost SECONDS     CPU time of its threads per second of a run that only sleeps
//     bench_sampler pairs N          a fixed loop in two threads, without and with it, in turn
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "machine/sample/sampler.h"

#define WORKERS 2

static double cpu_s(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
}

static struct sampler *begin(void)
{
    struct err err = {0};
    struct sampler *sampler;
    struct sampler_options options = {.root = "", .start_ns = clock_now_ns()};
    if (sampler_start(&sampler, &options, &err) != 0) {
        fprintf(stderr, "bench_sampler: %s\n", err.text);
        exit(1);
    }
    return sampler;
}

static void end(struct sampler *sampler, struct run *run)
{
    struct err err = {0};
    memset(run, 0, sizeof *run);
    if (sampler_finish(sampler, run, &err) != 0) {
        fprintf(stderr, "bench_sampler: %s\n", err.text);
        exit(1);
    }
    sampler_free(sampler);
}

static void cost(double seconds)
{
    struct run run;
    int64_t start_ns = clock_now_ns();
    struct sampler *sampler = begin();
    double start_ms = (double)(clock_now_ns() - start_ns) * 1e-6;
    clock_sleep_ns(NS_PER_S); // until the GPU driver has started
    double others = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s(CLOCK_THREAD_CPUTIME_ID);
    int64_t from_ns = clock_now_ns();
    clock_sleep_ns((int64_t)(seconds * 1e9));
    others = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - cpu_s(CLOCK_THREAD_CPUTIME_ID) - others;
    double wall_s = (double)(clock_now_ns() - from_ns) * 1e-9;
    int64_t end_ns = clock_now_ns();
    end(sampler, &run);
    printf("%.6f %.3f %.3f %.3f %lld\n", others / wall_s, start_ms,
           (double)(clock_now_ns() - end_ns) * 1e-6, run.use.interval_s.v,
           (long long)run.use.gpus.v);
    record_release(run_fields, &run);
}

// About a second of arithmetic in registers and the L1 cache.
static void *work(void *arg)
{
    static const long rounds = 600000;
    double x[256];
    for (int i = 0; i < 256; i++)
        x[i] = 1 + i * 1e-3;
    for (long r = 0; r < rounds; r++)
        for (int i = 0; i < 256; i++)
            x[i] = x[i] * 0.999999 + 1e-6;
    double sum = 0;
    for (int i = 0; i < 256; i++)
        sum += x[i];
    *(double *)arg = sum;
    return NULL;
}

static double once_s(int repeats)
{
    double out[WORKERS];
    int64_t start_ns = clock_now_ns();
    for (int r = 0; r < repeats; r++) {
        pthread_t threads[WORKERS];
        for (int i = 0; i < WORKERS; i++)
            if (pthread_create(&threads[i], NULL, work, &out[i]) != 0)
                exit(1);
        for (int i = 0; i < WORKERS; i++)
            pthread_join(threads[i], NULL);
    }
    return (double)(clock_now_ns() - start_ns) * 1e-9;
}

static void pairs(int count)
{
    int repeats = (int)(1.5 / once_s(1)) + 1; // for at least three samples
    for (int i = 0; i < count; i++) {
        double s[2], cpu[2];
        for (int turn = 0; turn < 2; turn++) {
            bool with = (turn + i) % 2; // alternate the order
            struct run run = {0};
            struct sampler *sampler = with ? begin() : NULL;
            double before = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
            s[with] = once_s(repeats);
            cpu[with] = cpu_s(CLOCK_PROCESS_CPUTIME_ID) - before; // including the sampler
            if (sampler)
                end(sampler, &run);
            record_release(run_fields, &run);
        }
        printf("%.6f %.6f %.6f %.6f\n", s[0], s[1], cpu[0], cpu[1]);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "cost") == 0)
        cost(strtod(argv[2], NULL));
    else if (argc == 3 && strcmp(argv[1], "pairs") == 0)
        pairs((int)strtol(argv[2], NULL, 10));
    else
        return 2;
    return 0;
}
