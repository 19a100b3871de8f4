// SPDX-License-Identifier: Apache-2.0
// Lists the ledger's runs: a filter becomes a query (query.h), and each record is masked and
// corrected as it is read.
#include <string.h>

#include "base/clock.h"
#include "base/tree.h"
#include "ledger/inside.h"
#include "ledger/query.h"
#include "record/correct.h"
#include "record/mask.h"
#include "record/read.h"

const char *const ledger_sorts[] = {[LEDGER_STARTED] = "started",
                                    [LEDGER_STEP] = "step",
                                    [LEDGER_WALL] = "wall",
                                    [LEDGER_NAME] = "name",
                                    NULL};

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

int ledger_text(const char *stored, bool masks, struct buf *out, struct err *err)
{
    struct buf masked = {0};
    size_t before = out->len;
    int rc = masks ? mask_stored(stored, &masked, err) : 0;
    const char *text = masked.len > 0 ? buf_str(&masked) : stored;
    if (rc == 0)
        rc = run_correct(text, strlen(text), out, err);
    if (rc == 0 && out->len == before && masked.len > 0)
        buf_add(out, buf_str(&masked), masked.len);
    buf_release(&masked);
    return rc == 0 ? buf_check(out, err) : rc;
}

// Leaves out a record that cannot be read, if there
// is somebody to tell (ledger_on_damage).
static int visit_record(void *arg, const char *const *values, struct err *err)
{
    const struct ledger_visit *v = arg;
    struct err why = {0};
    struct buf text = {0};
    int rc = ledger_text(values[1], !v->stored, &text, err);
    if (rc == 0)
        rc = v->visit(v->arg, values[0], text.len > 0 ? buf_str(&text) : values[1], err);
    buf_release(&text);
    if (rc != ERR_FORMAT || !damage.says ||
        record_from_text(run_fields, values[1], strlen(values[1]), NULL, &why) != ERR_FORMAT)
        return rc;
    damage.says(damage.arg, values[0], why.text);
    if (err)
        *err = (struct err){0};
    return 0;
}

// An order of all runs that an index has, one way or the other.
static void order_all(const struct ledger_filter *filter, struct buf *sql)
{
    static const char *const columns[] = {[LEDGER_STARTED] = "",
                                          [LEDGER_STEP] = "step_ms",
                                          [LEDGER_WALL] = "wall_s",
                                          [LEDGER_NAME] = "name"};
    const char *column = columns[filter->sort];
    // Time runs backwards: the newest come first.
    const char *down = filter->reverse != (filter->sort == LEDGER_STARTED) ? " DESC" : "";
    buf_printf(sql, " ORDER BY %s%s%sstarted%s, id%s", column, *column ? down : "",
               *column ? ", " : "", down, down);
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
    struct ledger_query q = {0};
    int rc = ledger_connect(ledger, NULL, err);
    const char *order = filter->sort_all ? NULL : orders[filter->sort];
    const char *head =
        filter->heads ? "COALESCE((SELECT head FROM fare_head WHERE run = id), record)" : "record";
    // Select the newest first, then sort the selection; with sort_all, the other way round.
    if (filter->sort_all)
        buf_printf(&q.sql, "SELECT id, %s FROM fare_run WHERE id IN (SELECT id FROM fare_run",
                   head);
    else
        buf_printf(&q.sql, "SELECT id, %s FROM %sfare_run", head, order ? "(SELECT * FROM " : "");
    if (rc == 0)
        rc = query_filter(&q, ledger->place.backend, filter, err);
    if (filter->sort_all)
        order_all(filter, &q.sql);
    else
        buf_adds(&q.sql, " ORDER BY started DESC, id DESC");
    if (filter->limit > 0)
        buf_printf(&q.sql, " LIMIT %lld OFFSET %lld", (long long)filter->limit,
                   (long long)filter->skip);
    if (filter->sort_all) {
        buf_adds(&q.sql, ")");
        order_all(filter, &q.sql);
    } else if (order) {
        buf_printf(&q.sql, ") AS newest ORDER BY %s", order);
    }
    if (rc == 0)
        rc = query_check(&q, err);
    struct ledger_visit v = {visit, arg, filter->stored};
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

struct counting {
    ledger_count_fn *visit;
    void *arg;
};

static int visit_count(void *arg, const char *const *values, struct err *err)
{
    enum { WORKLOAD, NAME, FRAMEWORK, ENDED, COUNT };
    const struct counting *c = arg;
    const char *known[COUNT];
    int64_t count = 0;
    if (!values[COUNT] || !text_int(values[COUNT], &count))
        return 0;
    for (size_t i = 0; i < COUNT; i++)
        known[i] = values[i] ? values[i] : "";
    const struct ledger_kind kind = {.training = *known[WORKLOAD] ? known[WORKLOAD] : known[NAME],
                                     .framework = known[FRAMEWORK],
                                     .ended = known[ENDED],
                                     .named = !*known[WORKLOAD]};
    return c->visit(c->arg, &kind, count, err);
}

int ledger_counts(struct ledger *ledger, ledger_count_fn *visit, void *arg, struct err *err)
{
    static const char sql[] = "SELECT workload, CASE WHEN workload = '' THEN name ELSE '' END, "
                              "framework, ended, COUNT(*) "
                              "FROM fare_run GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC, 1, 2, 3, 4";
    struct counting counting = {visit, arg};
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(ledger->db, sql, NULL, 0, visit_count, &counting, NULL, err);
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
