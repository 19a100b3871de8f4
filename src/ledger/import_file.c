// SPDX-License-Identifier: Apache-2.0
#include "ledger/import_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"

enum { LINE_MAX_BYTES = 64 << 20, CHUNK_BYTES = 1 << 20 };

static int add_text(struct import_job *m, const char *text, size_t len, struct err *err)
{
    bool added;
    TRY(ledger_import_add(m->ledger, text, len, &added, err));
    *(added ? &m->added : &m->there) += 1;
    return 0;
}

// Imports every whole line in the buffer and moves the rest to its beginning.
static int import_whole_lines(struct import_job *m, const char *path, struct buf *lines,
                              size_t *number, struct err *err)
{
    char *line = lines->data, *end = lines->data + lines->len, *stop;
    int rc = 0;
    while (rc == 0 && line < end && (stop = memchr(line, '\n', (size_t)(end - line)))) {
        ++*number;
        *stop = '\0';
        size_t len = (size_t)(stop - line);
        if (line[strspn(line, " \t\r")] != '\0' || strlen(line) != len)
            rc = add_text(m, line, len, err);
        if (rc == ERR_FORMAT)
            err_context(err, "'%s', line %zu", path, *number);
        line = stop + 1;
    }
    size_t left = line ? (size_t)(end - line) : 0;
    if (left > 0)
        memmove(lines->data, line, left);
    lines->len = left;
    return rc;
}

// One record per line, in constant memory.
static int import_lines(struct import_job *m, const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    struct buf lines = {.max = LINE_MAX_BYTES};
    size_t number = 0;
    int rc = 0;
    for (bool ended = false; rc == 0 && !ended;) {
        char *into = buf_reserve(&lines, CHUNK_BYTES);
        ssize_t got = into ? read(fd, into, CHUNK_BYTES) : 0;
        if (!into)
            rc = err_set(err, ERR_MEMORY, "'%s', line %zu is too long", path, number + 1);
        else if (got < 0 && errno != EINTR)
            rc = err_errno(err, errno, "cannot read '%s'", path);
        if (rc != 0 || got < 0)
            continue;
        buf_advance(&lines, (size_t)got);
        ended = got == 0;
        if (ended && lines.len > 0 && lines.data[lines.len - 1] != '\n')
            buf_addc(&lines, '\n'); // the last line may lack it
        rc = import_whole_lines(m, path, &lines, &number, err);
    }
    close(fd);
    buf_release(&lines);
    return rc;
}

static int add_json(struct import_job *m, json_t *json, struct err *err)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return err_memory(err);
    int rc = add_text(m, text, strlen(text), err);
    free(text);
    return rc;
}

// The output of --json: one record over several lines, or a list of them.
static int import_document(struct import_job *m, const char *path, const struct buf *text,
                           struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(buf_str(text), text->len, 0, &why);
    if (!json)
        return err_set(err, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    json_t *runs = json_object_get(json, "runs"), *run;
    size_t index;
    int rc = 0;
    if (!runs)
        rc = add_json(m, json, err);
    json_array_foreach(runs, index, run)
    {
        rc = add_json(m, run, err);
        if (rc != 0) {
            err_context(err, "runs[%zu]", index);
            break;
        }
    }
    json_decref(json);
    if (rc == ERR_FORMAT)
        err_context(err, "'%s'", path);
    return rc;
}

static int import_other(struct import_job *m, const struct importer *importer, const char *path,
                        const struct buf *text, struct err *err)
{
    struct runs runs = {0};
    int rc = import_log(importer, path, buf_str(text), text->len, &m->known, &runs, err);
    for (size_t i = 0; i < runs.runs.count && rc == 0; i++) {
        struct buf line = {0};
        rc = ledger_line(&runs.runs.items[i], &line, err);
        if (rc == 0)
            rc = add_text(m, buf_str(&line), line.len, err);
        if (rc == ERR_FORMAT)
            err_context(err, "%s, run %zu", path, i + 1);
        buf_release(&line);
    }
    record_release(runs_fields, &runs);
    return rc;
}

// The beginning of a file, to tell its format.
static int read_head(const char *path, char *head, size_t size, size_t *len, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    *len = 0;
    ssize_t got;
    while (*len < size && (got = read(fd, head + *len, size - *len)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        *len += (size_t)got;
    }
    int rc = got < 0 ? err_errno(err, errno, "cannot read '%s'", path) : 0;
    close(fd);
    return rc;
}

// A record on each line has its end on the first; a document goes on, or is a list.
static bool is_lines(const char *head, size_t len)
{
    const char *end = memchr(head, '\n', len);
    size_t line = end ? (size_t)(end - head) : len;
    while (line > 0 && (head[line - 1] == '\r' || head[line - 1] == ' '))
        line--;
    bool list = memmem(head, line, "\"" RUNS_SCHEMA "\"", strlen(RUNS_SCHEMA) + 2) ||
                memmem(head, line, "\"" REPORT_SCHEMA "\"", strlen(REPORT_SCHEMA) + 2);
    return line > 2 && !list && (!end || head[line - 1] == '}');
}

int import_file(struct import_job *m, const char *path, struct err *err)
{
    enum { HEAD = 1 << 16 };
    char *head = malloc(HEAD);
    size_t len = 0;
    if (!head)
        return err_memory(err);
    int rc = read_head(path, head, HEAD, &len, err);
    const struct importer *importer = NULL;
    if (rc == 0)
        importer = m->format ? importer_find(m->format) : importer_guess(head, len);
    bool lines = rc == 0 && !importer && is_lines(head, len);
    if (rc == 0 && !importer && !m->format && !lines && !memchr(head, '{', len)) {
        err_set(err, ERR_FORMAT, "'%s' is in none of the formats that fare reads", path);
        rc = err_hint(err, "name it with --format: 'fare runs import --help' lists them");
    }
    free(head);
    if (rc != 0 || lines)
        return rc == 0 ? import_lines(m, path, err) : rc;
    struct buf text = {0};
    rc = fs_read(path, IMPORT_MAX, &text, err);
    if (rc == 0)
        rc = importer ? import_other(m, importer, path, &text, err)
                      : import_document(m, path, &text, err);
    buf_release(&text);
    return rc;
}

const char *import_file_format(size_t i)
{
    return i == 0 ? "fare" : importers[i - 1] ? importers[i - 1]->name : NULL;
}
