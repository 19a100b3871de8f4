// SPDX-License-Identifier: Apache-2.0
// lease_text: claims and beats as they stand in the store; for lease.c, its parts and their tests.
#ifndef FARE_GUARD_LEASE_TEXT_H
#define FARE_GUARD_LEASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "guard/lease.h"

#define LEASE_FORMAT "fare.lease/1"

struct lease_beat {
    int64_t count; // -1: none was read
    bool ended, done;
};

int lease_claim_write(const struct lease_holder *holder, struct buf *out, struct err *err) MUST_USE;
int lease_beat_write(const struct lease_beat *beat, struct buf *out, struct err *err) MUST_USE;

// False: not one of ours, or cut. A claim that cannot be read still takes its epoch.
bool lease_claim_read(const char *text, struct lease_holder *holder);
bool lease_beat_read(const char *text, struct lease_beat *beat);

// "lease/0000000007/beat.ID": its epoch and "beat.ID"; 0: another name.
int64_t lease_name_read(const char *name, const char **what);

#endif
