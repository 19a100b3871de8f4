// SPDX-License-Identifier: Apache-2.0
#include "guard/scan.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "guard/keep.h"
#include "guard/store.h"

#define PIECE     ((size_t)1 << 20) // bytes read at once; parts are multiples of it
#define DEPTH_MAX 64
#define FRESH_S   2 // a change so shortly before a scan may not show in the times

void scan_release(struct scan *scan)
{
    for (size_t i = 0; i < scan->count; i++)
        free(scan->memos[i].parts);
    free(scan->memos);
    index_release(&scan->paths);
    scan->memos = NULL;
    scan->count = scan->cap = 0;
}

// ---- Hashing

struct hashing {
    int fd;
    const char *path;
    int64_t bytes, deadline_ns;
    struct scan *scan; // (optional) for the progress
    uint8_t *piece;
    struct sha256 whole, part;
    uint8_t (*parts)[SHA256_BYTES];
};

static int hash_piece(struct hashing *h, int64_t at, size_t len, struct err *err)
{
    for (size_t have = 0; have < len;) {
        ssize_t got = pread(h->fd, h->piece + have, len - have, at + (int64_t)have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, errno, "cannot read '%s'", h->path);
        if (got == 0)
            return err_set(err, ERR_FORMAT, "'%s' became shorter while it was read", h->path);
        have += (size_t)got;
    }
    if (store_part_count(h->bytes) > 1)
        sha256_add(&h->whole, h->piece, len);
    sha256_add(&h->part, h->piece, len);
    if (h->deadline_ns && clock_now_ns() >= h->deadline_ns)
        return err_set(err, ERR_TIMEOUT, "no time was left to read '%s'", h->path);
    if (h->scan && h->scan->progress && !h->scan->progress(h->scan->context, (int64_t)len))
        return err_set(err, ERR_FAIL, "stopped");
    return 0;
}

static int hash_all(struct hashing *h, struct err *err)
{
    int64_t part_bytes = store_part_bytes(h->bytes);
    sha256_init(&h->whole);
    sha256_init(&h->part);
    for (int64_t at = 0; at < h->bytes;) {
        int64_t left = h->bytes - at;
        size_t len = left < (int64_t)PIECE ? (size_t)left : PIECE;
        TRY(hash_piece(h, at, len, err));
        at += (int64_t)len;
        if (at % part_bytes == 0 || at == h->bytes) {
            sha256_done(&h->part, h->parts[(at - 1) / part_bytes]);
            sha256_init(&h->part);
        }
    }
    return 0;
}

int scan_hash(const char *path, int64_t bytes, uint8_t sum[SHA256_BYTES],
              uint8_t (**parts)[SHA256_BYTES], struct scan *scan, int64_t deadline_ns,
              struct err *err)
{
    struct stat st;
    struct hashing h = {.path = path, .bytes = bytes, .deadline_ns = deadline_ns, .scan = scan};
    *parts = NULL;
    h.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (h.fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    h.piece = malloc(PIECE);
    h.parts = calloc((size_t)store_part_count(bytes) + 1, SHA256_BYTES);
    int rc = h.piece && h.parts ? 0 : err_memory(err);
    if (rc == 0 && (fstat(h.fd, &st) != 0 || st.st_size != bytes))
        rc = err_set(err, ERR_FORMAT, "'%s' changed its size while it was read", path);
    if (rc == 0)
        rc = hash_all(&h, err);
    if (rc == 0) {
        sha256_done(&h.whole, sum);
        if (store_part_count(bytes) == 1) // the same bytes: they were added once
            memcpy(sum, h.parts[0], SHA256_BYTES);
        *parts = h.parts;
    } else {
        free(h.parts);
    }
    free(h.piece);
    close(h.fd);
    return rc;
}

// ---- Memory of earlier scans

static int64_t ns_of(struct timespec at)
{
    return at.tv_sec * NS_PER_S + at.tv_nsec;
}

static bool as_remembered(const struct scan_memo *memo, const struct stat *st)
{
    return memo->parts && memo->bytes == st->st_size && memo->inode == st->st_ino &&
           memo->device == st->st_dev && memo->modified_ns == ns_of(st->st_mtim) &&
           memo->changed_ns == ns_of(st->st_ctim) && st->st_ctim.tv_sec + FRESH_S <= memo->hashed_s;
}

// The place for what is known of a path.
static int memo_of(struct scan *scan, const char *path, struct scan_memo **memo, struct err *err)
{
    size_t number;
    TRY(array_grow(&scan->memos, scan->count, &scan->cap, sizeof *scan->memos, err));
    TRY(index_number(&scan->paths, path, strlen(path), &number, err));
    if (number == scan->count)
        scan->memos[scan->count++] = (struct scan_memo){0};
    *memo = &scan->memos[number];
    return 0;
}

// ---- The tree

struct walk {
    struct scan *scan;
    struct manifest *manifest;
    int64_t deadline_ns;
    bool hash;
};

static int copy_parts(const struct scan_memo *memo, struct manifest_entry *entry, struct err *err)
{
    size_t size = ((size_t)store_part_count(memo->bytes) + 1) * SHA256_BYTES;
    entry->parts = malloc(size);
    if (!entry->parts)
        return err_memory(err);
    memcpy(entry->parts, memo->parts, size);
    memcpy(entry->sum, memo->sum, sizeof entry->sum);
    return 0;
}

static int hash_entry(const struct walk *w, const char *path, const struct stat *st,
                      struct manifest_entry *entry, struct err *err)
{
    struct scan_memo *memo;
    struct stat after;
    TRY(memo_of(w->scan, path, &memo, err));
    if (as_remembered(memo, st))
        return copy_parts(memo, entry, err);
    if (!w->hash)
        return 0;
    free(memo->parts);
    *memo = (struct scan_memo){.device = st->st_dev,
                               .inode = st->st_ino,
                               .bytes = st->st_size,
                               .modified_ns = ns_of(st->st_mtim),
                               .changed_ns = ns_of(st->st_ctim),
                               .hashed_s = clock_date_s()};
    TRY(scan_hash(path, st->st_size, memo->sum, &memo->parts, w->scan, w->deadline_ns, err));
    if (stat(path, &after) != 0 || after.st_ino != st->st_ino || after.st_size != st->st_size ||
        ns_of(after.st_mtim) != ns_of(st->st_mtim)) {
        free(memo->parts);
        memo->parts = NULL;
        return err_set(err, ERR_FORMAT, "'%s' changed while it was read", path);
    }
    return copy_parts(memo, entry, err);
}

static int add_entry(const struct walk *w, const char *inner, enum manifest_kind kind,
                     const struct stat *st, struct manifest_entry **out, struct err *err)
{
    struct manifest *m = w->manifest;
    if (m->count >= KEEP_FILES)
        return err_set(err, ERR_USAGE, "a checkpoint of more than %d files", KEEP_FILES);
    if (utf8_bad(inner, strlen(inner)) != strlen(inner) || (inner[0] && !manifest_path_fits(inner)))
        return err_set(err, ERR_USAGE, "a file's name is not UTF-8 or too long: '%.200s'", inner);
    TRY(array_grow(&m->items, m->count, &m->cap, sizeof *m->items, err));
    *out = &m->items[m->count++];
    **out = (struct manifest_entry){.kind = kind, .mode = st->st_mode & 0777};
    (*out)->path = text_copy(inner, err);
    return (*out)->path ? 0 : ERR_MEMORY;
}

static int add_file(const struct walk *w, const char *path, const char *inner,
                    const struct stat *st, struct err *err)
{
    struct manifest_entry *entry;
    TRY(add_entry(w, inner, MANIFEST_FILE, st, &entry, err));
    entry->bytes = st->st_size;
    return hash_entry(w, path, st, entry, err);
}

static int walk(const struct walk *w, const char *path, const char *inner, int depth,
                struct err *err);

// Whether the target's way leads through another link, which ".." would be counted from.
static bool through_link(const char *path, const char *target)
{
    char part[2 * PATH_MAX];
    struct stat st;
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) + 1 : 0;
    for (const char *end = target; (end = strchr(end, '/')); end++) {
        snprintf(part, sizeof part, "%.*s%.*s", dir, path, (int)(end - target), target);
        if (lstat(part, &st) == 0 && S_ISLNK(st.st_mode))
            return true;
    }
    return false;
}

static int add_link(const struct walk *w, const char *path, const char *inner,
                    const struct stat *st, struct err *err)
{
    char target[PATH_MAX];
    struct manifest_entry *entry;
    struct stat there;
    ssize_t len = readlink(path, target, sizeof target - 1);
    target[len > 0 ? len : 0] = '\0';
    if (manifest_link_fits(inner, target) && !through_link(path, target)) {
        TRY(add_entry(w, inner, MANIFEST_LINK, st, &entry, err));
        entry->target = text_copy(target, err);
        return entry->target ? 0 : ERR_MEMORY;
    }
    if (stat(path, &there) != 0)
        return 0; // leads nowhere
    if (!S_ISREG(there.st_mode))
        return err_set(err, ERR_USAGE, "'%s' is a link to something outside of the checkpoint",
                       path);
    return add_file(w, path, inner, &there, err);
}

static int visit(const struct walk *w, const char *path, const char *inner, int depth,
                 struct err *err)
{
    struct stat st;
    struct manifest_entry *entry;
    if (lstat(path, &st) != 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    if (S_ISREG(st.st_mode))
        return add_file(w, path, inner, &st, err);
    if (S_ISLNK(st.st_mode))
        return add_link(w, path, inner, &st, err);
    if (!S_ISDIR(st.st_mode))
        return 0;
    if (depth == DEPTH_MAX)
        return err_set(err, ERR_USAGE, "'%s' is nested too deep", path);
    TRY(add_entry(w, inner, MANIFEST_FOLDER, &st, &entry, err));
    return walk(w, path, inner, depth + 1, err);
}

static int walk(const struct walk *w, const char *path, const char *inner, int depth,
                struct err *err)
{
    struct buf child = {0}, child_inner = {0};
    int rc = 0;
    DIR *dir = opendir(path);
    if (!dir)
        return err_errno(err, errno, "cannot open the folder '%s'", path);
    for (struct dirent *item; rc == 0 && (item = readdir(dir));) {
        const char *name = item->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            strncmp(name, ".fare-tmp-", 10) == 0)
            continue;
        buf_reset(&child), buf_reset(&child_inner);
        buf_printf(&child, "%s/%s", path, name);
        buf_printf(&child_inner, "%s%s%s", inner, inner[0] ? "/" : "", name);
        rc = child.failed || child_inner.failed
                 ? err_memory(err)
                 : visit(w, buf_str(&child), buf_str(&child_inner), depth, err);
    }
    closedir(dir);
    buf_release(&child), buf_release(&child_inner);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct manifest_entry *)a)->path,
                  ((const struct manifest_entry *)b)->path);
}

static int scan_any(struct walk *w, const char *path, struct err *err)
{
    struct manifest *m = w->manifest;
    struct stat st;
    size_t len = strlen(path);
    *m = (struct manifest){0};
    while (len > 1 && path[len - 1] == '/')
        len--;
    struct buf clean = {0};
    buf_add(&clean, path, len);
    const char *slash = strrchr(buf_str(&clean), '/');
    int rc = buf_check(&clean, err);
    if (rc == 0) {
        m->name = text_copy(slash ? slash + 1 : buf_str(&clean), err);
        rc = m->name ? 0 : ERR_MEMORY;
    }
    if (rc == 0 && !manifest_path_fits(m->name))
        rc = err_set(err, ERR_USAGE, "'%s' has no name to save it under", path);
    if (rc == 0 && stat(path, &st) != 0)
        rc = err_errno(err, errno, "cannot find the checkpoint '%s'", path);
    if (rc == 0) {
        m->file = !S_ISDIR(st.st_mode);
        if (m->file && !S_ISREG(st.st_mode))
            rc = err_set(err, ERR_USAGE, "'%s' is neither a file nor a folder", path);
        else if (m->file)
            rc = add_file(w, path, "", &st, err);
        else
            rc = walk(w, buf_str(&clean), "", 0, err);
    }
    if (rc == 0 && m->count > 0)
        qsort(m->items, m->count, sizeof *m->items, by_path);
    if (rc != 0)
        manifest_release(m);
    buf_release(&clean);
    return rc;
}

int scan_tree(struct scan *scan, const char *path, int64_t deadline_ns, struct manifest *manifest,
              struct err *err)
{
    return scan_any(&(struct walk){scan, manifest, deadline_ns, true}, path, err);
}

int scan_known(struct scan *scan, const char *path, struct manifest *manifest, struct err *err)
{
    return scan_any(&(struct walk){scan, manifest, 0, false}, path, err);
}
