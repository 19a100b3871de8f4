// SPDX-License-Identifier: Apache-2.0
// A store in a bucket: objects, lists, downloads and uploads.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fs.h"
#include "base/tree.h"
#include "save/s3.h"
#include "save/store_kind.h"

// "cannot VERB 'NAME'", for errors.
#define DOING_BYTES (STORE_NAME_BYTES + 40)
#define DOING(text, verb, name)                                                                    \
    char text[DOING_BYTES];                                                                        \
    snprintf(text, sizeof text, "cannot %s '%s'", verb, name)

static int bucket_open(void **state, const char *place, const struct store_options *options,
                       struct err *err)
{
    struct s3 *s3 = NULL;
    int rc = s3_open(&s3, place, options, err);
    *state = s3;
    return rc;
}

static void bucket_free(void *state)
{
    s3_free(state);
}

static void bucket_rest(void *state)
{
    s3_rest(state);
}

static int bucket_get(void *state, const char *name, size_t max, struct buf *out,
                      int64_t deadline_ns, struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "read", name);
    struct err why = {0};
    int rc = s3_must(
        state,
        &(struct s3_request){.name = name, .max_bytes = max + 65536, .deadline_ns = deadline_ns},
        doing, &call, &why);
    if (call.too_long || (rc == 0 && call.answer.len > max))
        return err_set(err, ERR_FORMAT, "'%s' is larger than %zu bytes", name, max);
    if (rc != 0)
        return err_pass(err, rc, &why);
    buf_add(out, buf_str(&call.answer), call.answer.len);
    return buf_check(out, err);
}

static int bucket_put(void *state, const char *name, const void *bytes, size_t len,
                      int64_t deadline_ns, struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "write", name);
    return s3_must(state,
                   &(struct s3_request){.method = "PUT",
                                        .name = name,
                                        .body = bytes,
                                        .body_len = len,
                                        .deadline_ns = deadline_ns},
                   doing, &call, err);
}

static int bucket_create(void *state, const char *name, const void *bytes, size_t len,
                         bool *created, int64_t deadline_ns, struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "create", name);
    int rc = s3_ask(state,
                    &(struct s3_request){.method = "PUT",
                                         .name = name,
                                         .header = "If-None-Match: *",
                                         .body = bytes,
                                         .body_len = len,
                                         .deadline_ns = deadline_ns},
                    &call, err);
    *created = rc == 0 && call.status >= 200 && call.status < 300;
    if (rc == 0 && !*created && call.status != 412 && call.status != 409)
        rc = call.status == 501 ? err_set(err, ERR_FORMAT, "%s: no conditions here", doing)
                                : s3_refused(state, &call, doing, err);
    return rc;
}

static int bucket_remove(void *state, const char *name, int64_t deadline_ns, struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "delete", name);
    TRY(s3_ask(state,
               &(struct s3_request){.method = "DELETE", .name = name, .deadline_ns = deadline_ns},
               &call, err));
    if (call.status != 404 && (call.status < 200 || call.status >= 300))
        return s3_refused(state, &call, doing, err);
    return 0;
}

// As in store.h; `state` is a struct s3.
static int bucket_size(void *state, const char *name, int64_t *bytes, int64_t deadline_ns,
                       struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    char text[32];
    DOING(doing, "find", name);
    TRY(s3_must(state,
                &(struct s3_request){.method = "HEAD",
                                     .name = name,
                                     .max_bytes = SIZE_MAX / 4, // what it would send
                                     .deadline_ns = deadline_ns},
                doing, &call, err));
    if (!http_header(&call, "Content-Length", text, sizeof text) || !text_int(text, bytes))
        return err_set(err, ERR_FORMAT, "%s: the answer has no Content-Length", doing);
    return 0;
}

// ---- Lists

struct s3_listing {
    const char *prefix; // of the store
    struct store_list *list;
    char key[2048], size[32];
    char more[2048];  // token of the next page
    char asked[2048]; // and of this one
    bool truncated;
    bool is_list; // and not the page of a portal on the way
};

static int list_element(void *context, const char *parent, const char *name, const char *value,
                        struct err *err)
{
    struct s3_listing *l = context;
    int64_t bytes = 0;
    size_t prefix = strlen(l->prefix);
    if (value && strcmp(parent, "Contents") == 0 && strcmp(name, "Key") == 0)
        snprintf(l->key, sizeof l->key, "%s", value);
    else if (value && strcmp(parent, "Contents") == 0 && strcmp(name, "Size") == 0)
        snprintf(l->size, sizeof l->size, "%s", value);
    else if (value && strcmp(name, "IsTruncated") == 0)
        l->truncated = strcmp(value, "true") == 0;
    else if (value && strcmp(name, "NextContinuationToken") == 0)
        snprintf(l->more, sizeof l->more, "%s", value);
    l->is_list |= !parent[0] && strcmp(name, "ListBucketResult") == 0;
    if (value || strcmp(name, "Contents") != 0)
        return 0;
    const char *own = l->key + prefix;
    bool ours = strncmp(l->key, l->prefix, prefix) == 0 && store_name_fits(own);
    if (ours && text_int(l->size, &bytes))
        TRY(store_list_add(l->list, own, bytes, err));
    l->key[0] = l->size[0] = '\0';
    return 0;
}

static int list_page(struct s3 *s3, const char *under, struct s3_listing *l, int64_t deadline_ns,
                     struct err *err)
{
    SCOPED(buf_release) struct buf query = {0};
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "list", under);
    memcpy(l->asked, l->more, sizeof l->asked);
    if (l->more[0]) {
        buf_adds(&query, "continuation-token=");
        s3_encode(l->more, false, &query);
        buf_addc(&query, '&');
    }
    buf_adds(&query, "list-type=2&max-keys=1000&prefix=");
    s3_encode(l->prefix, false, &query);
    s3_encode(under, false, &query);
    l->more[0] = '\0', l->truncated = l->is_list = false;
    TRY(buf_check(&query, err));
    TRY(s3_must(s3, &(struct s3_request){.query = buf_str(&query), .deadline_ns = deadline_ns},
                doing, &call, err));
    TRY(xml_walk(buf_str(&call.answer), call.answer.len, list_element, l, err));
    if (!l->is_list)
        return err_set(err, ERR_FORMAT, "%s: the answer is not a list of S3", doing);
    if (l->truncated && !l->more[0])
        return err_set(err, ERR_FORMAT, "%s: a page is missing", doing);
    if (l->truncated && strcmp(l->more, l->asked) == 0)
        return err_set(err, ERR_FORMAT, "%s: the server sends the same page again and again",
                       doing);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

static int bucket_list(void *state, const char *under, struct store_list *list, int64_t deadline_ns,
                       struct err *err)
{
    struct s3_listing l = {.prefix = s3_prefix(state), .list = list};
    int pages = 0;
    do {
        TRY(list_page(state, under, &l, deadline_ns, err));
    } while (l.truncated && ++pages < BOUND_LIST_PAGES);
    if (l.truncated)
        return err_set(err, ERR_FORMAT, "cannot list '%s': it does not end within %d pages", under,
                       pages);
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_name);
    return 0;
}

// ---- Downloads

struct download {
    struct s3 *s3;
    struct store_file *file;
    int64_t deadline_ns;
    int fd;
    _Atomic int64_t got;
};

// A part that was damaged on the way is asked for a second time.
static int fetch_part(void *context, int64_t index, void *buffer, const atomic_bool *stop,
                      struct err *err)
{
    struct download *d = context;
    int64_t at = index * store_part_bytes(d->file->bytes);
    int64_t len = store_part_len(d->file->bytes, index);
    char range[80];
    DOING(doing, "fetch", d->file->name);
    (void)buffer;
    snprintf(range, sizeof range, "Range: bytes=%lld-%lld", (long long)at,
             (long long)(at + len - 1));
    for (int i = 0; i < 2; i++) {
        SCOPED(http_call_release) struct http_call call = {0};
        TRY(s3_must(d->s3,
                    &(struct s3_request){.name = d->file->name,
                                         .header = range,
                                         .max_bytes = (size_t)len + 65536,
                                         .stop = stop,
                                         .deadline_ns = d->deadline_ns},
                    doing, &call, err));
        if (call.answer.len != (size_t)len ||
            !store_part_right(d->file, index, buf_str(&call.answer)))
            continue;
        TRY(store_write_at(d->fd, call.answer.data, len, at, d->file->path, err));
        atomic_fetch_add(&d->got, len);
        return 0;
    }
    return err_set(err, ERR_FORMAT, "part %lld of '%s' has not the bytes that were saved",
                   (long long)index + 1, d->file->name);
}

static int bucket_fetch(void *state, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    int64_t bytes = 0, count = store_part_count(file->bytes);
    SCOPED(fs_abandon) struct fs_writer writer = {0};
    TRY(bucket_size(state, file->name, &bytes, deadline_ns, err));
    if (bytes != file->bytes)
        return err_set(err, ERR_FORMAT, "'%s' has %lld bytes instead of %lld", file->name,
                       (long long)bytes, (long long)file->bytes);
    TRY(store_local(fs_begin(&writer, file->path, 0600, err), err));
    struct download d = {.s3 = state, .file = file, .deadline_ns = deadline_ns, .fd = writer.fd};
    SCOPED(free_pointer) bool *done = calloc((size_t)count + 1, sizeof *done);
    if (!done)
        return err_memory(err);
    int rc = store_work(&(struct store_work){.file = file,
                                             .count = count,
                                             .done = done,
                                             .threads = s3_parallel(state),
                                             .one = fetch_part,
                                             .context = &d},
                        err);
    file->sent_bytes = atomic_load(&d.got);
    TRY(rc);
    return store_local(fs_commit(&writer, err), err);
}

// ---- Files into a bucket. Those over one part are multipart uploads.
//
// An upload that was cut is found again by the name of its object (ListMultipartUploads), and the
// parts that are there by ListParts. A part is known by number and size alone: names of data are
// hashes of the contents, and the server verified each part's SHA-256 when it came.

#define ID_BYTES   1024
#define ETAG_BYTES 160
#define PARTS_LAST 10000 // S3 has no more

struct upload {
    struct s3 *s3;
    struct store_file *file;
    int64_t deadline_ns;
    int fd;
    char id[ID_BYTES];
    int64_t count;
    bool *done;
    char (*etags)[ETAG_BYTES];
    _Atomic int64_t sent;
    // While reading lists:
    char key[2048], number[16], size[32], etag[ETAG_BYTES], listed_id[ID_BYTES];
    bool truncated;
    char more[16];
};

// "uploadId=ID", after what sorts before it.
static int upload_query(const struct upload *u, const char *before, struct buf *query,
                        struct err *err)
{
    buf_printf(query, "%suploadId=", before);
    s3_encode(u->id, false, query);
    return buf_check(query, err);
}

static int upload_element(void *context, const char *parent, const char *name, const char *value,
                          struct err *err)
{
    struct upload *u = context;
    (void)err;
    if (value && strcmp(parent, "Upload") == 0 && strcmp(name, "Key") == 0)
        snprintf(u->key, sizeof u->key, "%s", value);
    else if (value && strcmp(parent, "Upload") == 0 && strcmp(name, "UploadId") == 0)
        snprintf(u->listed_id, sizeof u->listed_id, "%s", value);
    if (value || strcmp(name, "Upload") != 0)
        return 0;
    const char *prefix = s3_prefix(u->s3);
    if (strncmp(u->key, prefix, strlen(prefix)) == 0 &&
        strcmp(u->key + strlen(prefix), u->file->name) == 0)
        memcpy(u->id, u->listed_id, sizeof u->id);
    return 0;
}

// Whether the answer says that there are no uploads: some servers have no empty list (rclone), or
// no list at all. Then an upload that was cut is begun again.
static bool has_none(const struct http_call *call)
{
    char code[64];
    return call->status == 501 ||
           (call->status == 404 &&
            xml_find(buf_str(&call->answer), call->answer.len, "Code", code, sizeof code) &&
            strcmp(code, "NoSuchUpload") == 0);
}

// An upload of this name that was cut: its id, or "".
static int find_upload(struct upload *u, struct err *err)
{
    SCOPED(buf_release) struct buf query = {0};
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "list uploads of", u->file->name);
    u->id[0] = '\0';
    buf_adds(&query, "prefix=");
    s3_encode(s3_prefix(u->s3), false, &query);
    s3_encode(u->file->name, false, &query);
    buf_adds(&query, "&uploads=");
    TRY(buf_check(&query, err));
    if (s3_ask(u->s3, &(struct s3_request){.query = buf_str(&query), .deadline_ns = u->deadline_ns},
               &call, err) != 0)
        return err_context(err, "%s", doing);
    if (call.status == 200)
        return xml_walk(buf_str(&call.answer), call.answer.len, upload_element, u, err);
    return has_none(&call) ? 0 : s3_refused(u->s3, &call, doing, err);
}

static int part_element(void *context, const char *parent, const char *name, const char *value,
                        struct err *err)
{
    struct upload *u = context;
    int64_t number = 0, size = 0;
    (void)err;
    if (value && strcmp(parent, "Part") == 0 && strcmp(name, "PartNumber") == 0)
        snprintf(u->number, sizeof u->number, "%s", value);
    else if (value && strcmp(parent, "Part") == 0 && strcmp(name, "Size") == 0)
        snprintf(u->size, sizeof u->size, "%s", value);
    else if (value && strcmp(parent, "Part") == 0 && strcmp(name, "ETag") == 0)
        snprintf(u->etag, sizeof u->etag, "%s", value);
    else if (value && strcmp(name, "IsTruncated") == 0)
        u->truncated = strcmp(value, "true") == 0;
    else if (value && strcmp(name, "NextPartNumberMarker") == 0)
        snprintf(u->more, sizeof u->more, "%s", value);
    if (value || strcmp(name, "Part") != 0)
        return 0;
    if (text_int(u->number, &number) && number >= 1 && number <= u->count && u->etag[0] &&
        text_int(u->size, &size) && size == store_part_len(u->file->bytes, number - 1)) {
        u->done[number - 1] = true;
        snprintf(u->etags[number - 1], ETAG_BYTES, "%s", u->etag);
    }
    u->number[0] = u->size[0] = u->etag[0] = '\0';
    return 0;
}

// The parts that are there. An upload that is gone counts as none: `id` becomes "".
static int find_parts(struct upload *u, struct err *err)
{
    char after[48] = "";
    int64_t last = 0;
    DOING(doing, "list parts of", u->file->name);
    do {
        SCOPED(buf_release) struct buf query = {0};
        SCOPED(http_call_release) struct http_call call = {0};
        u->truncated = false;
        TRY(upload_query(u, after, &query, err));
        TRY(s3_ask(u->s3,
                   &(struct s3_request){.name = u->file->name,
                                        .query = buf_str(&query),
                                        .deadline_ns = u->deadline_ns},
                   &call, err));
        if (call.status == 404)
            u->id[0] = '\0';
        else if (call.status != 200)
            return s3_refused(u->s3, &call, doing, err);
        else
            TRY(xml_walk(buf_str(&call.answer), call.answer.len, part_element, u, err));
        int64_t next = 0;
        if (u->truncated && (!text_int(u->more, &next) || next <= last || next > PARTS_LAST))
            return err_set(err, ERR_FORMAT, "%s: '%s' is no number of a part after %lld", doing,
                           u->more, (long long)last);
        last = next;
        snprintf(after, sizeof after, "part-number-marker=%s&", u->more);
    } while (u->truncated);
    return 0;
}

static int begin_upload(struct upload *u, struct err *err)
{
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "begin to send", u->file->name);
    TRY(s3_must(u->s3,
                &(struct s3_request){.method = "POST",
                                     .name = u->file->name,
                                     .query = "uploads=",
                                     .deadline_ns = u->deadline_ns},
                doing, &call, err));
    if (!xml_find(buf_str(&call.answer), call.answer.len, "UploadId", u->id, sizeof u->id) ||
        !u->id[0])
        return err_set(err, ERR_FORMAT, "%s: the answer has no UploadId", doing);
    return 0;
}

static int send_part(void *context, int64_t index, void *buffer, const atomic_bool *stop,
                     struct err *err)
{
    struct upload *u = context;
    SCOPED(buf_release) struct buf query = {0};
    SCOPED(http_call_release) struct http_call call = {0};
    char number[48], sum[SHA256_HEX_BYTES];
    int64_t len = store_part_len(u->file->bytes, index);
    DOING(doing, "send", u->file->name);
    TRY(store_part_read(u->fd, u->file, index, buffer, err));
    sha256_hex(u->file->parts[index], sum);
    snprintf(number, sizeof number, "partNumber=%lld&", (long long)index + 1);
    TRY(upload_query(u, number, &query, err));
    TRY(s3_must(u->s3,
                &(struct s3_request){.method = "PUT",
                                     .name = u->file->name,
                                     .query = buf_str(&query),
                                     .body = buffer,
                                     .body_len = (size_t)len,
                                     .body_sha256 = sum,
                                     .stop = stop,
                                     .deadline_ns = u->deadline_ns},
                doing, &call, err));
    if (!http_header(&call, "ETag", u->etags[index], ETAG_BYTES))
        return err_set(err, ERR_FORMAT, "%s: the answer has no ETag", doing);
    atomic_fetch_add(&u->sent, len);
    return 0;
}

static void complete_body(const struct upload *u, struct buf *body)
{
    buf_adds(body, "<CompleteMultipartUpload>");
    for (int64_t i = 0; i < u->count; i++) {
        buf_printf(body, "<Part><PartNumber>%lld</PartNumber><ETag>", (long long)i + 1);
        for (const char *p = u->etags[i]; *p; p++) {
            if (*p == '"')
                buf_adds(body, "&quot;");
            else if (*p != '<' && *p != '&' && *p != '>')
                buf_addc(body, *p);
        }
        buf_adds(body, "</ETag></Part>");
    }
    buf_adds(body, "</CompleteMultipartUpload>");
}

// S3 may answer 200 and then an error in the body; the size of the object is what counts. An upload
// that is gone may have been completed by a try whose answer was lost.
static int end_upload(struct upload *u, bool *gone, struct err *err)
{
    SCOPED(buf_release) struct buf query = {0}, body = {0};
    SCOPED(http_call_release) struct http_call call = {0};
    char code[64];
    int64_t bytes = -1;
    DOING(doing, "complete", u->file->name);
    struct err why = {0};
    complete_body(u, &body);
    TRY(buf_check(&body, err));
    TRY(upload_query(u, "", &query, err));
    TRY(s3_ask(u->s3,
               &(struct s3_request){.method = "POST",
                                    .name = u->file->name,
                                    .query = buf_str(&query),
                                    .header = "Content-Type: application/xml",
                                    .body = buf_str(&body),
                                    .body_len = body.len,
                                    .deadline_ns = u->deadline_ns},
               &call, err));
    bool refused = call.status != 200 ||
                   xml_find(buf_str(&call.answer), call.answer.len, "Code", code, sizeof code);
    int rc = bucket_size(u->s3, u->file->name, &bytes, u->deadline_ns, &why);
    if (rc != 0 && rc != ERR_MISSING)
        return err_pass(err, rc, &why);
    *gone = rc == ERR_MISSING && call.status == 404;
    if (bytes == u->file->bytes || *gone)
        return 0;
    return refused ? s3_refused(u->s3, &call, doing, err)
                   : err_set(err, ERR_FORMAT, "%s: the object has %lld bytes instead of %lld",
                             doing, (long long)bytes, (long long)u->file->bytes);
}

static int send_parts(struct upload *u, struct err *err)
{
    for (int tries = 0; tries < 2; tries++) {
        bool gone = false;
        if (tries == 0)
            TRY(find_upload(u, err));
        if (u->id[0])
            TRY(find_parts(u, err));
        if (!u->id[0]) {
            memset(u->done, 0, (size_t)u->count * sizeof *u->done);
            TRY(begin_upload(u, err));
        }
        TRY(store_work(&(struct store_work){.file = u->file,
                                            .count = u->count,
                                            .done = u->done,
                                            .threads = s3_parallel(u->s3),
                                            .one = send_part,
                                            .context = u},
                       err));
        TRY(end_upload(u, &gone, err));
        if (!gone)
            return 0;
        u->id[0] = '\0'; // someone dropped it: once more from the start
    }
    return err_set(err, ERR_IO, "cannot send '%s': its upload disappears", u->file->name);
}

static int send_large(struct s3 *s3, struct store_file *file, int fd, int64_t deadline_ns,
                      struct err *err)
{
    struct err why = {0};
    int64_t bytes = 0, count = store_part_count(file->bytes);
    int rc = bucket_size(s3, file->name, &bytes, deadline_ns, &why);
    if (rc == 0 && bytes == file->bytes)
        return 0; // it is there
    if (rc != 0 && rc != ERR_MISSING)
        return err_pass(err, rc, &why);
    SCOPED(free_pointer) struct upload *u = calloc(1, sizeof *u);
    SCOPED(free_pointer) bool *done = calloc((size_t)count, sizeof *done);
    SCOPED(free_pointer) char(*etags)[ETAG_BYTES] = calloc((size_t)count, sizeof *etags);
    if (!u || !done || !etags)
        return err_memory(err);
    *u = (struct upload){.s3 = s3,
                         .file = file,
                         .deadline_ns = deadline_ns,
                         .fd = fd,
                         .count = count,
                         .done = done,
                         .etags = etags};
    rc = send_parts(u, err);
    file->sent_bytes = atomic_load(&u->sent);
    return rc;
}

static int send_small(struct s3 *s3, struct store_file *file, int fd, int64_t deadline_ns,
                      struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    SCOPED(http_call_release) struct http_call call = {0};
    DOING(doing, "send", file->name);
    SCOPED(free_pointer) void *buffer = malloc((size_t)file->bytes + 1);
    if (!buffer)
        return err_memory(err);
    sha256_hex_of("", 0, sum);
    if (file->bytes > 0) {
        TRY(store_part_read(fd, file, 0, buffer, err));
        sha256_hex(file->parts[0], sum);
    }
    TRY(s3_must(s3,
                &(struct s3_request){.method = "PUT",
                                     .name = file->name,
                                     .body = buffer,
                                     .body_len = (size_t)file->bytes,
                                     .body_sha256 = sum,
                                     .deadline_ns = deadline_ns},
                doing, &call, err));
    file->sent_bytes = file->bytes;
    return 0;
}

static int bucket_send(void *state, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    SCOPED(fs_close) int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", file->path);
    return store_part_count(file->bytes) > 1 ? send_large(state, file, fd, deadline_ns, err)
                                             : send_small(state, file, fd, deadline_ns, err);
}

static int bucket_forget(void *state, const char *name, int64_t deadline_ns, struct err *err)
{
    struct store_file file = {.name = name};
    SCOPED(free_pointer) struct upload *u = calloc(1, sizeof *u);
    SCOPED(buf_release) struct buf query = {0};
    SCOPED(http_call_release) struct http_call call = {0};
    if (!u)
        return err_memory(err);
    *u = (struct upload){.s3 = state, .file = &file, .deadline_ns = deadline_ns};
    TRY(find_upload(u, err));
    if (!u->id[0])
        return 0;
    TRY(upload_query(u, "", &query, err));
    return s3_ask(
        state,
        &(struct s3_request){
            .method = "DELETE", .name = name, .query = buf_str(&query), .deadline_ns = deadline_ns},
        &call, err);
}

const struct store_kind store_s3 = {
    .open = bucket_open,
    .free = bucket_free,
    .rest = bucket_rest,
    .get = bucket_get,
    .put = bucket_put,
    .create = bucket_create,
    .remove = bucket_remove,
    .list = bucket_list,
    .send = bucket_send,
    .fetch = bucket_fetch,
    .forget = bucket_forget,
};
