// SPDX-License-Identifier: Apache-2.0
#include "ledger/import_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fs.h"
#include "ledger/import_site.h"

enum { LINE_MAX_BYTES = 64 << 20, CHUNK_BYTES = 1 << 20, HEAD_BYTES = 1 << 16 };
#define COPY_MAX_GB    4
#define COPY_MAX_BYTES (COPY_MAX_GB * INT64_C(1000000000))

// Leaves out a record that cannot be imported. Other errors end the import.
static int refuse(struct import_job *m, const struct err *why, struct err *err)
{
    if (why->code != ERR_FORMAT) {
        if (err && err->code == 0)
            *err = *why;
        return why->code;
    }
    if (m->refused++ == 0)
        m->refusal = *why;
    if (m->refused <= IMPORT_REFUSED_MOST)
        buf_printf(&m->says, "left out: %s\n", why->text);
    return buf_check(&m->says, err);
}

static int add_text(struct import_job *m, const char *text, size_t len, struct err *err)
{
    bool added;
    TRY(ledger_import_add(m->ledger, text, len, &added, err));
    *(added ? &m->added : &m->there) += 1;
    return 0;
}

// Imports every whole line in the buffer and moves the rest to its beginning.
static int import_whole_lines(struct import_job *m, const char *path, struct buf *text,
                              size_t *number, struct err *err)
{
    char *line = text->data, *end = text->data + text->len, *stop;
    int rc = 0;
    while (rc == 0 && line < end && (stop = memchr(line, '\n', (size_t)(end - line)))) {
        ++*number;
        *stop = '\0';
        size_t len = (size_t)(stop - line);
        struct err why = {0};
        if ((line[strspn(line, " \t\r")] != '\0' || strlen(line) != len) &&
            add_text(m, line, len, &why) != 0) {
            err_context(&why, "'%s', line %zu", path, *number);
            rc = refuse(m, &why, err);
        }
        line = stop + 1;
    }
    size_t left = line ? (size_t)(end - line) : 0;
    if (left > 0)
        memmove(text->data, line, left);
    text->len = left;
    return rc;
}

// Appends up to CHUNK_BYTES of the file.
static int read_chunk(int fd, const char *path, struct buf *text, bool *ended, struct err *err)
{
    char *into = buf_reserve(text, CHUNK_BYTES);
    if (!into)
        return err_memory(err);
    ssize_t got;
    do
        got = read(fd, into, CHUNK_BYTES);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    buf_advance(text, (size_t)got);
    *ended = got == 0;
    return 0;
}

// One record per line, in constant memory. `text` holds the beginning.
static int import_lines(struct import_job *m, int fd, const char *path, struct buf *text,
                        struct err *err)
{
    size_t number = 0;
    int rc = 0;
    text->max = LINE_MAX_BYTES;
    for (bool ended = false; rc == 0 && !ended;) {
        rc = import_whole_lines(m, path, text, &number, err);
        if (rc == 0) {
            rc = read_chunk(fd, path, text, &ended, err);
            if (rc == ERR_MEMORY)
                err_context(err, "'%s', line %zu is too long", path, number + 1);
        }
    }
    if (rc == 0 && text->len > 0) { // the last line may lack its end
        buf_addc(text, '\n');
        rc = import_whole_lines(m, path, text, &number, err);
    }
    return rc;
}

// `index` below 0: the document is the record.
static int add_json(struct import_job *m, const char *path, int64_t index, json_t *json,
                    struct err *err)
{
    struct err why = {0};
    char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return err_memory(err);
    int rc = add_text(m, text, strlen(text), &why);
    free(text);
    if (rc == 0)
        return 0;
    if (index >= 0)
        err_context(&why, "runs[%lld]", (long long)index);
    err_context(&why, "'%s'", path);
    return refuse(m, &why, err);
}

// The output of --json: one record over several lines, or a list of them.
static int import_document(struct import_job *m, const char *path, const struct buf *text,
                           struct err *err)
{
    json_error_t why;
    json_t *json = json_loadb(buf_str(text), text->len, 0, &why);
    if (!json)
        return err_set(err, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    json_t *runs = json_object_get(json, "runs"), *one;
    size_t index;
    int rc = 0;
    if (!runs)
        rc = add_json(m, path, -1, json, err);
    json_array_foreach(runs, index, one)
    {
        if (rc == 0)
            rc = add_json(m, path, (int64_t)index, one, err);
    }
    json_decref(json);
    return rc;
}

struct importing {
    struct import_job *job;
    const char *path;
    size_t number; // of the run
};

static int import_run(void *arg, struct run *run, struct err *err)
{
    struct importing *i = arg;
    struct import_job *m = i->job;
    struct buf line = {0};
    struct err why = {0};
    i->number++;
    int rc = record_bound(run_fields, run, &why);
    if (rc == 0)
        rc = ledger_line(run, &line, &why);
    if (rc == 0)
        rc = add_text(m, buf_str(&line), line.len, &why);
    buf_release(&line);
    if (rc != 0) {
        err_context(&why, "%s, run %zu", i->path, i->number);
        return refuse(m, &why, err);
    }
    if (m->named++ < IMPORT_IDS_MOST)
        buf_printf(&m->ids, "%s  %s%s%s\n", run->id, run->name ? run->name : "-",
                   run->taints.count > 0 ? ": " : "",
                   run->taints.count > 0 ? run->taints.items[0] : "");
    return buf_check(&m->ids, err);
}

// Numbers lines that are for the same thing.
static int import_charge(void *arg, struct ledger_charge *charge, struct err *err)
{
    struct import_job *m = arg;
    size_t number = 0, before = m->lines.count;
    enum charge_change change;
    char id[128];
    TRY(array_grow(&m->occurrences, before, &m->line_space, sizeof *m->occurrences, err));
    TRY(index_number(&m->lines, charge->id, strlen(charge->id), &number, err));
    if (number == before)
        m->occurrences[number] = 0;
    snprintf(id, sizeof id, "%.80s-%lld", charge->id, (long long)++m->occurrences[number]);
    charge->id = id;
    TRY(ledger_charge_put(m->ledger, charge, &change, err));
    *(change == CHARGE_ADDED     ? &m->charges
      : change == CHARGE_CHANGED ? &m->changed
                                 : &m->charges_there) += 1;
    return 0;
}

static int import_other(struct import_job *m, const struct importer *importer, const char *path,
                        const struct buf *text, struct err *err)
{
    struct importing i = {m, path, 0};
    int rc = importer->read_charges
                 ? importer->read_charges(path, buf_str(text), text->len, import_charge, m, err)
                 : import_runs(importer, path, buf_str(text), text->len, &m->known, import_run, &i,
                               &m->says, err);
    return rc == 0 ? buf_check(&m->says, err) : rc;
}

void import_job_release(struct import_job *m)
{
    buf_release(&m->ids);
    buf_release(&m->says);
    index_release(&m->lines);
    free(m->occurrences);
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
    return line > 2 && head[0] == '{' && !list && (!end || head[line - 1] == '}');
}

// The rest of a file that is not read line by line.
static int import_whole(struct import_job *m, int fd, const char *path,
                        const struct importer *importer, struct buf *text, struct err *err)
{
    for (bool ended = false; !ended;) {
        TRY(read_chunk(fd, path, text, &ended, err));
        if (text->len > IMPORT_MAX)
            return err_set(err, ERR_FORMAT, "'%s' is over %d MB", path, IMPORT_MAX >> 20);
    }
    if (!importer && !m->format) // some logs begin with pages of other programs' output
        importer = importer_guess(buf_str(text), text->len);
    const char *start = buf_str(text);
    start += strspn(start, " \t\r\n");
    if (!importer && !m->format && *start != '{' && *start != '[') {
        err_set(err, ERR_FORMAT, "'%s' is in none of the formats that fare reads", path);
        return err_hint(err, strncmp(start, "\x1f\x8b", 2) == 0
                                 ? "it is packed: zcat FILE | fare runs import -"
                                 : "name it with --format: 'fare runs import --help' lists them");
    }
    return importer ? import_other(m, importer, path, text, err)
                    : import_document(m, path, text, err);
}

// ---- the file

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

static const char *name_of(const char *path)
{
    return is_standard(path) ? "standard input" : path;
}

static int open_path(const char *path, int *fd, struct err *err)
{
    *fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    return *fd < 0 ? err_errno(err, errno, "cannot open '%s'", path) : 0;
}

static int temporary(int *fd, struct err *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || folder[0] != '/')
        folder = "/tmp";
    *fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*fd < 0) { // the file system may not support it
        struct buf name = {0};
        buf_printf(&name, "%s/fare-import-XXXXXX", folder);
        *fd = buf_check(&name, err) == 0 ? mkostemp(name.data, O_CLOEXEC) : -1;
        if (*fd >= 0)
            unlink(name.data);
        buf_release(&name);
    }
    return *fd < 0 ? err_errno(err, errno, "cannot create a file in '%s'", folder) : 0;
}

// As /dev/zero and /dev/full, which have no end.
static bool is_zeros(const struct buf *text)
{
    const char *data = buf_str(text);
    return text->len > 0 && data[0] == '\0' && memcmp(data, data + 1, text->len - 1) == 0;
}

static int copy(int from, const char *name, int to, struct err *err)
{
    struct buf text = {.max = 2 * CHUNK_BYTES};
    int64_t copied = 0;
    int rc = 0;
    for (bool ended = false; rc == 0 && !ended;) {
        buf_reset(&text);
        rc = read_chunk(from, name, &text, &ended, err);
        if (rc == 0 && is_zeros(&text))
            rc = err_set(err, ERR_FORMAT, "'%s' is not text", name);
        if (rc == 0)
            rc = fs_write_fd(to, buf_str(&text), text.len, "the temporary file", err);
        copied += (int64_t)text.len;
        if (rc == 0 && copied > COPY_MAX_BYTES)
            rc = err_set(err, ERR_FORMAT, "'%s' is over %d GB", name, COPY_MAX_GB);
    }
    buf_release(&text);
    if (rc == 0 && lseek(to, 0, SEEK_SET) != 0)
        rc = err_errno(err, errno, "cannot read the temporary file");
    return rc;
}

static int refuse_record(void *arg, const struct err *why, struct err *err)
{
    return refuse(arg, why, err);
}

static int open_site(struct import_job *m, const char *path, int *fd, struct err *err)
{
    struct import_site site = {.place = path,
                               .ledger = m->ledger,
                               .refuse = refuse_record,
                               .refuse_arg = m,
                               .progress = m->progress,
                               .progress_arg = m->progress_arg};
    if (m->format && strcmp(m->format, "fare") != 0)
        return err_set(err, ERR_USAGE, "'%s' is a site, not a log: leave out --format", path);
    TRY(temporary(&site.fd, err));
    int rc = import_site(&site, err);
    m->there += site.there;
    if (rc == 0 && lseek(site.fd, 0, SEEK_SET) != 0)
        rc = err_errno(err, errno, "cannot read the temporary file");
    if (rc != 0)
        close(site.fd);
    else
        *fd = site.fd;
    return rc;
}

int import_open(struct import_job *m, const char *path, int *fd, struct err *err)
{
    int from;
    struct stat st;
    *fd = -1;
    if (!is_standard(path) && import_is_site(path))
        return open_site(m, path, fd, err);
    TRY(open_path(path, &from, err));
    int rc = 0;
    if (fstat(from, &st) == 0 && !S_ISREG(st.st_mode)) {
        rc = temporary(fd, err);
        if (rc == 0)
            rc = copy(from, name_of(path), *fd, err);
        if (rc != 0 && *fd >= 0) {
            close(*fd);
            *fd = -1;
        }
    }
    if (from != STDIN_FILENO)
        close(from);
    return rc;
}

// The mark of UTF-8 that some programs begin a file with.
static void drop_mark(struct buf *text)
{
    if (strncmp(buf_str(text), "\xEF\xBB\xBF", 3) != 0)
        return;
    text->len -= 3;
    memmove(text->data, text->data + 3, text->len + 1); // with its NUL
}

int import_file(struct import_job *m, const char *path, int fd, struct err *err)
{
    bool ended = false, site = fd >= 0 && !is_standard(path) && import_is_site(path);
    if (fd < 0)
        TRY(open_path(path, &fd, err));
    path = name_of(path);
    struct buf text = {.max = IMPORT_MAX + 2 * CHUNK_BYTES};
    int rc = 0;
    while (rc == 0 && !ended && text.len < HEAD_BYTES)
        rc = read_chunk(fd, path, &text, &ended, err);
    if (rc == 0)
        drop_mark(&text);
    const struct importer *importer = NULL;
    if (rc == 0 && !site)
        importer = m->format ? importer_find(m->format) : importer_guess(buf_str(&text), text.len);
    if (rc == 0 && (site || (!importer && is_lines(buf_str(&text), text.len))))
        rc = import_lines(m, fd, path, &text, err);
    else if (rc == 0)
        rc = import_whole(m, fd, path, importer, &text, err);
    if (fd != STDIN_FILENO)
        close(fd);
    buf_release(&text);
    return rc;
}

const char *import_file_format(size_t i)
{
    return i == 0 ? "fare" : importers[i - 1] ? importers[i - 1]->name : NULL;
}
