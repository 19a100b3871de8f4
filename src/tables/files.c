// SPDX-License-Identifier: Apache-2.0
#include "tables/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"

int files_shipped(const char *name, struct buf *path, struct err *err)
{
    TRY(folder_share(path, err));
    buf_printf(path, "/%s", name);
    return buf_check(path, err);
}

int files_own(const char *name, struct buf *path, struct err *err)
{
    int rc = folder_config(path, NULL);
    if (rc == ERR_MISSING) // no home folder
        return 0;
    buf_printf(path, "/%s", name);
    return rc == 0 ? buf_check(path, err) : err_memory(err);
}

int files_day(const char *text, int64_t *day, struct err *err)
{
    int64_t s;
    if (strlen(text) != 10 || !clock_parse(text, &s) || s < 0)
        return err_set(err, ERR_FORMAT, "expected a date such as 2026-01-31");
    *day = s / 86400;
    return 0;
}

bool files_applies(int64_t a, int64_t b, int64_t day)
{
    if ((a <= day) != (b <= day))
        return a <= day;
    return a <= day ? a >= b : a < b;
}

// Independent of the locale, unlike alphasort().
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int files_each(const char *dir, const char *ending, files_visit_fn *visit, void *arg,
               struct err *err)
{
    struct dirent **names;
    int count = scandir(dir, &names, visible, by_bytes);
    if (count < 0 && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (count < 0)
        return fs_refused("cannot open the folder", dir, errno, err);
    int rc = 0;
    for (int i = 0; i < count; i++) {
        SCOPED(buf_release) struct buf path = {0};
        if (rc == 0 && text_ends(names[i]->d_name, ending)) {
            buf_printf(&path, "%s/%s", dir, names[i]->d_name);
            rc = buf_check(&path, err);
            if (rc == 0)
                rc = visit(arg, buf_str(&path), err);
        }
        free(names[i]);
    }
    free(names);
    return rc;
}
