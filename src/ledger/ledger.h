// SPDX-License-Identifier: Apache-2.0
// ledger: stores measured runs durably.
//
// The ledger is a SQLite file in the user's data folder or, by URL, a team's PostgreSQL database.
// No other folder uses SQL. Recording a run takes three steps: its JSON is written atomically as a
// file into a spool folder (base/fs), inserted into the database in one transaction, and the file
// is removed. If a step fails or the process is killed, the run is in one of the two places, and
// the next connection delivers it. A run that exists already is not added again.
//
//     struct ledger *ledger = NULL;
//     struct buf says = {0};
//     rc = ledger_new(&ledger, options->ledger, err);
//     if (rc == 0)
//         rc = ledger_record(ledger, &run, &says, err);
//     // `says`, if not empty, warns that the run is still in the spool, and why
//     ledger_free(ledger);
//
// Records are stored as received but for secrets, including keys of a newer fare; those with a
// figure that is known to be false are corrected when they are read (record/run.h). The first
// record of an id stays: ids are unique (run_begin_record), and a measurement does not change.
#ifndef FARE_LEDGER_LEDGER_H
#define FARE_LEDGER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "record/run.h"

struct ledger;

// `where`: a PostgreSQL URL (postgresql:// or postgres://) or a SQLite file; null: FARE_LEDGER, or
// ledger.db in $XDG_DATA_HOME/fare (~/.local/share/fare). Opens nothing yet; fails if none of them
// is set.
int ledger_new(struct ledger **out, const char *where, struct err *err) MUST_USE;
void ledger_free(struct ledger *ledger); // null is fine

// The name to show: the file, or the URL without its password.
const char *ledger_name(const struct ledger *ledger);

// From now on nothing is delivered: for a look in between, which is not to tell of runs that were
// killed. Before ledger_connect().
void ledger_only_look(struct ledger *ledger);

// From now on, this process and those it forks wait for a PostgreSQL server for at most this long
// in all, counted from the first call: for commands whose purpose is another. A server that has not
// answered by then is ERR_TIMEOUT, and so is each attempt after that until the bound is raised.
// Without it, each answer has a deadline of its own. Before threads start.
void ledger_wait_at_most(int64_t ns);

// Connects, updates the schema and delivers the spooled runs. The functions below call it. `says`
// (optional) gets a sentence for each spooled file that failed. A newer schema is ERR_FORMAT and
// stays unchanged. Reading creates no file: if there is none and no run is spooled, the ledger is
// empty, or ERR_MISSING if the caller named it in ledger_new(), since the name is mistyped then. If
// the SQLite file was removed or replaced since, it is opened again, and a commit to the old one
// fails.
int ledger_connect(struct ledger *ledger, struct buf *says, struct err *err) MUST_USE;

// The same for writing: creates a missing file and its folder.
int ledger_make(struct ledger *ledger, struct buf *says, struct err *err) MUST_USE;

// Lets go of the database until the next function needs it: for the hours of a training, and before
// fork(), since a connection belongs to one process.
void ledger_disconnect(struct ledger *ledger);

// The number of spooled runs, and their folder (`dir` may be null).
size_t ledger_spooled(const struct ledger *ledger, const char **dir);

// Stores a run. 0 once it is safe: in the database, or in the spool with the reason in `says`.
// Fails only if both fail.
int ledger_record(struct ledger *ledger, const struct run *run, struct buf *says,
                  struct err *err) MUST_USE;

enum ledger_sort { LEDGER_STARTED, LEDGER_STEP, LEDGER_WALL, LEDGER_NAME };
extern const char *const ledger_sorts[]; // their names, null-terminated

// All zero: every run. Strings must be equal, except `gpu` and `machine`, which match a part and
// ignore case.
struct ledger_filter {
    const char *name;
    const char *workload;
    const char *framework;
    const char *ended;
    const char *gpu;
    const char *machine;     // its name, instance type, processor or fingerprint
    const char *host, *user; // plain names; match hashed ones too
    const char *since;       // a date or an age, "2026-11-01" or "3w"
    const char **labels;     // "key=value"; all must be there
    size_t label_count;
    enum ledger_sort sort; // started and name: newest first; step and wall: shortest first
    int64_t limit;         // 0: none
    int64_t skip;          // with a limit: skip this many of the newest
    bool sort_all; // sort before the limit: of all runs, without those whose value is unknown
    bool reverse;  // with sort_all: the other way round
    bool heads;    // records without long lists (steps, samples), see row.h
    bool stored;   // as they are stored: secrets are masked by the caller, with mask_stored()
};

// The date that `since` means, empty for null; ERR_USAGE if it is neither a date nor an age.
int ledger_since(const char *since, char out[CLOCK_ISO_BYTES], struct err *err) MUST_USE;

// A word of ledger_sorts; "time" is "wall".
bool ledger_sort_parse(const char *word, enum ledger_sort *sort);

// Sets the function that is called for each record that cannot be read: it is damaged, or beyond
// the bounds of record/run.h. ledger_each() and ledger_list() then leave such records out. Without
// a function (null, the default) the first one ends the walk with ERR_FORMAT. It holds for the
// whole process; set it before threads start.
typedef void ledger_damage_fn(void *arg, const char *id, const char *why);
void ledger_on_damage(ledger_damage_fn *says, void *arg);

// Called with each record in order; a result other than 0 ends the walk and is returned. ERR_FORMAT
// is for a record that cannot be read; nothing of it may stay behind.
typedef int ledger_visit_fn(void *arg, const char *id, const char *text, struct err *err);
int ledger_each(struct ledger *ledger, const struct ledger_filter *filter, ledger_visit_fn *visit,
                void *arg, struct err *err) MUST_USE;

// The same, read into records. `runs` is zeroed before and released by the caller.
int ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct runs *runs,
                struct err *err) MUST_USE;

// Counts the runs by what they are, the most frequent kind first. A training is a workload, or else
// the name of a run without one (`named`). Values may be empty.
struct ledger_kind {
    const char *training, *framework, *ended;
    bool named;
};
typedef int ledger_count_fn(void *arg, const struct ledger_kind *kind, int64_t count,
                            struct err *err);
int ledger_counts(struct ledger *ledger, ledger_count_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// Appends a string that changes when runs are added or removed: their number and the last id. It
// misses a removal and an addition that leave both equal.
int ledger_stamp(struct ledger *ledger, struct buf *stamp, struct err *err) MUST_USE;

// Reads one run by id, unique prefix of an id, "last", or name (the newest of that name).
// ERR_MISSING if there is none, ERR_USAGE if the prefix is ambiguous.
int ledger_find(struct ledger *ledger, const char *word, struct buf *text,
                struct err *err) MUST_USE;

// Whether it has a run with exactly this id.
int ledger_has(struct ledger *ledger, const char *id, bool *has, struct err *err) MUST_USE;

// Visits this user's runs that are still running on this machine: their records so far (journal.h).
// With an `id`, only that run. Delivers killed runs first. The records say "killed", as they would
// after a kill.
int ledger_running(struct ledger *ledger, const char *id, ledger_visit_fn *visit, void *arg,
                   struct err *err) MUST_USE;

// Deletes a run by id or unique prefix. `id` (optional) gets the deleted id.
int ledger_delete(struct ledger *ledger, const char *word, struct buf *id,
                  struct err *err) MUST_USE;

// Stores a quote of a run (record/bill.h, one line of JSON); replaces one made at the same time.
// ledger_pinned() visits a run's quotes, the newest first, with the time as `id`.
int ledger_pin(struct ledger *ledger, const char *run, const char *made, const char *text,
               struct err *err) MUST_USE;
int ledger_pinned(struct ledger *ledger, const char *run, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// Checks that every ledger would import a record: it is valid and plausible. ERR_FORMAT if not.
int ledger_check(const char *text, size_t len, struct err *err) MUST_USE;

// Imports many records in one transaction: begin, add each, end. Adding checks the record as
// ledger_check() does; ERR_FORMAT if it is refused, and the caller may go on. Secrets in it are
// masked (record/mask.h). `*added` is false for a run that exists already.
int ledger_import_begin(struct ledger *ledger, struct err *err) MUST_USE;
int ledger_import_add(struct ledger *ledger, const char *text, size_t len, bool *added,
                      struct err *err) MUST_USE;
int ledger_import_end(struct ledger *ledger, struct err *err) MUST_USE;
void ledger_import_abandon(struct ledger *ledger);

// A run's record as one line of JSON, as the ledger and its files store it.
int ledger_line(const struct run *run, struct buf *out, struct err *err) MUST_USE;

// ---- published results: shipped with fare in share/published/*.jsonl: published by others, or
// measured by us on other machines. They are ordinary run records, each with its source, and need
// no ledger.

// Visits every record, file by file in name order. `dir` null: the shipped folder.
int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err) MUST_USE;

// Visits the records of one set, named like its file: "2017-keras-backends". ERR_USAGE lists the
// sets that exist.
int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err) MUST_USE;

// All records, read once. It does not change, so that threads may share it.
struct published;
int published_open(struct published **out, const char *dir, struct err *err) MUST_USE;
void published_close(struct published *all); // null is fine
size_t published_count(const struct published *all);
const struct run *published_run(const struct published *all, size_t i); // belongs to `all`

// Finds the record with this id or unique prefix of one; ERR_MISSING otherwise.
int published_find(const struct published *all, const char *word, struct buf *text,
                   struct err *err) MUST_USE;

// Finds a run's record among the published ones if it may be there, otherwise (or if that fails) in
// the ledger. `all` null: reads the shipped ones if it needs them.
int published_or_ledger(const struct published *all, struct ledger *ledger, const char *word,
                        struct buf *text, struct err *err) MUST_USE;

#endif
