// SPDX-License-Identifier: Apache-2.0
// saver: a thread that finds the checkpoints a job writes and saves them in the store.
//
// The first one is saved at once, then one per interval; in a hurry, each as soon as it is
// complete. The interval is given, or Daly's with the measured time to write a checkpoint, and
// never shorter than twice the time to save one. A store that fails is tried again; the job goes on
// meanwhile.
#ifndef FARE_SAVE_SAVER_H
#define FARE_SAVE_SAVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "save/find.h"
#include "save/keep.h"

struct saver;

struct saver_options {
    struct keep *keep; // the caller's, as is the next; both only for the thread from now on
    struct finder *finder;
    int64_t every_ns;   // 0: the best interval
    int64_t between_ns; // mean time between interruptions
    int64_t quiet_ns;
    // (optional) Called in the thread after each save, and once a minute.
    void (*note)(void *context);
    void *context;
};

struct saver_state {
    int64_t saves, sent_bytes;
    int64_t step;       // of the newest safe checkpoint; -1: unknown
    int64_t whole_ns;   // when it was complete, by clock_now_ns(); 0: none is safe
    int64_t began_ns;   // when its writing was first seen
    int64_t written_ns; // when the newest complete one, safe or not, was complete; 0: none
    int64_t write_ns;   // time to write one; 0: unknown
    int64_t save_ns;    // time to save one; 0: unknown
    int64_t every_ns;   // the interval now
    bool saving;        // now
    int64_t failures;   // in a row
};

int saver_start(struct saver **out, const struct saver_options *options, struct err *err) MUST_USE;

void saver_state(struct saver *saver, struct saver_state *out);

// Saves what is complete at once, up to `until_ns`; 0: no hurry any more.
void saver_hurry(struct saver *saver, int64_t until_ns);

// The job says that this file or folder is complete.
void saver_told(struct saver *saver, const char *path);

// What a person should know, a line each; moved to `out`.
void saver_says(struct saver *saver, struct buf *out);

// The job has ended. Saves its newest complete checkpoint, if that is not safe yet, by
// `deadline_ns`, and ends the thread. `clean`: it ended well, so what it wrote is complete.
void saver_finish(struct saver *saver, bool clean, int64_t deadline_ns);

// Ends the thread at once, also within a save: nothing more reaches the store.
void saver_stop(struct saver *saver);
bool saver_stopped(const struct saver *saver); // for keep's progress

void saver_free(struct saver *saver); // null is fine; stops it
#endif
