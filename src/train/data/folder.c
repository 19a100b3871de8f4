// SPDX-License-Identifier: Apache-2.0
#include "train/data/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(struct folder *folder, DIR *dir, struct err *err)
{
    size_t capacity = 0;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(dir);
        if (!entry)
            return errno ? err_errno(err, errno, "cannot read the folder '%s'", folder->path) : 0;
        if (entry->d_name[0] == '.')
            continue;
        if (array_grow(&folder->names, folder->count, &capacity, sizeof *folder->names, err) != 0)
            return ERR_MEMORY;
        folder->names[folder->count] = text_copy(entry->d_name, err);
        if (!folder->names[folder->count])
            return ERR_MEMORY;
        folder->count++;
    }
}

int folder_open(struct folder *folder, const char *path, struct err *err)
{
    memset(folder, 0, sizeof *folder);
    DIR *dir = opendir(path);
    if (!dir)
        return err_errno(err, errno, "cannot open the folder '%s'", path);
    folder->path = text_copy(path, err);
    int rc = folder->path ? read_names(folder, dir, err) : ERR_MEMORY;
    closedir(dir);
    if (rc != 0)
        folder_release(folder);
    else if (folder->count > 1)
        qsort(folder->names, folder->count, sizeof *folder->names, by_bytes);
    return rc;
}

void folder_release(struct folder *folder)
{
    for (size_t i = 0; i < folder->count; i++)
        free(folder->names[i]);
    free(folder->names);
    free(folder->path);
    memset(folder, 0, sizeof *folder);
}

static bool name_ends_in(const char *name, size_t len, const char *ending)
{
    size_t tail = strlen(ending);
    return len >= tail && strncasecmp(name + len - tail, ending, tail) == 0;
}

static size_t without_gz(const char *name)
{
    size_t len = strlen(name);
    return name_ends_in(name, len, ".gz") ? len - 3 : len;
}

bool folder_ends(const char *name, const char *ending)
{
    return name_ends_in(name, without_gz(name), ending);
}

int folder_path(const struct folder *folder, const char *name, struct buf *path, struct err *err)
{
    buf_reset(path);
    buf_printf(path, "%s/%s", folder->path, name);
    return buf_check(path, err);
}

int folder_find(const struct folder *folder, const char *const *endings, struct buf *path,
                struct err *err)
{
    const char *found = NULL;
    for (size_t i = 0; i < folder->count; i++) {
        const char *name = folder->names[i];
        bool fits = false;
        for (size_t e = 0; endings[e]; e++)
            fits |= folder_ends(name, endings[e]);
        if (!fits)
            continue;
        TRY(folder_path(folder, name, path, err));
        if (!folder_has_file(buf_str(path)))
            continue;
        // NAME sorts before NAME.gz.
        size_t len = found ? strlen(found) : 0;
        if (found && strncmp(found, name, len) == 0 && without_gz(name) == len)
            continue;
        if (found)
            return err_set(err, ERR_FORMAT, "'%s' has two files for one part of the set: %s and %s",
                           folder->path, found, name);
        found = name;
    }
    if (!found)
        return err_set(err, ERR_MISSING, "'%s' has no %s%s", folder->path,
                       endings[0][0] == '.' ? "file that ends in " : "", endings[0]);
    return folder_path(folder, found, path, err);
}

bool folder_is(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool folder_has_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISDIR(st.st_mode);
}

// ==== identity ====

void identity_init(struct identity *identity)
{
    sha256_init(&identity->sha);
}

void identity_add(struct identity *identity, const uint8_t sum[SHA256_BYTES], const char *name)
{
    char hex[SHA256_HEX_BYTES];
    sha256_hex(sum, hex);
    sha256_add(&identity->sha, hex, SHA256_HEX_BYTES - 1);
    sha256_add(&identity->sha, "  ", 2);
    sha256_add(&identity->sha, name, strlen(name));
    sha256_add(&identity->sha, "\n", 1);
}

char *identity_text(struct identity *identity, struct err *err)
{
    uint8_t sum[SHA256_BYTES];
    char hex[SHA256_HEX_BYTES];
    sha256_done(&identity->sha, sum);
    sha256_hex(sum, hex);
    return text_copy(hex, err);
}
