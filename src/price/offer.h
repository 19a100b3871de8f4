// SPDX-License-Identifier: Apache-2.0
// An offer: something to rent, at one price from one date on. Plain data; texts belong to the book
// they came from and are never null ("" where nothing is known).
#ifndef FARE_PRICE_OFFER_H
#define FARE_PRICE_OFFER_H

#include <stdbool.h>
#include <stdint.h>

enum offer_kind { OFFER_ON_DEMAND, OFFER_SPOT, OFFER_MONTHLY };

struct offer {
    const char *provider; // "aws"
    const char *name;     // the provider's: "p3.2xlarge"
    const char *region;   // "us-east-1"
    const char *zone;     // "us-east-1a"; "": the whole region
    const char *gpu;      // as devices/gpus.csv names it: "V100"; "": none
    const char *cpu;      // the processor, where it is known
    const char *currency; // "USD"
    const char *source;   // "skypilot aws.csv 2026-08-22"
    enum offer_kind kind;
    bool bare_metal;
    int64_t rate;       // nano-units of the currency for `per_s` seconds, the whole machine
    int64_t per_s;      // 3600; months: 2592000 or 2628000
    int gpus_milli;     // 1000: one GPU; 125: an eighth of one
    int gpu_memory_mib; // of each; 0: unknown
    int vcpus_milli;    // 0: unknown
    int memory_mib;     // 0: unknown
    int since;          // from this date on, in days since 1970-01-01
    int day;            // last seen at this price: what its age is counted from
};

#endif
