// SPDX-License-Identifier: Apache-2.0
// skypilot: declarations shared by the two files that read SkyPilot's catalogues.
#ifndef FARE_PRICE_SKYPILOT_H
#define FARE_PRICE_SKYPILOT_H

#include <stdbool.h>
#include <stdint.h>

#include "price/format.h"
#include "price/words.h"

// A row, or several combined.
struct sky_row {
    const char *type, *gpu, *region, *zone;
    int gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    int64_t price, spot;
    bool has_price, has_spot;
    size_t line;
};

int sky_add(struct import *import, const struct sky_row *row, struct err *err) MUST_USE;

// Google's catalogue lists GPUs and machines separately (skypilot_gcp.c).
struct gcp_part {
    uint32_t type, gpu, region, zone; // words
    struct sky_row row;               // its strings are not valid
    bool used;
};
struct gcp {
    struct words words;
    struct gcp_part *hosts, *gpus;
    size_t host_count, host_cap, gpu_count, gpu_cap;
};

// A zeroed struct is empty. `*is_part` is set if the row is not an offer by itself: gcp_finish()
// combines it with others.
int gcp_add(struct gcp *gcp, const struct sky_row *row, bool *is_part, struct err *err) MUST_USE;
int gcp_finish(struct gcp *gcp, struct import *import, struct err *err) MUST_USE;
void gcp_release(struct gcp *gcp);

#endif
