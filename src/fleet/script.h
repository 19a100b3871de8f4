// SPDX-License-Identifier: Apache-2.0
// script: the shell text that makes one measurement in a folder of its own, the same for every
// target, and the reply in which its results come back.
//
// The folder has, once the script has begun: `work/` (the user's folder, unpacked), `ledger.db`,
// `log` (all output), `started`; at the end `record.jsonl` and, last of all, `code`: "EXIT STARTED
// ENDED", in hundredths of a second since the machine started. So a folder with `code` has ended,
// and its results are whole. `warning` may have a line for the user.
#ifndef FARE_FLEET_SCRIPT_H
#define FARE_FLEET_SCRIPT_H

#include "fleet/target.h"
#include "record/dispatch.h"

// Appends lines for sh that run the task. They begin in the task's folder and expect the path of
// the program in $fare. `work/` must be there already. They obey dispatch->limit_ns and end what is
// left of the task.
void script_run(struct buf *out, const struct fleet *fleet, const struct place *place,
                const struct task *task);

// Appends the definition of a shell function `fare_reply KEY FOLDER`, which writes how far the task
// of that folder is, as reply_read() expects it, and of `fare_absent KEY`: nothing of it runs.
void script_reply(struct buf *out);

// Appends the definition of `fare_remove PATH...`: rm -rf, again and again for a while if something
// still writes there. What cannot be removed is written for script_left().
void script_remove(struct buf *out);

// What follows `mark` on the first line that begins with it, at most 300 bytes, appended to `into`;
// null: no such line.
const char *script_marked(const struct buf *text, const char *mark, struct buf *into);

// Sets report->words to what fare_remove() could not remove, in rm's words; empty: all is gone.
int script_left(const struct call_result *result, struct task_report *report,
                struct err *err) MUST_USE;

// Appends the reply of a task that ended, where no shell writes it. `records`: runs as JSON lines.
void reply_write(struct buf *out, const char *key, int code, int64_t began_s, int64_t ended_s,
                 const struct buf *records);

// Reads the reply for `key` from a program's output, which may hold other text before and after.
// An incomplete reply is REPORT_UNKNOWN, never an error; ERR_MEMORY is the only failure.
int reply_read(const char *text, size_t len, const char *key, struct task_report *report,
               struct err *err) MUST_USE;

// Writes the text to FOLDER/NAME.
int script_write(const char *folder, const char *name, const struct buf *text,
                 struct err *err) MUST_USE;

// ==== bundle ====
// What is brought to other machines: fare's own bundle, and the user's folder.

// The largest folder that is brought without being asked for, packed.
#define BUNDLE_FOLDER_MOST ((int64_t)100 << 20)

// Appends the path of this program: build/fare, or the bundle's launcher.
int bundle_program(struct buf *out, struct err *err) MUST_USE;

// Finds the bundle's archive and describes it: `file`, or FARE_BUNDLE, or the bundle that this
// program belongs to (packed once, into `folder`), or the one that `make dist` wrote beside a build
// that is not newer.
int bundle_find(struct dispatch_bundle *bundle, const char *file, const char *folder,
                struct err *err) MUST_USE;

// Packs a folder (without .git and what its .fareignore excludes, in tar's patterns) or, if there
// is no such folder, a revision of the git repository of the current one, into `file`. `most`: a
// larger archive is an error; 0: no limit.
int bundle_folder(struct dispatch_folder *folder, const char *from, int64_t most, const char *file,
                  struct err *err) MUST_USE;

#endif
