// SPDX-License-Identifier: Apache-2.0
#include "ledger/schema.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/tree.h"

// One list per version, from the one before. @text is the database's word for texts that are
// compared byte by byte, @keyed that for a table kept in the order of its key. A version that was
// published is never changed again.
//
// The columns are what lists are filtered and sorted by; `record` is the run itself, as it came.
// What a run does not say is '' or NULL there. The record is the last column: SQLite does not
// read it while it looks for others.
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
// Lists are newest first, mostly of one workload.
static const char *const version_2[] = {
    "CREATE INDEX fare_run_started ON fare_run (started, id)",
    "CREATE INDEX fare_run_workload ON fare_run (workload, started, id)",
    NULL,
};
// Quotes, with the prices that were used, as they were made.
static const char *const version_3[] = {
    "CREATE TABLE fare_quote (run @text NOT NULL, made @text NOT NULL, record TEXT NOT NULL, "
    "PRIMARY KEY (run, made))",
    NULL,
};
static const char *const *const versions[SCHEMA_VERSION] = {version_1, version_2, version_3};

static int take_number(void *arg, const char *const *values, struct err *err)
{
    (void)err;
    if (!values[0] || !text_int(values[0], arg))
        *(int64_t *)arg = -1;
    return 0;
}

static int take_yes(void *arg, const char *const *values, struct err *err)
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
    int rc = backend->run(db, backend->has_schema, NULL, 0, take_yes, &there, NULL, err);
    if (rc == 0 && there)
        rc = backend->run(db, "SELECT version FROM fare_schema", NULL, 0, take_number, version,
                          NULL, err);
    return rc;
}

static int check(int64_t version, const char *name, struct err *err)
{
    if (version >= 0 && version <= SCHEMA_VERSION)
        return 0;
    err_set(err, ERR_FORMAT, "the ledger %s has schema %lld; this fare knows up to %d", name,
            (long long)version, SCHEMA_VERSION);
    return err_hint(err, "a newer fare wrote it: update this one, or name another with --ledger");
}

// Words of the schema that the databases spell differently.
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
    // Another process may have been quicker.
    if (rc == 0)
        rc = read_version(backend, db, &version, err);
    if (rc == 0)
        rc = check(version, name, err);
    bool old = rc == 0 && version < SCHEMA_VERSION;
    for (int64_t v = version; rc == 0 && v < SCHEMA_VERSION; v++)
        rc = apply(backend, db, versions[v], err);
    if (old && rc == 0)
        rc = set_version(backend, db, err);
    if (rc == 0)
        rc = backend->run(db, "COMMIT", NULL, 0, NULL, NULL, NULL, err);
    if (rc != 0) {
        struct err ignored = {0};
        int undone = backend->run(db, "ROLLBACK", NULL, 0, NULL, NULL, NULL, &ignored);
        (void)undone; // the connection may be gone; then the server rolled back by itself
    }
    return rc;
}
