// SPDX-License-Identifier: Apache-2.0
// ledger: the runs that were measured, kept where they are not lost.
//
// The ledger is a SQLite file in the user's data folder, or, by URL, a team's PostgreSQL. Nothing
// but this room speaks SQL. A run is recorded in three steps: its JSON goes as one file into a
// spool folder (whole or not at all, see base/fs), from there into the database in one
// transaction, then the file is removed. Whatever fails in between, the run is in one of the two
// places, and the next connection delivers it; a run that is there already is not added again. So
// the database may be locked, full, stopped or unreachable, and the process killed.
//
//     struct ledger *ledger = NULL;
//     struct buf says = {0};
//     rc = ledger_new(&ledger, options->ledger, err);
//     if (rc == 0)
//         rc = ledger_record(ledger, &run, &says, err);
//     // `says`, if not empty, is a warning for people: the run waits in the spool, and why
//     ledger_free(ledger);
//
// The text of a record is kept as it came, keys of a newer fare included. The first record of an
// id stays: ids are made once (run_begin_record), and what was measured does not change.
#ifndef FARE_LEDGER_LEDGER_H
#define FARE_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "record/run.h"

struct ledger;

// `where`: a PostgreSQL URL (postgresql:// or postgres://), or a file for SQLite; null: what
// FARE_LEDGER says, or ledger.db in $XDG_DATA_HOME/fare (~/.local/share/fare). Opens nothing yet;
// fails where no place can be named.
int ledger_new(struct ledger **out, const char *where, struct err *err) MUST_USE;
void ledger_free(struct ledger *ledger); // null is fine

// What to call it before people: the file, or the URL without its password.
const char *ledger_name(const struct ledger *ledger);

// Appends a URL without its password, for whoever shows or keeps one.
void ledger_public(const char *url, struct buf *out);

// Connects, brings the schema up to date and delivers what is spooled; the functions below do it
// by themselves. `says` (optional) gets a sentence for each spooled file that could not be taken.
// A ledger of a newer schema is ERR_FORMAT and is left as it is. Reading makes no file: where there
// is none and nothing waits, the ledger is empty, or ERR_MISSING where ledger_new() was given its
// name: that is mistyped then.
int ledger_connect(struct ledger *ledger, struct buf *says, struct err *err) MUST_USE;

// The same for who will write: a file that is not there is made, and its folder.
int ledger_make(struct ledger *ledger, struct buf *says, struct err *err) MUST_USE;

// How many runs wait in the spool, and where (`dir` may be null).
size_t ledger_spooled(const struct ledger *ledger, const char **dir);

// Keeps a run. 0 when it is safe: in the database, or in the spool with the reason in `says`.
// Fails only where neither took it, and then `err` says why.
int ledger_record(struct ledger *ledger, const struct run *run, struct buf *says,
                  struct err *err) MUST_USE;

enum ledger_sort { LEDGER_STARTED, LEDGER_STEP, LEDGER_WALL, LEDGER_NAME };
extern const char *const ledger_sorts[]; // their names, null-terminated

// All zero: every run. Texts are compared whole, but for `gpu` and `machine`, which are looked for
// within, whatever the letters' case.
struct ledger_filter {
    const char *name;
    const char *workload;
    const char *framework;
    const char *ended;
    const char *gpu;
    const char *machine; // its name, instance type, processor or fingerprint
    const char *since;   // a date, "2026-11-01"
    const char **labels; // "key=value"; all must be there
    size_t label_count;
    enum ledger_sort sort; // started and name: newest first; step and wall: shortest first
    int64_t limit;         // 0: none
    int64_t skip;          // with a limit: so many of the newest are passed over
    bool heads;            // long lists (steps, samples) are left out of the records, see row.h
};

// Given each record's text, in order; a value other than 0 ends the walk and is returned.
typedef int ledger_visit_fn(void *arg, const char *id, const char *text, struct err *err);
int ledger_each(struct ledger *ledger, const struct ledger_filter *filter, ledger_visit_fn *visit,
                void *arg, struct err *err) MUST_USE;

// The same, read into records. `runs` is zeroed before and released by the caller.
int ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct runs *runs,
                struct err *err) MUST_USE;

// Appends a text that stays the same as long as the ledger holds the same runs: how many they are
// and the last of their ids, which tells one time from another but for a run that was exchanged.
int ledger_stamp(struct ledger *ledger, struct buf *stamp, struct err *err) MUST_USE;

// The text of one run: by id, by the beginning of an id that only one has, "last", or a name
// (the newest of that name). ERR_MISSING where there is none, ERR_USAGE where several begin so.
int ledger_find(struct ledger *ledger, const char *word, struct buf *text,
                struct err *err) MUST_USE;

// The runs of this user on this machine that go on: what is known of each so far (journal.h), as
// ledger_each() gives the others. Those that were killed meanwhile are delivered before. With an
// `id` that one alone. The records say "killed", since that is what they are kept for.
int ledger_going(struct ledger *ledger, const char *id, ledger_visit_fn *visit, void *arg,
                 struct err *err) MUST_USE;

// By id or unique beginning only. `id` gets what was removed.
int ledger_delete(struct ledger *ledger, const char *word, struct buf *id,
                  struct err *err) MUST_USE;

// Keeps a quote of a run (record/bill.h, one line of JSON), made at that time; one that was made at
// the same time is replaced. And all that were kept of a run, the newest first: `visit` gets the
// time in the place of an id.
int ledger_pin(struct ledger *ledger, const char *run, const char *made, const char *text,
               struct err *err) MUST_USE;
int ledger_pinned(struct ledger *ledger, const char *run, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// Many at once, all or none: begin, add each text, end. Adding checks the record, and whether
// its times can be; a bad one is ERR_FORMAT, and the caller decides whether to go on. `*added` is
// false for one that is there.
int ledger_import_begin(struct ledger *ledger, struct err *err) MUST_USE;
int ledger_import_add(struct ledger *ledger, const char *text, size_t len, bool *added,
                      struct err *err) MUST_USE;
int ledger_import_end(struct ledger *ledger, struct err *err) MUST_USE;
void ledger_import_abandon(struct ledger *ledger);

// A run's record as one line of JSON, as the ledger and its files hold it.
int ledger_line(const struct run *run, struct buf *out, struct err *err) MUST_USE;

#endif
