// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/tree.h"
#include "ledger/inside.h"
#include "ledger/row.h"
#include "record/mask.h"
#include "record/read.h"
#include "record/run.h"

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

int ledger_since(const char *since, char out[CLOCK_ISO_BYTES], struct err *err)
{
    int64_t ns;
    char first[16]; // day of a month
    if (since && strlen(since) == 7) {
        snprintf(first, sizeof first, "%s-01", since);
        since = first;
    }
    ledger_date(since, out);
    // A bare number is neither a date nor an age.
    if (!out[0] && since && !text_int(since, &ns) && clock_parse_duration(since, &ns))
        clock_iso(clock_date_s() - ns / NS_PER_S, out);
    if (!since || out[0])
        return 0;
    err_set(err, ERR_USAGE, "'%s' is not a date", since);
    return err_hint(
        err, "a date looks like 2026-11-01, 2026-11 or 2026-11-01T08:00:00Z, an age like 3w");
}

static int where_since(struct ledger_query *q, const char *since, struct err *err)
{
    if (!since)
        return 0;
    char *date = q->since[q->since_count++];
    TRY(ledger_since(since, date, err));
    where(q, "started >= ", date);
    return 0;
}

// Appends the conditions on fare_run.
static int query_filter(struct ledger_query *q, const struct backend *backend,
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

static int query_check(const struct ledger_query *q, struct err *err)
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

// ==== list ====
// Lists the ledger's runs: a filter becomes a query (inside.h), and each record is masked and
// corrected as it is read.

const char *const ledger_sorts[] = {[LEDGER_STARTED] = "started",
                                    [LEDGER_STEP] = "step",
                                    [LEDGER_WALL] = "wall",
                                    [LEDGER_NAME] = "name",
                                    NULL};

bool ledger_sort_parse(const char *word, enum ledger_sort *sort)
{
    const char *wanted = strcmp(word, "time") == 0 ? ledger_sorts[LEDGER_WALL] : word;
    for (size_t i = 0; ledger_sorts[i]; i++)
        if (strcmp(ledger_sorts[i], wanted) == 0) {
            *sort = (enum ledger_sort)i;
            return true;
        }
    return false;
}

static int ledger_visit_row(void *arg, const char *const *values, struct err *err)
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

// What is handed out of a stored record: corrected (record/run.h) and, with `masks`, without
// the secrets that earlier versions stored. Appends nothing if the text stays as it is.
static int ledger_text(const char *stored, bool masks, struct buf *out, struct err *err)
{
    SCOPED(buf_release) struct buf masked = {0};
    size_t before = out->len;
    if (masks)
        TRY(mask_stored(stored, &masked, err));
    const char *text = masked.len > 0 ? buf_str(&masked) : stored;
    TRY(run_correct(text, strlen(text), out, err));
    if (out->len == before && masked.len > 0)
        buf_add(out, buf_str(&masked), masked.len);
    return buf_check(out, err);
}

// Leaves out a record that cannot be read, if there
// is somebody to tell (ledger_on_damage).
static int visit_record(void *arg, const char *const *values, struct err *err)
{
    const struct ledger_visit *v = arg;
    struct err why = {0};
    SCOPED(buf_release) struct buf text = {0};
    int rc = ledger_text(values[1], !v->stored, &text, err);
    if (rc == 0)
        rc = v->visit(v->arg, values[0], text.len > 0 ? buf_str(&text) : values[1], err);
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
        rc = ledger_rows(ledger, buf_str(&q.sql), q.values, q.count, visit_record, &v, err);
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
    return ledger_rows(ledger, sql, NO_VALUES, visit_count, &counting, err);
}

static int add_stamp(void *arg, const char *const *values, struct err *err)
{
    buf_printf(arg, "%s %s", values[0] ? values[0] : "", values[1] ? values[1] : "");
    return buf_check(arg, err);
}

int ledger_stamp(struct ledger *ledger, struct buf *stamp, struct err *err)
{
    return ledger_rows(ledger, "SELECT COUNT(*), MAX(id) FROM fare_run", NO_VALUES, add_stamp,
                       stamp, err);
}

// ==== lookup ====
// Finds or deletes one run in the ledger, and stores the quotes of a run.

// ---- one run

struct found {
    size_t count;
    struct buf id, text, second; // of the first match, and the id of the second
};

static int add_match(void *arg, const char *const *values, struct err *err)
{
    struct found *found = arg;
    if (found->count++ == 0) {
        buf_adds(&found->id, values[0]);
        buf_adds(&found->text, values[1]);
        TRY(buf_check(&found->id, err));
        return buf_check(&found->text, err);
    }
    buf_adds(&found->second, values[0]);
    return buf_check(&found->second, err);
}

// A LIKE pattern: `before`, then the word, then anything.
static int pattern_of(const char *before, const char *word, struct buf *out, struct err *err)
{
    buf_adds(out, before);
    for (const char *p = word; *p; p++)
        buf_printf(out, "%s%c", strchr("%_!", *p) ? "!" : "", *p);
    buf_addc(out, '%');
    return buf_check(out, err);
}

// Finds a run by its id, a prefix of it, or a prefix of the part after its date or "import-".
static int find_by_id(struct ledger *ledger, const char *word, struct found *found, struct err *err)
{
    SCOPED(buf_release) struct buf end = {0}, dated = {0}, imported = {0};
    buf_printf(&end, "%s~", word); // '~' sorts after every character of an id
    TRY(buf_check(&end, err));
    TRY(pattern_of("%Z-", word, &dated, err));
    TRY(pattern_of("import-", word, &imported, err));
    TRY(ledger_rows(ledger, "SELECT id, record FROM fare_run WHERE id = $1", VALUES(word),
                    add_match, found, err));
    if (found->count == 0)
        TRY(ledger_rows(
            ledger,
            "SELECT id, record FROM fare_run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2",
            VALUES(word, buf_str(&end)), add_match, found, err));
    if (found->count == 0 && strlen(word) >= 4)
        TRY(ledger_rows(ledger,
                        "SELECT id, record FROM fare_run WHERE id LIKE $1 ESCAPE '!' OR id LIKE $2 "
                        "ESCAPE '!' ORDER BY id LIMIT 2",
                        VALUES(buf_str(&dated), buf_str(&imported)), add_match, found, err));
    if (found->count > 1) {
        err_set(err, ERR_USAGE, "several runs start with '%s': %s, %s, ...", word,
                buf_str(&found->id), buf_str(&found->second));
        return err_hint(err, "give more of the id");
    }
    return 0;
}

static int missing(const char *word, struct err *err)
{
    err_set(err, ERR_MISSING, "no run is called '%s'", word);
    return err_hint(err, "'fare runs' lists them; the start of an id is enough");
}

static void found_release(struct found *found)
{
    buf_release(&found->id);
    buf_release(&found->text);
    buf_release(&found->second);
}

// Readers leave out a value that is out of range, as records of an earlier fare may have: the
// record from `before` on says so itself.
static int name_out_of_range(struct buf *text, size_t before, struct err *err)
{
    struct err why = {0};
    SCOPED(buf_release) struct buf noted = {0};
    const char *record = buf_str(text) + before;
    if (record_judge_text(run_fields, record, text->len - before, &why) != ERR_FORMAT)
        return 0;
    TRY(run_note(record, text->len - before, why.text, &noted, err));
    if (noted.len > 0) {
        text->len = before;
        buf_add(text, buf_str(&noted), noted.len);
    }
    return buf_check(text, err);
}

int ledger_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err)
{
    SCOPED(found_release) struct found found = {0};
    bool last = strcmp(word, "last") == 0;
    if (last)
        TRY(ledger_rows(ledger,
                        "SELECT id, record FROM fare_run ORDER BY started DESC, id DESC LIMIT 1",
                        NO_VALUES, add_match, &found, err));
    else
        TRY(find_by_id(ledger, word, &found, err));
    if (found.count == 0 && !last)
        TRY(ledger_rows(ledger,
                        "SELECT id, record FROM fare_run WHERE name = $1 "
                        "ORDER BY started DESC, id DESC LIMIT 1",
                        VALUES(word), add_match, &found, err));
    if (found.count == 0 && last) {
        err_set(err, ERR_MISSING, "the ledger has no runs yet");
        return err_hint(err, "'fare run mlp' makes one");
    }
    if (found.count == 0)
        return missing(word, err);
    size_t before = text->len;
    TRY(ledger_text(buf_str(&found.text), true, text, err));
    if (text->len == before)
        buf_add(text, buf_str(&found.text), found.text.len);
    TRY(buf_check(text, err));
    return name_out_of_range(text, before, err);
}

static int count_row(void *arg, const char *const *values, struct err *err)
{
    (void)values;
    (void)err;
    *(bool *)arg = true;
    return 0;
}

int ledger_has(struct ledger *ledger, const char *id, bool *has, struct err *err)
{
    *has = false;
    return ledger_rows(ledger, "SELECT id FROM fare_run WHERE id = $1", VALUES(id), count_row, has,
                       err);
}

int ledger_delete(struct ledger *ledger, const char *word, struct buf *id, struct err *err)
{
    SCOPED(found_release) struct found found = {0};
    static const char *const statements[] = {
        "DELETE FROM fare_run WHERE id = $1", "DELETE FROM fare_label WHERE run = $1",
        "DELETE FROM fare_head WHERE run = $1", "DELETE FROM fare_quote WHERE run = $1",
        "DELETE FROM fare_spend WHERE run = $1"};
    TRY(find_by_id(ledger, word, &found, err));
    TRY(found.count > 0 ? ledger_begin(ledger, err) : missing(word, err));
    int rc = 0;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && rc == 0; i++)
        rc = ledger_do(ledger, statements[i], VALUES(buf_str(&found.id)), NULL, err);
    TRY(ledger_commit(ledger, rc, err));
    if (!id)
        return 0;
    buf_adds(id, buf_str(&found.id));
    return buf_check(id, err);
}

// ---- quotes

int ledger_pin(struct ledger *ledger, const char *run, const char *made, const char *text,
               struct err *err)
{
    TRY(ledger_connect(ledger, NULL, err));
    TRY(ledger_begin(ledger, err));
    int rc = ledger_do(ledger, "DELETE FROM fare_quote WHERE run = $1 AND made = $2",
                       VALUES(run, made), NULL, err);
    if (rc == 0)
        rc = ledger_do(ledger, "INSERT INTO fare_quote (run, made, record) VALUES ($1, $2, $3)",
                       VALUES(run, made, text), NULL, err);
    return ledger_commit(ledger, rc, err);
}

int ledger_pinned(struct ledger *ledger, const char *run, ledger_visit_fn *visit, void *arg,
                  struct err *err)
{
    struct ledger_visit v = {visit, arg};
    return ledger_rows(ledger,
                       "SELECT made, record FROM fare_quote WHERE run = $1 ORDER BY made DESC",
                       VALUES(run), ledger_visit_row, &v, err);
}

// ==== published runs ====

static int is_lines(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 6 && strcmp(entry->d_name + len - 6, ".jsonl") == 0;
}

static int each_line(const char *path, char *text, ledger_visit_fn *visit, void *arg,
                     struct err *err)
{
    int rc = 0;
    for (char *line; rc == 0 && (line = text_line(&text));) {
        SCOPED(row_release) struct run row = {0};
        if (*line == '\0')
            continue;
        rc = row_read(line, strlen(line), &row, err);
        if (rc != 0)
            err_context(err, "'%s'", path);
        else
            rc = visit(arg, row.id, line, err);
    }
    return rc;
}

static bool is_set(const char *file, const char *set)
{
    size_t len = strlen(set);
    return strncmp(file, set, len) == 0 && strcmp(file + len, ".jsonl") == 0;
}

static int no_set(struct dirent *const *names, int count, const char *set, struct err *err)
{
    SCOPED(buf_release) struct buf sets = {0};
    for (int i = 0; i < count; i++)
        buf_printf(&sets, "%s%.*s", i > 0 ? ", " : "", (int)strlen(names[i]->d_name) - 6,
                   names[i]->d_name);
    err_set(err, ERR_USAGE, "no set of published results is called '%s'", set);
    err_hint(err, "choose one of %s", buf_str(&sets));
    return ERR_USAGE;
}

// `set` null: all of them.
static int each_in(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                   struct err *err)
{
    struct dirent **names;
    int count = scandir(dir, &names, is_lines, alphasort);
    if (count < 0)
        return err_errno(err, errno, "cannot open the published results in '%s'", dir);
    int rc = 0;
    bool found = !set;
    for (int i = 0; i < count; i++)
        found |= set && is_set(names[i]->d_name, set);
    if (!found)
        rc = no_set(names, count, set, err);
    for (int i = 0; i < count; i++) { // each name is freed here
        if (set && !is_set(names[i]->d_name, set)) {
            free(names[i]);
            continue;
        }
        struct buf path = {0}, text = {0};
        buf_printf(&path, "%s/%s", dir, names[i]->d_name);
        if (rc == 0)
            rc = buf_check(&path, err);
        if (rc == 0)
            rc = fs_read(buf_str(&path), BUF_DEFAULT_MAX, &text, err);
        if (rc == 0 && text.len > 0)
            rc = each_line(buf_str(&path), text.data, visit, arg, err);
        buf_release(&path);
        buf_release(&text);
        free(names[i]);
    }
    free(names);
    return rc;
}

int published_set(const char *dir, const char *set, ledger_visit_fn *visit, void *arg,
                  struct err *err)
{
    if (dir)
        return each_in(dir, set, visit, arg, err);
    SCOPED(buf_release) struct buf shipped = {0};
    TRY(folder_share(&shipped, err));
    buf_adds(&shipped, "/published");
    TRY(buf_check(&shipped, err));
    return each_in(buf_str(&shipped), set, visit, arg, err);
}

int published_each(const char *dir, ledger_visit_fn *visit, void *arg, struct err *err)
{
    return published_set(dir, NULL, visit, arg, err);
}

// ---- read once

struct published {
    LIST_OF(struct run) runs;
    LIST_OF(char *) texts; // their records
};

static int keep(void *arg, const char *id, const char *text, struct err *err)
{
    struct published *all = arg;
    (void)id;
    struct run *run = LIST_ADD(&all->runs, err);
    TRY(run ? record_from_checked(run_fields, text, strlen(text), run, err) : ERR_MEMORY);
    return texts_add(&all->texts, text, err);
}

int published_open(struct published **out, const char *dir, struct err *err)
{
    struct published *all = calloc(1, sizeof *all);
    *out = NULL;
    if (!all)
        return err_memory(err);
    int rc = published_each(dir, keep, all, err);
    if (rc == 0)
        *out = all;
    else
        published_close(all);
    return rc;
}

void published_close(struct published *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->runs.count; i++)
        record_release(run_fields, &all->runs.items[i]);
    for (size_t i = 0; i < all->texts.count; i++)
        free(all->texts.items[i]);
    free(all->runs.items);
    free(all->texts.items);
    free(all);
}

size_t published_count(const struct published *all)
{
    return all->runs.count;
}

const struct run *published_run(const struct published *all, size_t i)
{
    return &all->runs.items[i];
}

// ---- one of them

int published_find(const struct published *all, const char *word, struct buf *text, struct err *err)
{
    size_t len = strlen(word), matches = 0, found = 0;
    bool exact = false;
    for (size_t i = 0; i < all->runs.count && !exact; i++) {
        const char *id = all->runs.items[i].id;
        if (strncmp(id, word, len) != 0)
            continue;
        exact = id[len] == '\0';
        matches = exact ? 1 : matches + 1;
        found = i;
    }
    buf_reset(text);
    if (matches == 1) {
        buf_adds(text, all->texts.items[found]);
        return buf_check(text, err);
    }
    if (matches > 1)
        err_set(err, ERR_USAGE, "%zu published results start with '%s'", matches, word);
    else
        err_set(err, ERR_MISSING, "no published result is called '%s'", word);
    return err_hint(err, "'fare runs --published' lists them");
}

int published_or_ledger(const struct published *all, struct ledger *ledger, const char *word,
                        struct buf *text, struct err *err)
{
    struct err why = {0};
    struct published *own = NULL;
    if (!run_shipped_name(word))
        return ledger_find(ledger, word, text, err);
    int rc = all ? 0 : published_open(&own, NULL, &why);
    if (rc == 0)
        rc = published_find(all ? all : own, word, text, &why);
    published_close(own);
    if (rc == 0)
        return 0;
    // The user's own run may have such a name.
    struct err ignored = {0};
    if (ledger_find(ledger, word, text, &ignored) == 0)
        return 0;
    *err = why;
    return rc;
}
