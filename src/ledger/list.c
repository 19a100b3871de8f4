// SPDX-License-Identifier: Apache-2.0
// Lists the ledger's runs: a filter becomes a query, and each record is masked as it is read.
#include <ctype.h>
#include <string.h>

#include "base/clock.h"
#include "ledger/inside.h"
#include "record/mask.h"
#include "record/read.h"

enum { VALUES_MAX = 32 };

// A WHERE clause under construction, with its values.
struct query {
    struct buf sql;
    const char *values[VALUES_MAX];
    size_t count;
    struct buf patterns[2]; // for LIKE
    char hashed[2][RUN_HASHED_BYTES];
    struct buf keys[VALUES_MAX / 2];
    size_t key_count;
};

static void query_release(struct query *q)
{
    buf_release(&q->sql);
    for (size_t i = 0; i < 2; i++)
        buf_release(&q->patterns[i]);
    for (size_t i = 0; i < q->key_count; i++)
        buf_release(&q->keys[i]);
}

static void where(struct query *q, const char *before, const char *value)
{
    q->values[q->count++] = value;
    buf_printf(&q->sql, "%s%s$%zu", q->count == 1 ? " WHERE " : " AND ", before, q->count);
}

static void where_contains(struct query *q, struct buf *pattern, const char *column,
                           const char *text)
{
    buf_addc(pattern, '%');
    for (; *text; text++) {
        if (strchr("%_!", *text))
            buf_addc(pattern, '!');
        buf_addc(pattern, (char)tolower((unsigned char)*text));
    }
    buf_addc(pattern, '%');
    buf_printf(&q->sql, "%slower(%s) LIKE $%zu ESCAPE '!'", q->count == 0 ? " WHERE " : " AND ",
               column, q->count + 1);
    q->values[q->count++] = buf_str(pattern);
}

// A name that the record has as it is or hashed (run_hashed_name).
static void where_member(struct query *q, const struct backend *backend, const char *member,
                         const char *name, char hashed[RUN_HASHED_BYTES])
{
    run_hashed_name(name, hashed);
    buf_printf(&q->sql, "%s(%s%s%s) IN ($%zu, $%zu)", q->count == 0 ? " WHERE " : " AND ",
               backend->member[0], member, backend->member[1], q->count + 1, q->count + 2);
    q->values[q->count++] = name;
    q->values[q->count++] = hashed;
}

// For a few of the newest runs it is fastest to test each run for the label; for all runs, to start
// from the label.
static int where_label(struct query *q, const char *label, bool few, struct err *err)
{
    const char *equals = strchr(label, '=');
    if (!equals || equals == label)
        return err_set(err, ERR_USAGE, "a label is key=value, not '%s'", label);
    if (q->count + 2 > VALUES_MAX)
        return err_set(err, ERR_USAGE, "too many labels");
    struct buf *key = &q->keys[q->key_count++];
    buf_add(key, label, (size_t)(equals - label));
    const char *word = q->count == 0 ? " WHERE " : " AND ";
    q->values[q->count++] = buf_str(key);
    q->values[q->count++] = equals + 1;
    buf_printf(&q->sql, "%s%s fare_label WHERE name = $%zu AND value = $%zu%s)", word,
               few ? "EXISTS (SELECT 1 FROM" : "id IN (SELECT run FROM", q->count - 1, q->count,
               few ? " AND run = id" : "");
    return buf_check(key, err);
}

const char *const ledger_sorts[] = {[LEDGER_STARTED] = "started",
                                    [LEDGER_STEP] = "step",
                                    [LEDGER_WALL] = "wall",
                                    [LEDGER_NAME] = "name",
                                    NULL};

static int add_filter(struct query *q, const struct backend *backend, const struct ledger_filter *f,
                      char since[CLOCK_ISO_BYTES], struct err *err)
{
    const struct {
        const char *before, *value;
    } equal[] = {{"name = ", f->name},
                 {"workload = ", f->workload},
                 {"framework = ", f->framework},
                 {"ended = ", f->ended}};
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++)
        if (equal[i].value)
            where(q, equal[i].before, equal[i].value);
    if (f->gpu)
        where_contains(q, &q->patterns[0], "gpu", f->gpu);
    if (f->machine)
        where_contains(q, &q->patterns[1], "machine", f->machine);
    if (f->host)
        where_member(q, backend, "host", f->host, q->hashed[0]);
    if (f->user)
        where_member(q, backend, "user", f->user, q->hashed[1]);
    if (f->since) {
        ledger_date(f->since, since);
        if (!since[0]) {
            err_set(err, ERR_USAGE, "'%s' is not a date", f->since);
            return err_hint(err, "a date looks like 2026-11-01 or 2026-11-01T08:00:00Z");
        }
        where(q, "started >= ", since);
    }
    for (size_t i = 0; i < f->label_count; i++)
        TRY(where_label(q, f->labels[i], f->limit > 0, err));
    return 0;
}

int ledger_visit_row(void *arg, const char *const *values, struct err *err)
{
    const struct ledger_visit *v = arg;
    return v->visit(v->arg, values[0], values[1], err);
}

// ---- damaged records

static struct {
    ledger_damage_fn *says;
    void *arg;
} damage;

void ledger_on_damage(ledger_damage_fn *says, void *arg)
{
    damage.says = says;
    damage.arg = arg;
}

// Masks secrets, which earlier versions stored. Leaves out a record that cannot be read, if there
// is somebody to tell (ledger_on_damage).
static int visit_record(void *arg, const char *const *values, struct err *err)
{
    const struct ledger_visit *v = arg;
    struct err why = {0};
    struct buf masked = {0};
    int rc = mask_stored(values[1], &masked, err);
    if (rc == 0)
        rc = v->visit(v->arg, values[0], masked.len > 0 ? buf_str(&masked) : values[1], err);
    buf_release(&masked);
    if (rc != ERR_FORMAT || !damage.says ||
        record_from_text(run_fields, values[1], strlen(values[1]), NULL, &why) != ERR_FORMAT)
        return rc;
    damage.says(damage.arg, values[0], why.text);
    if (err)
        *err = (struct err){0};
    return 0;
}

int ledger_each(struct ledger *ledger, const struct ledger_filter *filter, ledger_visit_fn *visit,
                void *arg, struct err *err)
{
    static const char *const orders[] = {
        [LEDGER_STARTED] = NULL,
        [LEDGER_STEP] = "step_ms IS NULL, step_ms, started DESC, id DESC",
        [LEDGER_WALL] = "wall_s IS NULL, wall_s, started DESC, id DESC",
        [LEDGER_NAME] = "name, started DESC, id DESC",
    };
    struct query q = {0};
    char since[CLOCK_ISO_BYTES];
    int rc = ledger_connect(ledger, NULL, err);
    const char *order = orders[filter->sort];
    // Select the newest first, then sort the selection.
    buf_printf(&q.sql, "SELECT id, %s FROM %sfare_run",
               filter->heads ? "COALESCE((SELECT head FROM fare_head WHERE run = id), record)"
                             : "record",
               order ? "(SELECT * FROM " : "");
    if (rc == 0)
        rc = add_filter(&q, ledger->place.backend, filter, since, err);
    buf_adds(&q.sql, " ORDER BY started DESC, id DESC");
    if (filter->limit > 0)
        buf_printf(&q.sql, " LIMIT %lld OFFSET %lld", (long long)filter->limit,
                   (long long)filter->skip);
    if (order)
        buf_printf(&q.sql, ") AS newest ORDER BY %s", order);
    for (size_t i = 0; i < 2 && rc == 0; i++)
        rc = buf_check(&q.patterns[i], err);
    if (rc == 0)
        rc = buf_check(&q.sql, err);
    struct ledger_visit v = {visit, arg};
    if (rc == 0)
        rc = ledger->place.backend->run(ledger->db, buf_str(&q.sql), q.values, q.count,
                                        visit_record, &v, NULL, err);
    query_release(&q);
    return rc;
}

static int add_run(void *arg, const char *id, const char *text, struct err *err)
{
    struct runs *runs = arg;
    struct run *run = LIST_ADD(&runs->runs, err);
    if (!run)
        return ERR_MEMORY;
    int rc = record_from_text(run_fields, text, strlen(text), run, err);
    if (rc != 0) {
        err_context(err, "run %s", id);
        record_release(run_fields, run);
        runs->runs.count--;
    }
    return rc;
}

int ledger_list(struct ledger *ledger, const struct ledger_filter *filter, struct runs *runs,
                struct err *err)
{
    runs->runs.known = true;
    TRY(text_set(&runs->schema, RUNS_SCHEMA, err));
    return ledger_each(ledger, filter, add_run, runs, err);
}

static int add_stamp(void *arg, const char *const *values, struct err *err)
{
    buf_printf(arg, "%s %s", values[0] ? values[0] : "", values[1] ? values[1] : "");
    return buf_check(arg, err);
}

int ledger_stamp(struct ledger *ledger, struct buf *stamp, struct err *err)
{
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(ledger->db, "SELECT COUNT(*), MAX(id) FROM fare_run", NULL, 0,
                                      add_stamp, stamp, NULL, err);
}
