// SPDX-License-Identifier: Apache-2.0
// site: a place of a dispatch that runs: its tasks, its failures, and what an answer changes; for
// dispatch.c, which decides what is done next.
#ifndef FARE_FLEET_SITE_H
#define FARE_FLEET_SITE_H

#include "base/array.h"
#include "fleet/dispatch.h"

// What is to be done about a task at its place.
enum wish { WISH_START, WISH_LOOK, WISH_CANCEL, WISH_CLEAN };

struct item { // a task
    struct task *task;
    struct item *next;
    enum wish wish;
    enum task_state after; // CANCEL: what it becomes then
    int64_t due_ns, since_ns;
    int64_t asked_ns; // CANCEL: first asked for; 0: not yet
};

struct line { // a queue of items
    struct item *first, *last;
};

struct fleet_site { // a place
    struct place *place;
    struct line waiting, here; // its bound tasks; those that are at the place
    size_t begun;
    bool ready; // checked, and the bundle is there
    bool gone;
    bool open; // something may be rented there
    bool at_work, active;
    bool met;       // it has answered before
    bool unstarted; // the last start failed: that it answers a check proves nothing
    enum verb verb;
    struct fleet_site *next_ordered;
    struct chosen chosen;
    struct item **items; // of `chosen`
    int fails;
    int64_t due_ns, failing_ns;
    char problem[300];
};

struct dispatcher {
    struct state *state;
    struct fleet fleet;
    struct ledger *ledger;
    const struct dispatch_options *o;
    struct calls *calls;
    struct item *items;
    struct fleet_site *sites;
    size_t site_count, usable, active, left;   // left: tasks that are not over, or not cleaned
    size_t open;                               // places where something may be rented
    struct line waiting;                       // tasks for any place
    struct index names;                        // of the sites, by number
    struct fleet_site *ordered, **ordered_end; // to be begun in the next round
    int64_t now_ns, drawn_ns, round_ns;
};

void line_add(struct line *line, struct item *item); // behind the others
struct item *line_take(struct line *line);           // the first; there must be one

// Puts a task's state on disk, with the next state_flush().
int site_note(struct dispatcher *d, const struct task *task, struct err *err) MUST_USE;

// A task that no longer waits for anything here or anywhere. `problem` may be null.
int site_finish(struct dispatcher *d, struct item *item, enum task_state state, const char *problem,
                struct err *err) MUST_USE;

// A place of a target that rents has a machine from the first start on, until CLOSE.
void site_set_open(struct dispatcher *d, struct fleet_site *s, bool open);
void site_say_by_hand(struct dispatcher *d,
                      struct fleet_site *s); // how to end that machine, if open

// Counts the places that are at work.
void site_set_active(struct dispatcher *d, struct fleet_site *s);

// The place did not answer (`code`, as of target->read): asked again after a pause, or given up.
int site_failed(struct dispatcher *d, struct fleet_site *s, int code, const struct err *why,
                struct err *err) MUST_USE;

// The call for s->verb and s->chosen ended. Errors are those of this machine.
int site_answered(struct dispatcher *d, struct fleet_site *s, const struct call_result *result,
                  struct err *err) MUST_USE;

#endif
