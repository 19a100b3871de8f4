// SPDX-License-Identifier: Apache-2.0
// offer: a machine to rent, at one price from one date on. Plain data; its strings belong to the
// book and are never null ("": unknown).
#ifndef FARE_TABLES_OFFER_H
#define FARE_TABLES_OFFER_H

#include <stdbool.h>
#include <stdint.h>

enum offer_kind { OFFER_ON_DEMAND, OFFER_SPOT, OFFER_MONTHLY };
enum { OFFER_KINDS = 3 };

// What a price is. Without a word from its source it is taken for the list price.
enum offer_basis {
    BASIS_UNSAID,
    BASIS_LIST,
    BASIS_FLOOR, // the lowest bid of an auction: one pays that or more
    BASIS_MEDIAN // of a market's offers: half of them cost more
};

// What a catalogue leaves open; any of them makes the price doubtful (doubt.h).
enum { LACKS_REGION = 1, LACKS_CURRENCY = 2, EQUALS_SPOT = 4, LACKS_ALL = 7 };

struct offer {
    const char *provider; // "aws"
    const char *name;     // the provider's name: "p3.2xlarge"
    const char *region;   // "us-east-1"
    const char *zone;     // "us-east-1a"; "": the whole region
    const char *gpu;      // as devices/gpus.csv names it: "V100"; "": none
    const char *cpu;      // the processor; "": unknown
    const char *currency; // "USD"
    const char *source;   // "skypilot aws.csv 2026-08-22"
    enum offer_kind kind;
    bool bare_metal;
    int64_t rate;       // nano-units of the currency per `per_s` seconds of the whole machine
    int64_t per_s;      // 3600; a month: 2592000 or 2628000
    int gpus_milli;     // 1000: one GPU; 125: an eighth of one
    int gpu_memory_mib; // of each GPU; 0: unknown
    int vcpus_milli;    // 0: unknown
    int memory_mib;     // 0: unknown
    int since;          // valid from this date on, in days since 1970-01-01
    int day;            // last seen at this price; its age counts from here
    int valid_to;       // from this day on it cannot be ordered; 0: no end is known
    enum offer_basis basis;
    unsigned int lacks; // LACKS_REGION, ...
    bool leapt;         // seen on one day only, and far from the price before (book.h)
};

#endif
