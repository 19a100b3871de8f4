// SPDX-License-Identifier: Apache-2.0
// hosts: the power of a whole machine as a multiple of its GPUs' power, from share/power.csv and
// the user's own file of that name, which goes first.
//
// The columns are gpu (a part of the GPU's name; empty: any), share, machine, source and date. The
// first row that fits counts.
#ifndef FARE_TABLES_HOSTS_H
#define FARE_TABLES_HOSTS_H

#include <stdint.h>

#include "base/err.h"

struct hosts;

struct hosts_row {
    char *gpu, *machine; // "workstation", "server"
    int64_t share;       // in billionths
    char *source;
};

int hosts_open(struct hosts **out, struct err *err) MUST_USE;
void hosts_close(struct hosts *hosts); // null is fine

// Null: no row fits.
const struct hosts_row *hosts_find(const struct hosts *hosts, const char *gpu);

#endif
