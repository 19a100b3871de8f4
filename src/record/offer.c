// SPDX-License-Identifier: Apache-2.0
#include "record/offer.h"

#include "record/table.h"

#define T struct offer_price
static const struct field price_fields[] = {
    TEXT(price, "as published, for per_s seconds of the whole machine"),
    TEXT(currency, "currency of the price"),
    INT(per_s, "3600: an hour; 2592000: a month of 30 days; 2628000: of 730 hours"),
    TEXT(since, "first date it was seen"),
    TEXT(seen, "last date it was seen"),
    TEXT(source, "source"),
    FIELD_END,
};
#undef T

#define T struct offer_interruptions
static const struct field interruptions_fields[] = {
    INT(low_percent, "share interrupted per month, at least"),
    INT(high_percent, "share interrupted per month, at most; 100: no bound known"),
    INT(saving_percent, "saving against the on-demand price"),
    TEXT(date, "date of these figures"),
    TEXT(source, "source"),
    FIELD_END,
};
#undef T

#define T struct offer_record
const struct field offer_record_fields[] = {
    TEXT(offer, "name, as --offer takes it"),
    TEXT(provider, "provider"),
    TEXT(name, "the provider's name for it"),
    TEXT(region, "region"),
    TEXT(zone, "zone, if the price applies to that zone only"),
    TEXT(kind, "on-demand, spot or monthly"),
    TEXT(gpu, "GPU model, as in share/devices"),
    REAL(gpus, "number of GPUs; 0.125 is an eighth of one"),
    INT(gpu_memory_mib, "memory per GPU"),
    REAL(vcpus, "virtual CPUs"),
    INT(memory_mib, "memory"),
    TEXT(cpu, "processor"),
    BOOL(bare_metal, "bare metal"),
    TEXT(price, "as published, for per_s seconds of the whole machine"),
    TEXT(currency, "currency of the prices"),
    INT(per_s, "3600: an hour; 2592000: a month of 30 days; 2628000: of 730 hours"),
    TEXT(price_per_hour, "derived: price per hour of the whole machine"),
    TEXT(price_per_gpu_hour, "derived: price per hour of one GPU; absent without GPUs"),
    TEXT(since, "first date this price was seen"),
    TEXT(seen, "last date it was seen"),
    INT(age_days, "days since the price was last seen"),
    BOOL(old, "last seen over 30 days ago, spot over 7"),
    TEXT(source, "source of the price"),
    TEXT(tariff, "billing rule; only if one offer is shown"),
    FIELD_IN(T, interruptions, interruptions_fields, "spot: how often it is interrupted"),
    FIELD_SUB(FIELD_LIST, T, history, price_fields,
              "all its prices, oldest first; only if one offer is shown"),
    FIELD_END,
};
#undef T

#define T struct offers
const struct field offers_fields[] = {
    TEXT(schema, "`" OFFERS_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, offers, offer_record_fields, "one per offer"),
    INT(left_out, "offers not listed because their price is too old"),
    FIELD_END,
};
#undef T
