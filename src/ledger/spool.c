// SPDX-License-Identifier: Apache-2.0
#include "ledger/spool.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"

// The spool below /tmp must be ours alone: there anybody can make a folder of that name.
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
        rc = err_set(err, ERR_IO, "'%s' is not a folder of this user's alone", buf_str(&above));
    if (rc == 0 && mkdir(dir, 0700) != 0 && errno != EEXIST)
        rc = err_errno(err, errno, "cannot create the folder '%s'", dir);
    buf_release(&above);
    return rc;
}

static int put_in(const char *dir, bool shared, const char *id, const char *text, size_t len,
                  char **path, struct err *err)
{
    int rc = shared ? own_folder(dir, err) : fs_mkdirs(dir, err);
    if (rc != 0)
        return rc;
    struct buf name = {0};
    buf_printf(&name, "%s/%s.json", dir, id);
    *path = buf_take(&name, err);
    if (!*path)
        return ERR_MEMORY;
    rc = fs_write(*path, text, len, err);
    if (rc != 0) {
        free(*path);
        *path = NULL;
    }
    return rc;
}

int spool_put(const struct place *place, const char *id, const char *text, size_t len, char **path,
              struct err *err)
{
    struct err first = {0};
    *path = NULL;
    for (int i = 0; i < PLACE_SPOOLS; i++) {
        struct err why = {0};
        int rc = put_in(place->spools[i], i > 0, id, text, len, path, &why);
        if (rc == 0)
            return 0;
        if (i == 0)
            first = why;
    }
    return err_set(err, first.code, "%s", first.text);
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

int spool_list(const struct place *place, struct spool_list *list, struct err *err)
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
            size_t len = strlen(entry->d_name);
            // Names with a dot in front are files that were never finished.
            if (entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".json") == 0)
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

void spool_list_release(struct spool_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->paths[i]);
    free(list->paths);
    memset(list, 0, sizeof *list);
}
