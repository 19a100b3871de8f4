// SPDX-License-Identifier: Apache-2.0
// SQLite as the ledger: one file, many processes.
//
// Write-ahead log where the file system can (readers do not wait for the writer), and every
// commit is on the disk before it is reported (synchronous=FULL). Whoever finds it locked waits
// up to WAIT_MS; the ledger's caller has the run in the spool then.
#include "ledger/backend.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/rng.h"

enum { WAIT_MS = 10000, KEPT = 8 };

// In KiB, taken as needed and kept as long as the connection, of which a server has several. An
// import needs more: it should not read back what it just wrote.
#define CACHE_USUAL "PRAGMA cache_size=-512"
#define CACHE_MANY  "PRAGMA cache_size=-65536"

struct sqlite_api {
    int (*open_v2)(const char *path, sqlite3 **db, int flags, const char *vfs);
    int (*close)(sqlite3 *db);
    const char *(*errmsg)(sqlite3 *db);
    int (*extended_errcode)(sqlite3 *db);
    int (*busy_handler)(sqlite3 *db, int (*call)(void *, int), void *arg);
    int (*prepare_v3)(sqlite3 *db, const char *sql, int bytes, unsigned flags,
                      sqlite3_stmt **statement, const char **tail);
    int (*bind_text)(sqlite3_stmt *statement, int at, const char *text, int bytes,
                     void (*release)(void *));
    int (*bind_null)(sqlite3_stmt *statement, int at);
    int (*step)(sqlite3_stmt *statement);
    int (*reset)(sqlite3_stmt *statement);
    int (*finalize)(sqlite3_stmt *statement);
    int (*column_count)(sqlite3_stmt *statement);
    const unsigned char *(*column_text)(sqlite3_stmt *statement, int column);
    int (*column_type)(sqlite3_stmt *statement, int column);
    int (*changes)(sqlite3 *db);
};
static struct sqlite_api api;

#define SYMBOL(name)                                                                               \
    {                                                                                              \
        "sqlite3_" #name, offsetof(struct sqlite_api, name), DL_REQUIRED                           \
    }
static const struct dl_symbol symbols[] = {
    SYMBOL(open_v2),      SYMBOL(close),       SYMBOL(errmsg),    SYMBOL(extended_errcode),
    SYMBOL(busy_handler), SYMBOL(prepare_v3),  SYMBOL(bind_text), SYMBOL(bind_null),
    SYMBOL(step),         SYMBOL(reset),       SYMBOL(finalize),  SYMBOL(column_count),
    SYMBOL(column_text),  SYMBOL(column_type), SYMBOL(changes),
};
static const char *const names[] = {"libsqlite3.so.0", NULL};
static const struct dl_spec spec = {
    .what = "SQLite",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libsqlite3-0, or use the bundle, which carries it",
};

static int load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &api, err);
}

struct statement {
    char *sql;
    sqlite3_stmt *prepared;
};

struct db {
    sqlite3 *handle;
    char *name;
    int64_t wait_until_ns; // set when waiting begins
    struct statement kept[KEPT];
    size_t oldest; // the next one to give up
};

static int complain(struct db *db, int code, struct err *err)
{
    if ((code & 0xFF) == SQLITE_NOMEM)
        return err_memory(err);
    int kind = (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED      ? ERR_TIMEOUT
               : (code & 0xFF) == SQLITE_NOTADB || (code & 0xFF) == SQLITE_CORRUPT ? ERR_FORMAT
                                                                                   : ERR_IO;
    err_set(err, kind, "the ledger '%s': %s", db->name, api.errmsg(db->handle));
    if (kind == ERR_TIMEOUT)
        err_hint(err, "another program holds it: let that finish, then try again");
    else if (kind == ERR_FORMAT)
        err_hint(err, "this file is not a ledger, or damaged; name another with --ledger");
    return kind;
}

// Sleeps a little at random, so that many who wait do not wake together.
static int wait_for_lock(void *arg, int times)
{
    struct db *db = arg;
    int64_t now = clock_now_ns();
    if (times == 0)
        db->wait_until_ns = now + WAIT_MS * NS_PER_MS;
    if (now >= db->wait_until_ns)
        return 0;
    unsigned char random;
    rng_entropy(&random, 1);
    int64_t most_ms = times < 5 ? 4 : 32;
    clock_sleep_ns(NS_PER_MS / 4 + random * (most_ms * NS_PER_MS / 256));
    return 1;
}

static void close_db(void *db_)
{
    struct db *db = db_;
    if (!db)
        return;
    for (size_t i = 0; i < KEPT; i++) {
        if (db->kept[i].prepared)
            api.finalize(db->kept[i].prepared);
        free(db->kept[i].sql);
    }
    if (db->handle)
        api.close(db->handle);
    free(db->name);
    free(db);
}

// The statement, prepared before or now.
static int prepared(struct db *db, const char *sql, sqlite3_stmt **out, struct err *err)
{
    for (size_t i = 0; i < KEPT; i++)
        if (db->kept[i].sql && strcmp(db->kept[i].sql, sql) == 0) {
            *out = db->kept[i].prepared;
            return 0;
        }
    char *copy = text_copy(sql, err);
    if (!copy)
        return ERR_MEMORY;
    sqlite3_stmt *statement = NULL;
    int code = api.prepare_v3(db->handle, sql, -1, 0, &statement, NULL);
    if (code != SQLITE_OK) {
        free(copy);
        return complain(db, code, err);
    }
    struct statement *slot = &db->kept[db->oldest++ % KEPT];
    if (slot->prepared)
        api.finalize(slot->prepared);
    free(slot->sql);
    *slot = (struct statement){copy, statement};
    *out = statement;
    return 0;
}

static int give_row(sqlite3_stmt *statement, backend_row_fn *row, void *arg, struct err *err)
{
    const char *values[16];
    int columns = api.column_count(statement);
    for (int i = 0; i < columns && i < 16; i++) {
        values[i] = (const char *)api.column_text(statement, i);
        if (!values[i] && api.column_type(statement, i) != SQLITE_NULL)
            return err_memory(err);
    }
    return row(arg, values, err);
}

static int run(void *db_, const char *sql, const char *const *values, size_t count,
               backend_row_fn *row, void *arg, int64_t *changed, struct err *err)
{
    struct db *db = db_;
    sqlite3_stmt *statement = NULL;
    int rc = prepared(db, sql, &statement, err);
    if (rc != 0)
        return rc;
    int code = SQLITE_OK;
    for (size_t i = 0; i < count && code == SQLITE_OK; i++)
        code = values[i] ? api.bind_text(statement, (int)i + 1, values[i], -1, SQLITE_STATIC)
                         : api.bind_null(statement, (int)i + 1);
    if (code != SQLITE_OK)
        rc = complain(db, code, err);
    while (rc == 0) {
        code = api.step(statement);
        if (code == SQLITE_DONE)
            break;
        if (code != SQLITE_ROW)
            rc = complain(db, code, err);
        else if (row)
            rc = give_row(statement, row, arg, err);
    }
    if (rc == 0 && changed)
        *changed = api.changes(db->handle);
    api.reset(statement);
    return rc;
}

// Going over to the write-ahead log needs the file for a moment without anybody else, and SQLite
// does not always wait for that by itself. A file system that cannot do it keeps the old way.
static int set_up(struct db *db, struct err *err)
{
    int64_t until_ns = clock_now_ns() + WAIT_MS * NS_PER_MS;
    // Of a new file: several records of one or two kilobytes fit on a page.
    int rc = run(db, "PRAGMA page_size=16384", NULL, 0, NULL, NULL, NULL, err);
    if (rc != 0)
        return rc;
    for (int times = 1;; times++) {
        struct err why = {0};
        rc = run(db, "PRAGMA journal_mode=WAL", NULL, 0, NULL, NULL, NULL, &why);
        if (rc != ERR_TIMEOUT || clock_now_ns() >= until_ns) {
            if (rc != 0 && err)
                *err = why;
            break;
        }
        wait_for_lock(db, times);
    }
    if (rc == 0)
        rc = run(db, "PRAGMA synchronous=FULL", NULL, 0, NULL, NULL, NULL, err);
    if (rc == 0)
        rc = run(db, CACHE_USUAL, NULL, 0, NULL, NULL, NULL, err);
    return rc;
}

static int open_db(const char *where, const char *public_name, void **out, struct err *err)
{
    int rc = load(err);
    if (rc != 0)
        return rc;
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return err_memory(err);
    db->name = text_copy(public_name, err);
    if (!db->name) {
        close_db(db);
        return ERR_MEMORY;
    }
    int code = api.open_v2(where, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code != SQLITE_OK) {
        rc = db->handle ? complain(db, code, err) : err_memory(err);
    } else {
        api.busy_handler(db->handle, wait_for_lock, db);
        db->wait_until_ns = clock_now_ns() + WAIT_MS * NS_PER_MS;
        rc = set_up(db, err);
    }
    if (rc != 0) {
        close_db(db);
        return rc;
    }
    *out = db;
    return 0;
}

const struct backend backend_sqlite = {
    .name = "sqlite",
    .text_type = "TEXT",
    .keyed = "WITHOUT ROWID",
    .begin = "BEGIN IMMEDIATE",
    .many_begin = CACHE_MANY,
    .many_end = CACHE_USUAL,
    .has_schema = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'fare_schema'",
    .open = open_db,
    .close = close_db,
    .run = run,
};
