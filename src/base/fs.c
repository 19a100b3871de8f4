// SPDX-License-Identifier: Apache-2.0
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/tree.h"

#define LINKS_MAX 40 // as the kernel's

// Reads and closes.
static int read_all(int fd, const char *path, size_t max, struct buf *out, struct err *err)
{
    int rc = 0;
    size_t total = 0;
    for (;;) {
        // Files under /proc have size 0: read until the end, whatever stat() would say.
        char *into = buf_reserve(out, 16384);
        if (!into) {
            rc = err_memory(err);
            break;
        }
        ssize_t got = read(fd, into, 16384);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            rc = err_errno(err, errno, "cannot read '%s'", path);
            break;
        }
        if (got == 0)
            break;
        buf_advance(out, (size_t)got);
        total += (size_t)got;
        if (total > max) {
            rc = err_set(err, ERR_FORMAT, "'%s' is larger than %zu bytes", path, max);
            break;
        }
    }
    close(fd);
    return rc;
}

void fs_hint_owner(const char *path, struct err *err)
{
    char part[PATH_MAX];
    struct stat st;
    snprintf(part, sizeof part, "%s", path);
    for (char *slash; stat(part, &st) != 0; *slash = '\0')
        if (!(slash = strrchr(part, '/')) || slash == part)
            return;
    if (st.st_uid == geteuid() || access(part, W_OK) == 0)
        return;
    err_hint(err,
             "'%.80s' belongs to user %ld, and this is user %ld: run it as that one (in a "
             "container with --user %ld:%ld), or change the owner",
             part, (long)st.st_uid, (long)geteuid(), (long)st.st_uid, (long)st.st_gid);
}

int fs_refused(const char *what, const char *path, int number, struct err *err)
{
    int rc = err_errno(err, number, "%s '%s'", what, path);
    if (number == EACCES)
        fs_hint_owner(path, err);
    return rc;
}

int fs_read(const char *path, size_t max, struct buf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fs_refused("cannot open", path, errno, err);
    return read_all(fd, path, max, out, err);
}

int fs_read_at(int dir, const char *path, bool follow, size_t max, struct buf *out, struct err *err)
{
    struct stat st;
    int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
    if (fd < 0)
        return err_errno(err, errno, "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        return read_all(fd, path, max, out, err);
    close(fd);
    return err_set(err, ERR_FORMAT, "'%s' is not a file", path);
}

bool fs_is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

int fs_write_fd(int fd, const void *bytes, size_t len, const char *name, struct err *err)
{
    const char *p = bytes;
    while (len > 0) {
        ssize_t put = write(fd, p, len);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0 &&
            errno == EAGAIN) { // the pipe was left non-blocking: wait until it takes more
            struct pollfd writable = {fd, POLLOUT, 0};
            if (poll(&writable, 1, -1) >= 0 || errno == EINTR)
                continue;
        }
        if (put < 0)
            return err_errno(err, errno, "cannot write %s", name);
        p += put;
        len -= (size_t)put;
    }
    return 0;
}

// Opens a file with a unique name beside `path`. The kernel applies the user's mask to `mode`, so
// no other thread sees the mask changed.
static int open_beside(const char *path, mode_t mode, char **temporary, struct err *err)
{
    static atomic_uint serial;
    const char *slash = strrchr(path, '/');
    size_t dir_len = slash ? (size_t)(slash - path) + 1 : 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        struct buf name = {0};
        buf_add(&name, path, dir_len);
        buf_printf(&name, ".fare-tmp-%d-%u-%llx", (int)getpid(), atomic_fetch_add(&serial, 1),
                   (unsigned long long)clock_now_ns());
        *temporary = buf_take(&name, err);
        if (!*temporary)
            return ERR_MEMORY;
        int fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0)
            return fd;
        int number = errno;
        free(*temporary);
        *temporary = NULL;
        if (number == ENOENT && dir_len > 1)
            return err_set(err, ERR_MISSING, "cannot write '%s': there is no folder '%.*s'", path,
                           (int)dir_len - 1, path);
        if (number != EEXIST)
            return fs_refused("cannot create a file beside", path, number, err);
    }
    return err_set(err, ERR_IO, "cannot find a free name beside '%s'", path);
}

// The number in "/dev/fd/3" and the like, or -1. Opened by its name, a file would be written from
// its start.
static int own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    int64_t number;
    if (strcmp(path, "-") == 0)
        return STDOUT_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        size_t len = strlen(folders[i]);
        if (strncmp(path, folders[i], len) == 0 && text_int(path + len, &number) && number >= 0 &&
            number <= INT_MAX)
            return (int)number;
    }
    return -1;
}

// Follows links up to a name that is none; it need not exist. Stops at a descriptor of ours.
static int follow_links(char **path, struct err *err)
{
    for (int links = 0; own_descriptor(*path) < 0; links++) {
        char target[PATH_MAX];
        struct buf next = {0};
        ssize_t len = readlink(*path, target, sizeof target);
        if (len < 0)
            return 0;
        if (links == LINKS_MAX)
            return err_errno(err, ELOOP, "cannot write '%s'", *path);
        const char *slash = target[0] == '/' ? NULL : strrchr(*path, '/');
        if (slash)
            buf_add(&next, *path, (size_t)(slash - *path) + 1);
        buf_add(&next, target, (size_t)len);
        free(*path);
        *path = buf_take(&next, err);
        if (!*path)
            return ERR_MEMORY;
    }
    return 0;
}

bool fs_is_stdout(const char *path)
{
    SCOPED(free_pointer) char *at = text_copy(path, NULL);
    int rc = at ? follow_links(&at, NULL) : ERR_MEMORY;
    // If nobody can tell, nothing is mixed into what may be there.
    return rc == ERR_MEMORY || (rc == 0 && own_descriptor(at) == STDOUT_FILENO);
}

// A pipe, a device or a descriptor of ours is written as it is.
static int open_through(const char *path, struct err *err)
{
    int own = own_descriptor(path);
    int fd =
        own >= 0 ? fcntl(own, F_DUPFD_CLOEXEC, 3) : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    return fd >= 0 ? fd : err_errno(err, errno, "cannot write '%s'", path);
}

static int open_whole(struct fs_writer *w, const struct stat *replaced, mode_t mode,
                      struct err *err)
{
    w->fd = open_beside(w->path, mode, &w->temporary, err);
    if (w->fd < 0)
        return w->fd;
    // A replaced file keeps its mode, so that updating a secret does not expose it. A private one
    // has its mode whatever the user's mask.
    bool private = (mode & 077) == 0;
    if ((replaced || private) && fchmod(w->fd, replaced ? replaced->st_mode & 07777 : mode) != 0)
        return err_errno(err, errno, "cannot set the mode of '%s'", w->path);
    return 0;
}

int fs_begin(struct fs_writer *w, const char *path, mode_t mode, struct err *err)
{
    struct stat st;
    *w = (struct fs_writer){.fd = -1};
    w->path = text_copy(path, err);
    int rc = w->path ? follow_links(&w->path, err) : ERR_MEMORY;
    if (rc == 0) {
        bool own = own_descriptor(w->path) >= 0, exists = !own && stat(w->path, &st) == 0;
        if (own || (exists && !S_ISREG(st.st_mode)))
            rc = w->fd = open_through(w->path, err);
        else
            rc = open_whole(w, exists ? &st : NULL, mode, err);
    }
    if (rc < 0)
        fs_abandon(w);
    return rc < 0 ? rc : 0;
}

int fs_add(struct fs_writer *w, const void *bytes, size_t len, struct err *err)
{
    int rc = fs_write_fd(w->fd, bytes, len, "it", err);
    if (rc != 0)
        err_context(err, "'%s'", w->path);
    return rc;
}

static int sync_dir_of(const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX];
    size_t len = slash ? (size_t)(slash - path) : 0;
    if (len >= sizeof dir)
        return err_set(err, ERR_IO, "path too long: '%s'", path);
    memcpy(dir, path, len);
    dir[len] = '\0';
    SCOPED(fs_close)
    int fd = open(slash ? (len ? dir : "/") : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, errno, "cannot open the folder of '%s'", path);
    // Some network file systems have no fsync for folders; their rename is already durable.
    if (fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        return err_errno(err, errno, "cannot write the folder of '%s'", path);
    return 0;
}

int fs_commit(struct fs_writer *w, struct err *err)
{
    int rc = 0;
    bool through = !w->temporary;
    if (fsync(w->fd) != 0 && !(through && (errno == EINVAL || errno == EROFS))) { // not on a disk
        rc = err_errno(err, errno, "cannot write '%s' to the disk", w->path);
        goto out;
    }
    int fd = w->fd;
    w->fd = -1;
    if (close(fd) != 0) {
        rc = err_errno(err, errno, "cannot write '%s' to the disk", w->path);
        goto out;
    }
    if (through)
        goto out;
    if (rename(w->temporary, w->path) != 0) {
        rc = err_errno(err, errno, "cannot put '%s' in place", w->path);
        goto out;
    }
    free(w->temporary);
    w->temporary = NULL;
    rc = sync_dir_of(w->path, err);
out:
    fs_abandon(w);
    return rc;
}

void fs_abandon(struct fs_writer *w)
{
    if (w->path && w->fd >= 0)
        close(w->fd);
    if (w->temporary)
        unlink(w->temporary);
    free(w->temporary);
    free(w->path);
    *w = (struct fs_writer){.fd = -1};
}

static int add_all(struct fs_writer *w, const void *bytes, size_t len, struct err *err)
{
    int rc = fs_add(w, bytes, len, err);
    if (rc != 0) {
        fs_abandon(w);
        return rc;
    }
    return fs_commit(w, err);
}

static int write_file(const char *path, mode_t mode, const void *bytes, size_t len, struct err *err)
{
    struct fs_writer w;
    TRY(fs_begin(&w, path, mode, err));
    return add_all(&w, bytes, len, err);
}

int fs_write(const char *path, const void *bytes, size_t len, struct err *err)
{
    return write_file(path, 0666, bytes, len, err);
}

int fs_write_private(const char *path, const void *bytes, size_t len, struct err *err)
{
    return write_file(path, 0600, bytes, len, err);
}

int fs_put_private(const char *path, const void *bytes, size_t len, struct err *err)
{
    struct fs_writer w = {.fd = -1, .path = text_copy(path, err)};
    int rc = w.path ? open_whole(&w, NULL, 0600, err) : ERR_MEMORY;
    if (rc < 0) {
        fs_abandon(&w);
        return rc;
    }
    return add_all(&w, bytes, len, err);
}

static int make_folders(const char *path, mode_t mode, struct err *err)
{
    char part[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0 || len >= sizeof part)
        return err_set(err, ERR_IO, "cannot create the folder '%s': bad length", path);
    memcpy(part, path, len + 1);
    for (size_t i = 1; i <= len; i++) {
        if (part[i] != '/' && part[i] != '\0')
            continue;
        char separator = part[i];
        part[i] = '\0';
        struct stat st;
        bool made = mkdir(part, mode) == 0;
        if (!made && !(errno == EEXIST && stat(part, &st) == 0 && S_ISDIR(st.st_mode)))
            return fs_refused("cannot create the folder", part, errno, err);
        if (made && mode == 0700 && chmod(part, mode) != 0) // whatever the user's mask
            return err_errno(err, errno, "cannot set the mode of '%s'", part);
        part[i] = separator;
    }
    return 0;
}

int fs_mkdirs(const char *path, struct err *err)
{
    return make_folders(path, 0777, err);
}

int fs_mkdirs_private(const char *path, struct err *err)
{
    return make_folders(path, 0700, err);
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
    (void)st, (void)kind, (void)walk;
    (void)!remove(path);
    return 0;
}

const char *fs_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void fs_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

DIR *fs_names(int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    if (!dir)
        fs_close(&copy);
    return dir;
}

const char *fs_next(DIR *dir)
{
    const struct dirent *entry;
    errno = 0;
    while (dir && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return entry->d_name;
    return NULL;
}

void fs_close_folder(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

void fs_remove_tree(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

// The file that is mapped at `address`: the last column of "START-END PERMS OFFSET DEV INODE
// PATH". False for a line about another address, or about no file.
static bool mapped_file(char *line, uintptr_t address, char **path)
{
    char *after;
    uintptr_t start = strtoul(line, &after, 16);
    if (*after != '-')
        return false;
    uintptr_t end = strtoul(after + 1, &after, 16);
    if (address < start || address >= end)
        return false;
    *path = strchr(after, '/'); // none of the other columns has a slash
    return *path != NULL;
}

// Appends it as /proc/self/maps has it now.
static int find_program_dir(struct buf *out, struct err *err)
{
    // Not /proc/self/exe: in the bundle that is the loader, and it may be the host's.
    SCOPED(buf_release) struct buf maps = {0};
    TRY(fs_read("/proc/self/maps", 16 << 20, &maps, err));
    TRY(buf_check(&maps, err));
    char *path = NULL;
    for (char *line = maps.data, *end; !path && line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        mapped_file(line, (uintptr_t)find_program_dir, &path);
    }
    if (!path)
        return err_set(err, ERR_IO, "this program's own file is not in /proc/self/maps");
    // A file that was replaced meanwhile is called "NAME (deleted)"; only the name goes.
    *strrchr(path, '/') = '\0';
    buf_adds(out, path);
    return buf_check(out, err);
}

int fs_program_dir(struct buf *out, struct err *err)
{
    static _Atomic(char *) known; // a program stays where it is: the first to look keeps it
    const char *path = atomic_load(&known);
    if (path) {
        buf_adds(out, path);
        return buf_check(out, err);
    }
    size_t before = out->len;
    int rc = find_program_dir(out, err);
    if (rc != 0) {
        err_context(err, "cannot tell where this program lies");
        return rc;
    }
    char *kept = strdup(buf_str(out) + before), *nobody = NULL;
    if (!kept)
        return err_memory(err);
    if (!atomic_compare_exchange_strong(&known, &nobody, kept))
        free(kept);
    return 0;
}

// ==== folders ====

static int folder(const char *variable, const char *below_home, struct buf *out, struct err *err)
{
    const char *given = getenv(variable), *home = getenv("HOME");
    if (given && given[0] == '/') {
        buf_printf(out, "%s/fare", given);
    } else if (home && home[0] == '/') {
        buf_printf(out, "%s/%s/fare", home, below_home);
    } else {
        err_set(err, ERR_MISSING, "neither %s nor HOME is set to a folder", variable);
        return ERR_MISSING;
    }
    return buf_check(out, err);
}

int folder_data(struct buf *out, struct err *err)
{
    const char *given = getenv("FARE_HOME");
    if (!given || given[0] != '/')
        return folder("XDG_DATA_HOME", ".local/share", out, err);
    buf_adds(out, given);
    return buf_check(out, err);
}

int folder_config(struct buf *out, struct err *err)
{
    return folder("XDG_CONFIG_HOME", ".config", out, err);
}

int folder_share(struct buf *out, struct err *err)
{
    const char *given = getenv("FARE_SHARE");
    TRY(given && *given ? 0 : fs_program_dir(out, err));
    buf_adds(out, given && *given ? given : "/../share");
    return buf_check(out, err);
}

void folder_short(struct buf *out, const char *path)
{
    const char *home = getenv("HOME");
    size_t len = home ? strlen(home) : 0;
    bool within = len > 1 && strncmp(path, home, len) == 0 && (path[len] == '/' || !path[len]);
    buf_printf(out, "%s%s", within ? "~" : "", path + (within ? len : 0));
}

// ==== scratch ====

#define PREFIX "fare-"
#define RANDOM "XXXXXX"
#define LOCK   ".lock"

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void remove_files(int folder)
{
    SCOPED(fs_close_folder) DIR *dir = fs_names(folder);
    for (const char *name; (name = fs_next(dir));)
        unlinkat(folder, name, 0); // fails for folders, which are none of ours
}

// The lock of a killed process's folder, taken; -1 if it is another's, or in use.
static int lock_of_dead(int folder)
{
    struct stat st;
    if (fstat(folder, &st) != 0 || st.st_uid != geteuid())
        return -1;
    int lock = openat(folder, LOCK, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
        return lock;
    fs_close(&lock);
    return -1;
}

static void sweep_one(int place, const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) != strlen(PREFIX RANDOM))
        return;
    SCOPED(fs_close) int folder = open_folder(place, name);
    SCOPED(fs_close) int lock = folder >= 0 ? lock_of_dead(folder) : -1;
    if (lock >= 0) {
        remove_files(folder);
        unlinkat(place, name, AT_REMOVEDIR);
    }
}

// The lock gets its name once it is held: nobody finds it free before. -1 if there are no locks
// here: then the folder is never swept.
static int take_lock(int folder)
{
    int lock = openat(folder, LOCK "-new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
        renameat(folder, LOCK "-new", folder, LOCK) == 0)
        return lock;
    fs_close(&lock);
    return -1;
}

int scratch_make(struct scratch *s, const char *place, struct err *err)
{
    *s = (struct scratch){.lock = -1};
    struct buf path = {0};
    buf_printf(&path, "%s/" PREFIX RANDOM, place);
    char *made = buf_take(&path, err);
    if (!made)
        return ERR_MEMORY;
    SCOPED(fs_close) int parent = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SCOPED(fs_close_folder) DIR *others = parent >= 0 ? fs_names(parent) : NULL;
    for (const char *name; (name = fs_next(others));)
        sweep_one(parent, name);
    if (!mkdtemp(made)) {
        int rc = err_errno(err, errno, "cannot make a folder in '%s'", place);
        free(made);
        return rc;
    }
    s->path = made;
    SCOPED(fs_close) int folder = open_folder(AT_FDCWD, made);
    s->lock = folder >= 0 ? take_lock(folder) : -1;
    return 0;
}

void scratch_remove(struct scratch *s)
{
    if (!s->path)
        return;
    SCOPED(fs_close) int folder = open_folder(AT_FDCWD, s->path);
    if (folder >= 0)
        remove_files(folder);
    rmdir(s->path);
    fs_close(&s->lock);
    free(s->path);
    *s = (struct scratch){.lock = -1};
}
