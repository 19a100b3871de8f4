// SPDX-License-Identifier: Apache-2.0
#include "ledger/mend.h"

#include <stdlib.h>
#include <string.h>

#include "record/read.h"

struct mending {
    json_t *run;         // so far; acceptable
    json_t *left_out;    // texts: what was left out, and why
    struct err last_err; // why the last member was not accepted
};

// Whether the record so far is acceptable; ERR_FORMAT if not.
static int judge_so_far(struct mending *m, struct err *err)
{
    struct row row = {0};
    char *line = json_dumps(m->run, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!line)
        return err_memory(err);
    m->last_err = (struct err){0};
    int rc = row_judge(line, strlen(line), &row, &m->last_err);
    row_release(&row);
    free(line);
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

int mend_record(const char *text, size_t len, struct row *row, struct buf *out, struct err *err)
{
    struct err why = {0};
    int rc = row_judge(text, len, row, &why);
    if (rc != ERR_FORMAT || memchr(text, '\0', len))
        return rc == 0 ? 0 : err_pass(err, rc, &why);
    TRY(rebuild(text, out, err));
    // It was acceptable before it was written.
    return row_judge(buf_str(out), out->len, row, &why) == 0 ? 0 : err_memory(err);
}
