// SPDX-License-Identifier: Apache-2.0
#include "base/folders.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"

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
