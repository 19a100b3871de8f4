// SPDX-License-Identifier: Apache-2.0
#include "save/keep_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/parallel.h"
#include "base/utf8.h"
#include "save/lease.h"
#include "save/store.h"

#define PIECE   ((size_t)1 << 20) // bytes read at once; parts are multiples of it
#define FRESH_S 2                 // a change so shortly before a scan may not show in the times

void scan_release(struct tree_scan *scan)
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
    struct tree_scan *scan; // (optional) for the progress
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
              uint8_t (**parts)[SHA256_BYTES], struct tree_scan *scan, int64_t deadline_ns,
              struct err *err)
{
    struct stat st;
    struct hashing h = {.path = path, .bytes = bytes, .deadline_ns = deadline_ns, .scan = scan};
    *parts = NULL;
    SCOPED(fs_close) int fd = h.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    SCOPED(free_pointer) uint8_t *piece = h.piece = malloc(PIECE);
    SCOPED(free_pointer)
    void *made = h.parts = calloc((size_t)store_part_count(bytes) + 1, SHA256_BYTES);
    if (!piece || !made)
        return err_memory(err);
    if (fstat(fd, &st) != 0 || st.st_size != bytes)
        return err_set(err, ERR_FORMAT, "'%s' changed its size while it was read", path);
    TRY(hash_all(&h, err));
    sha256_done(&h.whole, sum);
    if (store_part_count(bytes) == 1) // the same bytes: they were added once
        memcpy(sum, h.parts[0], SHA256_BYTES);
    *parts = h.parts;
    made = NULL;
    return 0;
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
static int memo_of(struct tree_scan *scan, const char *path, struct scan_memo **memo,
                   struct err *err)
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

struct scan_walk {
    struct tree_scan *scan;
    struct manifest *manifest;
    int64_t deadline_ns;
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

static int hash_entry(const struct scan_walk *w, const char *path, const struct stat *st,
                      struct manifest_entry *entry, struct err *err)
{
    struct scan_memo *memo;
    struct stat after;
    TRY(memo_of(w->scan, path, &memo, err));
    if (as_remembered(memo, st))
        return copy_parts(memo, entry, err);
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

static int add_entry(const struct scan_walk *w, const char *inner, enum manifest_kind kind,
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

static int add_file(const struct scan_walk *w, const char *path, const char *inner,
                    const struct stat *st, struct err *err)
{
    struct manifest_entry *entry;
    TRY(add_entry(w, inner, MANIFEST_FILE, st, &entry, err));
    entry->bytes = st->st_size;
    return hash_entry(w, path, st, entry, err);
}

static int scan_walk(const struct scan_walk *w, const char *path, const char *inner, int depth,
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

static int add_link(const struct scan_walk *w, const char *path, const char *inner,
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

static int visit(const struct scan_walk *w, const char *path, const char *inner, int depth,
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
    if (depth == MANIFEST_DEPTH)
        return err_set(err, ERR_USAGE, "'%s' is nested too deep", path);
    TRY(add_entry(w, inner, MANIFEST_FOLDER, &st, &entry, err));
    return scan_walk(w, path, inner, depth + 1, err);
}

static int scan_walk(const struct scan_walk *w, const char *path, const char *inner, int depth,
                     struct err *err)
{
    SCOPED(buf_release) struct buf child = {0}, child_inner = {0};
    SCOPED(fs_close_folder) DIR *dir = opendir(path);
    if (!dir)
        return err_errno(err, errno, "cannot open the folder '%s'", path);
    for (const char *name; (name = fs_next(dir));) {
        if (strncmp(name, ".fare-tmp-", 10) == 0)
            continue;
        buf_reset(&child), buf_reset(&child_inner);
        buf_printf(&child, "%s/%s", path, name);
        buf_printf(&child_inner, "%s%s%s", inner, inner[0] ? "/" : "", name);
        TRY(buf_check(&child, err));
        TRY(buf_check(&child_inner, err));
        TRY(visit(w, buf_str(&child), buf_str(&child_inner), depth, err));
    }
    return 0;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct manifest_entry *)a)->path,
                  ((const struct manifest_entry *)b)->path);
}

// Fills items, name and `file` of a zeroed manifest, which the caller releases. ERR_FORMAT: a file
// changed while it was read. Sockets, pipes and fare's own temporary files are left out; a link
// that leads out of the tree is taken as the file it leads to.
static int scan_tree(struct tree_scan *scan, const char *path, int64_t deadline_ns,
                     struct manifest *m, struct err *err)
{
    const struct scan_walk w = {scan, m, deadline_ns};
    struct stat st;
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    SCOPED(buf_release) struct buf clean = {0};
    buf_add(&clean, path, len);
    TRY(buf_check(&clean, err));
    m->name = text_copy(fs_name(buf_str(&clean)), err);
    if (!m->name)
        return ERR_MEMORY;
    if (!manifest_path_fits(m->name))
        return err_set(err, ERR_USAGE, "'%s' has no name to save it under", path);
    if (stat(path, &st) != 0)
        return err_errno(err, errno, "cannot find the checkpoint '%s'", path);
    m->file = !S_ISDIR(st.st_mode);
    if (m->file && !S_ISREG(st.st_mode))
        return err_set(err, ERR_USAGE, "'%s' is neither a file nor a folder", path);
    TRY(m->file ? add_file(&w, path, "", &st, err) : scan_walk(&w, buf_str(&clean), "", 0, err));
    if (m->count > 0)
        qsort(m->items, m->count, sizeof *m->items, by_path);
    return 0;
}

// ---- Saving: manifest, then data, then the marker, then a look at the lease.

#define SMALL_THREADS 8   // for files of one part, where most of the time is waiting
#define HELD_FILES    256 // most files held open
#define HELD_SPACE    3   // times the checkpoint's size must be free on its disk

bool keep_told(void *context, int64_t done_bytes)
{
    struct keep *keep = context;
    return !keep->progress || keep->progress(keep->context, keep->doing,
                                             keep->done_bytes + done_bytes, keep->total_bytes);
}

static bool told_hashing(void *context, int64_t more_bytes)
{
    struct keep *keep = context;
    keep->done_bytes += more_bytes;
    return keep_told(context, 0);
}

// ---- Which data is there

// A checkpoint whose data may be named again: one that was verified, or one that was cut.
static bool usable(const struct save *save)
{
    return save->loaded && save->ours && !save->bad &&
           (save->has_marker ? save->counts && save->verified : true);
}

// Objects by the sum of their bytes.
struct known_data {
    struct index sums;
    struct known_item {
        const char *data; // null: it is new
        bool there;       // all of it, for sure
    } * items;
    size_t cap;
};

static void known_release(struct known_data *known)
{
    index_release(&known->sums);
    free(known->items);
}

static int known_number(struct known_data *known, const struct manifest_entry *entry,
                        size_t *number, struct err *err)
{
    size_t before = known->sums.count;
    TRY(array_grow(&known->items, before, &known->cap, sizeof *known->items, err));
    TRY(index_number(&known->sums, (const char *)entry->sum, sizeof entry->sum, number, err));
    if (*number == before)
        known->items[before] = (struct known_item){0};
    return 0;
}

static int known_add(struct known_data *known, const struct manifest_entry *entry, bool there,
                     struct err *err)
{
    size_t number;
    TRY(known_number(known, entry, &number, err));
    if (!known->items[number].there)
        known->items[number] = (struct known_item){entry->data, there};
    return 0;
}

static int known_fill(struct known_data *known, const struct keep *keep, const struct save *self,
                      struct err *err)
{
    for (size_t i = 0; i < keep->count; i++) {
        const struct save *save = &keep->saves[i];
        for (size_t k = 0; save != self && usable(save) && k < save->manifest.count; k++)
            if (save->manifest.items[k].data)
                TRY(known_add(known, &save->manifest.items[k], save->has_marker, err));
    }
    return 0;
}

// Names the object of each file's bytes; `skip` those that need not be sent. Bytes that no
// checkpoint has get an object of this one.
static int place_all(struct keep *keep, struct save *self, bool *skip, struct err *err)
{
    SCOPED(known_release) struct known_data known = {0};
    TRY(known_fill(&known, keep, self, err));
    for (size_t i = 0; i < self->manifest.count; i++) {
        struct manifest_entry *entry = &self->manifest.items[i];
        char name[STORE_NAME_BYTES], sum[SHA256_HEX_BYTES];
        size_t number;
        if (entry->kind != MANIFEST_FILE)
            continue;
        TRY(known_number(&known, entry, &number, err));
        struct known_item *item = &known.items[number];
        sha256_hex(entry->sum, sum);
        keep_name("data", self->epoch, self->number, sum, name);
        char *data = text_copy(item->data ? item->data : name, err);
        free(entry->data);
        entry->data = data;
        skip[i] = item->there;
        *item = (struct known_item){data, true}; // not sent again for another file of this tree
        if (!data)
            return ERR_MEMORY;
    }
    return 0;
}

// ---- Holding
//
// Trainers delete their older checkpoints, often sooner than one can be sent. A file that is open
// can be read to its end all the same; its space is free only then, so files are held where the
// disk has room for what the job writes next.

struct held_files {
    int *fds; // by entry; -1: not held
    size_t count;
};

static void held_release(struct held_files *held)
{
    for (size_t i = 0; i < held->count; i++)
        if (held->fds[i] >= 0)
            close(held->fds[i]);
    free(held->fds);
}

static void add_path(struct buf *out, const char *root, const struct manifest_entry *entry)
{
    buf_printf(out, "%s%s%s", root, entry->path[0] ? "/" : "", entry->path);
}

static int hold(struct held_files *held, const struct manifest *m, const char *root,
                struct err *err)
{
    struct statvfs disk;
    bool room = statvfs(root, &disk) == 0 &&
                (int64_t)(disk.f_bavail * disk.f_frsize) / HELD_SPACE > manifest_bytes(m);
    SCOPED(buf_release) struct buf path = {0};
    size_t files = 0;
    held->fds = malloc((m->count + 1) * sizeof *held->fds);
    if (!held->fds)
        return err_memory(err);
    for (; held->count < m->count; held->count++) {
        const struct manifest_entry *entry = &m->items[held->count];
        int fd = -1;
        if (room && entry->kind == MANIFEST_FILE && files++ < HELD_FILES) {
            buf_reset(&path);
            add_path(&path, root, entry);
            TRY(buf_check(&path, err));
            fd = open(buf_str(&path), O_RDONLY | O_CLOEXEC);
        }
        held->fds[held->count] = fd;
    }
    return 0;
}

// ---- Sending

struct sending {
    struct keep *keep;
    struct manifest *manifest;
    const char *root;
    const int *held;
    int64_t deadline_ns;
    const bool *skip; // by entry
    size_t *small;    // entries of one part
    size_t small_count;
    pthread_mutex_t lock; // of the rest
    atomic_bool stop;
    int64_t sent_bytes, sent_files;
    int rc;
    struct err err;
};

static int send_entry(struct sending *s, const struct manifest_entry *entry, bool alone,
                      int64_t *moved, struct err *err)
{
    SCOPED(buf_release) struct buf path = {0};
    int fd = s->held[entry - s->manifest->items];
    if (fd >= 0)
        buf_printf(&path, "/proc/self/fd/%d", fd);
    else
        add_path(&path, s->root, entry);
    struct store_file file = {.name = entry->data,
                              .path = buf_str(&path),
                              .bytes = entry->bytes,
                              .parts = (const uint8_t(*)[SHA256_BYTES])entry->parts,
                              .progress = alone ? keep_told : NULL,
                              .context = s->keep};
    int rc = buf_check(&path, err);
    if (rc == 0)
        rc = store_send(s->keep->store, &file, s->deadline_ns, err);
    *moved = file.sent_bytes;
    return rc;
}

// With the lock, or alone.
static void account(struct sending *s, const struct manifest_entry *entry, int rc, int64_t moved,
                    const struct err *err)
{
    s->sent_bytes += moved;
    s->sent_files += moved > 0;
    s->keep->done_bytes += rc == 0 ? entry->bytes : 0;
    if (rc != 0 && s->rc == 0) {
        s->rc = rc;
        s->err = *err;
    }
    if (rc != 0)
        atomic_store(&s->stop, true);
}

static void send_small(void *context, int64_t from, int64_t to)
{
    struct sending *s = context;
    for (int64_t i = from; i < to && !atomic_load(&s->stop); i++) {
        const struct manifest_entry *entry = &s->manifest->items[s->small[i]];
        struct err err = {0};
        int64_t moved = 0;
        int rc = send_entry(s, entry, false, &moved, &err);
        pthread_mutex_lock(&s->lock);
        account(s, entry, rc, moved, &err);
        if (s->rc == 0 && !keep_told(s->keep, 0)) {
            s->rc = err_set(&s->err, ERR_FAIL, "stopped");
            atomic_store(&s->stop, true);
        }
        pthread_mutex_unlock(&s->lock);
    }
}

static int send_all(struct sending *s, struct err *err)
{
    for (size_t i = 0; i < s->manifest->count && s->rc == 0; i++) {
        const struct manifest_entry *entry = &s->manifest->items[i];
        if (entry->kind != MANIFEST_FILE)
            continue;
        if (s->skip[i]) {
            s->keep->done_bytes += entry->bytes;
        } else if (store_part_count(entry->bytes) <= 1) {
            s->small[s->small_count++] = i;
        } else {
            struct err why = {0};
            int64_t moved = 0;
            int rc = send_entry(s, entry, true, &moved, &why);
            account(s, entry, rc, moved, &why);
        }
    }
    if (s->rc == 0)
        parallel_for(SMALL_THREADS, (int64_t)s->small_count, send_small, s);
    if (s->rc != 0 && err && !err->code)
        *err = s->err;
    return s->rc;
}

static int send_data(struct keep *keep, struct save *self, const char *path,
                     const struct held_files *held, struct keep_saved *out, int64_t deadline_ns,
                     const bool *skip, struct err *err)
{
    struct sending s = {.keep = keep,
                        .manifest = &self->manifest,
                        .root = path,
                        .held = held->fds,
                        .deadline_ns = deadline_ns,
                        .skip = skip};
    int64_t start_ns = clock_now_ns();
    keep->doing = "sending";
    keep->done_bytes = 0;
    keep->total_bytes = manifest_bytes(&self->manifest);
    s.small = calloc(self->manifest.count + 1, sizeof *s.small);
    if (!s.small)
        return err_memory(err);
    pthread_mutex_init(&s.lock, NULL);
    int rc = send_all(&s, err);
    pthread_mutex_destroy(&s.lock);
    free(s.small);
    out->sent_bytes = s.sent_bytes;
    out->sent_files = s.sent_files;
    out->send_ns = clock_now_ns() - start_ns;
    return rc;
}

// ---- Manifest and marker

static int write_manifest(struct keep *keep, struct save *self, int64_t deadline_ns,
                          struct err *err)
{
    char name[STORE_NAME_BYTES];
    SCOPED(buf_release) struct buf text = {0};
    keep_name("saves", self->epoch, self->number, "manifest", name);
    TRY(manifest_write(&self->manifest, &text, err));
    if (text.len > BOUND_MANIFEST)
        return err_set(err, ERR_FAIL, "it has too many files or parts: its list is over %zu MiB",
                       BOUND_MANIFEST / BOUND_MIB);
    sha256_hex_of(text.data, text.len, self->sum);
    TRY(store_put(keep->store, name, text.data, text.len, deadline_ns, err));
    self->has_manifest = true;
    return 0;
}

static int write_marker(struct keep *keep, struct save *self, int64_t deadline_ns, struct err *err)
{
    char name[STORE_NAME_BYTES];
    SCOPED(buf_release) struct buf text = {0};
    struct marker marker = {.epoch = self->epoch, .number = self->number};
    snprintf(marker.job, sizeof marker.job, "%s", keep->job);
    memcpy(marker.sum, self->sum, sizeof marker.sum);
    keep_name("saves", self->epoch, self->number, "complete", name);
    TRY(lease_check(keep->lease, err));
    TRY(marker_write(&marker, &text, err));
    TRY(store_put(keep->store, name, text.data, text.len, deadline_ns, err));
    // After the marker: a machine that claims the next epoch later will see it.
    return lease_confirm(keep->lease, deadline_ns, err);
}

// ---- A save

// The newest of ours, if it has exactly this tree.
static struct save *same_as_newest(struct keep *keep, const struct manifest *m, bool complete)
{
    for (size_t i = keep->count; i-- > 0;) {
        struct save *save = &keep->saves[i];
        if (complete ? save->counts : usable(save) && !save->has_marker)
            return save->loaded && manifest_same(&save->manifest, m) ? save : NULL;
    }
    return NULL;
}

// Manifests of the newest checkpoint and of those that were cut since.
static int load_earlier(struct keep *keep, int64_t deadline_ns, struct err *err)
{
    if (!keep->loaded)
        TRY(keep_load(keep, NULL, deadline_ns, err));
    for (size_t i = keep->count; i-- > 0;) {
        struct save *save = &keep->saves[i];
        struct err why = {0};
        bool cut = save->has_manifest && !save->has_marker && !save->bad;
        int rc = cut || save->counts ? keep_manifest(keep, save, deadline_ns, &why) : 0;
        if (rc == ERR_FORMAT || rc == ERR_MISSING) {
            save->bad = true;
            save->counts = false;
        } else if (rc != 0) {
            return err_pass(err, rc, &why);
        }
        if (save->counts)
            break;
    }
    return 0;
}

// The checkpoint to write: the one of this epoch that was cut, if it is the same, or a new one.
static int choose(struct keep *keep, struct manifest *m, struct save **out, struct err *err)
{
    int64_t epoch = lease_epoch(keep->lease);
    struct save *cut = same_as_newest(keep, m, false);
    if (cut && cut->epoch == epoch) {
        manifest_release(m);
        *out = cut;
        return 0;
    }
    struct save *save = keep_add(keep, epoch, ++keep->number, err);
    if (!save)
        return ERR_MEMORY;
    save->ours = save->loaded = true;
    save->manifest = *m;
    save->manifest.epoch = epoch;
    save->manifest.number = save->number;
    *m = (struct manifest){0};
    *out = save;
    return 0;
}

static int write_save(struct keep *keep, struct save *self, const struct keep_source *source,
                      const struct held_files *held, struct keep_saved *saved, int64_t deadline_ns,
                      struct err *err)
{
    SCOPED(free_pointer) bool *skip = calloc(self->manifest.count + 1, sizeof *skip);
    TRY(skip ? place_all(keep, self, skip, err) : err_memory(err));
    TRY(write_manifest(keep, self, deadline_ns, err));
    TRY(send_data(keep, self, source->path, held, saved, deadline_ns, skip, err));
    TRY(write_marker(keep, self, deadline_ns, err));
    self->has_marker = self->counts = self->verified = true;
    return 0;
}

// After the hashes are known: what is sent must have them, so later changes do no harm; and after
// the files are held, which then are these.
static int check_same(const struct keep_source *source, struct err *err)
{
    if (!source->same || source->same(source->context))
        return 0;
    return err_set(err, ERR_FORMAT, "'%s' changed while it was saved", source->path);
}

static int describe_beside(const struct keep_source *source, struct manifest *m, struct err *err)
{
    if (!source->beside)
        return 0;
    m->beside = text_copy(source->beside->name, err);
    m->beside_text = text_copy(source->beside->text, err);
    m->place = text_copy(source->place ? source->place : "", err);
    return m->beside && m->beside_text && m->place ? 0 : ERR_MEMORY;
}

static int save_describe(struct keep *keep, const struct keep_source *source, struct manifest *m,
                         struct held_files *held, struct keep_saved *saved, int64_t deadline_ns,
                         struct err *err)
{
    int64_t start_ns = clock_now_ns();
    keep->scan.progress = told_hashing;
    keep->scan.context = keep;
    keep->doing = "reading";
    keep->done_bytes = keep->total_bytes = 0;
    TRY(scan_tree(&keep->scan, source->path, deadline_ns, m, err));
    TRY(hold(held, m, source->path, err));
    TRY(check_same(source, err));
    TRY(describe_beside(source, m, err));
    saved->hash_ns = clock_now_ns() - start_ns;
    m->date_s = clock_date_s();
    m->step = source->step >= 0 ? source->step : -1;
    m->job = text_copy(keep->job, err);
    return m->job ? 0 : ERR_MEMORY;
}

int keep_save(struct keep *keep, const struct keep_source *source, struct keep_saved *saved,
              struct buf *notes, int64_t deadline_ns, struct err *err)
{
    SCOPED(manifest_release) struct manifest m = {0};
    SCOPED(held_release) struct held_files held = {0};
    struct save *self = NULL;
    *saved = (struct keep_saved){0};
    if (!keep->lease)
        return err_set(err, ERR_FAIL, "checkpoints are saved under a lease only");
    TRY(lease_check(keep->lease, err));
    TRY(save_describe(keep, source, &m, &held, saved, deadline_ns, err));
    TRY(load_earlier(keep, deadline_ns, err));
    self = same_as_newest(keep, &m, true);
    if (self) {
        saved->same = true;
        TRY(lease_confirm(keep->lease, deadline_ns, err));
    } else {
        TRY(choose(keep, &m, &self, err));
        TRY(write_save(keep, self, source, &held, saved, deadline_ns, err));
    }
    keep_entry_of(self, &saved->entry);
    if (!saved->same)
        keep_prune(keep, notes, deadline_ns);
    return 0;
}
