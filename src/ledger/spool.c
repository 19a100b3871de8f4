// SPDX-License-Identifier: Apache-2.0
#include "ledger/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

// Anyone can create a folder in /tmp, so check that this one is ours alone.
static int own_folder(const char *dir, struct err *err)
{
    struct buf above = {0};
    const char *slash = strrchr(dir, '/');
    buf_add(&above, dir, (size_t)(slash - dir));
    int rc = buf_check(&above, err);
    struct stat st;
    if (rc == 0 && mkdir(buf_str(&above), 0700) != 0 && errno != EEXIST)
        rc = err_errno(err, errno, "cannot create the folder '%s'", buf_str(&above));
    if (rc == 0 && (lstat(buf_str(&above), &st) != 0 || !S_ISDIR(st.st_mode) ||
                    st.st_uid != geteuid() || (st.st_mode & 022) != 0))
        rc = err_set(err, ERR_IO, "'%s' is not a folder that belongs to this user alone",
                     buf_str(&above));
    if (rc == 0 && mkdir(dir, 0700) != 0 && errno != EEXIST)
        rc = err_errno(err, errno, "cannot create the folder '%s'", dir);
    buf_release(&above);
    return rc;
}

int spool_folder(const struct ledger_place *place, int i, struct err *err)
{
    return i > 0 ? own_folder(place->spools[i], err) : fs_mkdirs_private(place->spools[i], err);
}

static int put_in(const struct ledger_place *place, int i, const char *id, const char *text,
                  size_t len, char **path, struct err *err)
{
    int rc = spool_folder(place, i, err);
    if (rc != 0)
        return rc;
    struct buf name = {0};
    buf_printf(&name, "%s/%s.json", place->spools[i], id);
    *path = buf_take(&name, err);
    if (!*path)
        return ERR_MEMORY;
    rc = fs_write_private(*path, text, len, err);
    if (rc != 0) {
        free(*path);
        *path = NULL;
    }
    return rc;
}

int spool_put(const struct ledger_place *place, const char *id, const char *text, size_t len,
              char **path, struct err *err)
{
    struct err first = {0};
    *path = NULL;
    for (int i = 0; i < PLACE_SPOOLS; i++) {
        struct err why = {0};
        int rc = put_in(place, i, id, text, len, path, &why);
        if (rc == 0)
            return 0;
        if (i == 0)
            first = why;
    }
    return err_pass(err, first.code, &first);
}

static int add_path(struct spool_list *list, const char *dir, const char *name, struct err *err)
{
    char **paths = realloc(list->paths, (list->count + 1) * sizeof *paths);
    if (!paths)
        return err_memory(err);
    list->paths = paths;
    struct buf path = {0};
    buf_printf(&path, "%s/%s", dir, name);
    paths[list->count] = buf_take(&path, err);
    if (!paths[list->count])
        return ERR_MEMORY;
    list->count++;
    return 0;
}

static bool is_ours(const char *dir)
{
    struct stat st;
    return lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// The files with this extension. Names with a leading dot are incomplete files.
static int list_files(const struct ledger_place *place, const char *end, struct spool_list *list,
                      struct err *err)
{
    memset(list, 0, sizeof *list);
    int rc = 0;
    for (int i = 0; i < PLACE_SPOOLS && rc == 0; i++) {
        if (i > 0 && !is_ours(place->spools[i]))
            continue;
        DIR *dir = opendir(place->spools[i]);
        if (!dir)
            continue;
        for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
            const char *dot = strrchr(entry->d_name, '.');
            if (dot && dot > entry->d_name && entry->d_name[0] != '.' && strcmp(dot, end) == 0)
                rc = add_path(list, place->spools[i], entry->d_name, err);
        }
        closedir(dir);
    }
    if (rc == 0 && list->count > 0)
        qsort(list->paths, list->count, sizeof *list->paths, by_text);
    if (rc != 0)
        spool_list_release(list);
    return rc;
}

int spool_list(const struct ledger_place *place, struct spool_list *list, struct err *err)
{
    return list_files(place, ".json", list, err);
}

// The path of ID.lock or ID.part with another extension; both have five characters.
static char *sibling(const char *path, const char *extension, struct err *err)
{
    struct buf out = {0};
    buf_add(&out, path, strlen(path) - strlen(".lock"));
    buf_adds(&out, extension);
    return buf_take(&out, err);
}

// Adopts one run if nobody holds its lock. A run recorded before its process was killed keeps that
// record: its .json still exists or was delivered, and an id is delivered once.
static void adopt(const char *lock)
{
    char *part = sibling(lock, ".part", NULL), *whole = sibling(lock, ".json", NULL),
         *half = sibling(lock, ".tmp", NULL);
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && part && whole && half && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        if (access(whole, F_OK) == 0 || rename(part, whole) == 0 || errno == ENOENT) {
            unlink(half);
            unlink(part);
            unlink(lock);
        }
    }
    if (fd >= 0)
        close(fd);
    free(part);
    free(whole);
    free(half);
}

void spool_adopt(const struct ledger_place *place)
{
    struct spool_list list;
    if (list_files(place, ".lock", &list, NULL) != 0)
        return; // the next start tries again
    for (size_t i = 0; i < list.count; i++)
        adopt(list.paths[i]);
    spool_list_release(&list);
}

// The writer of a journal holds its lock. Test it only if the journal exists: the test itself
// locks for a moment and could make a starting run fail.
static int is_locked(const char *part, bool *held, struct err *err)
{
    char *lock = sibling(part, ".lock", err);
    if (!lock)
        return ERR_MEMORY;
    int fd = open(lock, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (fd >= 0)
        close(fd);
    free(lock);
    return 0;
}

int spool_running(const struct ledger_place *place, struct spool_list *list, bool *dead,
                  struct err *err)
{
    size_t running = 0;
    int rc = list_files(place, ".part", list, err);
    *dead = false;
    for (size_t i = 0; i < list->count; i++) {
        bool held = false;
        if (rc == 0)
            rc = is_locked(list->paths[i], &held, err);
        *dead |= !held;
        if (held)
            list->paths[running++] = list->paths[i];
        else
            free(list->paths[i]);
    }
    list->count = running;
    if (rc != 0)
        spool_list_release(list);
    return rc;
}

void spool_list_release(struct spool_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    memset(list, 0, sizeof *list);
}
