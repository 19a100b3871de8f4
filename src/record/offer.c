// SPDX-License-Identifier: Apache-2.0
#include "record/offer.h"

#define TEXT(m, doc) FIELD(FIELD_TEXT, T, m, doc)
#define INT(m, doc)  FIELD(FIELD_INT, T, m, doc)
#define REAL(m, doc) FIELD(FIELD_REAL, T, m, doc)
#define BOOL(m, doc) FIELD(FIELD_BOOL, T, m, doc)

#define T struct offer_price
static const struct field price_fields[] = {
    TEXT(price, "as published, for per_s seconds of the whole machine"),
    TEXT(currency, "of the price"),
    INT(per_s, "3600 an hour; 2592000 a month of 30 days, 2628000 of 730 hours"),
    TEXT(since, "the first date on which it was seen"),
    TEXT(seen, "the last one"),
    TEXT(source, "where"),
    FIELD_END,
};
#undef T

#define T struct offer_interruptions
static const struct field interruptions_fields[] = {
    INT(low_percent, "of such spot machines at least so many are taken away in a month"),
    INT(high_percent, "and at most so many; 100: no bound is known"),
    INT(saving_percent, "against the price on demand"),
    TEXT(date, "when that was read"),
    TEXT(source, "where"),
    FIELD_END,
};
#undef T

#define T struct offer_record
const struct field offer_record_fields[] = {
    TEXT(offer, "its name, as --offer takes it"),
    TEXT(provider, "who offers it"),
    TEXT(name, "what they call it"),
    TEXT(region, "where it stands"),
    TEXT(zone, "zone of the region, where the price is that zone's"),
    TEXT(kind, "on-demand, spot or monthly"),
    TEXT(gpu, "model of its GPUs, as share/devices names it"),
    REAL(gpus, "how many; 0.125 is an eighth of one"),
    INT(gpu_memory_mib, "memory of each"),
    REAL(vcpus, "virtual processors"),
    INT(memory_mib, "memory"),
    TEXT(cpu, "processor"),
    BOOL(bare_metal, "whether it is a whole machine"),
    TEXT(price, "as published, for per_s seconds of the whole machine"),
    TEXT(currency, "of the prices"),
    INT(per_s, "3600 an hour; 2592000 a month of 30 days, 2628000 of 730 hours"),
    TEXT(price_per_hour, "derived: of the whole machine"),
    TEXT(price_per_gpu_hour, "derived: of one GPU; absent without GPUs"),
    TEXT(since, "the first date on which this price was seen"),
    TEXT(seen, "the last one"),
    INT(age_days, "days since then"),
    BOOL(old, "over 30 days, spot over 7"),
    TEXT(source, "where the price was read"),
    TEXT(tariff, "how it is charged; for one offer"),
    FIELD_IN(T, interruptions, interruptions_fields, "spot: how often it is taken away"),
    FIELD_SUB(FIELD_LIST, T, history, price_fields, "all its prices, oldest first; for one offer"),
    FIELD_END,
};
#undef T

#define T struct offers
const struct field offers_fields[] = {
    TEXT(schema, "`" OFFERS_SCHEMA "`"),
    FIELD_SUB(FIELD_LIST, T, offers, offer_record_fields, "one per offer"),
    INT(left_out, "offers with prices so old that they are not listed"),
    FIELD_END,
};
#undef T
