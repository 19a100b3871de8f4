// SPDX-License-Identifier: Apache-2.0
// target: a kind of place to run: ssh hosts, this machine, Slurm, SkyPilot, Kubernetes. Each is one
// file that ends in one such table. The dispatcher (dispatch.h) decides what to do when; a target
// only says which program does it and what that program's answer means.
//
// Verbs, each one call of a program (call.h):
//
//     CHECK   place   can it be used? sets place->needs_bundle
//     BRING   place   copies the bundle, if needs_bundle
//     START   tasks   starts them, or finds that they were started already: asked twice, it must
//                     not start a task twice (task_key() is the same both times)
//     LOOK    tasks   how far they are; may wait for a change, up to about FLEET_LOOK_S
//     CANCEL  tasks   ends them there, records and all; also right for tasks that never started
//     CLEAN   tasks   their records are in the ledger: removes what is left of them there
//     CLOSE   place   only targets that rent: no task is left for it, so its machine ends
//
// prepare() fills a call for a verb; with no argv nothing is run and read() sees an empty answer of
// exit code 0. read() turns the answer into reports, one for each task. A call for a place ends
// before the next one begins.
//
// What read() returns tells about the place:
//
//     0                       the verb was carried out; reports[] say more
//     ERR_TIMEOUT, ERR_IO,    no answer, no room, no such machine now: asked again later, with
//     ERR_MISSING             growing pauses, until the dispatch's patience is over
//     any other               the place cannot be used: its tasks fail, or go elsewhere
//
// Targets keep nothing on disk: what they need after a restart stands in task->now.handle.
#ifndef FARE_FLEET_TARGET_H
#define FARE_FLEET_TARGET_H

#include "fleet/call.h"
#include "fleet/task.h"

#define FLEET_LOOK_S    20
#define FLEET_RUNS_MOST 1000 // of one task

struct target;

struct place {
    const struct target *target;
    char *name;        // "ssh:user@host"
    char *value;       // "user@host"
    char *offer;       // (optional) PROVIDER/NAME of the book
    int64_t hour_nano; // its price an hour in nano-USD; -1: unknown
    size_t at_once;    // tasks that may be there at the same time
    bool needs_bundle; // set by CHECK
    void *own;         // (optional) the target's own; target->release frees it
};
void target_release(struct place *place);

struct places {
    struct place *items;
    size_t count, capacity;
    struct market *market; // their prices; the caller's
};
void places_release(struct places *places);

// Appends a place with copies of these texts and at_once = 1. Null: no memory.
struct place *places_add(struct places *places, const struct target *target, const char *value,
                         const char *offer, struct err *err) MUST_USE;

// What a target may need to know of the dispatch.
struct fleet {
    const struct dispatch *dispatch; // id, arguments, limit, bundle, folder
    const char *folder;              // the dispatch's own, for files of a target
};

enum verb {
    VERB_CHECK,
    VERB_BRING,
    VERB_START,
    VERB_LOOK,
    VERB_CANCEL,
    VERB_CLEAN,
    VERB_CLOSE,
    VERBS
};

enum report_state {
    REPORT_UNKNOWN, // the answer does not say: asked again later
    REPORT_ABSENT,  // not started there, or nothing is left of it: may be started anywhere
    REPORT_QUEUED,  // started, and waits for a machine
    REPORT_RUNNING,
    REPORT_ENDED, // `code` and `records` are filled
    REPORT_LOST,  // it was ended from outside: a reboot, a preempted job. May be started again
};

struct task_report {
    enum report_state state;
    int code;           // exit code of `fare run`; -1: it has none (killed, time limit)
    bool limit;         // ended at the time limit
    struct buf records; // runs as JSON lines; may be empty
    struct buf words;   // (optional) for people: why it was lost, its last output; what CANCEL and
                        // CLEAN could not remove
    struct buf warning; // (optional) for people, though it ended well
    double run_s;       // from its start to its end or till now; below 0: unknown
    double queue_s;     // time in the target's own queue; below 0: unknown
    char handle[64];    // (optional) replaces task->now.handle
};

// The tasks that a verb is for; none for CHECK and BRING.
struct chosen {
    struct task **tasks;
    size_t count;
};

struct target {
    const char *name;  // "ssh"; before the colon of --on
    const char *value; // for help: "USER@HOST"
    const char *about; // one line for help, no full stop
    // Adds the places of one word of --on, without "ssh:" (null: there was no colon).
    int (*parse)(const char *value, struct places *places, struct err *err);
    int (*prepare)(const struct fleet *fleet, struct place *place, enum verb verb,
                   const struct chosen *chosen, struct call *call, struct err *err);
    int (*read)(const struct fleet *fleet, struct place *place, enum verb verb,
                const struct chosen *chosen, const struct call_result *result,
                struct task_report *reports, struct err *err);
    // (optional) Appends what starting them costs and how it ends, a line each. A target with it
    // rents machines: the user confirms before anything starts.
    int (*describe)(const struct fleet *fleet, const struct places *places, struct buf *out,
                    struct err *err);
    // (optional) The command with which a person ends what may still run of a task (null: of the
    // place), appended.
    void (*by_hand)(const struct fleet *fleet, const struct place *place, const struct task *task,
                    struct buf *out);
    void (*release)(struct place *place); // (optional)
    bool unlimited;  // START takes all waiting tasks at once: a queue of its own orders them
    bool look_waits; // LOOK waits for a change by itself: it is asked again at once
    bool no_bundle;  // it brings none (fare is in the image, or this machine's own)
};

// The targets: one row each.
#define TARGETS(ROW)                                                                               \
    ROW(here)                                                                                      \
    ROW(ssh)                                                                                       \
    ROW(slurm)                                                                                     \
    ROW(sky)                                                                                       \
    ROW(k8s)
#define ROW(name) extern const struct target target_##name;
TARGETS(ROW)
#undef ROW
extern const struct target *const targets[]; // null-terminated

// Adds the places of a word such as "ssh:a,ssh:b" or "slurm:gpu". A comma begins the next place if
// a target's name and a colon, or a target's name alone, follow; otherwise it is part of the value.
int target_parse(const char *word, struct places *places, struct err *err) MUST_USE;

void task_report_release(struct task_report *report);

#endif
