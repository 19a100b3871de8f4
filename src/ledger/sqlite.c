// SPDX-License-Identifier: Apache-2.0
// SQLite as the ledger: one file, many processes.
//
// It uses the write-ahead log if the file system supports it, so that readers do not wait for the
// writer, and syncs every commit (synchronous=FULL). A locked file is retried for up to WAIT_MS;
// after that the run stays in the spool. A file on read-only media is read as it lies there.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/dl.h"
#include "base/fs.h"
#include "base/rng.h"
#include "ledger/inside.h"

enum { WAIT_MS = 10000, CACHED = 16 };

// KiB per connection; a server has several. An import needs more so that it does not read back the
// pages it has just written.
#define CACHE_USUAL "PRAGMA cache_size=-512"
#define CACHE_BULK  "PRAGMA cache_size=-65536"

// The functions used; <sqlite3.h> has their types.
// clang-format off
#define FUNCTIONS(X) \
    X(open_v2) X(close) X(errmsg) X(extended_errcode) X(busy_handler) X(prepare_v3) X(bind_text) \
    X(bind_null) X(step) X(reset) X(finalize) X(column_count) X(column_text) X(column_type) \
    X(changes)
// clang-format on
#define MEMBER(name) __typeof__(sqlite3_##name) *name;
#define SYMBOL(name) {"sqlite3_" #name, offsetof(struct sqlite_api, name), DL_REQUIRED},

static struct sqlite_api {
    FUNCTIONS(MEMBER)
} api;
static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
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
    struct statement cached[CACHED];
    size_t oldest; // the next one to replace
};

// A damaged file is ERR_IO, not ERR_FORMAT, which would blame the record being written.
static int complain(struct db *db, int code, struct err *err)
{
    code &= 0xFF;
    if (code == SQLITE_NOMEM)
        return err_memory(err);
    int kind = code == SQLITE_BUSY || code == SQLITE_LOCKED ? ERR_TIMEOUT : ERR_IO;
    err_set(err, kind, "the ledger '%s': %s", db->name, api.errmsg(db->handle));
    if (kind == ERR_TIMEOUT)
        err_hint(err, "another program has locked it: wait for it to finish, then try again");
    else if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
        err_hint(err, "this file is not a ledger or is damaged; name another with --ledger");
    else if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY)
        fs_hint_owner(db->name, err);
    if (code == SQLITE_READONLY) // the first hint wins
        err_hint(err, "it can only be read: copy it to a folder where you may write");
    return kind;
}

// Sleeps for a random moment so that waiting processes do not all wake at once.
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

static void close_handle(struct db *db)
{
    for (size_t i = 0; i < CACHED; i++) {
        if (db->cached[i].prepared)
            api.finalize(db->cached[i].prepared);
        free(db->cached[i].sql);
        db->cached[i] = (struct statement){0};
    }
    if (db->handle)
        api.close(db->handle);
    db->handle = NULL;
}

static void close_db(void *db_)
{
    struct db *db = db_;
    if (!db)
        return;
    close_handle(db);
    free(db->name);
    free(db);
}

static int prepare(struct db *db, const char *sql, sqlite3_stmt **out, struct err *err)
{
    for (size_t i = 0; i < CACHED; i++)
        if (db->cached[i].sql && strcmp(db->cached[i].sql, sql) == 0) {
            *out = db->cached[i].prepared;
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
    struct statement *slot = &db->cached[db->oldest++ % CACHED];
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
    int rc = prepare(db, sql, &statement, err);
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

// Switching to the write-ahead log needs exclusive access for a moment, and SQLite does not always
// wait for it. A file system without support keeps the rollback journal.
static int set_up(struct db *db, struct err *err)
{
    int64_t until_ns = clock_now_ns() + WAIT_MS * NS_PER_MS;
    // For a new file: several records of one or two kilobytes fit on a page.
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

// ---- files that can only be read

static bool is_writable(const char *where)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(where, '/');
    snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - where) : 0, where);
    return access(where, F_OK) != 0 || (access(where, W_OK) == 0 && access(folder, W_OK) == 0);
}

// On media that cannot change, SQLite needs neither locks nor the files beside the ledger.
static int open_immutable(struct db *db, const char *where, struct err *err)
{
    SCOPED(buf_release) struct buf url = {0}, log = {0};
    struct stat st;
    buf_printf(&log, "%s-wal", where);
    TRY(buf_check(&log, err));
    if (stat(buf_str(&log), &st) == 0 && st.st_size > 0) {
        err_set(err, ERR_IO, "the ledger '%s' was in use when it was copied here", db->name);
        return err_hint(err, "copy it and '%s' to a folder where you may write", buf_str(&log));
    }
    buf_adds(&url, "file:");
    for (const char *p = where; *p; p++)
        if (strchr("%?#", *p))
            buf_printf(&url, "%%%02X", (unsigned char)*p);
        else
            buf_addc(&url, *p);
    buf_adds(&url, "?immutable=1");
    TRY(buf_check(&url, err));
    close_handle(db);
    int code =
        api.open_v2(buf_str(&url), &db->handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    return code == SQLITE_OK ? 0 : db->handle ? complain(db, code, err) : err_memory(err);
}

// `db` is open for reading. Another program may be writing, from where it can.
static int set_up_reading(struct db *db, const char *where, struct err *err)
{
    struct statvfs fs;
    struct err why = {0};
    int rc = run(db, "SELECT COUNT(*) FROM sqlite_master", NULL, 0, NULL, NULL, NULL, &why);
    if (rc == ERR_IO && statvfs(where, &fs) == 0 && (fs.f_flag & ST_RDONLY)) {
        rc = open_immutable(db, where, err);
    } else if (rc != 0 && err) {
        *err = why;
    }
    return rc == 0 ? run(db, CACHE_USUAL, NULL, 0, NULL, NULL, NULL, err) : rc;
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
    bool writable = is_writable(where);
    int code = api.open_v2(
        where, &db->handle,
        writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY, NULL);
    if (code != SQLITE_OK) {
        rc = db->handle ? complain(db, code, err) : err_memory(err);
    } else {
        api.busy_handler(db->handle, wait_for_lock, db);
        db->wait_until_ns = clock_now_ns() + WAIT_MS * NS_PER_MS;
        rc = writable ? set_up(db, err) : set_up_reading(db, where, err);
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
    .bulk_begin = CACHE_BULK,
    .bulk_end = CACHE_USUAL,
    .has_schema = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'fare_schema'",
    .member = {"CASE WHEN json_valid(record) THEN json_extract(record, '$.", "') END"},
    .open = open_db,
    .close = close_db,
    .run = run,
};

// ---- files that were removed or replaced

enum { BESIDE_BYTES = PATH_MAX + 8, LOCK_MS = 2000 };

static pthread_mutex_t listing = PTHREAD_MUTEX_INITIALIZER;
static struct file *opened; // in this process

static const char *beside(const char *path, const char *end, char out[BESIDE_BYTES])
{
    snprintf(out, BESIDE_BYTES, "%s%s", path, end);
    return out;
}

static ino_t log_of(const char *path)
{
    char log[BESIDE_BYTES];
    struct stat st;
    return stat(beside(path, "-wal", log), &st) == 0 ? st.st_ino : 0;
}

static void remove_log(const char *path)
{
    char name[BESIDE_BYTES];
    unlink(beside(path, "-wal", name));
    unlink(beside(path, "-shm", name));
}

// Keeps other threads and programs of fare from doing the same at once, lest one removes the log
// that another has just begun. Somebody else may hold a lock on the folder: after a while it goes
// on without.
static int lock_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s/", slash ? (int)(slash - path) : 0, path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int ms = 0; fd >= 0 && ms < LOCK_MS && flock(fd, LOCK_EX | LOCK_NB) != 0; ms++)
        clock_sleep_ns(NS_PER_MS);
    return fd;
}

// A file that is open keeps its log's inode from being given to another.
static bool is_anothers_log(const struct stat *st, ino_t log)
{
    bool found = false;
    pthread_mutex_lock(&listing);
    for (const struct file *f = opened; f; f = f->next)
        found |= f->device == st->st_dev && f->log == log && f->inode != st->st_ino;
    pthread_mutex_unlock(&listing);
    return found;
}

void file_clear(const char *path, bool make)
{
    struct stat st;
    int lock = lock_folder(path);
    if (stat(path, &st) == 0) {
        ino_t log = log_of(path);
        if (log != 0 && is_anothers_log(&st, log))
            remove_log(path);
    } else if (make && errno == ENOENT) {
        remove_log(path);
        // SQLite would make it with the user's mask; its other files take their mode from this one.
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) { // else SQLite says why it cannot
            (void)!fchmod(fd, 0600);
            close(fd);
        }
    }
    if (lock >= 0)
        close(lock);
}

void file_note(struct file *file, const char *path)
{
    struct stat st;
    file_release(file);
    if (stat(path, &st) != 0)
        return;
    *file = (struct file){.known = true,
                          .writable = access(path, W_OK) == 0,
                          .device = st.st_dev,
                          .inode = st.st_ino,
                          .size = st.st_size,
                          .changed = st.st_mtim};
    pthread_mutex_lock(&listing);
    file->next = opened;
    opened = file;
    pthread_mutex_unlock(&listing);
}

void file_note_log(struct file *file, const char *path)
{
    pthread_mutex_lock(&listing);
    file->log = log_of(path);
    pthread_mutex_unlock(&listing);
}

void file_release(struct file *file)
{
    pthread_mutex_lock(&listing);
    for (struct file **at = &opened; *at; at = &(*at)->next)
        if (*at == file) {
            *at = file->next;
            break;
        }
    pthread_mutex_unlock(&listing);
    *file = (struct file){0};
}

bool file_replaced(const struct file *file, const char *path)
{
    struct stat st;
    if (!file->known)
        return false;
    if (stat(path, &st) != 0 || st.st_dev != file->device || st.st_ino != file->inode)
        return true;
    if (file->writable)
        return file->log != 0 && log_of(path) != file->log;
    return st.st_size != file->size || st.st_mtim.tv_sec != file->changed.tv_sec ||
           st.st_mtim.tv_nsec != file->changed.tv_nsec;
}
