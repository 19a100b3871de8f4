// SPDX-License-Identifier: Apache-2.0
// PostgreSQL as a team's ledger, by URL. libpq is opened at run time. A server that sends nothing
// for BOUND_SILENCE_S is given up: libpq itself would wait forever for one that is stopped. With
// ledger_wait_at_most(), all waiting of the command counts together; so nothing here lets libpq
// wait by itself. An answer that does not end is given up too (bounds.h): a table may be a view of
// others'.
//
// Its messages may quote the URL, so the password is removed before they are shown.
#include "ledger/inside.h"

#include <errno.h>
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bounds.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/dl.h"
#include "ledger/ledger.h"

enum { CACHED = 16, CONNECT_S = 10, QUICK_MS = 250 };

// The functions used; <libpq-fe.h> has their types.
// clang-format off
#define FUNCTIONS(X) \
    X(conninfoParse) X(conninfoFree) X(freemem) X(connectdbParams) X(connectStartParams) X(connectPoll) \
    X(status) X(errorMessage) X(setnonblocking) X(flush) X(finish) X(setNoticeProcessor) X(sendPrepare) X(sendQueryPrepared) X(setSingleRowMode) \
    X(socket) X(isBusy) X(consumeInput) X(getResult) X(resultStatus) X(resultErrorMessage) X(ntuples) X(nfields) X(getvalue) X(getlength) \
    X(getisnull) X(cmdTuples) X(clear)
// clang-format on
#define MEMBER(name) __typeof__(PQ##name) *name;
#define SYMBOL(name) {"PQ" #name, offsetof(struct pq_api, name), DL_REQUIRED},

static struct pq_api {
    FUNCTIONS(MEMBER)
} pq;
static const struct dl_symbol symbols[] = {FUNCTIONS(SYMBOL)};
static const char *const names[] = {"libpq.so.5", NULL};
static const struct dl_spec spec = {
    .what = "libpq, PostgreSQL's client library",
    .names = names,
    .symbols = symbols,
    .symbol_count = sizeof symbols / sizeof *symbols,
    .hint = "install the package libpq5, or use the bundle, which carries it",
};

static int load(struct err *err)
{
    static struct dl library;
    return dl_open_once(&library, &spec, &pq, err);
}

struct db {
    PGconn *conn;
    char *name;
    char *password;       // null: none
    char *cached[CACHED]; // the SQL of the prepared statements s0, s1, ...
    size_t oldest;
    bool lost; // given up; its answer may still come
    // of the statement that runs:
    int64_t until_ns, rows, bytes;
};

// ---- waiting

// The bound on all waiting of this process and those it forks, and what was used of it.
static int64_t most_ns = INT64_MAX;
static _Atomic int64_t *waited_ns;

void ledger_wait_at_most(int64_t ns)
{
    if (!waited_ns) {
        void *shared = mmap(NULL, sizeof *waited_ns, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        static _Atomic int64_t own;
        waited_ns = shared == MAP_FAILED ? &own : shared;
    }
    most_ns = ns;
}

static int64_t left_ns(void)
{
    return waited_ns ? most_ns - atomic_load(waited_ns) : INT64_MAX;
}

// A server far away needs some forty round trips for a run: a quick answer counts a tenth.
static void count_wait(int64_t ns)
{
    if (waited_ns)
        atomic_fetch_add(waited_ns, ns < QUICK_MS * NS_PER_MS ? ns / 10 : ns);
}

// Waits for the socket until `until_ns`, or as long as the command may. False: in vain.
static bool wait_for(struct db *db, short events, int64_t until_ns)
{
    int64_t now = clock_now_ns(), most = until_ns - now, left = left_ns();
    struct pollfd socket = {.fd = pq.socket(db->conn), .events = events};
    int64_t ms = ((left < most ? left : most) + NS_PER_MS - 1) / NS_PER_MS;
    int ready = ms > 0 ? poll(&socket, 1, (int)ms) : 0;
    count_wait(clock_now_ns() - now);
    db->lost = ready == 0 || (ready < 0 && errno != EINTR);
    return !db->lost;
}

static int complain_late(const struct db *db, struct err *err)
{
    return err_set(err, ERR_TIMEOUT, "the ledger %s does not answer", db->name);
}

// ---- the connection

// Sets the server's message as error: on one line and without the password.
static int complain(struct db *db, const char *message, struct err *err)
{
    SCOPED(buf_release) struct buf clean = {0};
    size_t secret = db->password ? strlen(db->password) : 0;
    for (const char *p = message; *p;) {
        if (secret > 0 && strncmp(p, db->password, secret) == 0) {
            buf_adds(&clean, "***");
            p += secret;
        } else {
            buf_addc(&clean, *p == '\n' ? ' ' : *p);
            p++;
        }
    }
    buf_trim(&clean);
    return err_set(err, ERR_IO, "the ledger %s: %s", db->name,
                   clean.len ? buf_str(&clean) : "the connection was lost");
}

static void close_db(void *db_)
{
    struct db *db = db_;
    if (!db)
        return;
    if (db->conn)
        pq.finish(db->conn);
    for (size_t i = 0; i < CACHED; i++)
        free(db->cached[i]);
    free(db->password);
    free(db->name);
    free(db);
}

static void ignore_notice(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

// The password as libpq decodes it from the URL.
static int find_password(struct db *db, const char *where, struct err *err)
{
    char *message = NULL;
    PQconninfoOption *options = pq.conninfoParse(where, &message);
    if (!options) {
        if (message)
            pq.freemem(message);
        // libpq's message would quote the URL with the password.
        err_set(err, ERR_USAGE, "the ledger's URL is not valid for PostgreSQL");
        return err_hint(err, "it looks like postgresql://USER@HOST:PORT/DATABASE");
    }
    int rc = 0;
    for (PQconninfoOption *o = options; o->keyword && rc == 0; o++)
        if (strcmp(o->keyword, "password") == 0 && o->val && *o->val) {
            db->password = text_copy(o->val, err);
            rc = db->password ? 0 : ERR_MEMORY;
        }
    pq.conninfoFree(options);
    return rc;
}

// Goes on with a connection that was begun. An error of the server is in its status.
static int finish_connecting(struct db *db, struct err *err)
{
    int64_t until_ns = clock_now_ns() + CONNECT_S * NS_PER_S;
    PostgresPollingStatusType wants = PGRES_POLLING_WRITING;
    while (pq.status(db->conn) != CONNECTION_BAD && wants != PGRES_POLLING_OK &&
           wants != PGRES_POLLING_FAILED) {
        if (!wait_for(db, wants == PGRES_POLLING_READING ? POLLIN : POLLOUT, until_ns))
            return complain_late(db, err);
        wants = pq.connectPoll(db->conn);
    }
    return 0;
}

static int connect_db(struct db *db, const char *where, struct err *err)
{
    // The URL can override the keys before dbname. A silent server is given up after 30 s.
    static const char *const keys[] = {"connect_timeout",     "tcp_user_timeout", "keepalives_idle",
                                       "keepalives_interval", "keepalives_count", "dbname",
                                       "application_name",    "client_encoding",  NULL};
    const char *const values[] = {"10", "30000", "10", "5", "3", where, "fare", "UTF8", NULL};
    // Only libpq's own waiting goes on to the next host of a URL with several when one is silent.
    bool bounded = waited_ns != NULL;
    if (bounded && left_ns() <= 0)
        return complain_late(db, err);
    db->conn = (bounded ? pq.connectStartParams : pq.connectdbParams)(keys, values, 1);
    if (!db->conn)
        return err_memory(err);
    if (bounded)
        TRY(finish_connecting(db, err));
    if (pq.status(db->conn) != CONNECTION_OK)
        return complain(db, pq.errorMessage(db->conn), err);
    pq.setNoticeProcessor(db->conn, ignore_notice, NULL);
    return pq.setnonblocking(db->conn, 1) == 0 ? 0 : complain(db, "", err);
}

static int open_db(const char *where, const char *public_name, void **out, struct err *err)
{
    TRY(load(err));
    struct db *db = calloc(1, sizeof *db);
    if (!db)
        return err_memory(err);
    db->name = text_copy(public_name, err);
    int rc = db->name ? find_password(db, where, err) : ERR_MEMORY;
    if (rc == 0)
        rc = connect_db(db, where, err);
    if (rc != 0) {
        close_db(db);
        return rc;
    }
    *out = db;
    return 0;
}

// Sends what is left of the command and waits until its next result can be read without waiting.
static int await(struct db *db, struct err *err)
{
    int64_t until_ns = clock_now_ns() + BOUND_SILENCE_S * NS_PER_S;
    int unsent = 0;
    while (!db->lost && ((unsent = pq.flush(db->conn)) > 0 || pq.isBusy(db->conn)))
        if (wait_for(db, unsent > 0 ? POLLIN | POLLOUT : POLLIN, until_ns) &&
            !pq.consumeInput(db->conn))
            break; // the connection's error is the next result
    return db->lost ? complain_late(db, err) : 0;
}

// What was read of one answer. The rest of one that does not end is not read: the connection goes.
static int count_rows(struct db *db, const PGresult *result, struct err *err)
{
    for (int r = 0; r < pq.ntuples(result); r++, db->rows++)
        for (int c = 0; c < pq.nfields(result); c++)
            db->bytes += pq.getlength(result, r, c);
    if (db->rows > BOUND_ROWS)
        err_set(err, ERR_FORMAT, "the ledger %s sends over %d rows", db->name, BOUND_ROWS);
    else if (db->bytes > BOUND_ROWS_BYTES)
        err_set(err, ERR_FORMAT, "the ledger %s sends over %lld GB", db->name,
                (long long)(BOUND_ROWS_BYTES / 1000000000));
    else if (clock_now_ns() > db->until_ns)
        err_set(err, ERR_TIMEOUT, "the ledger %s was not done with its answer after %d s", db->name,
                BOUND_QUERY_S);
    else
        return 0;
    db->lost = true;
    return err_hint(err, "select fewer runs (--since, -n); or is a table of it a view of others?");
}

// The next result: null at the end, or with an error if the server was given up.
static PGresult *next_result(struct db *db, int *rc, struct err *err)
{
    int waited = await(db, err);
    if (waited != 0)
        *rc = waited;
    return waited == 0 ? pq.getResult(db->conn) : NULL;
}

// Takes all results of the last command.
static int finish(struct db *db, struct err *err)
{
    int rc = 0;
    bool any = false;
    for (PGresult *result; (result = next_result(db, &rc, err)); pq.clear(result)) {
        any = true;
        if (rc == 0 && pq.resultStatus(result) != PGRES_COMMAND_OK)
            rc = complain(db, pq.resultErrorMessage(result), err);
    }
    return rc == 0 && !any ? complain(db, pq.errorMessage(db->conn), err) : rc;
}

static int prepare(struct db *db, const char *sql, char name[16], struct err *err)
{
    for (size_t i = 0; i < CACHED; i++)
        if (db->cached[i] && strcmp(db->cached[i], sql) == 0) {
            snprintf(name, 16, "s%zu", i);
            return 0;
        }
    size_t slot = db->oldest++ % CACHED;
    char *copy = text_copy(sql, err);
    if (!copy)
        return ERR_MEMORY;
    snprintf(name, 16, "s%zu", slot);
    int rc = 0;
    if (db->cached[slot]) {
        char drop[32];
        snprintf(drop, sizeof drop, "DEALLOCATE s%zu", slot);
        free(db->cached[slot]);
        db->cached[slot] = NULL;
        struct err ignored = {0};
        int gone = pq.sendPrepare(db->conn, "", drop, 0, NULL) ? finish(db, &ignored) : ERR_IO;
        if (gone == 0 && pq.sendQueryPrepared(db->conn, "", 0, NULL, NULL, NULL, 0))
            gone = finish(db, &ignored);
        if (db->lost)
            rc = err_pass(err, gone, &ignored);
    }
    if (rc == 0 && !pq.sendPrepare(db->conn, name, sql, 0, NULL))
        rc = complain(db, pq.errorMessage(db->conn), err);
    if (rc == 0)
        rc = finish(db, err);
    if (rc == 0)
        db->cached[slot] = copy;
    else
        free(copy);
    return rc;
}

static int give_rows(const PGresult *result, backend_row_fn *row, void *arg, struct err *err)
{
    const char *values[16];
    int columns = pq.nfields(result);
    for (int r = 0; r < pq.ntuples(result); r++) {
        for (int c = 0; c < columns && c < 16; c++)
            values[c] = pq.getisnull(result, r, c) ? NULL : pq.getvalue(result, r, c);
        TRY(row(arg, values, err));
    }
    return 0;
}

static int run(void *db_, const char *sql, const char *const *values, size_t count,
               backend_row_fn *row, void *arg, int64_t *changed, struct err *err)
{
    struct db *db = db_;
    char name[16];
    int rc = await(db, err); // a server that was given up stays so
    if (rc == 0)
        rc = prepare(db, sql, name, err);
    if (rc != 0)
        return rc;
    if (!pq.sendQueryPrepared(db->conn, name, (int)count, values, NULL, NULL, 0))
        return complain(db, pq.errorMessage(db->conn), err);
    if (row)
        pq.setSingleRowMode(db->conn); // do not load long lists into memory
    bool any = false;
    db->rows = db->bytes = 0;
    db->until_ns = clock_now_ns() + BOUND_QUERY_S * NS_PER_S;
    for (PGresult *result; (result = next_result(db, &rc, err)); pq.clear(result)) {
        any = true;
        int beyond = count_rows(db, result, err);
        if (beyond != 0) {
            pq.clear(result);
            return beyond;
        }
        ExecStatusType status = pq.resultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK &&
            status != PGRES_SINGLE_TUPLE) {
            if (rc == 0)
                rc = complain(db, pq.resultErrorMessage(result), err);
            continue;
        }
        if (changed)
            *changed = strtoll(pq.cmdTuples(result), NULL, 10);
        if (row && rc == 0)
            rc = give_rows(result, row, arg, err);
    }
    if (rc == 0 && !any)
        rc = complain(db, pq.errorMessage(db->conn), err);
    return rc;
}

const struct backend backend_postgres = {
    .name = "postgresql",
    .text_type = "TEXT COLLATE \"C\"",
    .keyed = "",
    .begin = "BEGIN",
    .lock = "SELECT pg_advisory_xact_lock(4051970)", // an arbitrary number
    .has_schema = "SELECT 1 FROM pg_tables WHERE tablename = 'fare_schema' "
                  "AND schemaname = ANY (current_schemas(false))",
    .member = {"record::json ->> '", "'"},
    .open = open_db,
    .close = close_db,
    .run = run,
};
