// SPDX-License-Identifier: Apache-2.0
#include "run/series.h"

#include <stdlib.h>
#include <string.h>

#include "base/stats.h"
#include "record/field.h"

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
