// SPDX-License-Identifier: Apache-2.0
// Folders of checkpoints: finds the newest complete one and removes old ones. The iterations in the
// names give the order, because clocks and copies make file times unreliable.
#include "base/array.h"
#include "checkpoint/checkpoint.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint/safetensors.h"

#define SUFFIX      ".safetensors"
#define DIGITS      12
#define STRAY_AGE_S 3600
#define TEMPORARY   ".fare-tmp-" // the prefix that base/fs uses

int checkpoint_path(const char *dir, const char *name, int64_t iteration, struct buf *out,
                    struct err *err)
{
    assert(iteration >= 0);
    size_t len = strlen(dir);
    buf_reset(out);
    buf_printf(out, "%s%s%s-%0*" PRId64 SUFFIX, dir, len && dir[len - 1] == '/' ? "" : "/", name,
               DIGITS, iteration);
    return buf_check(out, err);
}

// NAME-DIGITS at the start of `text`, exactly as checkpoint_path() writes it; returns the rest, or
// null.
static const char *parse_name(const char *text, const char *name, int64_t *iteration)
{
    size_t len = strlen(name);
    if (strncmp(text, name, len) != 0 || text[len] != '-')
        return NULL;
    const char *digits = text + len + 1;
    size_t count = strspn(digits, "0123456789");
    // Zeros fill it up to twelve digits; a longer number has none in front.
    if (count < DIGITS || count > 18 || (count > DIGITS && digits[0] == '0'))
        return NULL;
    *iteration = strtoll(digits, NULL, 10);
    return digits + count;
}

struct iterations {
    int64_t *list; // the highest first
    size_t count, cap;
};

static int add_iteration(struct iterations *found, int64_t iteration, struct err *err)
{
    TRY(array_grow(&found->list, found->count, &found->cap, sizeof *found->list, err));
    found->list[found->count++] = iteration;
    return 0;
}

static int highest_first(const void *a_, const void *b_)
{
    const int64_t *a = a_, *b = b_;
    return (*a < *b) - (*a > *b);
}

// A temporary file of a dead writer: a live one keeps writing to its file.
static void remove_stray(int dir, const char *file)
{
    struct stat status;
    if (strncmp(file, TEMPORARY, strlen(TEMPORARY)) == 0 &&
        fstatat(dir, file, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
        time(NULL) - status.st_mtime > STRAY_AGE_S)
        unlinkat(dir, file, 0);
}

// A missing folder holds none.
static int list_iterations(const char *path, const char *name, bool remove_strays,
                           struct iterations *found, struct err *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : err_errno(err, errno, "cannot open the folder '%s'", path);
    int rc = 0;
    for (struct dirent *entry; rc == 0 && (errno = 0, entry = readdir(dir));) {
        int64_t iteration;
        const char *rest = parse_name(entry->d_name, name, &iteration);
        if (rest && strcmp(rest, SUFFIX) == 0)
            rc = add_iteration(found, iteration, err);
        else if (remove_strays)
            remove_stray(dirfd(dir), entry->d_name);
    }
    if (rc == 0 && errno != 0)
        rc = err_errno(err, errno, "cannot read the folder '%s'", path);
    closedir(dir);
    if (rc == 0 && found->count > 0)
        qsort(found->list, found->count, sizeof *found->list, highest_first);
    return rc;
}

// 1: complete; 0: not, and `err` says why; negative: unknown.
static int is_whole(const char *path, struct err *err)
{
    struct safetensors st;
    int rc = safetensors_open(&st, path, err);
    if (rc == ERR_FORMAT || rc == ERR_MISSING) // it may have been removed meanwhile
        return 0;
    if (rc != 0)
        return rc;
    const char *format = checkpoint_format(&st);
    if (format && strcmp(format, CHECKPOINT_FORMAT) == 0)
        rc = 1;
    else
        err_set(err, ERR_FORMAT, "'%s' is not a checkpoint of this fare", path);
    safetensors_release(&st);
    return rc;
}

int checkpoint_newest(const char *dir, const char *name, struct buf *path, struct buf *damaged,
                      struct err *err)
{
    struct iterations found = {0};
    int rc = list_iterations(dir, name, false, &found, err);
    int whole = 0;
    for (size_t i = 0; rc == 0 && whole == 0 && i < found.count; i++) {
        struct err why = {0};
        rc = checkpoint_path(dir, name, found.list[i], path, err);
        if (rc != 0)
            break;
        whole = is_whole(buf_str(path), &why);
        if (whole < 0)
            rc = err_pass(err, whole, &why);
        if (whole == 0 && damaged) {
            buf_printf(damaged, "%s\n", why.text);
            rc = buf_check(damaged, err);
        }
    }
    if (rc != 0 || whole == 0)
        buf_reset(path);
    free(found.list);
    return rc != 0 ? rc : whole;
}

int checkpoint_prune(const char *dir, const char *name, int keep, int64_t current, struct err *err)
{
    assert(keep >= 1);
    struct iterations found = {0};
    struct buf path = {0};
    int kept = 0;
    int rc = list_iterations(dir, name, true, &found, err);
    for (size_t i = 0; rc == 0 && i < found.count; i++) {
        if (found.list[i] > current)
            continue;
        rc = checkpoint_path(dir, name, found.list[i], &path, err);
        if (rc != 0)
            break;
        if (kept < keep) {
            struct err why = {0};
            int whole = is_whole(buf_str(&path), &why);
            if (whole < 0)
                rc = err_pass(err, whole, &why);
            else
                kept += whole;
        } else if (unlink(buf_str(&path)) != 0 && errno != ENOENT) {
            rc = err_errno(err, errno, "cannot remove '%s'", buf_str(&path));
        }
    }
    buf_release(&path);
    free(found.list);
    return rc;
}
