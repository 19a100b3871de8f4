// SPDX-License-Identifier: Apache-2.0
// product: times one product of square matrices, for the rate that an engine reaches
// (engine.product). Code shared by the engines.
#ifndef FARE_ENGINE_PRODUCT_H
#define FARE_ENGINE_PRODUCT_H

#include "engine/engine.h"

#define PRODUCT_SIZE_MIN 512
#define PRODUCT_SIZE_MAX 4096

struct product_work {
    void *context;
    // The following products are size × size × size.
    int (*prepare)(void *context, int64_t size, struct err *err);
    // `times` products in a row; `seconds`: of all of them.
    int (*run)(void *context, int64_t times, double *seconds, struct err *err);
};

// Doubles the size until a product would take over a tenth of a second, and at most to
// PRODUCT_SIZE_MAX; then takes the best of five rounds of a tenth of a second. Fills size and
// seconds.
int product_time(const struct product_work *work, struct engine_product *out,
                 struct err *err) MUST_USE;

// Times `least` and its doubles up to `most`, as long as a product should take under a tenth of a
// second, for a quarter of a second each. Keeps the size with the highest rate.
int product_time_best(const struct product_work *work, int64_t least, int64_t most,
                      struct engine_product *out, struct err *err) MUST_USE;

// Numbers from -1 to 1: a product of zeros draws less power, and runs at higher clocks.
void product_fill(float *to, int64_t count);

#endif
