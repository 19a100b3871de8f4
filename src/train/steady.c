// SPDX-License-Identifier: Apache-2.0
#include "train/steady.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/rng.h"
#include "base/stats.h"
#include "record/run.h"

#define STEADY_TOLERANCE 0.05

// ---- Optimal partitioning with functional pruning. For the values up to some time, the curve says
// for each level what the best account of them costs if that is the level now. A new value adds its
// distance to the curve; a change of level costs the curve's minimum plus the penalty, which
// therefore caps it. So the curve stays a short list of parabola pieces, however long the series.

#define FEWEST      6     // values in which changes are looked for
#define FARTHEST    1e150 // whose square is still a number
#define OUTLIER     3.0   // in units of noise, where nothing else is known
#define LEAST_CAP   1.0
#define PENALTY_MIN 20.0 // more than two outliers can gain: OUTLIER² each
#define PIECES_MAX  1500 // of a curve; a series of levels needs some dozens

// ---- curves ----

// weight × (level - centre)² + cost, for the levels from the end of the piece before to `high`.
// Kept in this form no figure ever grows with the values' size, only with their noise.
struct piece {
    double high;
    double weight, centre, cost;
    size_t since; // the place of the last change
};

struct curve {
    struct piece *pieces;
    size_t count, capacity;
};

static int add_piece(struct curve *curve, struct piece piece, double high, struct err *err)
{
    if (curve->count == curve->capacity) {
        size_t capacity = curve->capacity ? curve->capacity * 2 : 64;
        struct piece *pieces = realloc(curve->pieces, capacity * sizeof *pieces);
        if (!pieces)
            return err_memory(err);
        curve->pieces = pieces;
        curve->capacity = capacity;
    }
    piece.high = high;
    curve->pieces[curve->count++] = piece;
    return 0;
}

// A segment that begins at `t`, at any level up to `high`, for the cost `limit`.
static int add_fresh(struct curve *curve, size_t t, double limit, double high, struct err *err)
{
    if (curve->count > 0 && curve->pieces[curve->count - 1].since == t) {
        curve->pieces[curve->count - 1].high = high;
        return 0;
    }
    return add_piece(curve, (struct piece){.cost = limit, .since = t}, high, err);
}

// Caps the curve at `limit`: where it is higher, a change at `t` is the better account.
static int cap_curve(const struct curve *from, struct curve *to, double low, size_t t, double limit,
                     struct err *err)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const struct piece *p = &from->pieces[i];
        double begin = low, end = p->high; // where the piece is below the limit
        if (p->cost >= limit) {
            end = low;
        } else if (p->weight > 0) {
            double reach = sqrt((limit - p->cost) / p->weight);
            begin = fmax(begin, p->centre - reach);
            end = fmin(end, p->centre + reach);
        }
        if (begin >= end) {
            TRY(add_fresh(to, t, limit, p->high, err));
        } else {
            if (low < begin)
                TRY(add_fresh(to, t, limit, begin, err));
            TRY(add_piece(to, *p, end, err));
            if (end < p->high)
                TRY(add_fresh(to, t, limit, p->high, err));
        }
        low = p->high;
    }
    return 0;
}

static double within(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

// Adds what the value `z` costs at each level: its squared distance, but no more than `cap`².
static int add_value(const struct curve *from, struct curve *to, double low, double z, double cap,
                     struct err *err)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++) {
        const struct piece *p = &from->pieces[i];
        struct piece far = *p, near = *p;
        far.cost += cap * cap;
        double distance = z - p->centre;
        near.weight += 1;
        near.cost += p->weight / near.weight * distance * distance;
        near.centre += distance / near.weight;

        double begin = within(z - cap, low, p->high), end = within(z + cap, low, p->high);
        if (low < begin)
            TRY(add_piece(to, far, begin, err));
        if (begin < end)
            TRY(add_piece(to, near, end, err));
        if (end < p->high)
            TRY(add_piece(to, far, p->high, err));
        low = p->high;
    }
    return 0;
}

// The least cost at any level; *since is when the segment that has it began.
static double least_cost(const struct curve *curve, double low, size_t *since)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < curve->count; i++) {
        const struct piece *p = &curve->pieces[i];
        double off = within(p->centre, low, p->high) - p->centre;
        double cost = p->cost + p->weight * off * off;
        if (cost < least) {
            least = cost;
            *since = p->since;
        }
        low = p->high;
    }
    return least;
}

// A series that never stays at a level, such as a ramp without noise, makes a curve that grows with
// every value. Then the series is looked at in pairs, which halves it.
enum { TOO_FINE = 1 };

// since[t]: where the last segment begins in the best account of z[0] to z[t]; *cost: of them all.
static int partition(const double *z, size_t n, double cap, double penalty, size_t *since,
                     double *cost, struct err *err)
{
    struct curve one = {0}, other = {0};
    double low = z[0], high = z[0], least = 0;
    for (size_t i = 1; i < n; i++) {
        low = fmin(low, z[i]);
        high = fmax(high, z[i]);
    }
    // The first segment costs no penalty, at any level.
    int rc = add_piece(&one, (struct piece){0}, high, err);
    for (size_t t = 0; t < n && rc == 0; t++) {
        // The first capping changes nothing, for the curve is 0.
        rc = cap_curve(&one, &other, low, t, least + penalty, err);
        if (rc == 0)
            rc = add_value(&other, &one, low, z[t], cap, err);
        if (rc == 0)
            least = least_cost(&one, low, &since[t]);
        if (rc == 0 && one.count > PIECES_MAX)
            rc = TOO_FINE;
    }
    *cost = least;
    free(one.pieces);
    free(other.pieces);
    return rc;
}

// ---- what the noise is like ----

struct noise_model {
    double noise;   // standard deviation
    double cap;     // in units of noise
    double inflate; // the penalty, by this factor
};

// The p-quantile of the distances between values `lag` places apart.
static double step_quantile(const double *x, size_t n, size_t lag, double p, double *scratch)
{
    for (size_t i = lag; i < n; i++)
        scratch[i - lag] = fabs(x[i] - x[i - lag]);
    return stats_quantile_of(scratch, n - lag, p);
}

// The share of values that stick out, from how many steps are larger than three standard
// deviations of a step: 2p(1-p), if one in p sticks out.
static double outlier_share(const double *x, size_t n, double step_sd)
{
    size_t large = 0;
    for (size_t i = 1; i < n; i++)
        large += fabs(x[i] - x[i - 1]) > 3 * step_sd;
    double share = fmin((double)large / (double)(n - 1), 0.5);
    return (1 - sqrt(1 - 2 * share)) / 2;
}

// How much neighbours resemble each other, 0 to 0.9, as the coefficient of an autoregression:
// such noise moves further in two steps than in one. A chance deviation of the estimate is let
// pass. A level that changes now and then hardly touches these quantiles.
static double resemblance(const double *x, size_t n, double p, double *scratch)
{
    double one = step_quantile(x, n, 1, p, scratch), two = step_quantile(x, n, 2, p, scratch);
    if (one <= 0)
        return 0;
    return within(two * two / (one * one) - 1 - 1.5 / sqrt((double)n), 0, 0.9);
}

// The noise is read from a low quantile of the steps first. That one is right even if up to a
// quarter of the values stick out, every eighth step being slow, say. Where there are more of
// them they are not outliers but what the noise is like, and where the values come from a coarse
// clock a low quantile is 0: then a higher one says more.
static struct noise_model look_at_noise(const double *x, size_t n, double *scratch)
{
    static const double quantiles[] = {0.4, 0.75, 0.9};
    for (size_t i = 0; i < sizeof quantiles / sizeof *quantiles; i++) {
        double p = quantiles[i];
        double step_sd = step_quantile(x, n, 1, p, scratch) / rng_normal_quantile((1 + p) / 2);
        double share = outlier_share(x, n, step_sd);
        if (step_sd <= 0 || (share > 0.25 && i == 0))
            continue;
        double alike = resemblance(x, n, fmax(p, 0.5), scratch);
        // The more outliers there are by nature, the less one of them may say about the level:
        // its cost is the logarithm of the odds against it.
        double odds = share > 0 ? 2 * log((1 - share) / share) : HUGE_VAL;
        return (struct noise_model){
            .noise = step_sd / sqrt(2 * (1 - alike)),
            .cap = sqrt(within(odds, LEAST_CAP, OUTLIER * OUTLIER)),
            .inflate = (1 + alike) / (1 - alike),
        };
    }
    // Nine in ten values are the same as the one before: what the others say, on the average.
    double sum = 0;
    for (size_t i = 1; i < n; i++)
        sum += fabs(x[i] - x[i - 1]);
    double noise = sum / (double)(n - 1) * 0.88622692545275801; // √π / 2, were they normal
    return (struct noise_model){.noise = noise, .cap = OUTLIER, .inflate = 1};
}

// ---- all together ----

// Copies x, divided by its largest size so that no difference overflows.
static int scale_values(const double *x, size_t n, double *out, double *scale, struct err *err)
{
    *scale = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return err_set(err, ERR_FORMAT, "value %zu of %zu is not a finite number", i + 1, n);
        *scale = fmax(*scale, fabs(x[i]));
    }
    for (size_t i = 0; i < n; i++)
        out[i] = *scale > 0 ? x[i] / *scale : 0;
    return 0;
}

// Walks back from the end along the beginnings of the segments.
static int collect(const size_t *since, size_t n, size_t width, struct changes *out,
                   struct err *err)
{
    for (size_t t = n; since[t - 1] > 0; t = since[t - 1])
        out->count++;
    if (out->count == 0)
        return 0;
    out->at = malloc(out->count * sizeof *out->at);
    if (!out->at) {
        out->count = 0;
        return err_memory(err);
    }
    size_t left = out->count;
    for (size_t t = n; since[t - 1] > 0; t = since[t - 1])
        out->at[--left] = since[t - 1] * width;
    return 0;
}

int changes_find(const double *x, size_t n, const struct changes_options *options,
                 struct changes *out, struct err *err)
{
    memset(out, 0, sizeof *out);
    if (n == 0)
        return err_set(err, ERR_FORMAT, "no values to look for changes in");
    int rc = 0;
    double *z = malloc(n * sizeof *z);
    double *scratch = malloc(n * sizeof *scratch);
    size_t *since = malloc(n * sizeof *since);
    if (!z || !scratch || !since) {
        rc = err_memory(err);
        goto out;
    }
    double scale;
    rc = scale_values(x, n, z, &scale, err);
    if (rc != 0 || n < FEWEST || scale == 0)
        goto out;
    bool given = options && options->noise > 0;
    struct noise_model model = given ? (struct noise_model){options->noise / scale, OUTLIER, 1}
                                     : look_at_noise(z, n, scratch);
    out->noise = given ? options->noise : model.noise * scale;
    if (model.noise <= 0) // all the same
        goto out;
    double penalty = options ? options->penalty : 0;
    if (penalty <= 0)
        penalty = model.inflate * fmax(3 * log((double)n), PENALTY_MIN);
    for (size_t i = 0; i < n; i++)
        z[i] = within(z[i] / model.noise, -FARTHEST, FARTHEST);
    size_t width = 1; // values that one of z stands for
    while ((rc = partition(z, n, model.cap, penalty, since, &out->cost, err)) == TOO_FINE) {
        for (size_t i = 0; i < n / 2; i++)
            z[i] = (z[2 * i] + z[2 * i + 1]) / sqrt(2); // its noise is 1 again
        n /= 2;
        width *= 2;
    }
    if (rc == 0)
        rc = collect(since, n, width, out, err);
out:
    free(z);
    free(scratch);
    free(since);
    return rc;
}

void changes_release(struct changes *changes)
{
    free(changes->at);
    memset(changes, 0, sizeof *changes);
}

// ---- The steady part

#define STRETCHES  400  // the most the series is divided into
#define SHORT      10   // fewer entries cannot be judged
#define LAST_SHARE 0.25 // of the time, which the last level must cover
#define OFF_SHARE  0.2  // of a flat series, which disturbances may cover
#define BATCHES    64
// Drift over longer times is larger than the drift seen. With this factor the interval covers 95 %
// of the outcomes even if the machine's drift is correlated over a third of the sample
// (tests/train/test_steady.c).
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

struct cost_line {
    double off;   // squared residuals
    double slope; // per block
    double last;  // at the end of the last block
};

// The best line that is flat up to the block `knee`.
static struct cost_line fit_line(const double *y, int n, int knee)
{
    double mean_y = stats_mean(y, (size_t)n), mean_x = 0, xy = 0, xx = 0;
    struct cost_line line = {0};
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
    struct cost_line best = fit_line(y, TREND_BLOCKS, 0);
    int from = 0;
    if (best.off >= (1 - TREND_FIT) * all)
        for (int knee = 1; knee <= TREND_BLOCKS - TREND_RISING; knee++) {
            struct cost_line line = fit_line(y, TREND_BLOCKS, knee);
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
    struct cost_line line = fit_line(y, blocks, 0);
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
