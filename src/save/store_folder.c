// SPDX-License-Identifier: Apache-2.0
// A store in a folder: NAME is the file FOLDER/NAME.
//
// A file that is being sent grows as NAME.part, which the next try continues, each part compared
// with its sum. Two machines that send the same contents write the same bytes to the same places.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "save/store_kind.h"

#define UNFINISHED ".part"
#define DEPTH_MAX  8

struct folder_store {
    char *root;
};

static bool is_mounted(const char *folder)
{
    char line[PATH_MAX * 2];
    struct mntent entry;
    bool found = false;
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    while (mounts && !found && getmntent_r(mounts, &entry, line, sizeof line))
        found = strcmp(entry.mnt_dir, folder) == 0;
    if (mounts)
        endmntent(mounts);
    return found || !mounts;
}

// Where a disk is not mounted, its empty folder looks like a store in which nothing was saved yet.
static int check_mounted(const char *place, struct err *err)
{
    char real[PATH_MAX], line[PATH_MAX * 2];
    struct mntent entry;
    int rc = 0;
    FILE *table = setmntent("/etc/fstab", "re");
    if (!realpath(place, real))
        snprintf(real, sizeof real, "%s", place);
    while (table && rc == 0 && getmntent_r(table, &entry, line, sizeof line)) {
        size_t len = strlen(entry.mnt_dir);
        if (len < 2 || strncmp(real, entry.mnt_dir, len) != 0 || !strchr("/", real[len]) ||
            is_mounted(entry.mnt_dir))
            continue;
        rc = err_set(err, ERR_USAGE, "cannot save to '%s': '%s' is not mounted", place,
                     entry.mnt_dir);
        err_hint(err, "/etc/fstab has it: 'mount %s'", entry.mnt_dir);
    }
    if (table)
        endmntent(table);
    return rc;
}

static int folder_open(void **state, const char *place, const struct store_options *options,
                       struct err *err)
{
    (void)options;
    struct err why = {0};
    size_t len = strlen(place);
    while (len > 1 && place[len - 1] == '/')
        len--;
    TRY(check_mounted(place, err));
    if (fs_mkdirs_private(place, &why) != 0) {
        err_pass(err, why.code == ERR_MEMORY ? ERR_MEMORY : ERR_USAGE, &why);
        return err_context(err, "cannot save to '%s'", place);
    }
    struct folder_store *folder = calloc(1, sizeof *folder);
    SCOPED(buf_release) struct buf root = {0};
    buf_add(&root, place, len);
    if (folder)
        folder->root = buf_take(&root, err);
    if (!folder || !folder->root) {
        free(folder);
        return err_memory(err);
    }
    *state = folder;
    return 0;
}

static void folder_free(void *state)
{
    struct folder_store *folder = state;
    free(folder->root);
    free(folder);
}

// "FOLDER/NAME" and a suffix.
static int path_of(const struct folder_store *folder, const char *name, const char *suffix,
                   char out[PATH_MAX], struct err *err)
{
    int len = snprintf(out, PATH_MAX, "%s/%s%s", folder->root, name, suffix);
    return len < PATH_MAX ? 0 : err_set(err, ERR_USAGE, "path too long: '%s'", folder->root);
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static int refuse_link(const char *path, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "'%s' is a link, which may lead anywhere: the folders in a store are no links",
                   path);
}

// Whether nothing but folders leads from the store's own folder to `path`.
static int check_within(const struct folder_store *folder, const char *path, struct err *err)
{
    char dir[PATH_MAX];
    for (const char *at = path + strlen(folder->root); (at = strchr(at + 1, '/'));) {
        snprintf(dir, sizeof dir, "%.*s", (int)(at - path), path);
        if (is_link(dir))
            return refuse_link(dir, err);
    }
    return 0;
}

// The folder of a path; another machine may be removing it as empty.
static int make_parent(const struct folder_store *folder, const char *path, struct err *err)
{
    char dir[PATH_MAX];
    TRY(check_within(folder, path, err));
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    return fs_mkdirs_private(dir, err);
}

static int sync_parent(const char *path, struct err *err)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%.*s", (int)(strrchr(path, '/') - path), path);
    SCOPED(fs_close) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Some network file systems have no fsync for folders; their rename is already durable.
    if (fd >= 0 && (fsync(fd) == 0 || errno == EINVAL || errno == EROFS))
        return 0;
    return err_errno(err, errno, "cannot write the folder '%s'", dir);
}

static int folder_get(void *state, const char *name, size_t max, struct buf *out,
                      int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX];
    (void)deadline_ns;
    TRY(path_of(state, name, "", path, err));
    TRY(fs_read_at(AT_FDCWD, path, true, max, out, err)); // somebody may have put a pipe there
    return buf_check(out, err);
}

static int folder_put(void *state, const char *name, const void *bytes, size_t len,
                      int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX];
    (void)deadline_ns;
    TRY(path_of(state, name, "", path, err));
    for (int i = 1;; i++) {
        struct err why = {0};
        TRY(make_parent(state, path, err));
        int rc = fs_put_private(path, bytes, len, &why);
        if (rc != ERR_MISSING || i == STORE_TRIES)
            return rc == 0 ? 0 : err_pass(err, rc, &why);
    }
}

// Where the file system has no hard links. A machine that dies in between leaves a file that is
// cut, which still takes the name.
static int create_bare(const char *path, const void *bytes, size_t len, bool *created,
                       struct err *err)
{
    SCOPED(fs_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    *created = fd >= 0;
    if (fd < 0)
        return errno == EEXIST ? 0 : err_errno(err, errno, "cannot create '%s'", path);
    TRY(fs_write_fd(fd, bytes, len, path, err));
    if (fsync(fd) != 0)
        return err_errno(err, errno, "cannot write '%s' to the disk", path);
    return sync_parent(path, err);
}

// link() gives the name to one only, on NFS too. What is linked is whole and on the disk.
static int folder_create(void *state, const char *name, const void *bytes, size_t len,
                         bool *created, int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX], suffix[64], own[PATH_MAX];
    struct stat st;
    static atomic_uint serial;
    (void)deadline_ns;
    TRY(path_of(state, name, "", path, err));
    snprintf(suffix, sizeof suffix, ".%d-%u-%llx" UNFINISHED, (int)getpid(),
             atomic_fetch_add(&serial, 1), (unsigned long long)clock_now_ns());
    TRY(path_of(state, name, suffix, own, err));
    TRY(make_parent(state, path, err));
    TRY(fs_put_private(own, bytes, len, err));
    int failed = link(own, path) != 0 ? errno : 0;
    // A server that did it and whose answer was lost says that the name is taken.
    *created = failed == 0 || (stat(own, &st) == 0 && st.st_nlink == 2);
    unlink(own);
    if (!*created && (failed == EPERM || failed == EOPNOTSUPP || failed == ENOSYS))
        return create_bare(path, bytes, len, created, err);
    if (!*created && failed != EEXIST)
        return err_errno(err, failed, "cannot create '%s'", path);
    return *created ? sync_parent(path, err) : 0;
}

// Removes folders that have become empty, up to the store's own.
static void remove_empty(const struct folder_store *folder, char *path)
{
    size_t root = strlen(folder->root);
    for (char *slash; (slash = strrchr(path, '/')) && slash > path + root;) {
        *slash = '\0';
        if (rmdir(path) != 0)
            return;
    }
}

static int folder_remove(void *state, const char *name, int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX];
    (void)deadline_ns;
    TRY(path_of(state, name, "", path, err));
    TRY(check_within(state, path, err));
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
        return err_errno(err, errno, "cannot delete '%s'", path);
    remove_empty(state, path);
    return 0;
}

// ---- Lists

struct listing {
    const struct folder_store *folder;
    const char *under;
    struct store_list *list;
    int64_t deadline_ns;
};

static int walk(const struct listing *l, const char *dir, int depth, struct err *err);

static int visit(const struct listing *l, const char *name, int depth, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    TRY(path_of(l->folder, name, "", path, err));
    size_t have = strlen(name), want = strlen(l->under);
    if (strncmp(name, l->under, have < want ? have : want) != 0)
        return 0;
    if (stat(path, &st) != 0) // gone meanwhile; what cannot be looked at is not
        return errno == ENOENT || errno == ELOOP ? 0
                                                 : err_errno(err, errno, "cannot list '%s'", path);
    if (S_ISDIR(st.st_mode) && is_link(path)) // to a folder that has this one, perhaps
        return refuse_link(path, err);
    if (S_ISDIR(st.st_mode))
        return depth < DEPTH_MAX ? walk(l, name, depth + 1, err) : 0;
    if (S_ISREG(st.st_mode) && have >= want)
        return store_list_add(l->list, name, st.st_size, err);
    return 0;
}

static int walk(const struct listing *l, const char *dir, int depth, struct err *err)
{
    char path[PATH_MAX], name[STORE_NAME_BYTES];
    TRY(path_of(l->folder, dir, "", path, err));
    SCOPED(fs_close_folder) DIR *open = opendir(path);
    if (!open)
        return errno == ENOENT ? 0 : err_errno(err, errno, "cannot list '%s'", path);
    if (l->deadline_ns && clock_now_ns() >= l->deadline_ns)
        return err_set(err, ERR_TIMEOUT, "no time was left to list '%s'", path);
    for (const char *inner; (inner = fs_next(open));) {
        int len = snprintf(name, sizeof name, "%s%s%s", dir, dir[0] ? "/" : "", inner);
        if (len < (int)sizeof name && store_name_fits(name) && !text_ends(name, UNFINISHED))
            TRY(visit(l, name, depth, err));
    }
    return errno == 0 ? 0 : err_errno(err, errno, "cannot list '%s'", path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

static int folder_list(void *state, const char *under, struct store_list *list, int64_t deadline_ns,
                       struct err *err)
{
    const struct folder_store *folder = state;
    const struct listing l = {folder, under, list, deadline_ns};
    struct stat st;
    if (stat(folder->root, &st) != 0) // an unmounted disk is not an empty store
        return err_errno(err, errno, "cannot list '%s'", folder->root);
    TRY(walk(&l, "", 0, err));
    if (list->count > 0)
        qsort(list->items, list->count, sizeof *list->items, by_name);
    return 0;
}

static int folder_size(void *state, const char *name, int64_t *bytes, int64_t deadline_ns,
                       struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    (void)deadline_ns;
    TRY(path_of(state, name, "", path, err));
    if (stat(path, &st) != 0)
        return err_errno(err, errno, "cannot find '%s'", path);
    *bytes = st.st_size;
    return 0;
}

// ---- Files

// A local copy, in either direction: from->to, each part compared with its sum on the way.
struct copy {
    const struct store_file *file;
    int from, to;
    const char *from_path, *to_path;
    int64_t deadline_ns;
    int64_t moved; // bytes written
    bool damaged;  // for the words: what was read comes from the store
};

static bool have_part(const struct copy *c, int64_t index, char *buffer, int64_t have)
{
    struct err ignored = {0};
    int64_t at = index * store_part_bytes(c->file->bytes);
    return have >= at + store_part_len(c->file->bytes, index) &&
           store_part_read(c->to, c->file, index, buffer, &ignored) == 0;
}

static int copy_part(struct copy *c, int64_t index, char *buffer, int64_t have, struct err *err)
{
    int64_t at = index * store_part_bytes(c->file->bytes);
    int64_t len = store_part_len(c->file->bytes, index);
    struct store_file from = *c->file;
    struct err why = {0};
    from.path = c->from_path;
    if (c->deadline_ns && clock_now_ns() >= c->deadline_ns)
        return err_set(err, ERR_TIMEOUT, "no time was left for '%s'", c->to_path);
    if (have_part(c, index, buffer, have))
        return 0;
    int rc = store_part_read(c->from, &from, index, buffer, &why);
    if (rc == ERR_FORMAT && c->damaged)
        return err_set(err, rc, "part %lld of '%s' has not the bytes that were saved",
                       (long long)index + 1, c->from_path);
    if (rc != 0)
        return err_pass(err, rc, &why);
    TRY(store_write_at(c->to, buffer, len, at, c->to_path, err));
    c->moved += len;
    return 0;
}

static int copy_all(struct copy *c, struct err *err)
{
    const struct store_file *file = c->file;
    struct stat st;
    int64_t count = store_part_count(file->bytes);
    if (fstat(c->to, &st) != 0)
        return err_errno(err, errno, "cannot read '%s'", c->to_path);
    SCOPED(free_pointer) char *buffer = malloc((size_t)store_part_bytes(file->bytes));
    if (!buffer)
        return err_memory(err);
    for (int64_t i = 0; i < count; i++) {
        TRY(copy_part(c, i, buffer, st.st_size, err));
        int64_t done = (i + 1) * store_part_bytes(file->bytes);
        if (file->progress &&
            !file->progress(file->context, done < file->bytes ? done : file->bytes))
            return err_set(err, ERR_FAIL, "stopped");
    }
    if (ftruncate(c->to, file->bytes) != 0)
        return err_errno(err, errno, "cannot write '%s'", c->to_path);
    if (fsync(c->to) != 0)
        return err_errno(err, errno, "cannot write '%s' to the disk", c->to_path);
    return 0;
}

static bool is_there(void *state, const struct store_file *file)
{
    struct err ignored = {0};
    int64_t bytes = 0;
    return folder_size(state, file->name, &bytes, 0, &ignored) == 0 && bytes == file->bytes;
}

// The name can be foreseen: what somebody else has put there, a link, a pipe or a second name of
// another file, is removed and not written to.
static int open_part(const struct folder_store *folder, const char *part, struct err *err)
{
    struct stat st;
    for (int i = 0; i < STORE_TRIES; i++) {
        TRY(make_parent(folder, part, err));
        int fd = open(part, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
        if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink <= 1)
            return fd;
        if (fd < 0 && errno != ENOENT && errno != ELOOP)
            break;
        fs_close(&fd);
        (void)!unlink(part);
        errno = ELOOP;
    }
    return err_errno(err, errno, "cannot write '%s'", part);
}

// Renames when whole. Where another machine did so first, its file is as good.
static int put_in_place(void *state, const struct store_file *file, const char *part,
                        const char *path, struct err *err)
{
    if (rename(part, path) != 0 && !(errno == ENOENT && is_there(state, file)))
        return err_errno(err, errno, "cannot put '%s' in place", path);
    return sync_parent(path, err);
}

static int folder_send(void *state, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX], part[PATH_MAX];
    if (is_there(state, file))
        return 0;
    TRY(path_of(state, file->name, "", path, err));
    TRY(path_of(state, file->name, UNFINISHED, part, err));
    SCOPED(fs_close) int from = open(file->path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return err_errno(err, errno, "cannot open '%s'", file->path);
    struct copy c = {.file = file,
                     .from = from,
                     .from_path = file->path,
                     .to_path = part,
                     .deadline_ns = deadline_ns};
    int rc = c.to = open_part(state, part, err);
    if (rc >= 0) {
        errno = 0;
        rc = copy_all(&c, err);
        if (rc != 0 && (errno == ENOSPC || errno == EDQUOT))
            unlink(part); // the job may need the room
        close(c.to);
    }
    file->sent_bytes = c.moved;
    return rc == 0 ? put_in_place(state, file, part, path, err) : rc;
}

static int folder_fetch(void *state, struct store_file *file, int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX];
    struct stat st;
    SCOPED(fs_abandon) struct fs_writer writer = {0};
    TRY(path_of(state, file->name, "", path, err));
    SCOPED(fs_close) int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (from < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    if (fstat(from, &st) != 0)
        return err_errno(err, errno, "cannot read '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FORMAT, "'%s' is not a file", path);
    if (st.st_size != file->bytes)
        return err_set(err, ERR_FORMAT, "'%s' has %lld bytes instead of %lld", path,
                       (long long)st.st_size, (long long)file->bytes);
    TRY(store_local(fs_begin(&writer, file->path, 0600, err), err));
    struct copy c = {.file = file,
                     .from = from,
                     .to = writer.fd,
                     .from_path = path,
                     .to_path = file->path,
                     .deadline_ns = deadline_ns,
                     .damaged = true};
    int rc = copy_all(&c, err);
    file->sent_bytes = c.moved;
    TRY(rc);
    return store_local(fs_commit(&writer, err), err);
}

static int folder_forget(void *state, const char *name, int64_t deadline_ns, struct err *err)
{
    char path[PATH_MAX];
    (void)deadline_ns;
    TRY(path_of(state, name, UNFINISHED, path, err));
    TRY(check_within(state, path, err));
    if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
        return err_errno(err, errno, "cannot delete '%s'", path);
    remove_empty(state, path);
    return 0;
}

const struct store_kind store_folder = {
    .open = folder_open,
    .free = folder_free,
    .get = folder_get,
    .put = folder_put,
    .create = folder_create,
    .remove = folder_remove,
    .list = folder_list,
    .send = folder_send,
    .fetch = folder_fetch,
    .forget = folder_forget,
    .always_exclusive = true,
};
