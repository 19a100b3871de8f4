// SPDX-License-Identifier: Apache-2.0
// skypilot: what the two files that read SkyPilot's catalogues share.
#ifndef FARE_PRICE_SKYPILOT_H
#define FARE_PRICE_SKYPILOT_H

#include <stdbool.h>
#include <stdint.h>

#include "price/format.h"
#include "price/words.h"

// A row, or several put together.
struct sky_row {
    const char *type, *gpu, *region, *zone;
    int gpus_milli, gpu_memory_mib, vcpus_milli, memory_mib;
    int64_t price, spot;
    bool has_price, has_spot;
    size_t line;
};

int sky_add(struct import *import, const struct sky_row *row, struct err *err) MUST_USE;

// Google's catalogue lists GPUs and the machines that hold them apart (skypilot_gcp.c).
struct gcp_part { // words instead of texts
    uint32_t type, gpu, region, zone;
    struct sky_row row; // without its texts
    bool used;
};
struct gcp {
    struct words words;
    struct gcp_part *hosts, *gpus;
    size_t host_count, host_room, gpu_count, gpu_room;
};

// A zeroed struct is an empty one. `*kept`: the row is only a part, or must wait for one; it is not
// an offer by itself.
int gcp_take(struct gcp *gcp, const struct sky_row *row, bool *kept, struct err *err) MUST_USE;
int gcp_finish(struct gcp *gcp, struct import *import, struct err *err) MUST_USE;
void gcp_release(struct gcp *gcp);

#endif
