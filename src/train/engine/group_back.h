// SPDX-License-Identifier: Apache-2.0
// group_back: what a kind of group provides, one const table each. For group.c and its kinds.
//
// All calls but release() come from the group's own thread. Those that wait call group_look() over
// and over, and return its error.
#ifndef FARE_TRAIN_ENGINE_GROUP_BACK_H
#define FARE_TRAIN_ENGINE_GROUP_BACK_H

#include <sys/types.h>

#include "train/engine/group.h"

struct group_back {
    const char *name;
    // Connects, and says who is where.
    int (*begin)(void *own, struct group_place *place, struct err *err);
    // Returns when all ranks in use have called it.
    int (*arrive)(struct group *group, void *own, struct err *err);
    int (*broadcast)(struct group *group, void *own, void *data, size_t bytes, struct err *err);
    int (*gather)(struct group *group, void *own, const void *mine, size_t bytes, void *all,
                  struct err *err);
    int (*sum)(struct group *group, void *own, void *values, int64_t count, bool reals,
               struct err *err);
    // All ranks, those not in use too; place->size is already the new one.
    int (*use)(struct group *group, void *own, struct group_place *place, struct err *err);
    // Says that this rank lives and looks after the others; an error names one that does not.
    int (*look)(void *own, struct err *err);
    // Tells the others that the group failed.
    void (*tell)(void *own, const char *text);
    // The thread's last call; `well`: all ranks make it.
    void (*end)(struct group *group, void *own, bool well);
    void (*release)(void *own);
};

// A group of this kind; its thread calls begin(), for at most `patience_ns` (0: for ever). `own` is
// the kind's, which releases it, also after an error.
int group_new(struct group **out, const struct group_back *back, void *own, int64_t patience_ns,
              struct err *err) MUST_USE;

// While waiting: looks after the others now and then. Does not sleep.
int group_look(struct group *group, struct err *err) MUST_USE;

// ---- processes of this machine that must not die ----

struct group_watch; // opaque: a descriptor for each

int group_watch_new(struct group_watch **out, int count, struct err *err) MUST_USE;
void group_watch_free(struct group_watch *watch);
// Where the kernel cannot watch processes (before 5.3) it finds none dead.
void group_watch_add(struct group_watch *watch, int rank, pid_t pid);
int group_watch_dead(struct group_watch *watch); // a rank, or -1

#endif
