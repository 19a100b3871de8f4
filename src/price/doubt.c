// SPDX-License-Identifier: Apache-2.0
#include "price/doubt.h"

#include <string.h>

#include "base/money.h"

#define MW_PER_KW INT64_C(1000000)

const char doubt_power_words[] = "less than the electricity of its GPUs costs: it cannot be";

bool doubt_power(const struct devices *devices, const struct offer *offer, int64_t hour)
{
    const struct device *gpu = *offer->gpu ? device_find(devices, offer->gpu) : NULL;
    int64_t cost = 0, mw = gpu ? (int64_t)gpu->watts * offer->gpus_milli : 0;
    return mw > 0 && offer->kind != OFFER_MONTHLY && strcmp(offer->provider, "own") != 0 &&
           money_scale(DOUBT_LEAST_KWH, mw, MW_PER_KW, MONEY_HALF_EVEN, &cost, NULL) == 0 &&
           hour < cost;
}

const char *doubt_of(const struct devices *devices, const struct offer *offer, int64_t hour)
{
    if (hour >= 0 && doubt_power(devices, offer, hour))
        return doubt_power_words;
    if (offer->basis == BASIS_FLOOR)
        return "the lowest bid of an auction: one pays that or more";
    if (offer->lacks & LACKS_CURRENCY)
        return "in a currency that its catalogue does not name";
    if (offer->lacks & LACKS_REGION)
        return "for no region: its catalogue knows none that has the machine";
    if (offer->lacks & EQUALS_SPOT)
        return "the same on demand and spot: one of the two is not known";
    return NULL;
}
