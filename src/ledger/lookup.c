// SPDX-License-Identifier: Apache-2.0
// Finds or deletes one run in the ledger, and stores the quotes of a run.
#include <string.h>

#include "ledger/inside.h"
#include "record/correct.h"
#include "record/read.h"

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

static int query(struct ledger *ledger, const char *statement, const char *const *values,
                 size_t count, struct found *found, struct err *err)
{
    return ledger->place.backend->run(ledger->db, statement, values, count, add_match, found, NULL,
                                      err);
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
    struct buf end = {0}, dated = {0}, imported = {0};
    buf_printf(&end, "%s~", word); // '~' sorts after every character of an id
    int rc = buf_check(&end, err);
    if (rc == 0)
        rc = pattern_of("%Z-", word, &dated, err);
    if (rc == 0)
        rc = pattern_of("import-", word, &imported, err);
    if (rc == 0)
        rc = query(ledger, "SELECT id, record FROM fare_run WHERE id = $1", &word, 1, found, err);
    const char *range[] = {word, buf_str(&end)};
    if (rc == 0 && found->count == 0)
        rc = query(ledger,
                   "SELECT id, record FROM fare_run WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 2",
                   range, 2, found, err);
    const char *patterns[] = {buf_str(&dated), buf_str(&imported)};
    if (rc == 0 && found->count == 0 && strlen(word) >= 4)
        rc = query(ledger,
                   "SELECT id, record FROM fare_run WHERE id LIKE $1 ESCAPE '!' OR id LIKE $2 "
                   "ESCAPE '!' ORDER BY id LIMIT 2",
                   patterns, 2, found, err);
    if (rc == 0 && found->count > 1) {
        err_set(err, ERR_USAGE, "several runs start with '%s': %s, %s, ...", word,
                buf_str(&found->id), buf_str(&found->second));
        rc = err_hint(err, "give more of the id");
    }
    buf_release(&end);
    buf_release(&dated);
    buf_release(&imported);
    return rc;
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
    struct buf noted = {0};
    const char *record = buf_str(text) + before;
    if (record_judge_text(run_fields, record, text->len - before, &why) != ERR_FORMAT)
        return 0;
    int rc = run_note(record, text->len - before, why.text, &noted, err);
    if (rc == 0 && noted.len > 0) {
        text->len = before;
        buf_add(text, buf_str(&noted), noted.len);
    }
    buf_release(&noted);
    return rc == 0 ? buf_check(text, err) : rc;
}

int ledger_find(struct ledger *ledger, const char *word, struct buf *text, struct err *err)
{
    struct found found = {0};
    int rc = ledger_connect(ledger, NULL, err);
    bool last = strcmp(word, "last") == 0;
    if (rc == 0 && last)
        rc = query(ledger, "SELECT id, record FROM fare_run ORDER BY started DESC, id DESC LIMIT 1",
                   NULL, 0, &found, err);
    else if (rc == 0)
        rc = find_by_id(ledger, word, &found, err);
    if (rc == 0 && found.count == 0 && !last)
        rc = query(ledger,
                   "SELECT id, record FROM fare_run WHERE name = $1 "
                   "ORDER BY started DESC, id DESC LIMIT 1",
                   &word, 1, &found, err);
    if (rc == 0 && found.count == 0 && last) {
        err_set(err, ERR_MISSING, "the ledger has no runs yet");
        rc = err_hint(err, "'fare run mlp' makes one");
    } else if (rc == 0 && found.count == 0) {
        rc = missing(word, err);
    }
    size_t before = text->len;
    if (rc == 0)
        rc = ledger_text(buf_str(&found.text), true, text, err);
    if (rc == 0 && text->len == before)
        buf_add(text, buf_str(&found.text), found.text.len);
    if (rc == 0)
        rc = buf_check(text, err);
    if (rc == 0)
        rc = name_out_of_range(text, before, err);
    found_release(&found);
    return rc;
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
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(ledger->db, "SELECT id FROM fare_run WHERE id = $1", &id, 1,
                                      count_row, has, NULL, err);
}

int ledger_delete(struct ledger *ledger, const char *word, struct buf *id, struct err *err)
{
    struct found found = {0};
    int rc = ledger_connect(ledger, NULL, err);
    if (rc == 0)
        rc = find_by_id(ledger, word, &found, err);
    if (rc == 0 && found.count == 0)
        rc = missing(word, err);
    const char *value = buf_str(&found.id);
    if (rc == 0)
        rc = ledger_begin(ledger, err);
    if (rc == 0) {
        static const char *const statements[] = {
            "DELETE FROM fare_run WHERE id = $1", "DELETE FROM fare_label WHERE run = $1",
            "DELETE FROM fare_head WHERE run = $1", "DELETE FROM fare_quote WHERE run = $1",
            "DELETE FROM fare_spend WHERE run = $1"};
        for (size_t i = 0; i < sizeof statements / sizeof *statements && rc == 0; i++)
            rc = ledger->place.backend->run(ledger->db, statements[i], &value, 1, NULL, NULL, NULL,
                                            err);
        if (rc == 0)
            rc = ledger_sql(ledger, "COMMIT", err);
        if (rc != 0)
            ledger_roll_back(ledger);
    }
    if (rc == 0 && id) {
        buf_adds(id, value);
        rc = buf_check(id, err);
    }
    found_release(&found);
    return rc;
}

// ---- quotes

int ledger_pin(struct ledger *ledger, const char *run, const char *made, const char *text,
               struct err *err)
{
    const char *key[] = {run, made}, *row[] = {run, made, text};
    int rc = ledger_connect(ledger, NULL, err);
    if (rc == 0)
        rc = ledger_begin(ledger, err);
    if (rc != 0)
        return rc;
    const struct backend *backend = ledger->place.backend;
    rc = backend->run(ledger->db, "DELETE FROM fare_quote WHERE run = $1 AND made = $2", key, 2,
                      NULL, NULL, NULL, err);
    if (rc == 0)
        rc = backend->run(ledger->db,
                          "INSERT INTO fare_quote (run, made, record) VALUES ($1, $2, $3)", row, 3,
                          NULL, NULL, NULL, err);
    if (rc == 0)
        rc = ledger_sql(ledger, "COMMIT", err);
    if (rc != 0)
        ledger_roll_back(ledger);
    return rc;
}

int ledger_pinned(struct ledger *ledger, const char *run, ledger_visit_fn *visit, void *arg,
                  struct err *err)
{
    struct ledger_visit v = {visit, arg};
    TRY(ledger_connect(ledger, NULL, err));
    return ledger->place.backend->run(
        ledger->db, "SELECT made, record FROM fare_quote WHERE run = $1 ORDER BY made DESC", &run,
        1, ledger_visit_row, &v, NULL, err);
}
