// SPDX-License-Identifier: Apache-2.0
// A store in a bucket: objects, lists and downloads; store_s3_send.c has the uploads.
#include "guard/store_s3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bounds.h"
#include "base/fs.h"
#include "base/tree.h"
#include "guard/s3.h"
#include "guard/xml.h"

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

// A request whose answer does not matter beyond success.
static int plain(struct s3 *s3, const struct s3_request *request, const char *doing,
                 struct err *err)
{
    struct http_call call = {0};
    int rc = s3_must(s3, request, doing, &call, err);
    http_call_release(&call);
    return rc;
}

static int bucket_get(void *state, const char *name, size_t max, struct buf *out,
                      int64_t deadline_ns, struct err *err)
{
    struct http_call call = {0};
    DOING(doing, "read", name);
    struct err why = {0};
    int rc = s3_must(
        state,
        &(struct s3_request){.name = name, .max_bytes = max + 65536, .deadline_ns = deadline_ns},
        doing, &call, &why);
    if (call.too_long || (rc == 0 && call.answer.len > max))
        rc = err_set(err, ERR_FORMAT, "'%s' is larger than %zu bytes", name, max);
    else if (rc != 0 && err && !err->code)
        *err = why;
    if (rc == 0) {
        buf_add(out, buf_str(&call.answer), call.answer.len);
        rc = buf_check(out, err);
    }
    http_call_release(&call);
    return rc;
}

static int bucket_put(void *state, const char *name, const void *bytes, size_t len,
                      int64_t deadline_ns, struct err *err)
{
    DOING(doing, "write", name);
    return plain(state,
                 &(struct s3_request){.method = "PUT",
                                      .name = name,
                                      .body = bytes,
                                      .body_len = len,
                                      .deadline_ns = deadline_ns},
                 doing, err);
}

static int bucket_create(void *state, const char *name, const void *bytes, size_t len,
                         bool *created, int64_t deadline_ns, struct err *err)
{
    struct http_call call = {0};
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
    http_call_release(&call);
    return rc;
}

static int bucket_remove(void *state, const char *name, int64_t deadline_ns, struct err *err)
{
    struct http_call call = {0};
    DOING(doing, "delete", name);
    int rc = s3_ask(
        state, &(struct s3_request){.method = "DELETE", .name = name, .deadline_ns = deadline_ns},
        &call, err);
    if (rc == 0 && call.status != 404 && (call.status < 200 || call.status >= 300))
        rc = s3_refused(state, &call, doing, err);
    http_call_release(&call);
    return rc;
}

int bucket_size(void *state, const char *name, int64_t *bytes, int64_t deadline_ns, struct err *err)
{
    struct http_call call = {0};
    char text[32];
    DOING(doing, "find", name);
    int rc = s3_must(state,
                     &(struct s3_request){.method = "HEAD",
                                          .name = name,
                                          .max_bytes = SIZE_MAX / 4, // what it would send
                                          .deadline_ns = deadline_ns},
                     doing, &call, err);
    if (rc == 0 &&
        (!http_header(&call, "Content-Length", text, sizeof text) || !text_int(text, bytes)))
        rc = err_set(err, ERR_FORMAT, "%s: the answer has no Content-Length", doing);
    http_call_release(&call);
    return rc;
}

// ---- Lists

struct listing {
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
    struct listing *l = context;
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

static int list_page(struct s3 *s3, const char *under, struct listing *l, int64_t deadline_ns,
                     struct err *err)
{
    struct buf query = {0};
    struct http_call call = {0};
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
    int rc = buf_check(&query, err);
    if (rc == 0)
        rc = s3_must(s3, &(struct s3_request){.query = buf_str(&query), .deadline_ns = deadline_ns},
                     doing, &call, err);
    if (rc == 0)
        rc = xml_walk(buf_str(&call.answer), call.answer.len, list_element, l, err);
    if (rc == 0 && !l->is_list)
        rc = err_set(err, ERR_FORMAT, "%s: the answer is not a list of S3", doing);
    if (rc == 0 && l->truncated && !l->more[0])
        rc = err_set(err, ERR_FORMAT, "%s: a page is missing", doing);
    if (rc == 0 && l->truncated && strcmp(l->more, l->asked) == 0)
        rc = err_set(err, ERR_FORMAT, "%s: the server sends the same page again and again", doing);
    buf_release(&query);
    http_call_release(&call);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

static int bucket_list(void *state, const char *under, struct store_list *list, int64_t deadline_ns,
                       struct err *err)
{
    struct listing l = {.prefix = s3_prefix(state), .list = list};
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
    int rc = 0;
    bool right = false;
    DOING(doing, "fetch", d->file->name);
    (void)buffer;
    snprintf(range, sizeof range, "Range: bytes=%lld-%lld", (long long)at,
             (long long)(at + len - 1));
    for (int i = 0; rc == 0 && !right && i < 2; i++) {
        struct http_call call = {0};
        rc = s3_must(d->s3,
                     &(struct s3_request){.name = d->file->name,
                                          .header = range,
                                          .max_bytes = (size_t)len + 65536,
                                          .stop = stop,
                                          .deadline_ns = d->deadline_ns},
                     doing, &call, err);
        right = rc == 0 && call.answer.len == (size_t)len &&
                store_part_right(d->file, index, buf_str(&call.answer));
        if (right)
            rc = store_write_at(d->fd, call.answer.data, len, at, d->file->path, err);
        http_call_release(&call);
    }
    if (rc == 0 && !right)
        rc = err_set(err, ERR_FORMAT, "part %lld of '%s' has not the bytes that were saved",
                     (long long)index + 1, d->file->name);
    if (rc == 0)
        atomic_fetch_add(&d->got, len);
    return rc;
}

static int bucket_fetch(void *state, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    int64_t bytes = 0, count = store_part_count(file->bytes);
    struct fs_writer writer = {0};
    TRY(bucket_size(state, file->name, &bytes, deadline_ns, err));
    if (bytes != file->bytes)
        return err_set(err, ERR_FORMAT, "'%s' has %lld bytes instead of %lld", file->name,
                       (long long)bytes, (long long)file->bytes);
    TRY(store_local(fs_begin(&writer, file->path, 0600, err), err));
    struct download d = {.s3 = state, .file = file, .deadline_ns = deadline_ns, .fd = writer.fd};
    bool *done = calloc((size_t)count + 1, sizeof *done);
    int rc = !done ? err_memory(err)
                   : store_work(&(struct store_work){.file = file,
                                                     .count = count,
                                                     .done = done,
                                                     .threads = s3_parallel(state),
                                                     .one = fetch_part,
                                                     .context = &d},
                                err);
    free(done);
    file->sent_bytes = atomic_load(&d.got);
    if (rc == 0)
        rc = store_local(fs_commit(&writer, err), err);
    else
        fs_abandon(&writer);
    return rc;
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
    .size = bucket_size,
    .send = bucket_send,
    .fetch = bucket_fetch,
    .forget = bucket_forget,
};
