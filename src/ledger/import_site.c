// SPDX-License-Identifier: Apache-2.0
#include "ledger/import_site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool import_is_site(const char *place)
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
    struct buf text = {.max = SITE_BYTES_MOST + (1 << 16)};
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
    buf_release(&text);
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
    struct buf url = {0};
    buf_printf(&url, "%s%s", f->base, SITE_INDEX);
    int rc = buf_check(&url, err);
    struct http_call call = call_of(buf_str(&url), SITE_BYTES_MOST);
    if (rc == 0)
        rc = call_all(f->session, &call, 1, f->until_ns, err);
    if (rc == 0 && outcome(&call, err) != 0)
        rc = call.status == 404 ? err_hint(err, "is this the address of a site of 'fare report "
                                                "--site'?")
                                : err->code;
    if (rc == 0)
        rc = parse(&call.answer, index, err);
    http_call_release(&call);
    buf_release(&url);
    return rc;
}

static int from_address(struct import_site *site, struct err *err)
{
    struct fetching f = {.site = site, .until_ns = clock_now_ns() + BOUND_SITE_NS};
    struct site_index index = {0};
    struct buf base = {0};
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
    buf_release(&base);
    return rc;
}

int import_site(struct import_site *site, struct err *err)
{
    if (is_address(site->place))
        return from_address(site, err);
    int rc = from_folder(site, err);
    if (rc == ERR_FORMAT || rc == ERR_FAIL)
        err_context(err, "the site '%s'", site->place);
    return rc;
}
