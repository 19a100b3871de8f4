// SPDX-License-Identifier: Apache-2.0
#include "train/series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "machine/cpu.h"
#include "record/field.h"

#define CALIBRATE_WINDOWS 1024

#define PLOT_MAX 200

int series_init(struct series *series, struct err *err)
{
    memset(series, 0, sizeof *series);
    series->block = 1;
    series->step_ns = malloc(SERIES_MAX * sizeof *series->step_ns);
    series->at_s = malloc(SERIES_MAX * sizeof *series->at_s);
    series->in = malloc(SERIES_MAX * sizeof *series->in);
    if (series->step_ns && series->at_s && series->in)
        return 0;
    series_release(series);
    return err_memory(err);
}

void series_release(struct series *series)
{
    free(series->step_ns);
    free(series->at_s);
    free(series->in);
    memset(series, 0, sizeof *series);
}

void series_reset(struct series *series)
{
    *series = (struct series){
        .step_ns = series->step_ns, .at_s = series->at_s, .in = series->in, .block = 1};
}

double series_steps(const struct series *series, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += series->in[i];
    return sum;
}

double series_ns(const struct series *series, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += series->in[i] * series->step_ns[i];
    return sum;
}

static void halve(struct series *series)
{
    for (int64_t i = 0; i < series->count / 2; i++) {
        double ns = series_ns(series, 2 * i, 2 * i + 2);
        series->in[i] = series->in[2 * i] + series->in[2 * i + 1];
        series->step_ns[i] = ns / series->in[i];
        series->at_s[i] = series->at_s[2 * i + 1];
    }
    series->count /= 2;
    series->block *= 2;
}

void series_add(struct series *series, int64_t at_ns, int64_t took_ns, int64_t steps)
{
    series->steps += steps;
    series->total_ns += took_ns;
    series->part_steps += steps;
    series->part_ns += took_ns;
    if (series->part_steps < series->block)
        return;
    // A report of many steps at once is one entry.
    if (series->count == SERIES_MAX)
        halve(series);
    if (series->part_steps < series->block)
        return;
    series->step_ns[series->count] = (double)series->part_ns / (double)series->part_steps;
    series->at_s[series->count] = (double)at_ns / 1e9;
    series->in[series->count] = (double)series->part_steps;
    series->count++;
    series->part_steps = series->part_ns = 0;
}

int series_plot(const struct series *series, void *reals, struct err *err)
{
    double plot[PLOT_MAX], stretch[(SERIES_MAX + PLOT_MAX - 1) / PLOT_MAX + 1];
    int64_t points = series->count < PLOT_MAX ? series->count : PLOT_MAX;
    for (int64_t i = 0; i < points; i++) {
        int64_t from = i * series->count / points, to = (i + 1) * series->count / points;
        memcpy(stretch, series->step_ns + from, (size_t)(to - from) * sizeof *stretch);
        plot[i] = stats_median_of(stretch, (size_t)(to - from)) / 1e6;
    }
    return reals_set(reals, plot, (size_t)points, err);
}

// ---- The speed of the machine meanwhile

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

static void calibrate_halve(struct calibrate *c)
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
        calibrate_halve(c);
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
