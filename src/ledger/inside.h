// SPDX-License-Identifier: Apache-2.0
// backend: the interface between the ledger and a database. Each database is one file that ends in
// one such table.
//
// Values are strings (null is NULL); the database converts them to the column's type. The SQL is
// common to both databases; the table holds the words in which they differ.
#ifndef FARE_LEDGER_INSIDE_H
#define FARE_LEDGER_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "ledger/ledger.h"
#include "ledger/row.h"

// file: notices that an open SQLite file was removed or replaced.
//
// Writes to such a file would be lost. SQLite keeps its write-ahead log and the log's index beside
// the file, under its name, and has no means to tell whose they are: what a file leaves behind must
// not be applied to the one that takes its place. A process knows the logs of the files that it has
// open, by any of its threads. A log of a file that only other programs have open cannot be told
// from the new file's own.

// A file as it was when it was opened. All zero: none. The struct must not move between file_note()
// and file_release().
struct file {
    bool known, writable;
    dev_t device;
    ino_t inode, log; // the file's, and its write-ahead log's (0: none)
    off_t size;
    struct timespec changed;
    struct file *next; // of those that are open in this process
};

// Removes the log beside a file if it is known to be another's: before the one is opened, and
// before the other is closed. With `make`, makes a file that only its user may read if there is
// none.
void file_clear(const char *path, bool make);

void file_note(struct file *file, const char *path);     // before it is opened,
void file_note_log(struct file *file, const char *path); // after that, and
void file_release(struct file *file);                    // before it is closed

// Whether `path` is now another file, or none, or its log is not the one that is open: moved away
// and back, perhaps. A file that can only be read may be open without locks (sqlite.c): there any
// change counts.
bool file_replaced(const struct file *file, const char *path);

// ---- backend and ledger ----

// Called for each row; a result other than 0 ends the query and is returned.
typedef int backend_row_fn(void *arg, const char *const *values, struct err *err);

struct backend {
    const char *name;
    const char *text_type;  // a TEXT column that compares byte by byte in every locale
    const char *keyed;      // follows CREATE TABLE (...): store rows in key order
    const char *begin;      // starts a transaction that writes
    const char *bulk_begin; // (optional) run before many runs are written
    const char *bulk_end;   // (optional) run after that
    const char *lock;       // (optional) run in a transaction before the schema changes
    const char *has_schema; // returns a row if the table fare_schema exists
    const char *member[2];  // before and after the name of a member of `record`: its value as text

    // `where` is a path or URL; errors show `public_name` instead.
    int (*open)(const char *where, const char *public_name, void **db, struct err *err);
    void (*close)(void *db);

    // Runs one statement with values for $1, $2, ..., which must appear in that order. `row`
    // and `changed` (rows inserted, updated or deleted) are optional. Prepared statements are
    // cached.
    int (*run)(void *db, const char *sql, const char *const *values, size_t count,
               backend_row_fn *row, void *arg, int64_t *changed, struct err *err);
};

extern const struct backend backend_sqlite, backend_postgres;

// ==== place ====
// Where a ledger is and where its spool is. Internal to the ledger.

enum { PLACE_SPOOLS = 2 };

struct ledger_place {
    bool named; // by the caller; otherwise FARE_LEDGER or the user's default
    const struct backend *backend;
    char *where;                // a path or the whole URL
    char *name;                 // for display: without the password
    char *spools[PLACE_SPOOLS]; // folders; the last is used if the disk is full or read-only
};

// `where` is as in ledger_new(). Each ledger has its own spool folders, named by a hash of its
// public name, so that runs for a team's ledger never end up in a private one.
int place_find(struct ledger_place *place, const char *where, struct err *err) MUST_USE;
void place_release(struct ledger_place *place);

// Appends a URL without its password: removes it from "user:password@", and removes the query if it
// holds one.
void place_public(const char *url, struct buf *out);

// ==== inside ====
// Declarations shared by the ledger's own files.

struct ledger {
    struct ledger_place place;
    void *db;         // null: not connected
    bool in_memory;   // `db` is empty and in memory because the file does not exist
    struct file file; // of SQLite
    bool only_look;   // nothing is delivered
};

// Runs one statement: without values, with VALUES(...) for $1, $2, ... (`changed` is optional), and
// for its rows, after ledger_connect().
int ledger_sql(struct ledger *ledger, const char *text, struct err *err) MUST_USE;
int ledger_do(struct ledger *ledger, const char *text, const char *const *values, size_t count,
              int64_t *changed, struct err *err) MUST_USE;
int ledger_rows(struct ledger *ledger, const char *text, const char *const *values, size_t count,
                backend_row_fn *row, void *arg, struct err *err) MUST_USE;
#define VALUES(...)                                                                                \
    (const char *const[]){__VA_ARGS__},                                                            \
        sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *)
#define NO_VALUES NULL, 0

// A transaction that writes. Its end commits if `rc`, what was done in it, is 0, and otherwise
// takes all of it back.
int ledger_begin(struct ledger *ledger, struct err *err) MUST_USE;
int ledger_commit(struct ledger *ledger, int rc, struct err *err) MUST_USE;

// The date in the ledger's format, in which strings sort by time; "" if there is none.
void ledger_date(const char *text, char out[CLOCK_ISO_BYTES]);

// An argument for ledger_visit_row(), which passes the first two columns to `visit`.
struct ledger_visit {
    ledger_visit_fn *visit;
    void *arg;
    bool stored; // as in ledger_filter
};

// The rows of fare_spend of a record that was added, in the open transaction.
int spend_insert(struct ledger *ledger, const struct run *row, struct err *err) MUST_USE;

// ==== query ====
// A filter (ledger.h) as SQL, with its values. Internal to the ledger.

enum { QUERY_VALUES_MOST = 32 };

// A zeroed one is empty. It must stay where it is: the values point into it.
struct ledger_query {
    struct buf sql;
    const char *values[QUERY_VALUES_MOST + 8]; // labels leave room for the rest
    size_t count;
    bool conditions;        // there is a WHERE
    struct buf patterns[2]; // for LIKE
    char hashed[4][RUN_HASHED_BYTES];
    size_t hashed_count;
    char since[2][CLOCK_ISO_BYTES];
    size_t since_count;
    struct buf keys[QUERY_VALUES_MOST / 2];
    size_t key_count;
};

// `select` and the conditions on fare_spend: ledger_spend_each() has their meaning.
int query_spend(struct ledger_query *query, const char *select, const struct backend *backend,
                const struct ledger_filter *filter, struct err *err) MUST_USE;

// ERR_MEMORY if a part could not be written.
void query_release(struct ledger_query *query);

// ==== schema ====
// The ledger's tables and their versions. Internal to the ledger.

#define SCHEMA_VERSION 7

#define SCHEMA_INSERT_HEAD                                                                         \
    "INSERT INTO fare_head (run, head) VALUES ($1, $2) ON CONFLICT DO NOTHING"

// Brings the database to SCHEMA_VERSION in one transaction. A newer one is ERR_FORMAT and stays
// unchanged.
int schema_migrate(struct ledger *ledger, struct err *err) MUST_USE;

// ---- the spool: holds runs as files on local disk until the database has them.
//
// A run is ID.json in a folder that belongs to the ledger. It is written atomically and removed
// once the database has it. The removal is not synced: a file that reappears after a power cut is
// delivered again, which adds nothing.

// Writes a run into the first folder that works; the caller frees `*path`.
int spool_put(const struct ledger_place *place, const char *id, const char *text, size_t len,
              char **path, struct err *err) MUST_USE;

// Makes one of the folders if needed. The one in /tmp must belong to this user alone.
int spool_folder(const struct ledger_place *place, int number, struct err *err) MUST_USE;

// Turns the journals of killed processes (journal.h) into spooled runs.
void spool_adopt(const struct ledger_place *place);

// The paths of the spooled runs, sorted. A missing folder holds none.
struct spool_list {
    char **paths;
    size_t count;
};
int spool_list(const struct ledger_place *place, struct spool_list *list, struct err *err) MUST_USE;
void spool_list_release(struct spool_list *list);

// The paths of the journals (journal.h) of running processes. `*dead` is set if there is a journal
// whose process has ended.
int spool_running(const struct ledger_place *place, struct spool_list *list, bool *dead,
                  struct err *err) MUST_USE;

#endif
