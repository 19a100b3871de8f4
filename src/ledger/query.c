// SPDX-License-Identifier: Apache-2.0
#include "ledger/query.h"

#include <ctype.h>
#include <string.h>

#include "ledger/inside.h"

void query_release(struct ledger_query *q)
{
    buf_release(&q->sql);
    for (size_t i = 0; i < 2; i++)
        buf_release(&q->patterns[i]);
    for (size_t i = 0; i < q->key_count; i++)
        buf_release(&q->keys[i]);
}

// The word before the next condition.
static const char *word(struct ledger_query *q)
{
    bool first = !q->conditions;
    q->conditions = true;
    return first ? " WHERE " : " AND ";
}

static void where(struct ledger_query *q, const char *before, const char *value)
{
    q->values[q->count++] = value;
    buf_printf(&q->sql, "%s%s$%zu", word(q), before, q->count);
}

static void where_contains(struct ledger_query *q, struct buf *pattern, const char *column,
                           const char *text)
{
    buf_addc(pattern, '%');
    for (; *text; text++) {
        if (strchr("%_!", *text))
            buf_addc(pattern, '!');
        buf_addc(pattern, (char)tolower((unsigned char)*text));
    }
    buf_addc(pattern, '%');
    buf_printf(&q->sql, "%slower(%s) LIKE $%zu ESCAPE '!'", word(q), column, q->count + 1);
    q->values[q->count++] = buf_str(pattern);
}

// A name that the record has as it is or hashed (run_hashed_name).
static void where_name(struct ledger_query *q, const char *before, const char *member,
                       const char *after, const char *name)
{
    char *hashed = q->hashed[q->hashed_count++];
    run_hashed_name(name, hashed);
    buf_printf(&q->sql, "%s(%s%s%s) IN ($%zu, $%zu)", word(q), before, member, after, q->count + 1,
               q->count + 2);
    q->values[q->count++] = name;
    q->values[q->count++] = hashed;
}

// For a few of the newest runs it is fastest to test each run for the label; for all runs, to start
// from the label.
static int where_label(struct ledger_query *q, const char *label, bool few, struct err *err)
{
    const char *equals = strchr(label, '=');
    if (!equals || equals == label)
        return err_set(err, ERR_USAGE, "a label is key=value, not '%s'", label);
    if (q->count + 2 > QUERY_VALUES_MOST)
        return err_set(err, ERR_USAGE, "too many labels");
    struct buf *key = &q->keys[q->key_count++];
    buf_add(key, label, (size_t)(equals - label));
    q->values[q->count++] = buf_str(key);
    q->values[q->count++] = equals + 1;
    buf_printf(&q->sql, "%s%s fare_label WHERE name = $%zu AND value = $%zu%s)", word(q),
               few ? "EXISTS (SELECT 1 FROM" : "id IN (SELECT run FROM", q->count - 1, q->count,
               few ? " AND run = id" : "");
    return buf_check(key, err);
}

static int where_since(struct ledger_query *q, const char *since, struct err *err)
{
    if (!since)
        return 0;
    char *date = q->since[q->since_count++];
    ledger_date(since, date);
    if (!date[0]) {
        err_set(err, ERR_USAGE, "'%s' is not a date", since);
        return err_hint(err, "a date looks like 2026-11-01 or 2026-11-01T08:00:00Z");
    }
    where(q, "started >= ", date);
    return 0;
}

int query_filter(struct ledger_query *q, const struct backend *backend,
                 const struct ledger_filter *f, struct err *err)
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
        where_name(q, backend->member[0], "host", backend->member[1], f->host);
    if (f->user)
        where_name(q, backend->member[0], "user", backend->member[1], f->user);
    if (f->sort_all && (f->sort == LEDGER_STEP || f->sort == LEDGER_WALL))
        buf_printf(&q->sql, "%s%s IS NOT NULL", word(q),
                   f->sort == LEDGER_STEP ? "step_ms" : "wall_s");
    TRY(where_since(q, f->since, err));
    for (size_t i = 0; i < f->label_count; i++)
        TRY(where_label(q, f->labels[i], f->limit > 0, err));
    return 0;
}

int query_check(const struct ledger_query *q, struct err *err)
{
    for (size_t i = 0; i < 2; i++)
        TRY(buf_check(&q->patterns[i], err));
    return buf_check(&q->sql, err);
}

int query_spend(struct ledger_query *q, const char *select, const struct backend *backend,
                const struct ledger_filter *f, struct err *err)
{
    struct ledger_filter inner = *f;
    if (f->limit == 0)
        inner.host = inner.user = inner.since = NULL;
    bool chosen = inner.name || inner.workload || inner.framework || inner.ended || inner.gpu ||
                  inner.machine || inner.label_count > 0 || inner.limit > 0;
    buf_adds(&q->sql, select);
    if (chosen) {
        buf_adds(&q->sql, " WHERE run IN (SELECT id FROM fare_run");
        TRY(query_filter(q, backend, &inner, err));
        if (f->limit > 0)
            buf_printf(&q->sql, " ORDER BY started DESC, id DESC LIMIT %lld OFFSET %lld",
                       (long long)f->limit, (long long)f->skip);
        buf_adds(&q->sql, ")");
        q->conditions = true;
    }
    if (f->host)
        where_name(q, "", "host", "", f->host);
    if (f->user)
        where_name(q, "", "who", "", f->user);
    TRY(where_since(q, f->since, err));
    return query_check(q, err);
}
