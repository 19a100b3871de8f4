// SPDX-License-Identifier: Apache-2.0
// What the tests of compare share: runs as texts, compared.
#ifndef FARE_TESTS_ADVISE_COMPARE_CASES_H
#define FARE_TESTS_ADVISE_COMPARE_CASES_H

#include <string.h>

#include "advise/compare.h"
#include "test.h"

#define SHARE TESTS_DIR "/../share"

// The members of a run in MNIST's training; what is given comes behind.
#define RUN(id, machine, framework, rest)                                                          \
    "{\"id\":\"" id "\",\"workload\":\"mlp\",\"framework\":\"" framework                           \
    "\",\"machine\":{\"name\":\"" machine "\"},\"batch\":128," rest "}"
#define PRICE      "\"labels\":[{\"key\":\"price_per_hour_usd\",\"value\":\"3.60\"}]"
#define FULL(ns)   "\"full\":true,\"phases\":{\"wall_ns\":" ns "}"
#define SAMPLED(s) "\"full\":false,\"projection\":{" s "}"

// Compares the texts, which end with a null; the code of the first thing that fails.
static inline int compare_texts(const struct compare_options *options, const char *const *texts,
                                struct compare *out, struct err *err)
{
    struct comparing *comparing = NULL;
    struct compare_options with = *options;
    int rc = market_open(&with.pricing.market, "-", SHARE, err);
    if (rc == 0)
        rc = comparing_new(&comparing, &with, err);
    for (size_t i = 0; texts[i] && rc == 0; i++)
        rc = comparing_add(comparing, texts[i], strlen(texts[i]), err);
    if (rc == 0)
        rc = comparing_finish(comparing, out, err);
    comparing_free(comparing);
    market_close(with.pricing.market);
    return rc;
}

#endif
