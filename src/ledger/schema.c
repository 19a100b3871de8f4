// SPDX-License-Identifier: Apache-2.0
#include "ledger/schema.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/tree.h"
#include "ledger/row.h"

// Each list of statements leads from the version before to its own. @text and @keyed stand for
// backend.text_type and backend.keyed. Never change a released version.
//
// Lists are filtered and sorted by the columns; an absent value is '' or NULL. `record` is the run
// as received. It is the last column so that SQLite can read the others without it.
static const char *const version_1[] = {
    "CREATE TABLE fare_schema (version BIGINT NOT NULL)",
    "CREATE TABLE fare_run ("
    "id @text PRIMARY KEY, started @text NOT NULL, name @text NOT NULL, workload @text NOT NULL, "
    "framework @text NOT NULL, ended @text NOT NULL, machine @text NOT NULL, gpu @text NOT NULL, "
    "step_ms DOUBLE PRECISION, wall_s DOUBLE PRECISION, record TEXT NOT NULL)",
    "CREATE TABLE fare_label (name @text NOT NULL, value @text NOT NULL, run @text NOT NULL, "
    "PRIMARY KEY (name, value, run)) @keyed",
    NULL,
};
// Most lists show the newest runs of one workload.
static const char *const version_2[] = {
    "CREATE INDEX fare_run_started ON fare_run (started, id)",
    "CREATE INDEX fare_run_workload ON fare_run (workload, started, id)",
    NULL,
};
// Quotes, with the prices they used.
static const char *const version_3[] = {
    "CREATE TABLE fare_quote (run @text NOT NULL, made @text NOT NULL, record TEXT NOT NULL, "
    "PRIMARY KEY (run, made))",
    NULL,
};
// The heads of long records (row.h), so that lists need not read the rest from disk.
static const char *const version_4[] = {
    "CREATE TABLE fare_head (run @text PRIMARY KEY, head TEXT NOT NULL) @keyed",
    NULL,
};
static int fill_heads(const struct backend *backend, void *db, struct err *err);

static const struct {
    const char *const *statements;
    int (*fill)(const struct backend *backend, void *db, struct err *err); // (optional) then
} versions[SCHEMA_VERSION] = {
    {version_1, NULL}, {version_2, NULL}, {version_3, NULL}, {version_4, fill_heads}};

static int read_number(void *arg, const char *const *values, struct err *err)
{
    (void)err;
    if (!values[0] || !text_int(values[0], arg))
        *(int64_t *)arg = -1;
    return 0;
}

static int set_true(void *arg, const char *const *values, struct err *err)
{
    (void)values;
    (void)err;
    *(bool *)arg = true;
    return 0;
}

static int read_version(const struct backend *backend, void *db, int64_t *version, struct err *err)
{
    bool there = false;
    *version = 0;
    TRY(backend->run(db, backend->has_schema, NULL, 0, set_true, &there, NULL, err));
    if (there)
        TRY(backend->run(db, "SELECT version FROM fare_schema", NULL, 0, read_number, version, NULL,
                         err));
    return 0;
}

static int check(int64_t version, const char *name, struct err *err)
{
    if (version >= 0 && version <= SCHEMA_VERSION)
        return 0;
    err_set(err, ERR_FORMAT, "the ledger %s has schema %lld; this fare supports up to %d", name,
            (long long)version, SCHEMA_VERSION);
    return err_hint(err, "a newer fare wrote it: update this one, or name another with --ledger");
}

// Replaces @text and @keyed.
static void spell(const struct backend *backend, const char *statement, struct buf *sql)
{
    const struct {
        const char *word, *spelt;
    } words[] = {{"@text", backend->text_type}, {"@keyed", backend->keyed}};
    while (*statement) {
        size_t plain = strcspn(statement, "@"), w = 0;
        buf_add(sql, statement, plain);
        statement += plain;
        while (w < 2 && strncmp(statement, words[w].word, strlen(words[w].word)) != 0)
            w++;
        assert(w < 2 || *statement == '\0');
        if (w < 2) {
            buf_adds(sql, words[w].spelt);
            statement += strlen(words[w].word);
        }
    }
}

static int apply(const struct backend *backend, void *db, const char *const *statements,
                 struct err *err)
{
    int rc = 0;
    for (; *statements && rc == 0; statements++) {
        struct buf sql = {0};
        spell(backend, *statements, &sql);
        rc = buf_check(&sql, err);
        if (rc == 0)
            rc = backend->run(db, buf_str(&sql), NULL, 0, NULL, NULL, NULL, err);
        buf_release(&sql);
    }
    return rc;
}

static int set_version(const struct backend *backend, void *db, struct err *err)
{
    struct buf sql = {0};
    int rc = backend->run(db, "DELETE FROM fare_schema", NULL, 0, NULL, NULL, NULL, err);
    buf_printf(&sql, "INSERT INTO fare_schema (version) VALUES (%d)", SCHEMA_VERSION);
    if (rc == 0)
        rc = buf_check(&sql, err);
    if (rc == 0)
        rc = backend->run(db, buf_str(&sql), NULL, 0, NULL, NULL, NULL, err);
    buf_release(&sql);
    return rc;
}

// ---- version 4: heads for existing runs

enum { AT_ONCE = 100 }; // runs read before their heads are written: a query blocks writing

struct heads {
    struct head {
        char *run, *head; // null head: the record is its own
    } items[AT_ONCE];
    size_t count;
};

static int add_head(void *arg, const char *const *values, struct err *err)
{
    struct heads *heads = arg;
    struct head *item = &heads->items[heads->count++]; // the statement's limit is ours
    struct buf head = {0};
    struct row row;
    struct err ignored = {0};
    size_t len = values[1] ? strlen(values[1]) : 0;
    item->run = text_copy(values[0], err);
    if (!item->run)
        return ERR_MEMORY;
    int rc = row_read(values[1] ? values[1] : "", len, &row, &ignored);
    bool has_head = rc == 0 && row_head(&row, values[1], len, &head);
    if (has_head)
        item->head = buf_take(&head, err);
    if (rc == 0)
        row_release(&row);
    buf_release(&head);
    bool failed = rc == ERR_MEMORY || (has_head && !item->head);
    return failed ? err_memory(err) : 0; // an unreadable record gets no head
}

static int insert_heads(const struct backend *backend, void *db, const struct heads *heads,
                        struct err *err)
{
    for (size_t i = 0; i < heads->count; i++) {
        const char *const values[] = {heads->items[i].run, heads->items[i].head};
        if (values[1])
            TRY(backend->run(db, SCHEMA_INSERT_HEAD, values, 2, NULL, NULL, NULL, err));
    }
    return 0;
}

static int fill_heads(const struct backend *backend, void *db, struct err *err)
{
    char *last = text_copy("", err);
    int rc = last ? 0 : ERR_MEMORY;
    size_t count = AT_ONCE;
    struct buf sql = {0};
    buf_printf(&sql, "SELECT id, record FROM fare_run WHERE id > $1 ORDER BY id LIMIT %d", AT_ONCE);
    if (rc == 0)
        rc = buf_check(&sql, err);
    while (rc == 0 && count == AT_ONCE) {
        struct heads heads = {.count = 0};
        const char *after = last;
        rc = backend->run(db, buf_str(&sql), &after, 1, add_head, &heads, NULL, err);
        if (rc == 0)
            rc = insert_heads(backend, db, &heads, err);
        count = heads.count;
        for (size_t i = 0; i < heads.count; i++) {
            if (i + 1 == heads.count && heads.items[i].run) {
                free(last);
                last = heads.items[i].run;
            } else {
                free(heads.items[i].run);
            }
            free(heads.items[i].head);
        }
    }
    buf_release(&sql);
    free(last);
    return rc;
}

int schema_migrate(const struct backend *backend, void *db, const char *name, struct err *err)
{
    int64_t version;
    int rc = read_version(backend, db, &version, err);
    if (rc == 0)
        rc = check(version, name, err);
    if (rc != 0 || version == SCHEMA_VERSION)
        return rc;
    rc = backend->run(db, backend->begin, NULL, 0, NULL, NULL, NULL, err);
    if (rc != 0)
        return rc;
    if (backend->lock)
        rc = backend->run(db, backend->lock, NULL, 0, NULL, NULL, NULL, err);
    // Another process may have migrated it meanwhile.
    if (rc == 0)
        rc = read_version(backend, db, &version, err);
    if (rc == 0)
        rc = check(version, name, err);
    bool old = rc == 0 && version < SCHEMA_VERSION;
    for (int64_t v = version; rc == 0 && v < SCHEMA_VERSION; v++) {
        rc = apply(backend, db, versions[v].statements, err);
        if (rc == 0 && versions[v].fill)
            rc = versions[v].fill(backend, db, err);
    }
    if (old && rc == 0)
        rc = set_version(backend, db, err);
    if (rc == 0)
        rc = backend->run(db, "COMMIT", NULL, 0, NULL, NULL, NULL, err);
    if (rc != 0) {
        struct err ignored = {0};
        int undone = backend->run(db, "ROLLBACK", NULL, 0, NULL, NULL, NULL, &ignored);
        (void)undone; // if the connection is lost, the server rolls back
    }
    return rc;
}
