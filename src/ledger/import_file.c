// SPDX-License-Identifier: Apache-2.0
#include "ledger/import_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/http.h"
#include "base/sha256.h"
#include "record/read.h"
#include "record/run.h"
#include "record/site.h"

enum { AT_ONCE = 6, TRIES = 4, STALL_MS = 30000 };

static bool is_address(const char *place)
{
    return strncasecmp(place, "http://", 7) == 0 || strncasecmp(place, "https://", 8) == 0;
}

// An address (http://, https://), or a folder.
static bool import_is_site(const char *place)
{
    struct stat st;
    return is_address(place) || (stat(place, &st) == 0 && S_ISDIR(st.st_mode));
}

// ---- one record

// Whether the record is that run's.
static int check_id(const struct site_file *file, const struct buf *text, struct err *err)
{
    static const struct field fields[] = {FIELD(FIELD_TEXT, struct run, id, ""), FIELD_END};
    struct run run = {0};
    int rc = record_from_text(fields, buf_str(text), text->len, &run, err);
    if (rc == 0 && (!run.id || strcmp(run.id, file->run) != 0))
        rc = err_set(err, ERR_FORMAT, "it is not the record of run '%.120s'", file->run);
    record_release(fields, &run);
    return rc == ERR_FORMAT ? err_context(err, "%s", file->path) : rc;
}

int import_site_line(const struct site_file *file, struct buf *text, struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    TRY(buf_check(text, err));
    if ((int64_t)text->len != file->bytes.v)
        return err_set(err, ERR_FAIL, "%s has %zu bytes, and %lld by the site's index", file->path,
                       text->len, (long long)file->bytes.v);
    sha256_hex_of(buf_str(text), text->len, sum);
    if (strcmp(sum, file->sha256) != 0)
        return err_set(err, ERR_FAIL, "%s is not what the site's index says (SHA-256)", file->path);
    TRY(check_id(file, text, err));
    // A line's end in JSON stands between values only.
    for (size_t i = 0; i < text->len; i++)
        if (text->data[i] == '\n' || text->data[i] == '\r')
            text->data[i] = ' ';
    buf_trim(text);
    buf_addc(text, '\n');
    return buf_check(text, err);
}

static int put_line(struct import_site *site, const struct site_file *file, struct buf *text,
                    struct err *err)
{
    struct err why = {0};
    int rc = import_site_line(file, text, &why);
    if (rc == ERR_MEMORY) // says nothing about the record
        return err_memory(err);
    if (rc != 0)
        return site->refuse(site->refuse_arg, &why, err);
    TRY(fs_write_fd(site->fd, buf_str(text), text->len, "the temporary file", err));
    site->fetched++;
    return 0;
}

// ---- which

// The records that the ledger does not have, in `out`, which has room for all files.
static int choose(struct import_site *site, const struct site_index *index,
                  const struct site_file **out, size_t *count, struct err *err)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < index->files.count; i++) {
        const struct site_file *file = &index->files.items[i];
        bool has = false;
        if (!site_is_record(file))
            continue;
        if (file->bytes.v > RUN_BYTES_MOST) {
            struct err why = {0};
            err_set(&why, ERR_FORMAT, "%s is over %d MB", file->path, RUN_BYTES_MOST >> 20);
            TRY(site->refuse(site->refuse_arg, &why, err));
            continue;
        }
        if (site->ledger)
            TRY(ledger_has(site->ledger, file->run, &has, err));
        bytes += has ? 0 : file->bytes.v;
        site->there += has;
        if (!has)
            out[(*count)++] = file;
        if (bytes > BOUND_SITE_BYTES)
            return err_set(err, ERR_FORMAT, "the site's records are over %lld GB",
                           (long long)(BOUND_SITE_BYTES / 1000000000));
    }
    return 0;
}

static int parse(const struct buf *text, struct site_index *index, struct err *err)
{
    int rc = site_index_read(buf_str(text), text->len, index, err);
    return rc == ERR_FORMAT ? err_context(err, SITE_INDEX) : rc;
}

// ---- a folder

static int read_folder(struct import_site *site, int dir, struct err *err)
{
    struct site_index index = {0};
    SCOPED(buf_release) struct buf text = {.max = SITE_BYTES_MOST + (1 << 16)};
    const struct site_file **files = NULL;
    size_t count = 0;
    int rc = fs_read_at(dir, SITE_INDEX, false, SITE_BYTES_MOST, &text, err);
    if (rc == 0)
        rc = parse(&text, &index, err);
    if (rc == 0 && !(files = calloc(index.files.count + 1, sizeof *files)))
        rc = err_memory(err);
    if (rc == 0)
        rc = choose(site, &index, files, &count, err);
    int runs = rc == 0 && count > 0
                   ? openat(dir, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                   : -1;
    if (rc == 0 && count > 0 && runs < 0)
        rc = err_errno(err, errno, "cannot open the folder runs");
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (site->progress)
            site->progress(site->progress_arg, (int64_t)i, (int64_t)count);
        buf_reset(&text);
        rc = fs_read_at(runs, strchr(files[i]->path, '/') + 1, false, (size_t)files[i]->bytes.v,
                        &text, err);
        if (rc == 0)
            rc = put_line(site, files[i], &text, err);
    }
    if (runs >= 0)
        close(runs);
    free(files);
    record_release(site_index_fields, &index);
    return rc;
}

static int from_folder(struct import_site *site, struct err *err)
{
    int dir = open(site->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return err_errno(err, errno, "cannot open '%s'", site->place);
    if (faccessat(dir, SITE_INDEX, F_OK, AT_SYMLINK_NOFOLLOW) != 0) {
        close(dir);
        err_set(err, ERR_MISSING, "'%s' is not a site of fare: it has no %s", site->place,
                SITE_INDEX);
        return err_hint(err, "'fare report --site' writes one; files are imported by their names");
    }
    int rc = read_folder(site, dir, err);
    close(dir);
    return rc;
}

// ---- an address

int import_site_base(const char *url, struct buf *out, struct err *err)
{
    size_t len = strcspn(url, "#");
    char shown[HTTP_SHOWN_BYTES];
    const char *host = strstr(url, "://"), *last = NULL;
    http_shown(url, shown);
    if (!is_address(url) || memchr(url, '?', len))
        return err_set(err, ERR_USAGE,
                       "'%s' is not the address of a site: http:// or https://, "
                       "without '?'",
                       shown);
    for (const char *p = host + 3; p < url + len; p++)
        last = *p == '/' ? p : last;
    size_t name = last ? (size_t)(url + len - last) - 1 : 0;
    bool page = last && ((name > 5 && strncmp(url + len - 5, ".html", 5) == 0) ||
                         (name == strlen(SITE_INDEX) && strncmp(last + 1, SITE_INDEX, name) == 0));
    buf_add(out, url, page ? (size_t)(last - url) : len);
    while (out->len > 0 && out->data[out->len - 1] == '/')
        out->data[--out->len] = '\0';
    buf_addc(out, '/');
    return buf_check(out, err);
}

// The server was too busy.
static bool may_succeed(const struct http_call *call)
{
    return call->err.code == 0 &&
           (call->status == 429 || (call->status >= 500 && call->status < 600));
}

// Only a whole answer of status 200 will do.
static int outcome(const struct http_call *call, struct err *err)
{
    char shown[HTTP_SHOWN_BYTES];
    http_shown(call->url, shown);
    if (call->err.code != 0) {
        if (err && err->code == 0)
            *err = call->err;
        return call->err.code;
    }
    if (call->status == 200)
        return 0;
    return err_set(err, call->status == 404 ? ERR_MISSING : ERR_FAIL, "'%s' answered %d", shown,
                   call->status);
}

// Makes the calls; those that a server was too busy for again, a little later.
static int call_all(struct http_session *session, struct http_call *calls, size_t count,
                    int64_t until_ns, struct err *err)
{
    struct http_call *again[AT_ONCE];
    size_t left = 0;
    TRY(http_all_in(session, calls, count, until_ns, err));
    for (size_t i = 0; i < count; i++)
        if (may_succeed(&calls[i]))
            again[left++] = &calls[i];
    for (int tries = 1; left > 0 && tries < TRIES; tries++) {
        size_t still = 0;
        clock_sleep_ns(tries * NS_PER_S / 2);
        for (size_t i = 0; i < left; i++) {
            TRY(http_all_in(session, again[i], 1, until_ns, err));
            if (may_succeed(again[i]))
                again[still++] = again[i];
        }
        left = still;
    }
    return 0;
}

struct fetching {
    struct import_site *site;
    struct http_session *session;
    const char *base;
    const struct site_file **files;
    size_t count;
    int64_t until_ns;
};

static struct http_call call_of(const char *url, int64_t most)
{
    return (struct http_call){.url = url,
                              .max_bytes = (size_t)(most > 0 ? most : 1),
                              .timeout_ms = BOUND_PAGE_MS,
                              .stall_ms = STALL_MS,
                              .follow = true};
}

static int fetch_some(struct fetching *f, size_t first, struct err *err)
{
    struct http_call calls[AT_ONCE];
    struct buf urls[AT_ONCE] = {{0}};
    size_t count = f->count - first < AT_ONCE ? f->count - first : AT_ONCE;
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        buf_printf(&urls[i], "%s%s", f->base, f->files[first + i]->path);
        calls[i] = call_of(buf_str(&urls[i]), f->files[first + i]->bytes.v);
        if (rc == 0)
            rc = buf_check(&urls[i], err);
    }
    if (rc == 0)
        rc = call_all(f->session, calls, count, f->until_ns, err);
    for (size_t i = 0; i < count; i++) {
        if (rc == 0)
            rc = outcome(&calls[i], err);
        if (rc == 0)
            rc = put_line(f->site, f->files[first + i], &calls[i].answer, err);
        http_call_release(&calls[i]);
        buf_release(&urls[i]);
    }
    return rc;
}

static int fetch_index(struct fetching *f, struct site_index *index, struct err *err)
{
    SCOPED(buf_release) struct buf url = {0};
    buf_printf(&url, "%s%s", f->base, SITE_INDEX);
    TRY(buf_check(&url, err));
    SCOPED(http_call_release) struct http_call call = call_of(buf_str(&url), SITE_BYTES_MOST);
    TRY(call_all(f->session, &call, 1, f->until_ns, err));
    if (outcome(&call, err) != 0)
        return call.status == 404 ? err_hint(err, "is this the address of a site of 'fare report "
                                                  "--site'?")
                                  : err->code;
    return parse(&call.answer, index, err);
}

static int from_address(struct import_site *site, struct err *err)
{
    struct fetching f = {.site = site, .until_ns = clock_now_ns() + BOUND_SITE_NS};
    struct site_index index = {0};
    SCOPED(buf_release) struct buf base = {0};
    int rc = import_site_base(site->place, &base, err);
    f.base = buf_str(&base);
    if (rc == 0 && !(f.session = http_session_new(err)))
        rc = ERR_FAIL;
    if (rc == 0)
        rc = fetch_index(&f, &index, err);
    if (rc == 0 && !(f.files = calloc(index.files.count + 1, sizeof *f.files)))
        rc = err_memory(err);
    if (rc == 0)
        rc = choose(site, &index, f.files, &f.count, err);
    for (size_t i = 0; i < f.count && rc == 0; i += AT_ONCE) {
        if (site->progress)
            site->progress(site->progress_arg, (int64_t)i, (int64_t)f.count);
        rc = fetch_some(&f, i, err);
    }
    free(f.files);
    http_session_free(f.session);
    record_release(site_index_fields, &index);
    return rc;
}

static int import_site(struct import_site *site, struct err *err)
{
    if (is_address(site->place))
        return from_address(site, err);
    int rc = from_folder(site, err);
    if (rc == ERR_FORMAT || rc == ERR_FAIL)
        err_context(err, "the site '%s'", site->place);
    return rc;
}

// ==== import_file ====

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
    while (line < end && (stop = memchr(line, '\n', (size_t)(end - line)))) {
        ++*number;
        *stop = '\0';
        size_t len = (size_t)(stop - line);
        struct err why = {0};
        if ((line[strspn(line, " \t\r")] != '\0' || strlen(line) != len) &&
            add_text(m, line, len, &why) != 0) {
            err_context(&why, "'%s', line %zu", path, *number);
            TRY(refuse(m, &why, err));
        }
        line = stop + 1;
    }
    size_t left = line ? (size_t)(end - line) : 0;
    if (left > 0)
        memmove(text->data, line, left);
    text->len = left;
    return 0;
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
    SCOPED(free_pointer) char *text = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text)
        return err_memory(err);
    int rc = add_text(m, text, strlen(text), &why);
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
    json_auto_t *json = json_loadb(buf_str(text), text->len, 0, &why);
    if (!json)
        return err_set(err, ERR_FORMAT, "'%s', line %d: %s", path, why.line, why.text);
    json_t *runs = json_object_get(json, "runs"), *one;
    size_t index;
    if (!runs)
        return add_json(m, path, -1, json, err);
    json_array_foreach(runs, index, one)
    {
        TRY(add_json(m, path, (int64_t)index, one, err));
    }
    return 0;
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
    SCOPED(buf_release) struct buf line = {0};
    struct err why = {0};
    i->number++;
    int rc = record_bound(run_fields, run, &why);
    if (rc == 0)
        rc = ledger_line(run, &line, &why);
    if (rc == 0)
        rc = add_text(m, buf_str(&line), line.len, &why);
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
    SCOPED(buf_release) struct buf text = {.max = 2 * CHUNK_BYTES};
    int64_t copied = 0;
    for (bool ended = false; !ended;) {
        buf_reset(&text);
        TRY(read_chunk(from, name, &text, &ended, err));
        if (is_zeros(&text))
            return err_set(err, ERR_FORMAT, "'%s' is not text", name);
        TRY(fs_write_fd(to, buf_str(&text), text.len, "the temporary file", err));
        copied += (int64_t)text.len;
        if (copied > COPY_MAX_BYTES)
            return err_set(err, ERR_FORMAT, "'%s' is over %d GB", name, COPY_MAX_GB);
    }
    if (lseek(to, 0, SEEK_SET) != 0)
        return err_errno(err, errno, "cannot read the temporary file");
    return 0;
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
    SCOPED(buf_release) struct buf text = {.max = IMPORT_MAX + 2 * CHUNK_BYTES};
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
    return rc;
}

const char *import_file_format(size_t i)
{
    return i == 0 ? "fare" : importers[i - 1] ? importers[i - 1]->name : NULL;
}
