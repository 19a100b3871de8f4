// SPDX-License-Identifier: Apache-2.0
#include "ledger/inside.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/sha256.h"

static bool is_url(const char *where)
{
    return strncmp(where, "postgresql://", 13) == 0 || strncmp(where, "postgres://", 11) == 0;
}

void place_public(const char *url, struct buf *out)
{
    const char *host = strstr(url, "//") + 2;
    size_t authority = strcspn(host, "/?#");
    const char *query = strchr(host + authority, '?');
    const char *at = NULL; // the last one, so that no part of a password with '@' is shown
    for (const char *p = host; p < host + authority; p++)
        if (*p == '@')
            at = p;
    if (!at && strchr(host, '@')) { // an '@' after a slash: hide everything
        buf_add(out, url, (size_t)(host - url));
        buf_adds(out, "...");
        return;
    }
    const char *colon = at ? memchr(host, ':', (size_t)(at - host)) : NULL;
    const char *rest = at ? at : host;
    buf_add(out, url, (size_t)(colon ? colon - url : rest - url));
    bool secret = query && strstr(query, "pass");
    buf_add(out, rest, secret ? (size_t)(query - rest) : strlen(rest));
}

static int data_folder(struct buf *out, struct err *err)
{
    int rc = folder_data(out, err);
    if (rc == ERR_MISSING) {
        err_context(err, "nowhere to put the ledger");
        return err_hint(err, "set one of them, or name a file with --ledger");
    }
    return rc;
}

// An absolute path, so that one file is one ledger from every working directory.
static int absolute(const char *path, struct buf *out, struct err *err)
{
    char here[PATH_MAX];
    if (path[0] != '/') {
        if (!getcwd(here, sizeof here))
            return err_set(err, ERR_MISSING, "cannot find the current folder");
        buf_printf(out, "%s/", here);
    }
    buf_adds(out, path);
    return buf_check(out, err);
}

static int set_spools(struct ledger_place *place, const char *folder, struct err *err)
{
    char sum[SHA256_HEX_BYTES];
    sha256_hex_of(place->name, strlen(place->name), sum);
    const char *temporary = getenv("TMPDIR");
    struct buf path = {0};
    buf_printf(&path, "%s/spool/%.12s", folder, sum);
    place->spools[0] = buf_take(&path, err);
    buf_printf(&path, "%s/fare-spool-%ld/%.12s",
               temporary && temporary[0] == '/' ? temporary : "/tmp", (long)geteuid(), sum);
    place->spools[1] = buf_take(&path, err);
    return place->spools[0] && place->spools[1] ? 0 : ERR_MEMORY;
}

int place_find(struct ledger_place *place, const char *where, struct err *err)
{
    memset(place, 0, sizeof *place);
    struct buf folder = {0}, path = {0};
    place->named = where && *where;
    if (!place->named)
        where = getenv("FARE_LEDGER");
    bool given = where && *where;
    int rc = 0;
    if (given && is_url(where)) {
        place->backend = &backend_postgres;
        place->where = text_copy(where, err);
        place_public(where, &path);
    } else if (given && strstr(where, "://")) {
        rc = err_set(err, ERR_USAGE, "a ledger is a file or a postgresql:// URL");
    } else {
        place->backend = &backend_sqlite;
        rc = given ? absolute(where, &path, err) : data_folder(&path, err);
        if (rc == 0 && !given)
            buf_adds(&path, "/ledger.db");
        if (rc == 0)
            place->where = text_copy(buf_str(&path), err);
    }
    if (rc == 0)
        rc = place->where ? buf_check(&path, err) : ERR_MEMORY;
    if (rc == 0) {
        place->name = buf_take(&path, err);
        rc = place->name ? data_folder(&folder, NULL) : ERR_MEMORY;
        if (rc == ERR_MEMORY)
            err_memory(err);
        else // without a home folder only the last spool works
            rc = set_spools(place, rc == 0 ? buf_str(&folder) : "/nonexistent", err);
    }
    buf_release(&folder);
    buf_release(&path);
    if (rc != 0)
        place_release(place);
    return rc;
}

void place_release(struct ledger_place *place)
{
    free(place->where);
    free(place->name);
    for (int i = 0; i < PLACE_SPOOLS; i++)
        free(place->spools[i]);
    memset(place, 0, sizeof *place);
}
