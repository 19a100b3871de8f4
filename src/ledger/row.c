// SPDX-License-Identifier: Apache-2.0
#include "ledger/row.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/tree.h"
#include "ledger/inside.h"
#include "ledger/spend.h"
#include "record/run.h"
#include "record/judge.h"
#include "record/read.h"

// Amounts have no bound of their own, so that sums can name a run whose amount is out of range.
static struct record_part row_part = {
    .of = run_fields,
    .members =
        "schema id started name workload framework machine.fingerprint machine.name machine.cpu "
        "machine.gpu machine.gpus machine.provider machine.instance_type machine.region host user "
        "project labels ended boot_from corrected live.elapsed_s live.bill_usd saving.attempts "
        "spent.usd spent.offer spent.resource full step_ms phases steady projection use.gpus",
    .any_amount = true};

static bool is_id(const char *id)
{
    size_t len = strlen(id);
    if (len == 0 || len > 120 || id[0] == '.')
        return false;
    for (; *id; id++)
        if (!isalnum((unsigned char)*id) && !strchr("._:-", *id))
            return false;
    return true;
}

// `text` was checked before.
static int read_head(const char *text, size_t len, struct run *row, struct err *err)
{
    SCOPED(buf_release) struct buf corrected = {0};
    memset(row, 0, sizeof *row);
    int rc = run_correct(text, len, &corrected, err);
    bool other = corrected.len > 0;
    if (rc == 0)
        rc = record_from_checked(record_part(&row_part), other ? buf_str(&corrected) : text,
                                 other ? corrected.len : len, row, err);
    if (rc == 0 && row->schema && strcmp(row->schema, RUN_SCHEMA) != 0 &&
        strcmp(row->schema, RUN_SCHEMA_1) != 0)
        rc = err_set(err, ERR_FORMAT, "schema: '%s' is not %s", row->schema, RUN_SCHEMA);
    if (rc == 0 && !row->id)
        rc = err_set(err, ERR_FORMAT, "id: a run needs one");
    if (rc == 0 && !is_id(row->id))
        rc = err_set(err, ERR_FORMAT, "id: '%s' is not one", row->id);
    if (rc != 0)
        row_release(row);
    return rc;
}

int row_read(const char *text, size_t len, struct run *row, struct err *err)
{
    memset(row, 0, sizeof *row);
    TRY(record_from_text(run_fields, text, len, NULL, err));
    return read_head(text, len, row, err);
}

// Lists of runs hold the heads of fifty at a time.
static int judge_size(const struct run *row, const char *text, size_t len, struct err *err)
{
    SCOPED(buf_release) struct buf head = {0};
    if (len <= RUN_HEAD_BYTES_MOST)
        return 0;
    size_t head_len = row_head(row, text, len, &head) ? head.len : len;
    TRY(buf_check(&head, err));
    if (head_len > RUN_HEAD_BYTES_MOST)
        return err_set(err, ERR_FORMAT,
                       "the record: more than %d bytes without its lists of epochs, step times and "
                       "samples",
                       RUN_HEAD_BYTES_MOST);
    return 0;
}

// The price that a label gives.
static int judge_price(const struct run *row, struct err *err)
{
    const char *price = run_label(row, RUN_PRICE_LABEL);
    if (!price || !amount_too_large(price))
        return 0;
    return err_set(err, ERR_FORMAT, "labels: " RUN_PRICE_LABEL ": '%.40s' is %s", price,
                   range_amount.not_so);
}

int row_judge(const char *text, size_t len, struct run *row, struct err *err)
{
    memset(row, 0, sizeof *row);
    if (len > RUN_BYTES_MOST)
        return err_set(err, ERR_FORMAT, "the record: more than %d bytes", RUN_BYTES_MOST);
    TRY(record_judge_text(run_fields, text, len, err));
    TRY(read_head(text, len, row, err));
    int rc = judge_size(row, text, len, err);
    if (rc == 0)
        rc = judge_price(row, err);
    if (rc == 0)
        rc = run_judge(row->started, row->full, &row->phases, &row->projection, &row->steady,
                       clock_date_s(), err);
    if (rc != 0)
        row_release(row);
    return rc;
}

void row_release(struct run *row)
{
    record_release(record_part(&row_part), row);
}

bool row_wall_s(const struct run *row, double *seconds)
{
    if (row->full.known && row->full.v && row->phases.wall_ns.known)
        *seconds = (double)row->phases.wall_ns.v / 1e9;
    else if (row->projection.wall_s.known)
        *seconds = row->projection.wall_s.v;
    else
        return false;
    return true;
}

// ---- the head

#define SHORT_RECORD 2048 // bytes; below, a head would save no time

static const char *after_space(const char *p)
{
    return p + strspn(p, " \t\n\r");
}

// Skips a string. The record was checked: its quotes and brackets match.
static const char *after_text(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        p += *p == '\\' && p[1];
    return *p ? p + 1 : p;
}

// Skips a value: a string, a number, a word, an array or an object.
static const char *after_value(const char *p)
{
    int depth = 0;
    do {
        p += strcspn(p, depth ? "\"[]{}" : "\"[]{},");
        if (*p == '"')
            p = after_text(p);
        else if (*p == '[' || *p == '{')
            depth++, p++;
        else if (depth && *p)
            depth--, p++;
        else
            break; // the comma or bracket after it
    } while (depth > 0 && *p);
    return p;
}

// Whether a member, from its key to `end`, is one of those left out.
static bool is_long(const struct run *row, const char *key, size_t len, const char *end)
{
    static const char *const names[] = {"\"step_plot_ms\"", "\"samples\"", "\"stages\"",
                                        "\"checks\"",       "\"drift\"",   "\"epoch_list\""};
    size_t count = sizeof names / sizeof *names;
    if (row->full.known && row->full.v && !row->phases.wall_ns.known &&
        (memmem(key, (size_t)(end - key), "\"train_ns\"", strlen("\"train_ns\"")) ||
         memchr(key, '\\', (size_t)(end - key)))) // an escaped key?
        count--;                                  // the last: only the epochs tell the time
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == len && memcmp(names[i], key, len) == 0)
            return true;
    return false;
}

// Of a list of numbers, from its key to `end`, a few: enough for a line as wide as a word.
static void add_few(struct buf *head, const char *key, const char *end)
{
    enum { FEW = 32 };
    const char *from = memchr(key, '[', (size_t)(end - key));
    size_t count = 1, at = 0;
    if (!from)
        return;
    for (const char *p = from; p < end; p++)
        count += *p == ',';
    size_t every = (count + FEW - 1) / FEW;
    buf_adds(head, head->len > 1 ? ",\"step_plot_ms\":[" : "\"step_plot_ms\":[");
    for (const char *p = from + 1; p < end && *p != ']'; at++) {
        size_t len = strcspn(p, ",]");
        if (at % every == 0)
            buf_printf(head, "%s%.*s", at ? "," : "", (int)len, p);
        p += len + (p[len] == ',');
    }
    buf_addc(head, ']');
}

static bool is_steps(const char *key, size_t len)
{
    static const char name[] = "\"step_plot_ms\"";
    return len == sizeof name - 1 && memcmp(key, name, len) == 0;
}

bool row_head(const struct run *row, const char *text, size_t len, struct buf *head)
{
    size_t left_out = 0;
    const char *p = after_space(text);
    buf_reset(head);
    if (len < SHORT_RECORD)
        return false;
    buf_addc(head, '{');
    p += *p == '{';
    while (*(p = after_space(p)) == '"') {
        const char *key = p, *behind = after_text(p);
        p = after_value(after_space(after_space(behind) + 1)); // the colon
        if (is_long(row, key, (size_t)(behind - key), p)) {
            left_out += (size_t)(p - key);
            if (is_steps(key, (size_t)(behind - key)))
                add_few(head, key, p);
        } else {
            if (head->len > 1)
                buf_addc(head, ',');
            buf_add(head, key, (size_t)(p - key));
        }
        p = after_space(p);
        p += *p == ',';
    }
    buf_addc(head, '}');
    if (left_out >= len / 2)
        return true;
    buf_reset(head);
    return false;
}

// ==== mend ====

struct mending {
    json_t *run;         // so far; acceptable
    json_t *left_out;    // texts: what was left out, and why
    struct err last_err; // why the last member was not accepted
};

// Whether the record so far is acceptable; ERR_FORMAT if not.
static int judge_so_far(struct mending *m, struct err *err)
{
    SCOPED(row_release) struct run row = {0};
    SCOPED(free_pointer) char *line = json_dumps(m->run, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!line)
        return err_memory(err);
    m->last_err = (struct err){0};
    int rc = row_judge(line, strlen(line), &row, &m->last_err);
    return rc == ERR_FORMAT ? rc : rc != 0 ? err_memory(err) : 0;
}

// What the other times are held against comes first.
static bool is_first(const char *key)
{
    return strcmp(key, "wall_ns") == 0 || strcmp(key, "wall_s") == 0;
}

static int add_members(struct mending *m, json_t *from, json_t *to, const char *path,
                       struct err *err);

// Adds a member if the record is acceptable with it; of an object, as much of it as possible.
static int add_member(struct mending *m, json_t *to, const char *path, const char *key,
                      json_t *value, struct err *err)
{
    if (json_object_set(to, key, value) != 0)
        return err_memory(err);
    int rc = judge_so_far(m, err);
    if (rc != ERR_FORMAT)
        return rc;
    if (!*path && json_is_object(value)) {
        json_t *part = json_object();
        return json_object_set_new(to, key, part) == 0 ? add_members(m, value, part, key, err)
                                                       : err_memory(err);
    }
    struct buf says = {0};
    char *words = NULL; // the error may quote anything
    buf_printf(&says, "%s%s%s: left out: %s", path, *path ? "." : "", key, m->last_err.text);
    TRY(text_take(&words, &says, err));
    bool done = json_array_append_new(m->left_out, json_string(words)) == 0 &&
                json_object_del(to, key) == 0;
    free(words);
    return done ? 0 : err_memory(err);
}

static int add_members(struct mending *m, json_t *from, json_t *to, const char *path,
                       struct err *err)
{
    const char *key;
    json_t *value;
    for (int first = 1; first >= 0; first--)
        json_object_foreach(from, key, value)
        {
            if (is_first(key) == first && !json_object_get(to, key))
                TRY(add_member(m, to, path, key, value, err));
        }
    return 0;
}

// Names what was left out, if there is room for that.
static int mark_left_out(struct mending *m, struct err *err)
{
    json_t *marks = json_object_get(m->run, "corrected");
    int set = marks ? json_array_extend(marks, m->left_out)
                    : json_object_set(m->run, "corrected", m->left_out);
    int rc = set == 0 ? judge_so_far(m, err) : err_memory(err);
    if (rc == ERR_FORMAT)
        rc = json_object_del(m->run, "corrected") == 0 ? 0 : err_memory(err);
    return rc;
}

// Without a schema and an id of ours it is not a run.
static int begin(struct mending *m, json_t *from, struct err *err)
{
    static const char *const keys[] = {"schema", "id"};
    m->run = json_object();
    m->left_out = json_array();
    if (!m->run || !m->left_out)
        return err_memory(err);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        json_t *value = json_object_get(from, keys[i]);
        if (value && json_object_set(m->run, keys[i], value) != 0)
            return err_memory(err);
    }
    int rc = judge_so_far(m, err);
    return rc == ERR_FORMAT ? err_set(err, rc, "%s", m->last_err.text) : rc;
}

static bool is_text(json_t *from, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(from, key));
    return value && text ? strcmp(value, text) == 0 : !value && !text;
}

// Where memory is short, jansson (2.14) finds bad syntax, or drops characters.
static int load(const char *text, json_t **from, struct err *err)
{
    static const struct field fields[] = {FIELD(FIELD_TEXT, struct run, schema, ""),
                                          FIELD(FIELD_TEXT, struct run, id, ""), FIELD_END};
    struct run run = {0};
    int rc = record_from_text(fields, text, strlen(text), &run, err);
    if (rc == 0) {
        *from = json_loads(text, 0, NULL);
        if (!is_text(*from, "schema", run.schema) || !is_text(*from, "id", run.id))
            rc = err_memory(err);
    }
    record_release(fields, &run);
    return rc;
}

// Builds the record anew, member by member.
static int rebuild(const char *text, struct buf *out, struct err *err)
{
    json_t *from = NULL;
    struct mending m = {0};
    char *line = NULL;
    int rc = load(text, &from, err);
    if (rc == 0)
        rc = begin(&m, from, err);
    if (rc == 0)
        rc = add_members(&m, from, m.run, "", err);
    if (rc == 0 && json_array_size(m.left_out) > 0)
        rc = mark_left_out(&m, err);
    if (rc == 0 && !(line = json_dumps(m.run, JSON_COMPACT | JSON_REAL_PRECISION(17))))
        rc = err_memory(err);
    buf_adds(out, line ? line : "");
    free(line);
    json_decref(from);
    json_decref(m.run);
    json_decref(m.left_out);
    return rc == 0 ? buf_check(out, err) : rc;
}

int mend_record(const char *text, size_t len, struct run *row, struct buf *out, struct err *err)
{
    struct err why = {0};
    int rc = row_judge(text, len, row, &why);
    if (rc != ERR_FORMAT || memchr(text, '\0', len))
        return rc == 0 ? 0 : err_pass(err, rc, &why);
    TRY(rebuild(text, out, err));
    // It was acceptable before it was written.
    return row_judge(buf_str(out), out->len, row, &why) == 0 ? 0 : err_memory(err);
}

// ---- the tables

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
// without one (record/run.h).
static const char *const version_7[] = {
    "ALTER TABLE fare_spend ADD COLUMN corrected BIGINT NOT NULL DEFAULT 0",
    "DELETE FROM fare_spend",
    NULL,
};
static const struct {
    const char *const *statements;
    bool heads, spend; // made then, for the runs that are there
} versions[SCHEMA_VERSION] = {{version_1},
                              {version_2},
                              {version_3},
                              {version_4, .heads = true},
                              {version_5},
                              {version_6, .heads = true},
                              {version_7, .spend = true}};

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

static int read_version(struct ledger *ledger, int64_t *version, struct err *err)
{
    const struct backend *backend = ledger->place.backend;
    bool there = false;
    *version = 0;
    TRY(backend->run(ledger->db, backend->has_schema, NO_VALUES, set_true, &there, NULL, err));
    if (there)
        TRY(backend->run(ledger->db, "SELECT version FROM fare_schema", NO_VALUES, read_number,
                         version, NULL, err));
    if (*version >= 0 && *version <= SCHEMA_VERSION)
        return 0;
    err_set(err, ERR_FORMAT, "the ledger %s has schema %lld; this fare supports up to %d",
            ledger->place.name, (long long)*version, SCHEMA_VERSION);
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

static int apply(struct ledger *ledger, const char *const *statements, struct err *err)
{
    for (; *statements; statements++) {
        SCOPED(buf_release) struct buf sql = {0};
        spell(ledger->place.backend, *statements, &sql);
        TRY(buf_check(&sql, err));
        TRY(ledger_sql(ledger, buf_str(&sql), err));
    }
    return 0;
}

static int set_version(struct ledger *ledger, struct err *err)
{
    SCOPED(buf_release) struct buf sql = {0};
    TRY(ledger_sql(ledger, "DELETE FROM fare_schema", err));
    buf_printf(&sql, "INSERT INTO fare_schema (version) VALUES (%d)", SCHEMA_VERSION);
    TRY(buf_check(&sql, err));
    return ledger_sql(ledger, buf_str(&sql), err);
}

// ---- heads and bills for existing runs

enum { AT_ONCE = 100 }; // runs read before anything is written: a query blocks writing

struct batch {
    bool heads; // wanted
    struct item {
        char *run, *head; // null head: the record is its own
        struct run row;
        bool readable;
    } items[AT_ONCE];
    size_t count;
};

static int add_item(void *arg, const char *const *values, struct err *err)
{
    struct batch *batch = arg;
    struct item *item = &batch->items[batch->count++]; // the statement's limit is ours
    SCOPED(buf_release) struct buf head = {0};
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
    bool failed = rc == ERR_MEMORY || (has_head && !item->head);
    return failed ? err_memory(err) : 0;
}

static int insert_item(struct ledger *ledger, bool heads, const struct item *item, struct err *err)
{
    if (!heads)
        return item->readable ? spend_insert(ledger, &item->row, err) : 0;
    return item->head
               ? ledger_do(ledger, SCHEMA_INSERT_HEAD, VALUES(item->run, item->head), NULL, err)
               : 0;
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

static int fill(struct ledger *ledger, bool heads, struct err *err)
{
    char *last = text_copy("", err);
    struct batch *batch = calloc(1, sizeof *batch);
    int rc = last ? 0 : ERR_MEMORY;
    if (rc == 0 && !batch)
        rc = err_memory(err);
    size_t count = AT_ONCE;
    SCOPED(buf_release) struct buf sql = {0};
    buf_printf(&sql, "SELECT id, record FROM fare_run WHERE id > $1 ORDER BY id LIMIT %d", AT_ONCE);
    if (rc == 0)
        rc = buf_check(&sql, err);
    while (rc == 0 && count == AT_ONCE) {
        const char *after = last;
        *batch = (struct batch){.heads = heads};
        rc = ledger->place.backend->run(ledger->db, buf_str(&sql), &after, 1, add_item, batch, NULL,
                                        err);
        for (size_t i = 0; i < batch->count && rc == 0; i++)
            rc = insert_item(ledger, heads, &batch->items[i], err);
        count = batch->count;
        empty(batch, &last);
    }
    free(batch);
    free(last);
    return rc;
}

// In the open transaction. Another process may have migrated it meanwhile.
static int migrate(struct ledger *ledger, struct err *err)
{
    int64_t version;
    if (ledger->place.backend->lock)
        TRY(ledger_sql(ledger, ledger->place.backend->lock, err));
    TRY(read_version(ledger, &version, err));
    if (version == SCHEMA_VERSION)
        return 0;
    for (; version < SCHEMA_VERSION; version++) {
        TRY(apply(ledger, versions[version].statements, err));
        if (versions[version].heads || versions[version].spend)
            TRY(fill(ledger, versions[version].heads, err));
    }
    return set_version(ledger, err);
}

int schema_migrate(struct ledger *ledger, struct err *err)
{
    int64_t version;
    TRY(read_version(ledger, &version, err));
    if (version == SCHEMA_VERSION)
        return 0;
    TRY(ledger_begin(ledger, err));
    return ledger_commit(ledger, migrate(ledger, err), err);
}
