// SPDX-License-Identifier: Apache-2.0
#include "run/busy.h"

#include <math.h>

#define LEAST_S 0.4  // of an entry
#define FEW     12   // fewer entries show nothing
#define GROWTH  0.15 // from the first third to the last
#define BETWEEN 0.05 // from the first to the second
#define FASTER  3
#define MOST    5.0
#define PARTS   100

static void halve(struct busy *b)
{
    for (int i = 0; i < BUSY_MAX / 2; i++) {
        double s = b->seconds[2 * i] + b->seconds[2 * i + 1];
        b->share[i] =
            (b->share[2 * i] * b->seconds[2 * i] + b->share[2 * i + 1] * b->seconds[2 * i + 1]) / s;
        b->seconds[i] = s;
    }
    b->count = BUSY_MAX / 2;
    b->least_s *= 2;
}

void busy_add(struct busy *b, double share, double seconds)
{
    if (!(seconds > 0) || !isfinite(seconds) || !(share >= 0 && share <= 1))
        return;
    if (b->count == 0)
        b->least_s = LEAST_S;
    int last = b->count - 1;
    if (b->count > 0 && b->seconds[last] < b->least_s) {
        double s = b->seconds[last] + seconds;
        b->share[last] = (b->share[last] * b->seconds[last] + share * seconds) / s;
        b->seconds[last] = s;
        return;
    }
    if (b->count == BUSY_MAX)
        halve(b);
    b->share[b->count] = share;
    b->seconds[b->count++] = seconds;
}

static double mean(const struct busy *b, int from, int to, double *seconds)
{
    double sum = 0, s = 0;
    for (int i = from; i < to; i++) {
        sum += b->share[i] * b->seconds[i];
        s += b->seconds[i];
    }
    *seconds += s;
    return sum / s;
}

double busy_growth(const struct busy *b, double left_s)
{
    double span_s = 0;
    if (b->count < FEW || !(left_s > 0))
        return 0;
    double first = mean(b, 0, b->count / 3, &span_s);
    double second = mean(b, b->count / 3, 2 * b->count / 3, &span_s);
    double third = mean(b, 2 * b->count / 3, b->count, &span_s);
    if (second - first < BETWEEN || third < second || third - first < GROWTH)
        return 0;
    double per_s = (third - first) / (span_s * 2 / 3);
    double now = third + per_s * span_s / 6, sum = 0;
    for (int i = 0; i < PARTS; i++) // a step takes longer once the GPU has no time left
        sum += fmax(0, now + FASTER * per_s * left_s * (i + 0.5) / PARTS - 1);
    return fmin(fmax(sum / PARTS, 0.01), MOST);
}
