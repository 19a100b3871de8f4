// SPDX-License-Identifier: Apache-2.0
#include "base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#define PREFIX "fare-"
#define RANDOM "XXXXXX"
#define LOCK   ".lock"

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Calls `each` with the names in an open folder.
static void for_names(int folder, void (*each)(int folder, const char *name))
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
    const struct dirent *entry;
    while (dir && (entry = readdir(dir)))
        each(folder, entry->d_name);
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
}

static void remove_file(int folder, const char *name)
{
    unlinkat(folder, name, 0); // fails for "." and "..", and folders are none of ours
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
    if (lock >= 0)
        close(lock);
    return -1;
}

static void sweep_one(int place, const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0 || strlen(name) != strlen(PREFIX RANDOM))
        return;
    int folder = open_folder(place, name);
    int lock = folder >= 0 ? lock_of_dead(folder) : -1;
    if (lock >= 0) {
        for_names(folder, remove_file);
        unlinkat(place, name, AT_REMOVEDIR);
        close(lock);
    }
    if (folder >= 0)
        close(folder);
}

// The lock gets its name once it is held: nobody finds it free before. -1 if there are no locks
// here: then the folder is never swept.
static int take_lock(int folder)
{
    int lock = openat(folder, LOCK "-new", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0 &&
        renameat(folder, LOCK "-new", folder, LOCK) == 0)
        return lock;
    if (lock >= 0)
        close(lock);
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
    int parent = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent >= 0) {
        for_names(parent, sweep_one);
        close(parent);
    }
    if (!mkdtemp(made)) {
        int rc = err_errno(err, errno, "cannot make a folder in '%s'", place);
        free(made);
        return rc;
    }
    s->path = made;
    int folder = open_folder(AT_FDCWD, made);
    s->lock = folder >= 0 ? take_lock(folder) : -1;
    if (folder >= 0)
        close(folder);
    return 0;
}

void scratch_remove(struct scratch *s)
{
    if (!s->path)
        return;
    int folder = open_folder(AT_FDCWD, s->path);
    if (folder >= 0) {
        for_names(folder, remove_file);
        close(folder);
    }
    rmdir(s->path);
    if (s->lock >= 0)
        close(s->lock);
    free(s->path);
    *s = (struct scratch){.lock = -1};
}
