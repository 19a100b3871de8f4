// SPDX-License-Identifier: Apache-2.0
// The record of an offer, printed by 'fare prices --json'. Prices are texts, exactly as published.
#ifndef FARE_RECORD_OFFER_H
#define FARE_RECORD_OFFER_H

#include "record/field.h"

#define OFFERS_SCHEMA "fare.offers/1"

struct offer_price { // one row of the price history
    char *price;
    char *currency;
    struct maybe_int per_s;
    char *since;
    char *seen;
    char *source;
};

struct offer_interruptions {
    struct maybe_int low_percent;
    struct maybe_int high_percent;
    struct maybe_int saving_percent;
    char *date;
    char *source;
};

struct offer_record {
    char *offer;
    char *provider;
    char *name;
    char *region;
    char *zone;
    char *kind;
    char *gpu;
    struct maybe_real gpus;
    struct maybe_int gpu_memory_mib;
    struct maybe_real vcpus;
    struct maybe_int memory_mib;
    char *cpu;
    struct maybe_bool bare_metal;
    char *price;
    char *currency;
    struct maybe_int per_s;
    char *price_per_hour;
    char *price_per_gpu_hour;
    char *since;
    char *seen;
    struct maybe_int age_days;
    struct maybe_bool old;
    char *source;
    char *tariff;
    struct offer_interruptions interruptions;
    LIST_OF(struct offer_price) history;
};

struct offers {
    char *schema;
    LIST_OF(struct offer_record) offers;
    struct maybe_int left_out;
};

extern const struct field offer_record_fields[], offers_fields[];

#endif
