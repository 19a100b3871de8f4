// SPDX-License-Identifier: Apache-2.0
// lease_claim: looking at the epochs in the store, and claiming the next; for lease.c.
#ifndef FARE_GUARD_LEASE_CLAIM_H
#define FARE_GUARD_LEASE_CLAIM_H

#include "guard/lease_text.h"

int64_t lease_now_ns(void); // goes on while the machine sleeps

// The highest epoch as it is now.
struct lease_view {
    int64_t seen_ns;            // before it was asked for
    struct lease_holder holder; // epoch 0: none
    struct lease_beat beat;
};
int lease_look(struct store *store, struct lease_view *view, int64_t deadline_ns,
               struct err *err) MUST_USE;

// Claims the epoch after `view`'s for `self`, whose epoch it sets. `*won` false: another has it.
int lease_claim(struct store *store, const struct lease_view *view, int64_t window_ns,
                struct lease_holder *self, bool *won, int64_t deadline_ns,
                struct err *err) MUST_USE;

// Whether an epoch after `epoch` was claimed, and by whom.
int lease_ousted(struct store *store, int64_t epoch, bool *ousted, struct lease_holder *by,
                 int64_t deadline_ns, struct err *err) MUST_USE;

#endif
