// SPDX-License-Identifier: Apache-2.0
#include "engine/product.h"

#include <math.h>

#include "base/rng.h"

#define ROUND_S       0.1
#define SHORT_ROUND_S 0.05
#define ROUNDS        5
#define TIMES         100000 // in a round, at most
#define LEAST_S       1e-7   // a launch alone takes longer

static int timed(const struct product_work *work, int64_t times, double *each_s, struct err *err)
{
    double seconds = 0;
    TRY(work->run(work->context, times, &seconds, err));
    *each_s = seconds / (double)times;
    if (!(*each_s > LEAST_S))
        return err_set(err, ERR_FAIL, "a matrix product took no time");
    return isfinite(seconds) ? 0 : err_set(err, ERR_FAIL, "a matrix product took forever");
}

static int first(const struct product_work *work, int64_t size, double *each_s, struct err *err)
{
    TRY(work->prepare(work->context, size, err));
    TRY(timed(work, 1, each_s, err)); // the first one is slower
    return timed(work, 1, each_s, err);
}

// `best_s` holds the time of one product, and may get a better one.
static int rounds(const struct product_work *work, double round_s, double *best_s, struct err *err)
{
    double each_s = *best_s;
    int64_t times = each_s * TIMES < round_s ? TIMES : (int64_t)(round_s / each_s);
    times = times > 0 ? times : 1;
    for (int i = 0; i < ROUNDS; i++) {
        TRY(timed(work, times, &each_s, err));
        *best_s = each_s < *best_s ? each_s : *best_s;
    }
    return 0;
}

int product_time(const struct product_work *work, struct engine_product *out, struct err *err)
{
    out->size = PRODUCT_SIZE_MIN;
    for (;; out->size *= 2) {
        TRY(first(work, out->size, &out->seconds, err));
        if (out->size * 2 > PRODUCT_SIZE_MAX || out->seconds * 8 > ROUND_S)
            break;
    }
    return rounds(work, ROUND_S, &out->seconds, err);
}

int product_time_best(const struct product_work *work, int64_t least, int64_t most,
                      struct engine_product *out, struct err *err)
{
    double each_s = 0;
    for (int64_t size = least; size <= most && each_s * 8 <= ROUND_S; size *= 2) {
        TRY(first(work, size, &each_s, err));
        TRY(rounds(work, SHORT_ROUND_S, &each_s, err));
        if (size == least || each_s * pow((double)out->size / (double)size, 3) < out->seconds) {
            out->size = size;
            out->seconds = each_s;
        }
    }
    return 0;
}

void product_fill(float *to, int64_t count)
{
    struct rng rng;
    rng_init(&rng, 1);
    for (int64_t i = 0; i < count; i++)
        to[i] = 2 * rng_float(&rng) - 1;
}
