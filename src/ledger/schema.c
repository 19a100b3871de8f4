// SPDX-License-Identifier: Apache-2.0
#include "ledger/inside.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/tree.h"
#include "ledger/row.h"
#include "ledger/spend.h"

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
// What runs cost (spend.h), budgets (spend.h), and lines of invoices (spend.h). Amounts are
// nano-units.
static const char *const version_5[] = {
    "CREATE TABLE fare_spend (id @text PRIMARY KEY, run @text NOT NULL, started @text NOT NULL, "
    "ended @text NOT NULL, who @text NOT NULL, host @text NOT NULL, project @text NOT NULL, "
    "offer @text NOT NULL, rate @text NOT NULL, resource @text NOT NULL, gpus BIGINT, "
    "wall_ns BIGINT, boot_ns BIGINT, nano_usd BIGINT, own BIGINT NOT NULL, told BIGINT NOT NULL) "
    "@keyed",
    "CREATE INDEX fare_spend_started ON fare_spend (started)",
    "CREATE TABLE fare_budget (kind @text NOT NULL, name @text NOT NULL, period @text NOT NULL, "
    "currency @text NOT NULL, nano BIGINT NOT NULL, PRIMARY KEY (kind, name, period)) @keyed",
    "CREATE TABLE fare_charge (id @text PRIMARY KEY, began @text NOT NULL, ended @text NOT NULL, "
    "category @text NOT NULL, provider @text NOT NULL, resource @text NOT NULL, "
    "name @text NOT NULL, region @text NOT NULL, product @text NOT NULL, what @text NOT NULL, "
    "run @text NOT NULL, project @text NOT NULL, source @text NOT NULL, currency @text NOT NULL, "
    "billed BIGINT, effective BIGINT) @keyed",
    NULL,
};
// Pages of runs in other orders. Heads are made again: they have a few step times now.
static const char *const version_6[] = {
    "CREATE INDEX IF NOT EXISTS fare_run_wall ON fare_run (wall_s, started, id)",
    "CREATE INDEX IF NOT EXISTS fare_run_step ON fare_run (step_ms, started, id)",
    "CREATE INDEX IF NOT EXISTS fare_run_name ON fare_run (name, started, id)",
    "DELETE FROM fare_head",
    NULL,
};
// Boots that were none are no longer charged: the rows are made again, those whose cost was false
// without one (record/correct.h).
static const char *const version_7[] = {
    "ALTER TABLE fare_spend ADD COLUMN corrected BIGINT NOT NULL DEFAULT 0",
    "DELETE FROM fare_spend",
    NULL,
};
static int fill_heads(const struct backend *backend, void *db, struct err *err);
static int fill_spend(const struct backend *backend, void *db, struct err *err);

static const struct {
    const char *const *statements;
    int (*fill)(const struct backend *backend, void *db, struct err *err); // (optional) then
} versions[SCHEMA_VERSION] = {{version_1, NULL},       {version_2, NULL}, {version_3, NULL},
                              {version_4, fill_heads}, {version_5, NULL}, {version_6, fill_heads},
                              {version_7, fill_spend}};

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

// ---- heads and bills for existing runs

enum { AT_ONCE = 100 }; // runs read before anything is written: a query blocks writing

struct batch {
    bool heads; // wanted
    struct item {
        char *run, *head; // null head: the record is its own
        struct row row;
        bool readable;
    } items[AT_ONCE];
    size_t count;
};

static int add_item(void *arg, const char *const *values, struct err *err)
{
    struct batch *batch = arg;
    struct item *item = &batch->items[batch->count++]; // the statement's limit is ours
    struct buf head = {0};
    struct err ignored = {0};
    size_t len = values[1] ? strlen(values[1]) : 0;
    item->run = text_copy(values[0], err);
    if (!item->run)
        return ERR_MEMORY;
    int rc = row_read(values[1] ? values[1] : "", len, &item->row, &ignored);
    item->readable = rc == 0; // an unreadable record has neither head nor bill
    bool has_head = rc == 0 && batch->heads && row_head(&item->row, values[1], len, &head);
    if (has_head)
        item->head = buf_take(&head, err);
    buf_release(&head);
    bool failed = rc == ERR_MEMORY || (has_head && !item->head);
    return failed ? err_memory(err) : 0;
}

static int insert_item(const struct backend *backend, void *db, const struct batch *batch,
                       const struct item *item, struct err *err)
{
    const char *const values[] = {item->run, item->head};
    if (!batch->heads)
        return item->readable ? spend_insert(backend, db, &item->row, err) : 0;
    return item->head ? backend->run(db, SCHEMA_INSERT_HEAD, values, 2, NULL, NULL, NULL, err) : 0;
}

// Releases the items; the last one's run becomes `*last`.
static void empty(struct batch *batch, char **last)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct item *item = &batch->items[i];
        if (i + 1 == batch->count && item->run) {
            free(*last);
            *last = item->run;
        } else {
            free(item->run);
        }
        free(item->head);
        if (item->readable)
            row_release(&item->row);
    }
}

static int fill(const struct backend *backend, void *db, bool heads, struct err *err)
{
    char *last = text_copy("", err);
    struct batch *batch = calloc(1, sizeof *batch);
    int rc = last ? 0 : ERR_MEMORY;
    if (rc == 0 && !batch)
        rc = err_memory(err);
    size_t count = AT_ONCE;
    struct buf sql = {0};
    buf_printf(&sql, "SELECT id, record FROM fare_run WHERE id > $1 ORDER BY id LIMIT %d", AT_ONCE);
    if (rc == 0)
        rc = buf_check(&sql, err);
    while (rc == 0 && count == AT_ONCE) {
        const char *after = last;
        *batch = (struct batch){.heads = heads};
        rc = backend->run(db, buf_str(&sql), &after, 1, add_item, batch, NULL, err);
        for (size_t i = 0; i < batch->count && rc == 0; i++)
            rc = insert_item(backend, db, batch, &batch->items[i], err);
        count = batch->count;
        empty(batch, &last);
    }
    buf_release(&sql);
    free(batch);
    free(last);
    return rc;
}

static int fill_heads(const struct backend *backend, void *db, struct err *err)
{
    return fill(backend, db, true, err);
}

static int fill_spend(const struct backend *backend, void *db, struct err *err)
{
    return fill(backend, db, false, err);
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
