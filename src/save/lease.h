// SPDX-License-Identifier: Apache-2.0
// lease: at most one machine runs a job, and what an ousted one still writes does not count.
//
// Epochs. Each start of the job claims the next epoch, a number that only grows. Names in the
// store:
//     lease/EEEEEEEEEE/claim[.ID]   written once, by the start that claims the epoch
//     lease/EEEEEEEEEE/beat.ID      rewritten by its holder every beat_ms: a counter, and its state
//     lease/EEEEEEEEEE/base         which checkpoint the epoch began from (keep.h)
//
// Claiming. Where the store can create exclusively (store_exclusive()), `claim` is created, and one
// of those that try succeeds. Elsewhere each writes a claim with an ID of its own, gives it up
// unless the write ended within `window` (hold_ms / 4) of the list in which the epoch was free,
// waits twice that, lists again, and the lowest ID has won: a claim that counts and is not in that
// second list was begun after the first claim was there, and so would have seen it.
//
// Living. The holder's lease is valid until hold_ms after the *start* of its last beat that was
// written in time. Later than that the job must have been ended, and the lease is lost for good:
// going on needs a new epoch. An observer reads the beat again and again, and takes the holder for
// dead when the counter has stood still for patience_ms on the observer's own clock. It then claims
// the next epoch. Dates are never compared; clocks need only run at about the same speed (patience
// is at least twice hold). Why it is enough: say the observer first reads count c at time t. Beat c
// was begun before t, so the holder is valid until t + hold at most, unless beat c+1 is written
// before that; but then the observer's read at t + patience finds it. So the old job has ended
// before the new epoch is claimed.
//
// Fencing. A machine can stand still for an hour (a paused VM) and wake up with a clock that did
// not move. So nothing that counts depends on time: a checkpoint's name has its epoch, a newer
// epoch writes its `base` before its job starts, and a checkpoint of an older epoch counts only up
// to that base. An ousted holder finds the newer claim when it looks after writing its marker, and
// is told that the checkpoint is not safe. keep.h has this half.
//
// tests/save/model_lease.py goes through all interleavings of two and three machines with pauses,
// lost answers and deaths.
//
// Threads: a lease has a thread of its own that beats. All functions may be called from any thread,
// but for lease_free(), after which there must be no other.
#ifndef FARE_SAVE_LEASE_H
#define FARE_SAVE_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "save/store.h"

struct lease;

enum lease_end {
    LEASE_RELEASED, // the job may go on elsewhere, at once
    LEASE_DONE,     // the job is finished
};

// Who holds or held an epoch. Texts are "" where not known.
struct lease_holder {
    int64_t epoch; // 0: there was none before
    char id[33];   // random, of that start of fare
    char host[256];
    char job[256];
    bool ended; // its beat says released or done
    bool done;  // its beat says that the job is finished
};

struct lease_options {
    const char *job;     // what is run, for messages and for keep.h; up to 255 bytes
    const char *host;    // (optional) this machine, for messages; null: gethostname()
    int64_t beat_ms;     // (optional) 0: 10 s
    int64_t hold_ms;     // (optional) 0: 30 s; at least twice beat_ms
    int64_t patience_ms; // (optional) 0: 60 s; at least twice hold_ms

    // (optional) Called about ten times a second while another machine holds the lease and
    // this one watches whether it lives. `left_ms`: until it would be taken over if nothing moves.
    // False gives up: lease_acquire() returns ERR_FAIL.
    bool (*waiting)(void *context, const struct lease_holder *holder, int64_t left_ms);
    void (*around_beat)(void *context); // (optional) before and after each beat, by its thread
    void *context;
    // A live holder is an error at once it has been seen to beat: ERR_USAGE, "... is running on
    // HOST". False: waits for its end, for as long as it takes.
    bool no_wait;
};

// Claims the next epoch, once the holder of the last one is ended or dead, and starts to beat.
int lease_acquire(struct lease **out, struct store *store, const struct lease_options *options,
                  int64_t deadline_ns, struct err *err) MUST_USE;

int64_t lease_epoch(const struct lease *lease); // from 1
const struct lease_holder *
lease_before(const struct lease *lease); // the holder of the epoch before

// 0: held. Otherwise it is lost for good, and `err` says why: no beat could be written in time, or
// a newer epoch was claimed (by whom). Costs nothing: the beating thread knows. The job must be
// ended, with SIGKILL if need be, as soon as this is not 0.
int lease_check(struct lease *lease, struct err *err) MUST_USE;

// Looks in the store, now, whether a newer epoch was claimed. 0: none; ERR_FAIL: lost.
int lease_confirm(struct lease *lease, int64_t deadline_ns, struct err *err) MUST_USE;

// Stops beating and says so in the store, so that nobody has to wait. End the job first.
int lease_give_up(struct lease *lease, enum lease_end how, int64_t deadline_ns,
                  struct err *err) MUST_USE;

// Stops beating. Without lease_give_up() before it, the next machine waits for patience_ms.
void lease_free(struct lease *lease); // null is fine

// The name of an object of an epoch: "lease/0000000007/base".
void lease_name(int64_t epoch, const char *what, char out[STORE_NAME_BYTES]);

// ---- Claims and beats as they stand in the store

struct lease_beat {
    int64_t count; // -1: none was read
    bool ended, done;
};

// False: not one of ours, or cut. A claim that cannot be read still takes its epoch.
bool lease_claim_read(const char *text, struct lease_holder *holder);
bool lease_beat_read(const char *text, struct lease_beat *beat);

// "lease/0000000007/beat.ID": its epoch and "beat.ID"; 0: another name.
int64_t lease_name_read(const char *name, const char **what);

#endif
