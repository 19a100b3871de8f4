// SPDX-License-Identifier: Apache-2.0
#include "run/steady.h"

#include <math.h>
#include <string.h>

#include "run/changes.h"
#include "base/stats.h"

#define STRETCHES  400  // the most the series is divided into
#define SHORT      10   // fewer entries cannot be judged
#define LAST_SHARE 0.25 // of the time, which the last level must cover
#define OFF_SHARE  0.2  // of a flat series, which disturbances may cover
#define BATCHES    64
// Drift over longer times is larger than the drift seen. With this factor the interval covers 95 %
// of the outcomes even if the machine's drift is correlated over a third of the sample
// (tests/run/test_steady.c).
#define DRIFT_FACTOR  3
#define UNKNOWN       0.3 // relative error if nothing is known
#define RESAMPLES     1000
#define START_SLOWER  0.2 // first steps slower by this share are warm-up
#define START_SHARE   10  // up to a tenth of all steps
#define WARM_UP_SHARE 5   // a warm-up ends within a fifth of the steps
#define ENTRIES_FEW   3
#define TREND_BLOCKS  20
#define TREND_ENTRIES 60   // fewer show no trend
#define TREND_GROWTH  0.1  // over the series, at least
#define LEAN_GROWTH   0.03 // less is what machines do
#define TREND_FIT     0.85 // of the variance, explained by the line
#define TREND_RISING  5    // blocks, at least, after a flat beginning
#define LEVEL_GROWTH  0.2  // a slower level that may be followed by others
#define SLOPE_ENTRIES 4    // fewer have no slope
#define FASTEST       16   // the fastest of so many stretches bounds the forecast

// A part of the series at one level.
struct level {
    int64_t from, to; // stretches
    double height;    // median
    double ns;        // time spent in it
};

struct view { // the series in stretches
    int64_t count;
    double value[STRETCHES]; // median step time, with the machine's drift divided out if it follows
    double ns[STRETCHES];    // time spent
};

static int64_t entry_of(const struct series *series, const struct view *view, int64_t stretch)
{
    return stretch * series->count / view->count;
}

// The scatter of the values around their median, as a share of it.
static double scatter(const double *values, int64_t count)
{
    double off[STRETCHES];
    memcpy(off, values, (size_t)count * sizeof *off);
    double middle = stats_median_of(off, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        off[i] = fabs(values[i] - middle);
    return stats_median_of(off, (size_t)count) / middle;
}

// Divides out the processor's drift if that explains some of the differences (steps on a GPU do not
// follow it). Returns whether the steps follow it.
static bool make_view(const struct series *series, const struct calibrate *calibrate,
                      struct view *view)
{
    double values[SERIES_MAX / STRETCHES + 2], still[STRETCHES];
    view->count = series->count < STRETCHES ? series->count : STRETCHES;
    for (int64_t i = 0; i < view->count; i++) {
        int64_t from = entry_of(series, view, i), to = entry_of(series, view, i + 1);
        view->ns[i] = series_ns(series, from, to);
        memcpy(values, series->step_ns + from, (size_t)(to - from) * sizeof *values);
        view->value[i] = stats_median_of(values, (size_t)(to - from));
        still[i] = view->value[i] / calibrate_at(calibrate, series->at_s[(from + to) / 2]);
    }
    bool follows = scatter(still, view->count) < scatter(view->value, view->count);
    if (follows)
        memcpy(view->value, still, (size_t)view->count * sizeof *still);
    return follows;
}

static struct level level_of(const struct view *view, int64_t from, int64_t to)
{
    struct level level = {.from = from, .to = to};
    double values[STRETCHES];
    memcpy(values, view->value + from, (size_t)(to - from) * sizeof *values);
    level.height = stats_median_of(values, (size_t)(to - from));
    for (int64_t i = from; i < to; i++)
        level.ns += view->ns[i];
    return level;
}

static bool alike(double a, double b)
{
    return fabs(a - b) <= STEADY_TOLERANCE * fmin(a, b);
}

// The levels of the series, with similar neighbours joined. One level if out of memory.
static int find_levels(const struct view *view, struct level *levels)
{
    struct changes changes;
    struct err err = {0};
    size_t *at = NULL, count = 0;
    bool found = changes_find(view->value, (size_t)view->count, NULL, &changes, &err) == 0;
    if (found) {
        at = changes.at;
        count = changes.count;
    }
    int n = 0;
    int64_t from = 0;
    for (size_t i = 0; i <= count; i++) {
        int64_t to = i < count ? (int64_t)at[i] : view->count;
        struct level next = level_of(view, from, to);
        if (n > 0 && alike(levels[n - 1].height, next.height))
            levels[n - 1] = level_of(view, levels[n - 1].from, to);
        else
            levels[n++] = next;
        from = to;
    }
    if (found)
        changes_release(&changes);
    return n;
}

// The first stretch of the steady part, and the kind of the series.
static int64_t classify(const struct level *levels, int n, double total_ns, enum steady_kind *kind)
{
    const struct level *last = &levels[n - 1];
    double like_ns = 0, tail_ns = 0, before_ns = 0, before_sum = 0;
    int first = n - 1;
    for (int i = 0; i < n; i++)
        if (alike(levels[i].height, last->height)) {
            like_ns += levels[i].ns;
            first = i < first ? i : first;
        }
    for (int i = first; i < n; i++)
        tail_ns += levels[i].ns;
    for (int i = 0; i < first; i++) {
        before_ns += levels[i].ns;
        before_sum += levels[i].ns * levels[i].height;
    }
    if (like_ns < LAST_SHARE * total_ns || tail_ns - like_ns > OFF_SHARE * tail_ns) {
        *kind = STEADY_UNSTEADY;
        return 0;
    }
    if (first == 0)
        *kind = STEADY_FLAT;
    else
        *kind = before_sum / before_ns > last->height ? STEADY_WARM_UP : STEADY_SLOW_DOWN;
    return levels[first].from;
}

// ---- error of the forecast

static double mean_of(const struct series *series, int64_t from, int64_t to)
{
    return series_ns(series, from, to) / series_steps(series, from, to);
}

// Means of `batches` equal parts of the entries from `first` on.
static void batch_means(const struct series *series, int64_t first, int batches, double *out)
{
    int64_t n = series->count - first;
    for (int b = 0; b < batches; b++) {
        int64_t from = first + b * n / batches, to = first + (b + 1) * n / batches;
        out[b] = mean_of(series, from, to);
    }
}

// Half the mean squared difference of neighbouring means of `width` batches (Allan 1966).
static double allan_variance(const double *means, int count, int width)
{
    double sum = 0;
    int pairs = 0;
    for (int i = 0; i + 2 * width <= count; i++, pairs++) {
        double a = stats_mean(means + i, (size_t)width);
        double b = stats_mean(means + i + width, (size_t)width);
        sum += (b - a) * (b - a) / 2;
    }
    return pairs > 0 ? sum / pairs : 0;
}

// The variance between neighbouring batches is white noise, which averages out. The excess over
// longer stretches is drift, which does not: assume that it continues.
static double forecast_error(const struct series *series, int64_t first, double mean)
{
    int64_t n = series->count - first;
    double means[BATCHES];
    if (n < ENTRIES_FEW)
        return UNKNOWN;
    int batches = n < BATCHES ? (int)n : BATCHES;
    batch_means(series, first, batches, means);
    // Student's t in place of the normal quantile, for few batches.
    double few = stats_t_quantile(0.975, batches - 1) / 1.96;
    if (batches < BATCHES)
        return few * stats_stddev(means, (size_t)batches) / sqrt(batches) / mean;
    double white = allan_variance(means, batches, 1);
    double drift = fmax(0, allan_variance(means, batches, 8) - white / 8) +
                   fmax(0, allan_variance(means, batches, 16) - white / 16);
    drift *= DRIFT_FACTOR;
    return few * sqrt(white / batches + drift) / mean;
}

// A few slow steps at the start (kernels being compiled or chosen, cold caches) are too few for a
// level but do not recur: they are warm-up.
static int64_t slow_start(const struct series *series)
{
    double median, mad;
    struct err err = {0};
    const double *x = series->step_ns;
    int64_t n = 0;
    if (stats_mad(x, (size_t)series->count, &median, &mad, &err) != 0)
        return 0;
    double most = median + fmax(STATS_OUTLIER_MADS * mad, START_SLOWER * median);
    while (n < series->count / START_SHARE && x[n] > most)
        n++;
    return n;
}

// The squared residuals of the best fit by two levels.
static double two_levels(const double *y, int n)
{
    double best = (double)INFINITY;
    for (int cut = 1; cut < n; cut++) {
        double sum = 0;
        for (int side = 0; side < 2; side++) {
            const double *part = side ? y + cut : y;
            size_t count = (size_t)(side ? n - cut : cut);
            double mean = stats_mean(part, count);
            for (size_t i = 0; i < count; i++)
                sum += (part[i] - mean) * (part[i] - mean);
        }
        best = fmin(best, sum);
    }
    return best;
}

struct line {
    double off;   // squared residuals
    double slope; // per block
    double last;  // at the end of the last block
};

// The best line that is flat up to the block `knee`.
static struct line fit_line(const double *y, int n, int knee)
{
    double mean_y = stats_mean(y, (size_t)n), mean_x = 0, xy = 0, xx = 0;
    struct line line = {0};
    for (int i = knee; i < n; i++)
        mean_x += (double)(i - knee) / n;
    for (int i = 0; i < n; i++) {
        double x = (i > knee ? i - knee : 0) - mean_x;
        xy += x * (y[i] - mean_y);
        xx += x * x;
    }
    line.slope = xy / xx;
    for (int i = 0; i < n; i++)
        line.off += pow(y[i] - mean_y - line.slope * ((i > knee ? i - knee : 0) - mean_x), 2);
    line.last = mean_y + line.slope * (n - 0.5 - knee - mean_x);
    return line;
}

// How much the step time would grow over all entries from `first` at its present rate, as a share
// of its mean, the time at the end, and the share of the series that rises; 0: no line fits. A
// program that waits for its host at first may begin to grow later.
static double find_trend(const struct series *series, int64_t first, double *last_ns,
                         double *rising)
{
    double y[TREND_BLOCKS], all = 0;
    if (series->count - first < TREND_ENTRIES)
        return 0;
    batch_means(series, first, TREND_BLOCKS, y);
    double mean = stats_mean(y, TREND_BLOCKS);
    for (int i = 0; i < TREND_BLOCKS; i++)
        all += (y[i] - mean) * (y[i] - mean);
    struct line best = fit_line(y, TREND_BLOCKS, 0);
    int from = 0;
    if (best.off >= (1 - TREND_FIT) * all)
        for (int knee = 1; knee <= TREND_BLOCKS - TREND_RISING; knee++) {
            struct line line = fit_line(y, TREND_BLOCKS, knee);
            if (line.off < best.off && line.slope > 0) {
                best = line;
                from = knee;
            }
        }
    double growth = best.slope * TREND_BLOCKS / mean;
    *rising = (double)(TREND_BLOCKS - from) / TREND_BLOCKS;
    bool fits = best.off < (1 - TREND_FIT) * all && best.off < two_levels(y, TREND_BLOCKS);
    *last_ns = best.last;
    return fits && fabs(growth) * (TREND_BLOCKS - from) / TREND_BLOCKS >= LEAN_GROWTH ? growth : 0;
}

bool steady_slope(const struct series *series, double *growth, double *error)
{
    int64_t first = series->count > 1, n = series->count - first; // the first one is never typical
    double y[TREND_BLOCKS];
    int blocks = n < TREND_BLOCKS ? (int)n : TREND_BLOCKS;
    if (n < SLOPE_ENTRIES)
        return false;
    batch_means(series, first, blocks, y);
    struct line line = fit_line(y, blocks, 0);
    double mean = stats_mean(y, (size_t)blocks), xx = (pow(blocks, 3) - blocks) / 12;
    *growth = line.slope * blocks / mean;
    *error = sqrt(line.off / (blocks - 2) / xx) * blocks / mean;
    return true;
}

static double fastest_of(const struct series *series)
{
    int64_t width = series->count > FASTEST ? series->count / FASTEST : 1;
    double fastest = (double)INFINITY;
    for (int64_t i = 0; i + width <= series->count; i += width)
        fastest = fmin(fastest, mean_of(series, i, i + width));
    return fastest;
}

// A trend, or a slower level after a fifth of the steps.
static void look_for_growth(const struct series *series, int64_t start, struct steady *out)
{
    int64_t n = series->count, first = out->first;
    double mean = mean_of(series, start, n);
    double rising = 0, growth = find_trend(series, start, &out->last_ns, &rising);
    if (fabs(growth) * rising >= TREND_GROWTH)
        out->growth = growth;
    else if (growth > 0)
        out->lean = growth;
    if (out->growth != 0) {
        out->kind = STEADY_UNSTEADY;
        out->first = start;
    } else if (out->kind == STEADY_SLOW_DOWN && first > start && first > n / WARM_UP_SHARE) {
        double before = mean_of(series, start, first), after = mean_of(series, first, n);
        if (after < before * (1 + LEVEL_GROWTH))
            return;
        out->growth = (after - before) / mean;
        out->last_ns = after;
        out->level_ns = before;
    }
}

// The mean step time from here on, and its error.
static void forecast(const struct series *series, int64_t start, struct steady *out)
{
    int64_t n = series->count, first = out->first;
    bool early = first <= start || (out->kind == STEADY_WARM_UP && first <= n / WARM_UP_SHARE) ||
                 out->kind == STEADY_SHORT;
    int64_t from = early ? first : start;
    double doubt = 0;
    out->mean_ns = mean_of(series, from, n);
    if (early && first > 0) // the earlier level may recur: small weight
        doubt = fmin(fabs(mean_of(series, 0, first) / out->mean_ns - 1), 1) *
                series_steps(series, 0, first) / series_steps(series, 0, n);
    else if (!early) // any mixture of the two levels is equally likely
        doubt = fabs(mean_of(series, start, first) - mean_of(series, first, n)) / out->mean_ns /
                sqrt(12);
    out->relative_error = hypot(forecast_error(series, from, out->mean_ns), doubt);
}

void steady_judge(const struct series *series, const struct calibrate *calibrate,
                  struct steady *out)
{
    *out = (struct steady){.kind = STEADY_SHORT,
                           .mean_ns = (double)series->total_ns / (double)series->steps,
                           .fastest_ns = fastest_of(series)};
    if (series->count < ENTRIES_FEW) {
        out->first = series->count > 1; // a program's first step is never typical
        if (out->first > 0)
            out->mean_ns = mean_of(series, out->first, series->count);
        out->relative_error = UNKNOWN;
        out->before_ns = series_ns(series, 0, out->first);
        return;
    }
    struct view view;
    int64_t start = 0;
    out->follows = make_view(series, calibrate, &view);
    out->scatter = scatter(view.value, view.count);
    if (series->count >= SHORT) {
        struct level levels[STRETCHES];
        int n = find_levels(&view, levels);
        out->first =
            entry_of(series, &view, classify(levels, n, (double)series->total_ns, &out->kind));
        start = slow_start(series);
        if (out->first < start)
            out->first = start;
        if (out->kind == STEADY_FLAT && start > 0)
            out->kind = STEADY_WARM_UP;
        if (calibrate->windows == 0)
            look_for_growth(series, start, out);
        out->changes = out->kind == STEADY_UNSTEADY || out->growth != 0;
    } else {
        out->first = 1; // a program's first step is never typical
    }
    out->before_ns = series_ns(series, 0, out->first);
    forecast(series, start, out);
}

int steady_fill(const struct steady *steady, const struct series *series, struct run_steady *out,
                struct err *err)
{
    static const char *const kinds[] = {"short", "flat", "warm-up", "slow-down", "unsteady"};
    TRY(text_set(&out->kind, kinds[steady->kind], err));
    int64_t n = series->count - steady->first;
    const double *x = series->step_ns + steady->first;
    out->first_step = some_int((int64_t)series_steps(series, 0, steady->first));
    out->steps = some_int((int64_t)series_steps(series, steady->first, series->count));
    if (n > 0) {
        out->from_s = some_real(
            fmax(series->at_s[steady->first] - x[0] * series->in[steady->first] / 1e9, 0));
        out->to_s = some_real(series->at_s[series->count - 1]);
    }
    if (n <= 0 || steady->kind == STEADY_UNSTEADY)
        return 0;
    size_t outliers = 0;
    double median;
    TRY(stats_median(x, (size_t)n, &median, err));
    TRY(stats_outliers(x, (size_t)n, &outliers, err));
    out->step_ms = some_real(median / 1e6);
    out->outliers = some_int((int64_t)outliers);
    if (n < SHORT)
        return 0;
    // Neighbouring steps are correlated: resample stretches, not steps.
    double medians[BATCHES], values[SERIES_MAX / BATCHES + 2];
    int batches = n < BATCHES ? (int)n : BATCHES;
    for (int b = 0; b < batches; b++) {
        int64_t from = b * n / batches, to = (b + 1) * n / batches;
        memcpy(values, x + from, (size_t)(to - from) * sizeof *values);
        medians[b] = stats_median_of(values, (size_t)(to - from));
    }
    struct rng rng;
    rng_init(&rng, 1);
    struct stats_interval interval;
    TRY(stats_bootstrap_median(medians, (size_t)batches, RESAMPLES, 0.95, &rng, &interval, err));
    out->low_ms = some_real(fmin(interval.low, median) / 1e6);
    out->high_ms = some_real(fmax(interval.high, median) / 1e6);
    return 0;
}
