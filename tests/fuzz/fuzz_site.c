// SPDX-License-Identifier: Apache-2.0
// Any bytes as the index of a site, as a record of one, as a record to share, and as an address:
// paths that are accepted stay within the site, a record becomes one line that reads the same, a
// shared one is JSON without host and user, an address ends in a slash and begins as it did.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/sha256.h"
#include "ledger/import_file.h"
#include "record/read.h"
#include "record/run.h"
#include "record/share.h"
#include "record/site.h"

static void check_path(const char *path)
{
    const char *slash = strchr(path, '/');
    if (!*path || *path == '/' || *path == '.' || strstr(path, "/.") || strstr(path, "//") ||
        (slash && strchr(slash + 1, '/')))
        abort();
    for (const char *p = path; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-_./", *p))
            abort();
}

static void as_index(const char *text, size_t len)
{
    struct site_index index = {0};
    struct err err = {0};
    if (site_index_read(text, len, &index, &err) == 0)
        for (size_t i = 0; i < index.files.count; i++) {
            const struct site_file *file = &index.files.items[i];
            check_path(file->path);
            if (file->bytes.v < 0 || strcmp(file->path, SITE_INDEX) == 0 ||
                (site_is_record(file) && strncmp(file->path, "runs/", 5) != 0))
                abort();
        }
    else if (!err.text[0])
        abort();
    record_release(site_index_fields, &index);
}

// As it would come from a site whose index describes it.
static void as_record(const char *text, size_t len)
{
    static char path[] = "runs/x.json";
    char sum[SHA256_HEX_BYTES];
    struct run run = {0}, again = {0};
    struct buf line = {0};
    struct err err = {0};
    sha256_hex_of(text, len, sum);
    bool good = record_from_text(run_fields, text, len, &run, &err) == 0 && run.id;
    struct site_file file = {
        .path = path, .run = run.id, .bytes = some_int((int64_t)len), .sha256 = sum};
    buf_add(&line, text, len);
    if (good) {
        if (import_site_line(&file, &line, &err) != 0 || line.len < 2 ||
            memchr(line.data, '\n', line.len) != line.data + line.len - 1)
            abort();
        if (record_from_text(run_fields, line.data, line.len, &again, &err) != 0 ||
            strcmp(again.id, run.id) != 0)
            abort();
    }
    record_release(run_fields, &run);
    record_release(run_fields, &again);
    buf_release(&line);
}

static void as_shared(const char *text)
{
    static const char *const names[] = {"anna", NULL};
    struct run before = {0}, after = {0};
    struct buf out = {0};
    struct err err = {0};
    if (record_from_text(run_fields, text, strlen(text), &before, &err) == 0) {
        if (share_record(text, names, &out, &err) != 0)
            abort();
        if (record_from_text(run_fields, buf_str(&out), out.len, &after, &err) != 0)
            abort();
        if (after.host || after.user || after.code.folder || after.spent.resource ||
            after.saving.place || strchr(buf_str(&out), '\n'))
            abort();
        if (before.id && (!after.id || strcmp(before.id, after.id) != 0))
            abort();
    }
    record_release(run_fields, &before);
    record_release(run_fields, &after);
    buf_release(&out);
}

static void as_address(const char *text)
{
    struct buf base = {0};
    struct err err = {0};
    if (import_site_base(text, &base, &err) == 0 &&
        (base.data[base.len - 1] != '/' || strncasecmp(base.data, "http", 4) != 0 ||
         strchr(base.data, '?') || strchr(base.data, '#')))
        abort();
    buf_release(&base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[SITE_NAME_BYTES], *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    as_index(text, size);
    as_record(text, size);
    as_shared(text);
    as_address(text);
    site_name(text, name);
    check_path(name);
    free(text);
    return 0;
}
