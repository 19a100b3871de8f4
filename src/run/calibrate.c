// SPDX-License-Identifier: Apache-2.0
#include "run/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/stats.h"
#include "machine/cpu.h"

#define SHARE       0.0015 // of the run's time, at most
#define LOOPS_FEW   3      // the least for a window to count
#define WINDOWS_FEW 3      // the least for a spread
#define FIRST_S     1.0
#define UNKNOWN_NS  50000 // assumed time of the first loop

int calibrate_init(struct calibrate *calibrate, struct err *err)
{
    memset(calibrate, 0, sizeof *calibrate);
    calibrate->window_s = FIRST_S;
    calibrate->sum_ns = calloc(CALIBRATE_WINDOWS, sizeof *calibrate->sum_ns);
    calibrate->count = calloc(CALIBRATE_WINDOWS, sizeof *calibrate->count);
    if (calibrate->sum_ns && calibrate->count)
        return 0;
    calibrate_release(calibrate);
    return err_memory(err);
}

void calibrate_release(struct calibrate *calibrate)
{
    free(calibrate->sum_ns);
    free(calibrate->count);
    memset(calibrate, 0, sizeof *calibrate);
}

bool calibrate_due(const struct calibrate *calibrate, int64_t now_ns)
{
    return now_ns >= calibrate->next_ns;
}

static void halve(struct calibrate *c)
{
    for (int i = 0; i < CALIBRATE_WINDOWS / 2; i++) {
        c->sum_ns[i] = c->sum_ns[2 * i] + c->sum_ns[2 * i + 1];
        c->count[i] = c->count[2 * i] + c->count[2 * i + 1];
    }
    memset(c->sum_ns + CALIBRATE_WINDOWS / 2, 0, CALIBRATE_WINDOWS / 2 * sizeof *c->sum_ns);
    memset(c->count + CALIBRATE_WINDOWS / 2, 0, CALIBRATE_WINDOWS / 2 * sizeof *c->count);
    c->windows = (c->windows + 1) / 2;
    c->window_s *= 2;
}

void calibrate_run(struct calibrate *c, int64_t at_ns)
{
    int64_t began_ns = clock_now_ns();
    speed_loop();
    int64_t ended_ns = clock_now_ns(), took_ns = ended_ns - began_ns;
    double expected_ns = c->loops > 0 ? c->total_ns / (double)c->loops : UNKNOWN_NS;
    c->next_ns = ended_ns + (int64_t)(fmax(expected_ns, (double)took_ns) / SHARE);
    if (c->loops == 0 && c->next_ns > ended_ns + 1)
        c->next_ns = ended_ns + 1; // the first one fills the caches and is not counted
    if (c->loops++ == 0) {
        c->total_ns = (double)took_ns;
        return;
    }
    c->total_ns += (double)took_ns;
    // An interruption within the loop is not a change of speed.
    if ((double)took_ns > 4 * expected_ns)
        return;
    int window = (int)((double)at_ns / 1e9 / c->window_s);
    while (window >= CALIBRATE_WINDOWS) {
        halve(c);
        window = (int)((double)at_ns / 1e9 / c->window_s);
    }
    if (window < 0)
        return;
    c->sum_ns[window] += (double)took_ns;
    c->count[window]++;
    if (window >= c->windows)
        c->windows = window + 1;
}

static double mean_ns(const struct calibrate *c)
{
    double sum = 0;
    int64_t count = 0;
    for (int i = 0; i < c->windows; i++) {
        sum += c->sum_ns[i];
        count += c->count[i];
    }
    return count > 0 ? sum / (double)count : 0;
}

double calibrate_at(const struct calibrate *c, double at_s)
{
    int window = (int)(at_s / c->window_s);
    double mean = mean_ns(c);
    if (window < 0 || window >= c->windows || c->count[window] < LOOPS_FEW || mean <= 0)
        return 1;
    return c->sum_ns[window] / (double)c->count[window] / mean;
}

static size_t window_means(const struct calibrate *c, double *means)
{
    size_t n = 0;
    for (int i = 0; i < c->windows; i++)
        if (c->count[i] >= LOOPS_FEW)
            means[n++] = c->sum_ns[i] / (double)c->count[i];
    return n;
}

double calibrate_spread(const struct calibrate *c)
{
    double means[CALIBRATE_WINDOWS];
    size_t n = window_means(c, means);
    return n >= WINDOWS_FEW ? stats_stddev(means, n) / stats_mean(means, n) : 0;
}

void calibrate_fill(const struct calibrate *c, double wall_s, struct run_drift *out)
{
    double means[CALIBRATE_WINDOWS];
    size_t n = window_means(c, means);
    if (c->loops == 0)
        return;
    out->loops = some_int(c->loops);
    if (wall_s > 0)
        out->share = some_real(c->total_ns / 1e9 / wall_s);
    if (n >= WINDOWS_FEW)
        out->spread = some_real(calibrate_spread(c));
    if (n >= 1)
        out->loop_us = some_real(stats_median_of(means, n) / 1e3);
}
