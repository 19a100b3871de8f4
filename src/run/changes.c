// SPDX-License-Identifier: Apache-2.0
// Optimal partitioning with functional pruning. For the values up to some time, the curve says for
// each level what the best account of them costs if that is the level now. A new value adds its
// distance to the curve; a change of level costs the curve's minimum plus the penalty, which
// therefore caps it. So the curve stays a short list of parabola pieces, however long the series.
#include "run/changes.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/stats.h"

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

struct model {
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
static struct model look_at_noise(const double *x, size_t n, double *scratch)
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
        return (struct model){
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
    return (struct model){.noise = noise, .cap = OUTLIER, .inflate = 1};
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
    struct model model =
        given ? (struct model){options->noise / scale, OUTLIER, 1} : look_at_noise(z, n, scratch);
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
