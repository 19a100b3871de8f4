// SPDX-License-Identifier: Apache-2.0
#include "engine/product.h"

#include "base/rng.h"

#define ROUND_S 0.1
#define ROUNDS  5
#define TIMES   100000 // in a round, at most

static int timed(const struct product_work *work, int64_t times, double *each_s, struct err *err)
{
    double seconds = 0;
    TRY(work->run(work->context, times, &seconds, err));
    if (!(seconds > 0))
        return err_set(err, ERR_FAIL, "a matrix product took no time");
    *each_s = seconds / (double)times;
    return 0;
}

int product_time(const struct product_work *work, struct engine_product *out, struct err *err)
{
    double each_s;
    out->size = PRODUCT_SIZE_MIN;
    for (;; out->size *= 2) {
        TRY(work->prepare(work->context, out->size, err));
        TRY(timed(work, 1, &each_s, err)); // the first one is slower
        TRY(timed(work, 1, &each_s, err));
        if (out->size * 2 > PRODUCT_SIZE_MAX || each_s * 8 > ROUND_S)
            break;
    }
    int64_t times = each_s * TIMES < ROUND_S ? TIMES : (int64_t)(ROUND_S / each_s);
    times = times > 0 ? times : 1;
    out->seconds = each_s;
    for (int i = 0; i < ROUNDS; i++) {
        TRY(timed(work, times, &each_s, err));
        out->seconds = each_s < out->seconds ? each_s : out->seconds;
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
